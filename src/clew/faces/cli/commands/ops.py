"""`clew ops`: finds operations by words, and shows one with its arguments."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.errors import ClewError
from clew.faces.cli.commands.call import complete_operation
from clew.faces.cli.output import say, show_json, show_table
from clew.faces.cli.words import command_for
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.discovery import described, search


def register(app: typer.Typer) -> None:
    app.command()(ops)


def ops(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Words, or the name of one operation; all when left out.", autocompletion=complete_operation
        ),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Show input schemas.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Find operations by words; an exact name shows that one in full.

    Examples:

    - `clew ops` lists everything
    - `clew ops merge branch`
    - `clew ops notes_commit --schema`
    """
    query = " ".join(words or [])
    exact = catalogue().find(query)
    found = [exact] if exact else search(query)
    if not found:
        raise ClewError("INVALID_INPUT", f"no operation matches {query!r}", "Run `clew ops` to see all of them.")
    if as_json:
        show_json({"query": query, "operations": [_row(entry, schema or exact is not None) for entry in found]})
    elif exact:
        _show_one(exact, schema)
    else:
        show_table(("operation", "tier", "kind", "summary"), [_cells(entry) for entry in found])
        for entry in found if schema else ():
            _show_one(entry, schema)


def _row(entry: OperationEntry, schema: bool) -> dict[str, object]:
    return {**described(entry, "schema" if schema else "summary"), "tier": entry.tier, "domain": entry.domain}


def _cells(entry: OperationEntry) -> tuple[str, str, str, str]:
    return entry.name, entry.tier, "read" if entry.read_only else "write", entry.summary


def _show_one(entry: OperationEntry, schema: bool) -> None:
    say(entry.name, "bold")
    say(f"  {entry.summary}")
    for line in entry.description.splitlines():
        say(f"  {line}".rstrip())
    kinds = ["reads" if entry.read_only else "writes", *(["destructive"] if entry.destructive else [])]
    say(f"  {', '.join(kinds)}; tier {entry.tier}; declared in {entry.module}")
    say(f"  {command_for(entry.name, entry.example, entry.input_schema)}", "cyan")
    if schema:
        show_json(entry.input_schema)
