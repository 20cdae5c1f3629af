"""Settings and Clew itself for a command, with the options given before its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from clew.app import Clew, open_clew
from clew.registry.context import Progress
from clew.registry.envelope import Answer
from clew.registry.session import Session
from clew.settings import Settings, load_settings


def settings_of(ctx: typer.Context, **flags: Any) -> Settings:
    return load_settings({**(ctx.obj or {}), **{name: value for name, value in flags.items() if value is not None}})


@contextmanager
def opened(settings: Settings) -> Iterator[Clew]:
    clew = open_clew(settings)
    try:
        yield clew
    finally:
        clew.close()


def call(clew: Clew, name: str, arguments: dict[str, Any], progress: Progress | None = None) -> Answer:
    """One call by a process that will not be there for the next one, so its session keeps nothing.

    A shell has no tool list to keep short: every operation counts as listed, and suggestions may name any.
    """
    session = Session(toolset="full", agent_id=clew.settings.agent_id, client="clew-cli", durable=False, local=True)
    return clew.dispatcher.call(name, arguments, session, progress)
