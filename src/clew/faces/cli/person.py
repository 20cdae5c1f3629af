"""Confirmation by a person at a terminal, for the commands that an agent must not run by itself."""

from __future__ import annotations

import sys
from typing import Any

import typer

from clew.app import Clew
from clew.errors import ClewError
from clew.registry.connection import Connection
from clew.registry.envelope import Answer


def confirm(question: str) -> None:
    """Ask the person at the terminal. Agents run commands without a terminal, so they cannot confirm."""
    if not sys.stdin.isatty():
        raise ClewError("NOT_ALLOWED", "this needs a person at a terminal", "Run it yourself, in a terminal.")
    typer.confirm(question, abort=True, err=True)


def call_as_person(clew: Clew, name: str, arguments: dict[str, Any], confirmed: bool = True) -> Answer:
    """Call an operation from this terminal; `confirmed` means that the person was asked and said yes."""
    connection = Connection(
        toolset="full",
        agent_id=clew.settings.agent_id,
        client="clew-cli",
        durable=False,
        local=True,
        confirmed=confirmed,
    )
    return clew.dispatcher.call(name, arguments, connection)
