"""The person at the terminal: whether there is one, their name, and the calls that only they may make."""

from __future__ import annotations

import getpass
import os
import sys
from typing import TYPE_CHECKING, Any

import typer

from clew.errors import ClewError
from clew.ids import person_name
from clew.surroundings import clew_command

if TYPE_CHECKING:
    from clew.app import Clew
    from clew.faces.cli.asking import ShellReply
    from clew.registry.credentials import Scope
    from clew.registry.envelope import Answer
    from clew.settings import Settings

AGENT_SHELLS = ("CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "QWEN_CODE")
"""Variables that clients set in the shells of their agents."""


def why_nobody_here() -> str:
    """The reason why no person can be asked here; empty at a terminal."""
    shell = next((name for name in AGENT_SHELLS if os.environ.get(name)), "")
    if shell:
        return f"this is the shell of an agent ({shell} is set)"
    return "" if sys.stdin.isatty() else "there is no terminal to ask at"


def check_person_here(command: str) -> None:
    """Refuse if no person can be asked. An agent can fake a terminal: SECURITY.md describes the limits."""
    from clew.registry.people import RULE as PERSON_RULE

    why = why_nobody_here()
    if why:
        raise ClewError(
            "NOT_ALLOWED",
            f"this needs a person at a terminal, and {why}",
            f"The user runs it in a terminal of their own: {clew_command(command)}. Or on the page.",
            details={"rule": PERSON_RULE, "ends": None},
        )


def confirm(question: str, command: str, clew: Clew | None = None) -> None:
    """Ask the person at the terminal for confirmation of `command`; a person's own token replaces the confirmation."""
    if clew is not None and token_holder(clew):
        return
    check_person_here(command)
    typer.confirm(question, abort=True, err=True)


def token_holder(clew: Clew, scope: Scope = "approve") -> str:
    """The owner of the token in CLEW_PERSON_TOKEN; empty without one. An invalid one is refused."""
    from clew.registry.people import RULE as PERSON_RULE

    secret = clew.settings.person_token
    if not secret:
        return ""
    name = _known_to_server(clew) if not clew.dispatcher.keeps_store else _known_here(clew, secret, scope)
    if not name:
        raise ClewError(
            "NOT_ALLOWED",
            f"CLEW_PERSON_TOKEN is no valid token of a person with the scope {scope}",
            "Make one in a terminal: clew token create NAME --person --scope approve. Or unset the variable.",
            details={"rule": PERSON_RULE},
        )
    return name


def _known_here(clew: Clew, secret: str, scope: Scope) -> str:
    from clew.ids import is_person
    from clew.registry.credentials import token_of

    with clew.database.read() as tx:
        found = token_of(tx, secret, clew.dispatcher.clock())
    return found.name if found is not None and is_person(found.name) and scope in found.scopes else ""


def _known_to_server(clew: Clew) -> str:
    """The server checks the scopes of the call itself."""
    from clew.app import person_of_token

    return person_of_token(clew)


def person_here(settings: Settings) -> str:
    """The person at this terminal: CLEW_AGENT_ID if it is set, else the user of this machine."""
    from clew.registry.callers import AUTO

    chosen = settings.agent_id if settings.agent_id != AUTO else None
    return person_name(chosen or getpass.getuser())


def call_as_person(clew: Clew, name: str, arguments: dict[str, Any]) -> Answer:
    """Call an operation for the person at this terminal, who has confirmed it."""
    from clew.registry.connection import Connection

    person = token_holder(clew) or person_here(clew.settings)
    connection = Connection(
        toolset="full", agent_id=person, client="clew-cli", durable=False, local=True, person=person
    )
    return clew.dispatcher.call(name, arguments, connection)


def decided(clew: Clew, name: str, arguments: dict[str, Any], answer: ShellReply | Answer) -> ShellReply | Answer:
    """The response; if the call requires a person and there is one at the terminal, that of the person's own call."""
    from clew.faces.cli.words import command_for
    from clew.registry.catalogue import catalogue
    from clew.registry.people import RULE as PERSON_RULE

    error = answer.envelope["error"]
    if not error or error.get("details", {}).get("rule") != PERSON_RULE:
        return answer
    if token_holder(clew):
        return call_as_person(clew, name, arguments)
    if why_nobody_here():
        return answer
    schema = entry.input_schema if (entry := catalogue().find(name)) else {}
    line = command_for(name, arguments, schema)
    typer.confirm(f"This is for a person. Do it as {person_here(clew.settings)}: {line}?", abort=True, err=True)
    return call_as_person(clew, name, arguments)
