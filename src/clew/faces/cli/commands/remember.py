"""`clew remember`: keep something for every later session."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answered


def register(app: typer.Typer) -> None:
    app.command()(remember)


def remember(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(help="What to keep, in a sentence or two.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            help="rule, preference, decision, rejected, fact, lesson, question, evidence, ...",
        ),
    ] = "note",
    why: Annotated[str | None, typer.Option("--why", help="The reason.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="A short name.")] = None,
    replaces: Annotated[str | None, typer.Option("--replaces", help="Id of what it takes the place of.")] = None,
    about: Annotated[list[str] | None, typer.Option("--about", help="A file or area; may be repeated.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="The task that it belongs to.")] = None,
    review_by: Annotated[str | None, typer.Option("--review-by", help="A date by which to look again.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Keep a rule, decision, preference, lesson or anything else; recall finds it at once.

    Examples:

    - `clew remember -k decision "The file named last wins" --why "Shells do it so"`
    - `clew remember -k preference "Errors are one line, never a traceback"`
    """
    given = {"text": " ".join(words), "kind": kind, "why": why, "title": title, "replaces": replaces}
    answered(ctx, "remember", {**given, "about": about, "task": task, "review_by": review_by}, as_json)
