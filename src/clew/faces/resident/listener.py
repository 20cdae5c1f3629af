"""The door of the resident server: where it listens, who is let in, and the settings that belong to a client.

It listens on a Unix socket that only its user can reach, else on a port of the loopback device. Settings are those of
the client: its flags, its environment, its directory and the files there. Nothing of them is the resident server's own,
which only shares the code and the opened stores between its clients.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from clew.errors import ClewError
from clew.faces.hooks.client_events import GUARDING
from clew.faces.hooks.service import HookQuestion, question_of
from clew.settings import Settings, load_settings
from clew.shim.address import peer_user, proof_of, socket_path
from clew.shim.place import ADDRESS, PROTOCOL, folder_of
from clew.surroundings import surrounded

OnConnect = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_BACKLOG = 256
_LONGEST = 1 << 22
"""Bytes of the longest greeting: an environment can have two million."""


class SocketListener:
    def __init__(self, home: str) -> None:
        self._folder = Path(folder_of(home, make=True))
        self.secret = secrets.token_hex(16)
        self._address = self._folder / ADDRESS
        self._made: list[Path] = []
        self._server: asyncio.Server | None = None

    async def open(self, on_connect: OnConnect, stamp: str) -> None:
        listener, where = self._bound()
        if "socket" in where:
            self._server = await asyncio.start_unix_server(on_connect, sock=listener, backlog=_BACKLOG, limit=_LONGEST)
        else:
            self._server = await asyncio.start_server(on_connect, sock=listener, backlog=_BACKLOG, limit=_LONGEST)
        self._publish({"protocol": PROTOCOL, "pid": os.getpid(), "stamp": stamp, "secret": self.secret, **where})

    def is_reachable(self) -> bool:
        """Whether clients can still find us: the data directory may have been deleted, or taken over."""
        with suppress(OSError, ValueError):
            return bool(json.loads(self._address.read_bytes())["secret"] == self.secret)
        return False

    def close(self) -> None:
        """Accept no more connections. The address is removed first, so that no client tries a closed socket."""
        if self.is_reachable():
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
        # Written to a draft and renamed: a client reads the whole address or the previous one, never half of it.
        draft = self._folder / f".{ADDRESS}.{os.getpid()}"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(address, file)
        draft.replace(self._address)

    async def handshake(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """The first line of a client of our own user. Over a port it first asks for a proof that we are we."""
        channel = writer.get_extra_info("socket")
        if channel.family == getattr(socket, "AF_UNIX", None):
            if peer_user(channel) not in (None, os.geteuid()):
                raise PermissionError("a client of another user")
            return await reader.readline()
        asked = json.loads(await reader.readline())
        writer.write(json.dumps({"proof": proof_of(self.secret, str(asked["nonce"]))}).encode() + b"\n")
        return await reader.readline()


Text = Annotated[str, Field(max_length=1 << 20)]


class ClientHello(BaseModel):
    """The first line that a client sends; `clew.shim.one_call` describes it."""

    clew: Literal[1]
    kind: Literal["mcp", "call", "hook"]
    secret: Text
    stamp: Text
    flags: dict[str, Any] = {}
    environ: dict[str, str] = {}
    directory: Text
    kept: dict[str, Any] = {}
    name: Text = ""
    arguments: dict[str, Any] = {}
    toolset: Text = "agent"
    client: Text = "clew-hook"
    local: bool = False
    witness: Literal["hook", "prove"] | None = None
    event: Text = ""
    hook_client: Text = ""
    payload: str = ""
    """The payload of a client's hook, unchanged."""
    until_ms: int | None = None

    def at(self, directory: str) -> ClientHello:
        """The same, from another directory."""
        return self.model_copy(update={"directory": directory})


class Declined(Exception):
    """The client must help itself; the answer says how."""

    def __init__(self, **answer: str) -> None:
        super().__init__(str(answer))
        self.answer = answer


@dataclass
class AdmittedClient:
    handshake: ClientHello
    settings: Settings
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        with surrounded(self.handshake.environ, Path(self.handshake.directory)):
            yield


def read_handshake(line: bytes, secret: str) -> ClientHello:
    try:
        handshake = ClientHello.model_validate_json(line)
    except ValidationError as problem:
        raise Declined(declined=f"the greeting is not one of protocol {PROTOCOL}") from problem
    if not hmac.compare_digest(handshake.secret.encode(), secret.encode()):
        raise Declined(declined="the secret is wrong")
    return handshake


def hook_question(handshake: ClientHello) -> HookQuestion | None:
    """What a hook asks; None for other kinds, and when there is nothing to ask."""
    if handshake.kind != "hook":
        return None
    asked = (handshake.event, handshake.hook_client, handshake.payload)
    return question_of(*asked, handshake.environ, handshake.directory)


def admit(handshake: ClientHello, home: str) -> AdmittedClient:
    """The client with its settings. Declined when it has to be served by itself or by another resident server."""
    directory = Path(handshake.directory)
    # Guards are a person's; a file in the project that an agent may have written neither moves them nor keeps us out.
    is_guarding = handshake.kind == "hook" and handshake.event == GUARDING
    try:
        with surrounded(handshake.environ, directory):
            settings = load_settings(handshake.flags, handshake.environ, directory, trusted_only=is_guarding)
    except (ClewError, OSError) as problem:
        raise Declined(declined=f"its settings: {problem}") from problem
    # A hook has no private process that could answer it.
    if settings.alone and handshake.kind != "hook":
        raise Declined(declined="its settings ask for a process of its own")
    # A `clew.toml` of the project, or a file of the user, may move the data directory.
    if (own := os.path.realpath(settings.home)) != home:
        raise Declined(elsewhere=own)
    return AdmittedClient(handshake, settings)
