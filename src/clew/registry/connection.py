"""The state that the server keeps per caller; and how a call waits without blocking the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

from clew.canonical import Json
from clew.errors import warning
from clew.registry.credentials import Principal


class InputRequest(NamedTuple):
    """A request to the client's model; `key` identifies it, so that a reply in a later round is matched to it."""

    key: str
    prompt: str
    system: str | None = None
    max_tokens: int = 1000
    models: tuple[str, ...] = ()
    intelligence: float | None = None
    cost: float | None = None
    with_context: bool = False
    """Whether the client should include its context of this server, if it can."""


class InputReply(NamedTuple):
    text: str
    model: str


class InputRequired(Exception):
    """Raised when the reply comes with the client's next call; `state` is returned as `Connection.resume`.

    What the operation wrote before it asked must be committed: the next round runs it from the start.
    """

    def __init__(self, request: InputRequest, state: str | None = None) -> None:
        super().__init__(request.key)
        self.request = request
        self.state = state


class InputFailed(Exception):
    """The client's model did not answer, or not with text; see the message."""


Sampler = Callable[[InputRequest, float], InputReply]
"""Sends a request to the client's model, with a timeout in seconds; raises InputFailed or InputRequired."""

Roots = Callable[[float], list[Json]]
"""Requests the client's roots, with a timeout in seconds: [{uri, name}]; raises InputFailed."""


@dataclass(frozen=True, slots=True)
class CallerPlace:
    """The project of a caller on another machine. This server has no access to its files."""

    root: str
    workspaces: tuple[str, ...] = ()
    """Other workspaces that were used from there, whose guards also apply there."""
    written: Mapping[str, list[str]] | None = None
    """The files that a command writes or deletes on that machine, by the words of the command."""


OBSERVATORY = "observatory"
"""The client name of the page."""


@dataclass
class Connection:
    """One connection with a handshake or over a pipe, or one stateless request over HTTP (then not durable)."""

    toolset: str = "daily"
    workspace_override: str | None = None
    known_workspace: str | None = None
    """The workspace of the last call, by a key that differs for the same name in another store."""
    agent_id: str | None = None
    handle: str | None = None
    client: str | None = None
    """The client name (`clientInfo.name`)."""
    number: int | None = None
    """The number of this connection among those of its client, from the store; None until it has written something."""
    durable: bool = True
    sampler: Sampler | None = None
    resume: str | None = None
    roots: Roots | None = None
    local: bool = False
    """The caller runs a command in this machine's shell, where it may use any path. Agents run shells too."""
    place: CallerPlace | None = None
    """Where the caller works, if that is another machine."""
    principal: Principal | None = None
    """What the token or login of the call proves; None on a local channel, which needs neither."""
    person: str = ""
    """The person (`@ines`) who makes this call and may approve; see `registry.people` for how this process verified
    it. Never set from client input, and never on an MCP connection."""
    witness: str | None = None
    """Which part of Clew ran a command itself (`prove`, `runner`). Set in this process only, never by a client."""
    noticed: bool = False
    """Whether a response has reported that the client's workspace does not exist."""
    numbering: Lock = field(default_factory=Lock, repr=False, compare=False)
    """Lock around the allocation of the connection number: of concurrent writing calls, one requests it."""
    notes: list[dict[str, str]] = field(default_factory=list)
    """Warnings about earlier calls, for the next response; background work adds them here."""
    returned: Json = field(default_factory=dict)
    """Data for the caller's machine in addition to the response, if `place` is another machine."""
    state: Json = field(default_factory=dict)
    """Per-connection state of a domain, under the domain's name."""

    def note(self, code: str, message: str, recovery: str) -> None:
        self.notes.append(warning(code, message, recovery))

    def take_notes(self) -> list[dict[str, str]]:
        taken, self.notes = self.notes, []
        return taken

    def kept(self) -> Json:
        """The state that the connection needs to continue on another server."""
        return {name: getattr(self, name) for name in _KEPT}

    def take_over(self, other: Connection) -> None:
        """Copy what a call under a copy of this connection changed."""
        for name in _KEPT:
            setattr(self, name, getattr(other, name))

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Restore what `kept` returned; unknown fields of another version are ignored."""
        for name, kind in _KEPT.items():
            if isinstance(value := kept.get(name), kind):
                setattr(self, name, value)

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Copy what a call on another server has changed, including a workspace override that it removed."""
        self.restore(kept)
        self.workspace_override = kept.get("workspace_override")


_KEPT: dict[str, type] = {"handle": str, "number": int, "workspace_override": str, "known_workspace": str}


class Host(NamedTuple):
    """Callbacks of the transport that runs a call; by default a call runs alone and is never stopped."""

    left: Callable[[], None] = lambda: None
    """The call begins to wait: its seat is free for another call."""
    stopping: Callable[[], bool] = lambda: False
    """The server is shutting down; waiting calls should stop."""


host: ContextVar[Host | None] = ContextVar("host", default=None)


@contextmanager
def outside() -> Iterator[Callable[[], bool]]:
    """Context manager around a wait for something outside of the store: a process, a client's model.

    A waiting call does no work, and must not block others: the transport that provided its thread may run another
    call meanwhile. Yields a function that returns whether the server is shutting down.
    """
    current = host.get() or Host()
    current.left()
    yield current.stopping
