"""Operations reserved for people, over any transport.

Agents propose, people decide. A connection acts for a person only if this process has verified it: the person
signed in at the page with a one-time code, answered a question at a terminal, or gave a token of their own with the
scope `approve`. Nothing that a client sends over MCP makes it one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import ClewError, Suggestion
from clew.surroundings import clew_command

if TYPE_CHECKING:
    from clew.registry.context import Context

RULE = "person"
"""The rule that a refusal names in its details. A terminal that gets it asks the person, and calls again."""


def check_person(ctx: Context, what: str, command: str, *ways: Suggestion) -> None:
    """Refuse a call that does not come from a person; `command` is what a person runs instead."""
    if ctx.connection.person:
        return
    raise ClewError(
        "NOT_ALLOWED",
        f"{what} is for a person: agents propose, a person decides",
        f"Ask the user to do it in the page's Inbox{_address(ctx)}, or in a terminal: {clew_command(command)}",
        suggestions=ways,
        details={"rule": RULE, "ends": None},
    )


def _address(ctx: Context) -> str:
    return f" at {ctx.settings.public_url}/" if ctx.settings.public_url else ""
