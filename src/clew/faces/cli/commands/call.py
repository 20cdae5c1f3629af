"""`clew call`: any operation from the shell."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from clew.faces.cli.main import Exit, exit_for
from clew.faces.cli.output import describe_error, describe_warnings, progress_line, say, show_json
from clew.faces.cli.root import call, opened, settings_of
from clew.faces.cli.words import parse_arguments
from clew.registry.catalogue import catalogue
from clew.registry.envelope import Answer


def register(app: typer.Typer) -> None:
    app.command("call")(call_command)


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
    given = parse_arguments(arguments or [], entry.input_schema if entry else {}, sys.stdin)
    if lines:
        given["fmt"] = "lines"
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        answer = call(clew, name, given, progress)
    raise typer.Exit(show_answer(answer, as_json))


def answer_with(ctx: typer.Context, name: str, given: dict[str, Any], as_json: bool, toolset: str = "full") -> None:
    """Call one operation with what was given, print its answer, and end with its exit code."""
    # An option that was not given is left out, so that the operation's own default holds.
    arguments = {key: value for key, value in given.items() if value not in (None, [], "")}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, name, arguments, toolset=toolset)
    raise typer.Exit(show_answer(answer, as_json))


def show_answer(answer: Answer, as_json: bool) -> Exit:
    """Print an answer and return its exit code."""
    error = answer.envelope["error"]
    if as_json:
        show_json(answer.envelope)
    elif error:
        describe_error(error, answer.envelope["suggestions"])
    else:
        _show_result(answer)
        # The line format already contains the warnings.
        describe_warnings([] if answer.lines else answer.envelope["warnings"])
    return exit_for(error["code"] if error else None)


def _show_result(answer: Answer) -> None:
    if answer.lines:
        say(answer.text)
    else:
        show_json(answer.envelope["result"])
