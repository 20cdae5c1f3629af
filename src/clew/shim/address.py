"""Where the resident server of a data directory listens, and a checked connection to it.

The folder `<home>/resident` belongs to its user alone (0700). It holds the lock of the server that runs, its log, and
`address.json`, which says how to reach it: by a Unix socket, or, where there are none, by a port of the loopback
device. Both sides check their peer: a socket has the user id of its peer, and over a port each side proves that
it can read the secret in the address. Only the standard library is imported, and little of it.
"""

from __future__ import annotations

import json
import os
import socket
import struct

from clew.shim.place import ADDRESS, PROTOCOL, Stuck, Unreachable, folder_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_LONGEST_SOCKET = 100
"""Bytes of a socket's path: the system has room for 108, some systems for 104."""
_LARGEST_LINE = 1 << 24


def read_address(home: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder_of(home), ADDRESS), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as problem:
        raise Unreachable(str(problem)) from problem
    if not isinstance(found, dict) or found.get("protocol") != PROTOCOL:
        raise Unreachable("the address is of another version")
    return found


def connect(home: str, timeout: float) -> tuple[socket.socket, dict[str, Any]]:
    """A connection to the resident server whose user and secret were checked, and the address it has."""
    address = read_address(home)
    try:
        if "socket" in address and hasattr(socket, "AF_UNIX"):
            return _by_socket(address, timeout), address
        return _by_port(address, timeout), address
    except TimeoutError as problem:
        raise Stuck(str(problem)) from problem
    except (OSError, ValueError, KeyError) as problem:
        raise Unreachable(str(problem)) from problem


def _by_socket(address: dict[str, Any], timeout: float) -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        channel.settimeout(timeout)
        channel.connect(address["socket"])
        if peer_user(channel) not in (None, os.geteuid()):
            raise Unreachable("the socket belongs to another user")
    except BaseException:
        channel.close()
        raise
    return channel


def _by_port(address: dict[str, Any], timeout: float) -> socket.socket:
    """Another process may take a port once its server is gone, so the server proves itself before anything is sent."""
    channel = socket.create_connection(("127.0.0.1", address["port"]), timeout)
    try:
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        nonce = os.urandom(16).hex()
        send(channel, {"nonce": nonce})
        if receive(channel).get("proof") != proof_of(address["secret"], nonce):
            raise Unreachable("another program listens there")
    except BaseException:
        channel.close()
        raise
    return channel


def proof_of(secret: str, nonce: str) -> str:
    import hmac

    return hmac.digest(secret.encode(), b"clew resident\0" + nonce.encode(), "sha256").hex()


def peer_user(channel: socket.socket) -> int | None:
    """The user at the other end of a Unix socket; None where the system does not say it."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            found = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", found)[1])
        # macOS and the BSDs: LOCAL_PEERCRED at level SOL_LOCAL gives a struct xucred, version and user first.
        found = channel.getsockopt(0, 1, 128)
        return int(struct.unpack_from("=II", found)[1])
    except (OSError, struct.error):
        return None


def socket_path(folder: str) -> str | None:
    """A place for the socket below `folder`; None when its name would be too long."""
    path = os.path.join(folder, "socket")
    return path if len(os.fsencode(path)) <= _LONGEST_SOCKET else None


def send(channel: socket.socket, message: Mapping[str, Any]) -> None:
    channel.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")


def receive(channel: socket.socket, before: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """One line as an object, read to its end and no further: what follows belongs to another reader.

    `before` is called before each piece, by those who have a limit for the whole.
    """
    line = bytearray()
    while not line.endswith(b"\n"):
        before()
        # Looked at before it is taken: the bytes behind the line are the conversation's, and nobody else could read
        # them.
        waiting = channel.recv(1 << 16, socket.MSG_PEEK)
        end = waiting.find(b"\n")
        part = channel.recv(end + 1 if end >= 0 else len(waiting))
        if not part or len(line) > _LARGEST_LINE:
            raise Unreachable("the connection was closed")
        line += part
    found = json.loads(line)
    if not isinstance(found, dict):
        raise Unreachable("the answer is no object")
    return found
