"""Who stands at the door: the greeting of a client, checked, and the settings that belong to it.

Settings are those of the client: its flags, its environment, its directory and the files there. Nothing of them is
the resident server's own, which only shares the code and the opened stores between its clients.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from clew.errors import ClewError
from clew.faces.hooks.answer import HookQuestion, question_of
from clew.settings import Settings, load_settings
from clew.shim.place import PROTOCOL
from clew.surroundings import surrounded

Text = Annotated[str, Field(max_length=1 << 20)]


class Greeting(BaseModel):
    """The first line that a client sends; `clew.shim.call` describes it."""

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
    witness: Literal["hook"] | None = None
    event: Text = ""
    hook_client: Text = ""
    payload: str = ""
    """What a client told its hook, as it came."""
    until_ms: int | None = None

    def at(self, directory: str) -> Greeting:
        """The same, from another directory."""
        return self.model_copy(update={"directory": directory})


class Declined(Exception):
    """The client must help itself; the answer says how."""

    def __init__(self, **answer: str) -> None:
        super().__init__(str(answer))
        self.answer = answer


@dataclass
class Visitor:
    greeting: Greeting
    settings: Settings
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        with surrounded(self.greeting.environ, Path(self.greeting.directory)):
            yield


def read_greeting(line: bytes, secret: str) -> Greeting:
    try:
        greeting = Greeting.model_validate_json(line)
    except ValidationError as problem:
        raise Declined(declined=f"the greeting is not one of protocol {PROTOCOL}") from problem
    if not hmac.compare_digest(greeting.secret.encode(), secret.encode()):
        raise Declined(declined="the secret is wrong")
    return greeting


def hook_question(greeting: Greeting) -> HookQuestion | None:
    """What a hook asks; None for other kinds, and when there is nothing to ask."""
    if greeting.kind != "hook":
        return None
    return question_of(greeting.event, greeting.hook_client, greeting.payload, greeting.environ, greeting.directory)


def admit(greeting: Greeting, home: str) -> Visitor:
    """The client with its settings. Declined when it has to be served by itself or by another resident server."""
    directory = Path(greeting.directory)
    try:
        with surrounded(greeting.environ, directory):
            settings = load_settings(greeting.flags, greeting.environ, directory)
    except (ClewError, OSError) as problem:
        raise Declined(declined=f"its settings: {problem}") from problem
    if settings.alone:
        raise Declined(declined="its settings ask for a process of its own")
    if (own := os.path.realpath(settings.home)) != home:
        raise Declined(elsewhere=own)
    return Visitor(greeting, settings)
