"""Where the resident server listens: a Unix socket that only its user can reach, else a port of the loopback device."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.shim.address import peer_user, proof_of, socket_path
from clew.shim.place import ADDRESS, PROTOCOL, folder_of

Visit = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_BACKLOG = 256
_GREETING = 1 << 22
"""Bytes of the longest greeting: an environment can have two million."""


class Door:
    def __init__(self, home: str) -> None:
        self._folder = Path(folder_of(home, make=True))
        self.secret = secrets.token_hex(16)
        self._address = self._folder / ADDRESS
        self._made: list[Path] = []
        self._server: asyncio.Server | None = None

    async def open(self, visit: Visit, stamp: str) -> None:
        listener, where = self._bound()
        if "socket" in where:
            self._server = await asyncio.start_unix_server(visit, sock=listener, backlog=_BACKLOG, limit=_GREETING)
        else:
            self._server = await asyncio.start_server(visit, sock=listener, backlog=_BACKLOG, limit=_GREETING)
        self._publish({"protocol": PROTOCOL, "pid": os.getpid(), "stamp": stamp, "secret": self.secret, **where})

    def stands(self) -> bool:
        """Whether clients can still find us: the data directory may have been deleted, or taken over."""
        with suppress(OSError, ValueError):
            return bool(json.loads(self._address.read_bytes())["secret"] == self.secret)
        return False

    def close(self) -> None:
        """Let nobody else in. The address goes first, so that nobody knocks at a closed door."""
        if self.stands():
            self._address.unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()
        for path in self._made:
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()

    def _bound(self) -> tuple[socket.socket, dict[str, Any]]:
        if hasattr(socket, "AF_UNIX"):
            with suppress(OSError):
                return self._bound_socket(socket_path(str(self._folder)))
            with suppress(OSError):  # the data directory's file system may hold no sockets
                return self._bound_socket(None)
        listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        return listener, {"port": listener.getsockname()[1]}

    def _bound_socket(self, path: str | None) -> tuple[socket.socket, dict[str, Any]]:
        if path is None:  # too long a name, or no place for it; mkdtemp makes a folder for us alone
            folder = Path(tempfile.mkdtemp(prefix="clew-"))
            self._made.append(folder)
            path = str(folder / "socket")
        self._made.insert(0, Path(path))
        Path(path).unlink(missing_ok=True)  # left by a server that was killed: we hold the lock
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        Path(path).chmod(0o600)
        return listener, {"socket": path}

    def _publish(self, address: dict[str, Any]) -> None:
        draft = self._folder / f".{ADDRESS}.{os.getpid()}"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(address, file)
        draft.replace(self._address)

    async def greeting(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """The first line of a client of our own user. Over a port it first asks for a proof that we are we."""
        channel = writer.get_extra_info("socket")
        if channel.family == getattr(socket, "AF_UNIX", None):
            if peer_user(channel) not in (None, os.geteuid()):
                raise PermissionError("a client of another user")
            return await reader.readline()
        asked = json.loads(await reader.readline())
        writer.write(json.dumps({"proof": proof_of(self.secret, str(asked["nonce"]))}).encode() + b"\n")
        return await reader.readline()
