"""What the server remembers of one caller, and nothing more; and how a call waits without holding up the others."""

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
    """A question to the client's model; `key` names it, so that a reply in a later round finds it again."""

    key: str
    prompt: str
    system: str | None = None
    max_tokens: int = 1000
    models: tuple[str, ...] = ()
    intelligence: float | None = None
    cost: float | None = None
    with_context: bool = False
    """Whether the client should add what it knows of this server, if it can."""


class InputReply(NamedTuple):
    text: str
    model: str


class InputRequired(Exception):
    """The reply comes with the client's next call; `state` comes back with it, as `Connection.resume`.

    What the operation wrote before it asked must be committed: the next round starts it again.
    """

    def __init__(self, request: InputRequest, state: str | None = None) -> None:
        super().__init__(request.key)
        self.request = request
        self.state = state


class InputFailed(Exception):
    """The client's model did not answer, or not with text; the message says why."""


Sampler = Callable[[InputRequest, float], InputReply]
"""Asks the client's model, waiting at most so many seconds; raises InputFailed or InputRequired."""

Roots = Callable[[float], list[Json]]
"""Asks the client for its roots, waiting at most so many seconds: [{uri, name}]; raises InputFailed."""


@dataclass(frozen=True, slots=True)
class CallerPlace:
    """The project of a caller on another machine. This server has none of its files."""

    root: str
    workspaces: tuple[str, ...] = ()
    """Other workspaces that were used from there, whose guards hold there too."""
    written: Mapping[str, list[str]] | None = None
    """What the words of a command stand for on that machine: the files that it writes or deletes."""


OBSERVATORY = "observatory"
"""What the page calls itself as a client."""


@dataclass
class Connection:
    """One connection with a handshake or over a pipe, or one stateless request over HTTP (then not durable)."""

    toolset: str = "daily"
    workspace_override: str | None = None
    known_workspace: str | None = None
    """The workspace of the last call, by what tells it from one of the same name in another store."""
    agent_id: str | None = None
    handle: str | None = None
    client: str | None = None
    """What the client calls itself (`clientInfo.name`)."""
    number: int | None = None
    """Which connection of that client this is, counted by the store; None until it has written something."""
    durable: bool = True
    sampler: Sampler | None = None
    resume: str | None = None
    roots: Roots | None = None
    local: bool = False
    """The caller runs a command in this machine's shell, where it may name any path. Agents run shells too."""
    place: CallerPlace | None = None
    """Where the caller works, when that is another machine."""
    principal: Principal | None = None
    """What the token or login of the call proves; None on a channel of this machine, which needs neither."""
    person: str = ""
    """The person (`@ines`) who makes this call and may decide what waits for one; `registry.people` says how this
    process made sure of it. Never set from what a client sends, and never on a connection of MCP."""
    witness: str | None = None
    """Which part of Clew ran a command itself (`prove`, `runner`). Set in this process only, never by a client."""
    noticed: bool = False
    """Whether an answer has said that the client's workspace is not there."""
    numbering: Lock = field(default_factory=Lock, repr=False, compare=False)
    """Held while the connection gets its number: of calls that write at the same time, one asks for it."""
    notes: list[dict[str, str]] = field(default_factory=list)
    """Warnings about earlier calls, for the next answer; work behind the calls leaves them here."""
    returned: Json = field(default_factory=dict)
    """What a call gives to the caller's machine beside its answer, where `place` says that it is another one."""
    state: Json = field(default_factory=dict)
    """What a domain keeps for as long as the connection lives, under the domain's name."""

    def note(self, code: str, message: str, recovery: str) -> None:
        self.notes.append(warning(code, message, recovery))

    def take_notes(self) -> list[dict[str, str]]:
        taken, self.notes = self.notes, []
        return taken

    def kept(self) -> Json:
        """What the connection needs to go on as itself with another server."""
        return {name: getattr(self, name) for name in _KEPT}

    def take_over(self, other: Connection) -> None:
        """What a call under a copy of this connection changed."""
        for name in _KEPT:
            setattr(self, name, getattr(other, name))

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what `kept` gave; fields of another version are left alone."""
        for name, kind in _KEPT.items():
            if isinstance(value := kept.get(name), kind):
                setattr(self, name, value)

    def go_on(self, kept: Mapping[str, Any]) -> None:
        """Take over what a call on another server has changed; also that it went back to where it began."""
        self.restore(kept)
        self.workspace_override = kept.get("workspace_override")


_KEPT: dict[str, type] = {"handle": str, "number": int, "workspace_override": str, "known_workspace": str}


class Host(NamedTuple):
    """What the face that runs a call offers to it; by itself a call runs alone and is never stopped."""

    left: Callable[[], None] = lambda: None
    """The call begins to wait: its place is free for another."""
    stopping: Callable[[], bool] = lambda: False
    """The server is about to end; whoever waits should stop."""


host: ContextVar[Host | None] = ContextVar("host", default=None)


@contextmanager
def outside() -> Iterator[Callable[[], bool]]:
    """Around a wait for something outside of the store: a process, a client's model.

    A call that waits does no work, and must not keep others from theirs: the face that lent it a thread may run another
    call meanwhile. Yields a function that says whether the server is about to end.
    """
    current = host.get() or Host()
    current.left()
    yield current.stopping
