"""`clew call`: any operation from the shell. `clew ops`: finds operations by words, and shows one with its arguments.

Other commands print their answers with it, and ask here for the confirmation by a person at a terminal where an agent
must not run them by itself.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from clew.errors import ClewError
from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import progress_line, say, show_json, show_table
from clew.faces.cli.person import decided
from clew.faces.cli.root import call, opened, settings_of
from clew.faces.cli.words import command_for, parse_arguments
from clew.registry.catalogue import OperationEntry, catalogue


def complete_operation(incomplete: str) -> list[tuple[str, str]]:
    return [(entry.name, entry.summary) for entry in catalogue().operations if entry.name.startswith(incomplete)]


def complete_argument(ctx: typer.Context, incomplete: str) -> list[str]:
    entry = catalogue().find(ctx.params.get("name") or "")
    names = entry.input_schema.get("properties", {}) if entry else {}
    return [f"{name}=" for name in names if name.startswith(incomplete)]


def call_command(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Operation, or one of its aliases.", autocompletion=complete_operation)],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="key=value, key:=JSON, '{...}', @file, or - for JSON on stdin.", autocompletion=complete_argument
        ),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Ask for the line format (fmt=lines).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope as JSON.")] = False,
) -> None:
    """Call an operation and print its result; its error goes to stderr with what to do next.

    A value is read as the operation's schema says: numbers, true/false, JSON lists and objects, else text.
    A key given twice makes a list where one is allowed.

    Examples:

    - `clew call status`
    - `clew call notes_commit content="Retries need jitter" title=Network`
    - `clew call branch_list limit=5 --json` prints the envelope
    - `clew call notes_commit --json '{"content": "from JSON"}'`
    - `echo '{"content": "from a pipe"}' | clew call notes_commit --json -`
    """
    entry = catalogue().find(name)
    # Standard input is read only for the argument `-`.
    given = parse_arguments(arguments or [], entry.input_schema if entry else {}, sys.stdin)
    if lines:
        given["fmt"] = "lines"
    with opened(settings_of(ctx)) as clew:
        with progress_line() as progress:
            answer = call(clew, name, given, progress)
        shown = decided(clew, name, given, answer)
    raise typer.Exit(show_answer(shown, as_json))


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
    from clew.registry.discovery import search  # `clew call` does not need it

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
    from clew.registry.discovery import described

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


COMMANDS = {"call": call_command, "ops": ops}
