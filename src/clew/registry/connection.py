"""What the server remembers of one caller, and nothing more; and how a call waits without holding up the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clew.canonical import Json


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


OBSERVATORY = "observatory"
"""What the page calls itself as a client."""


@dataclass
class Connection:
    """One connection with a handshake, or one request of the stateless protocol (then not durable)."""

    toolset: str = "daily"
    workspace_override: str | None = None
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
    """The caller is a person at this machine's shell, who may name any path."""
    confirmed: bool = False
    """A person, at a terminal or logged in at the page, has agreed to this very call. Set in this process only, never
    by a client."""
    witness: str | None = None
    """Which part of Clew ran a command itself (`prove`, `runner`). Set in this process only, never by a client."""
    noticed: bool = False
    """Whether an answer has said that the client's workspace is not there."""
    state: Json = field(default_factory=dict)
    """What a domain keeps for as long as the connection lives, under the domain's name."""

    def kept(self) -> Json:
        """What the connection needs to go on as itself with another server."""
        return {name: getattr(self, name) for name in _KEPT}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take over what `kept` gave; fields of another version are left alone."""
        for name, kind in _KEPT.items():
            if isinstance(value := kept.get(name), kind):
                setattr(self, name, value)


_KEPT: dict[str, type] = {"handle": str, "number": int, "workspace_override": str}


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
