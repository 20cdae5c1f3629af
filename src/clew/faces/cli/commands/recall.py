"""`clew recall`: searches memory and prints the hits for a terminal."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import describe_warnings, has_colour, say, visible
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(recall)


def recall(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(help="What to look for, in your own words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most results, 1 to 100.")] = 10,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="blocks, cards, notes, thoughts, tasks, evidence, patterns; default: all."),
    ] = None,
    active: Annotated[bool, typer.Option("--active", help="Only what still holds.")] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Search the state at a seq, a date or a time.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Find what is known, best first, with the words that matched marked.

    Examples:

    - `clew recall why did we choose SQLite`
    - `clew recall "retry policy" --source cards --explain`
    - `clew recall backups --as-of 2026-05-01 --json`
    """
    # `explain` always, because it also carries the words that matched, which are marked in the excerpt.
    given: dict[str, Any] = {"query": " ".join(words), "limit": limit, "active_only": active, "explain": True}
    given |= {"sources": source or ["all"], **({"as_of": as_of} if as_of else {})}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "recall", given if not as_json else {**given, "explain": explain})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    _show(answer.envelope["result"], explain)
    describe_warnings(answer.envelope["warnings"])


def _show(result: dict[str, Any], explain: bool) -> None:
    if not result["results"]:
        say(result.get("message", "Nothing relevant is stored."))
        if result.get("nearest"):
            say(f"  nearest: {result['nearest']['_id']}  {result['nearest']['excerpt']}", "dim")
    for place, hit in enumerate(result["results"], 1):
        say(f"{place:2}. {hit['_id']}  {_provenance(hit)}", "bold")
        _show_excerpt(hit["excerpt"], hit.get("explain", {}).get("marks", []))
        for part in hit["explain"]["parts"] if explain else ():
            say(f"      {part['part']:+8.4f}  {part['feature']} = {part['value']} x {part['weight']}", "dim")


def _provenance(hit: dict[str, Any]) -> str:
    when = f"{hit['ts'][:10]} ({hit['age']})"
    parts = [hit["type"], hit["status"], when, hit.get("author") or hit["speaker"], f"score {hit['score']}"]
    place = f"{hit['file']}:{hit['line']}" if hit["file"] else hit.get("doc", "")
    overdue = "review overdue" if hit.get("review_due") else ""
    same = f"{hit['same']['count']} more like it" if "same" in hit else ""
    return " · ".join(part for part in [*parts, place, overdue, same] if part)


def _show_excerpt(text: str, marks: list[str]) -> None:
    """Print the excerpt with the matching words in bold; a pipe gets it without marks."""
    if not has_colour(sys.stdout):
        say(f"    {text}")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    line = Text(visible(text))
    for word in marks:
        line.highlight_regex(rf"(?<!\w){re.escape(word)}(?!\w)", "bold yellow")
    Console().print(Padding(line, (0, 0, 0, 4)))
