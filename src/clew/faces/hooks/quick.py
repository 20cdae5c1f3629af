"""Asking the resident server with as little of Python as possible.

On a busy machine every millisecond of CPU is ten of waiting, and `json` and `socket` alone cost a hook as much as the
start of the interpreter. So the client's JSON goes to the server as it came, the server reads it and writes the reply,
and what is needed in between are the built-in halves of those modules. Where these are missing, or the server is behind
a port, the caller asks in the ordinary way.
"""

from __future__ import annotations

import os
import sys
import time

from clew.shim.place import ADDRESS, PROTOCOL, Unreachable, data_directory, folder_of, package_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST_REPLY = 1_000_000


class Unable(Exception):
    """This way is not open here; there is another one."""


class ServerTooLate(Exception):
    """The server did not answer in time."""


class _Reading:
    """What the built-in scanner of JSON wants to know."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


def decoded(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for anything else."""
    try:
        from _json import make_scanner
    except ImportError:
        from json import loads

        return loads(text)
    try:
        found, end = make_scanner(_Reading())(text.strip(), 0)  # type: ignore[arg-type]  # it only reads attributes
    except StopIteration:
        raise ValueError("no JSON") from None
    if end != len(text.strip()):
        raise ValueError("more than one value")
    return found


def encoded(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii(text)


def ask(event: str, client: str, data: bytes, directory: str, end: float) -> tuple[int, bytes, bytes]:
    """The exit code and what is to be printed to stdout and stderr.

    Raises Unreachable when no server runs, Late when it runs and is slow, Unable when it must be asked otherwise.
    """
    home = data_directory(os.environ, None, directory)
    address = _address(home)
    if "socket" not in address:
        raise Unable
    handshake = _handshake(event, client, data, directory, str(address.get("secret")), end)
    return _exchange(str(address["socket"]), handshake, end)


def _address(home: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder_of(home), ADDRESS), "rb") as file:
            found = decoded(file.read().decode())
    except (OSError, ValueError) as problem:
        raise Unreachable(str(problem)) from problem
    if not isinstance(found, dict) or found.get("protocol") != PROTOCOL:
        raise Unreachable("the address is of another version")
    return found


def _handshake(event: str, client: str, data: bytes, directory: str, secret: str, end: float) -> bytes:
    until = int((time.time() + end - time.monotonic() - 0.02) * 1000)
    environ = ",".join(f"{encoded(name)}:{encoded(value)}" for name, value in os.environ.items())
    texts = {
        "kind": "hook",
        "secret": secret,
        "stamp": package_stamp(),
        "directory": directory,
        "witness": "hook",
        "event": event,
        "hook_client": client,
        "payload": data.decode("utf-8", "replace"),
    }
    told = ",".join(f"{encoded(name)}:{encoded(value)}" for name, value in texts.items())
    return f'{{"clew":{PROTOCOL},"until_ms":{until},"environ":{{{environ}}},{told}}}\n'.encode()


def _exchange(path: str, handshake: bytes, end: float) -> tuple[int, bytes, bytes]:
    try:
        import _socket
    except ImportError:
        raise Unable from None
    if not hasattr(_socket, "AF_UNIX") or not hasattr(_socket, "SO_PEERCRED"):
        raise Unable
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        channel.settimeout(max(end - time.monotonic(), 0.001))
        channel.connect(path)
        peer = channel.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(peer[4:8], sys.byteorder) != os.geteuid():
            raise Unreachable("the socket belongs to another user")
    except OSError as problem:
        channel.close()
        raise Unreachable(str(problem)) from problem
    try:
        channel.sendall(handshake)
        return _read(_received(channel, end))
    except OSError as problem:
        raise ServerTooLate from problem
    finally:
        channel.close()


def _received(channel: Any, end: float) -> bytes:
    parts = bytearray()
    while len(parts) < LARGEST_REPLY:
        channel.settimeout(max(end - time.monotonic(), 0.001))
        part = channel.recv(1 << 16)
        if not part:
            break
        parts += part
    return bytes(parts)


def _read(reply: bytes) -> tuple[int, bytes, bytes]:
    """`CODE OUT ERR`, a line of three numbers, then so many bytes of each. A JSON object says that we are sent away."""
    if reply[:1] == b"{":
        raise Unable
    head, _, rest = reply.partition(b"\n")
    try:
        code, out, error = (int(word) for word in head.split())
    except ValueError:
        raise ServerTooLate from None
    if len(rest) != out + error:
        raise ServerTooLate
    return code, rest[:out], rest[out:]
