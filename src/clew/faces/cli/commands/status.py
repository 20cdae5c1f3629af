"""`clew status`: prints the workspace, its focus and the state of the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import describe_warnings, show_table
from clew.faces.cli.root import call, opened, settings_of

# The few facts a person looks for; --json prints all of them.
SHOWN = ("workspace", "checkout", "focus", "store", "index", "last_task_event", "last_doc_entry")


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False
) -> None:
    """Show the workspace, its checkout, what was written last and how the store is.

    Examples:

    - `clew status`
    - `clew --workspace acme/api status --json`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "status", {})
    if answer.ok and not as_json:
        result = answer.envelope["result"]
        show_table(("fact", "value"), facts({name: result.get(name) for name in SHOWN}))
        describe_warnings(answer.envelope["warnings"])
    else:
        raise typer.Exit(show_answer(answer, as_json))


def facts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """A nested result as rows of path and value; a list of objects is only counted."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from facts(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield name, f"{len(value)} items"
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value)) or "-"
    else:
        yield name, "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
