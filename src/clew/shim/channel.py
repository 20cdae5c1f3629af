"""A way to a server for one MCP conversation: the resident one, started when it is not there, or one of our own."""

from __future__ import annotations

import os
import socket
import sys
import threading

from clew.shim.address import connect, receive, send
from clew.shim.one_call import handshake
from clew.shim.place import KEPT, OUTDATED, Stuck, Unreachable, data_directory
from clew.shim.start import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Channel(Protocol):
        reads: frozenset[str]

        def send(self, data: bytes) -> None: ...
        def receive(self) -> bytes: ...
        def ask_alive(self) -> bool: ...
        def abort(self) -> None: ...
        def finish(self) -> None: ...
        def close(self) -> None: ...


_TO_ANSWER = 5.0
"""Seconds that a resident server has to answer a greeting; one that takes longer is stuck."""
_CHUNK = 1 << 16


class Alone(Exception):
    """The client wants, or needs, a private server."""


class ResidentChannel:
    def __init__(self, channel: socket.socket, reads: frozenset[str]) -> None:
        self._channel = channel
        self._sending = threading.Lock()
        self.reads = reads

    def send(self, data: bytes) -> None:
        with self._sending:
            self._channel.sendall(data)

    def ask_alive(self) -> bool:
        """Have the server say something. Never waits: one that is stuck takes nothing any more."""
        if self._sending.acquire(blocking=False):
            try:
                self._channel.send(b"!\n", getattr(socket, "MSG_DONTWAIT", 0))
            except OSError:
                pass
            finally:
                self._sending.release()
        return True

    def abort(self) -> None:
        """End the channel, which wakes its readers and writers."""
        try:
            self._channel.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def receive(self) -> bytes:
        try:
            return self._channel.recv(_CHUNK)
        except OSError:
            return b""

    def finish(self) -> None:
        try:
            self._channel.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._channel.close()


class ChildChannel:
    """A server in a child process, for a conversation that has begun and finds no resident server any more."""

    def __init__(self, words: list[str], kept: Mapping[str, Any]) -> None:
        import json
        import subprocess

        command = [sys.executable, "-P", "-m", "clew", "serve", "--no-resident", *words]
        environ = {**os.environ, KEPT: json.dumps(kept)}
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environ)
        self.reads: frozenset[str] = frozenset()

    def send(self, data: bytes) -> None:
        assert self._child.stdin is not None
        while data:
            data = data[self._child.stdin.write(data) or 0 :]

    def receive(self) -> bytes:
        assert self._child.stdout is not None
        return self._child.stdout.read(_CHUNK) or b""

    def ask_alive(self) -> bool:
        """Our own child: there is no other server to go on with."""
        return False

    def abort(self) -> None:
        self._child.kill()

    def finish(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()

    def close(self) -> None:
        self.finish()
        self._child.wait()


def open_channel(flags: Mapping[str, Any], kept: Mapping[str, Any]) -> ResidentChannel:
    """A channel to the resident server, started where none runs. Raises Alone or Unreachable."""
    directory = os.getcwd()
    said = {**handshake("mcp", flags, directory), "kept": dict(kept)}
    home = data_directory(os.environ, flags.get("home"), directory)
    try:
        return _shake_hands(home, said)
    except Stuck as problem:
        raise Alone("the resident server does not answer") from problem
    except Unreachable:
        # Only now: reading all settings imports half of Clew, and nearly always the server is there.
        home = _configured_home(flags)
    found: list[ResidentChannel] = []

    def reached() -> bool:
        try:
            found.append(_shake_hands(home, said))
        except Unreachable:
            return False
        return True

    start(home, reached)
    return found[0] if found else _shake_hands(home, said)


def _shake_hands(home: str, said: Mapping[str, Any]) -> ResidentChannel:
    channel, address = connect(home, _TO_ANSWER)
    try:
        send(channel, {**said, "secret": address["secret"]})
        answer = receive(channel)
        if answer.get("ok"):
            # The limit was for the greeting; a conversation may be silent for hours.
            channel.settimeout(None)
            if answer.get("said"):
                # The server has no standard error that a person sees; ours is in the client's log.
                sys.stderr.write(f"clew: {answer['said']}\n")
                sys.stderr.flush()
            return ResidentChannel(channel, frozenset(answer["reads"]))
    except TimeoutError as problem:
        channel.close()
        raise Stuck(str(problem)) from problem
    except (OSError, ValueError) as problem:
        channel.close()
        raise Unreachable(str(problem)) from problem
    channel.close()
    # The client's own settings name another data directory than its environment did. Only the server reads all of them.
    if "elsewhere" in answer and answer["elsewhere"] != home:
        return _shake_hands(answer["elsewhere"], said)
    if answer.get("declined") == OUTDATED:
        raise Unreachable("it gives way to newer code")
    raise Alone(answer.get("declined"))


def _configured_home(flags: Mapping[str, Any]) -> str:
    """According to all settings; reading them is cheap compared with starting a server."""
    from clew.errors import ClewError
    from clew.settings import load_settings

    try:
        settings = load_settings(flags)
    except ClewError as problem:
        raise Alone(problem.message) from problem
    if settings.alone:
        raise Alone("the settings ask for it")
    return os.path.realpath(settings.home)
