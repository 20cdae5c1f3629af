"""`clew start, think, remember, recall, retract, close, resume, open`: an agent's everyday tools, from the shell.

The names in the annotations are provided by their reader: Typer, or `clew.faces.cli.plain`, which loads neither
it nor the kinds.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

from clew.faces.cli.asking import answer_with, asking, show_answer
from clew.faces.cli.output import describe_warnings, has_colour, say, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

    from clew.kinds.catalogue import remembered_kinds


def start(
    ctx: typer.Context,
    title: Annotated[list[str], typer.Argument(help="What is to be done.")],
    step: Annotated[
        list[str] | None,
        typer.Option("--step", "-s", help="A step, such as 'parser; test: pytest'; repeatable."),
    ] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="Plan id or title.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Steps close only on runs that Clew saw.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Start a task with its steps; it becomes your focus.

    Examples:

    - `clew start Parse .env files -s "parser; test: pytest -q" -s docs`
    - `clew start Release 1.2 --plan Releases --strict`
    """
    answer_with(ctx, "start", {"title": " ".join(title), "steps": step, "plan": plan, "strict": strict}, as_json)


def think(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(help="The thought.")],
    kind: Annotated[str | None, typer.Option("--kind", "-k", help="hypothesis, evidence, conclusion, ...")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Session id; else a new session begins.")] = None,
    revises: Annotated[int | None, typer.Option("--revises", help="Number of the thought it replaces.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Record a thought in a session; name the session to go on in it.

    Examples:

    - `clew think -k hypothesis "The cache is stale after a write"`
    - `clew think "S1 holds: the log shows old rows" --session 1b4e28ba-2fa1-4d2a-8c56-0a1b2c3d4e5f`
    """
    answer_with(ctx, "think", {"text": " ".join(words), "kind": kind, "session": session, "revises": revises}, as_json)


def remember(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(help="What to keep, in a sentence or two.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            help=f"{', '.join(remembered_kinds())}, or another word for one of them.",
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
    answer_with(ctx, "remember", {**given, "about": about, "task": task, "review_by": review_by}, as_json)


def retract(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="Any id that open takes.")],
    why: Annotated[str, typer.Option("--why", help="The reason; shown with the record.")],
    replaced_by: Annotated[str | None, typer.Option("--replaced-by", help="Id of what holds instead.")] = None,
    also: Annotated[list[str] | None, typer.Option("--also", help="A further id; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Withdraw any record by its id. What it had replaced holds again; what rested on it is listed.

    Examples:

    - `clew retract CARD-1 --why "The measurement was wrong"`
    - `clew retract D-20260213-001 --why "We changed our mind" --replaced-by D-20261116-001`
    """
    given = {"id": id, "why": why, "replaced_by": replaced_by, "also": also}
    answer_with(ctx, "retract", given, as_json)


def undo(
    ctx: typer.Context,
    what: Annotated[
        str | None, typer.Argument(help="`list` for your last ten writes, or an event of one; default: the last.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Undo your last write, whatever it was; what somebody else changed since is never touched.

    Examples:

    - `clew undo`
    - `clew undo list`
    - `clew undo evt_0000000000000042`
    """
    answer_with(ctx, "undo", {"list": True} if what == "list" else {"event": what}, as_json)


def close(
    ctx: typer.Context,
    step: Annotated[str | None, typer.Argument(help="s:0 or STEP-...; default: your first open step.")] = None,
    proof: Annotated[str | None, typer.Option("--proof", help="Receipt id of clew prove, or what was run.")] = None,
    unproven: Annotated[str | None, typer.Option("--unproven", help="Why it closes without proof.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="What to know about it later.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="Default: the task you started or named last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Close a step. `clew prove -- COMMAND` gives the proof; without it the step closes as unproven and stays listed.

    Examples:

    - `clew close s:0`
    - `clew close s:1 --unproven "prose only, read by hand"`
    """
    answer_with(ctx, "close", {"step": step, "proof": proof, "unproven": unproven, "note": note, "task": task}, as_json)


def resume(
    ctx: typer.Context,
    task: Annotated[str | None, typer.Argument(help="Task; default: all open work.")] = None,
    max_chars: Annotated[int, typer.Option("--max-chars", help="Most characters.")] = 4000,
    everything: Annotated[bool, typer.Option("--all", help="Show every record in force.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show where the work stands in at most 4,000 characters. Changes nothing.

    Examples:

    - `clew resume`
    - `clew resume TASK-001 --max-chars 12000`
    """
    answer_with(ctx, "resume", {"task": task, "max_chars": max_chars, "all": everything}, as_json)


def open_record(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="Any id: D-12, TASK-001, CARD-3, a session, a receipt.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show any record by its id, with its links both ways, what replaced it and why. Changes nothing.

    Example: `clew open D-12`
    """
    # The toolset `agent` answers in lines, which people can read; `full` would answer in JSON.
    answer_with(ctx, "open", {"id": id}, as_json, "full" if as_json else "agent")


def recall(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="What to look for, in your own words.")] = None,
    about: Annotated[
        list[str] | None, typer.Option("--about", help="Only what concerns this file, folder or area.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most results, 1 to 100.")] = 10,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="blocks, cards, notes, thoughts, tasks, evidence, patterns; default: all."),
    ] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only this kind; may be repeated.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Also what was replaced or withdrawn.")] = False,
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
    - `clew recall --about src/importer.py`
    """
    # `explain` always, because it also carries the words that matched, which are marked in the excerpt.
    given: dict[str, Any] = {"limit": limit, "active_only": active, "explain": True}
    given |= {"query": " ".join(words)} if words else {}
    given |= {"about": about} if about else {}
    given |= {"kinds": kind} if kind else {}
    given |= {"history": True} if history else {}
    given |= {"sources": source or ["all"], **({"as_of": as_of} if as_of else {})}
    with asking(ctx) as asker:
        answer = asker.call("recall", given if not as_json else {**given, "explain": explain})
    if as_json or not answer.ok:
        raise SystemExit(show_answer(answer, as_json))
    _show(answer.envelope["result"], explain)
    describe_warnings(answer.envelope["warnings"])


def _show(result: dict[str, Any], explain: bool) -> None:
    if not result["results"]:
        say(result.get("message", "Nothing relevant is stored."))
        if result.get("nearest"):
            say(f"  nearest: {result['nearest']['_id']}  {result['nearest']['excerpt']}", "dim")
    if result.get("doubtful"):
        say("Nothing clearly answers this. The nearest:")
    for place, hit in enumerate(result["results"], 1):
        say(f"{place:2}. {hit['_id']}  {_provenance(hit)}", "bold")
        _show_excerpt(hit["excerpt"], hit.get("explain", {}).get("marks", []))
        for part in hit["explain"]["parts"] if explain else ():
            say(f"      {part['part']:+8.4f}  {part['feature']} = {part['value']} x {part['weight']}", "dim")


def _provenance(hit: dict[str, Any]) -> str:
    when = f"{hit['ts'][:10]} ({hit['age']})"
    parts = [
        hit["type"],
        hit.get("state") or hit["status"],
        when,
        hit.get("author") or hit["speaker"],
        f"score {hit['score']}",
    ]
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


COMMANDS: dict[str, Callable[..., None]] = {
    "start": start,
    "think": think,
    "remember": remember,
    "recall": recall,
    "retract": retract,
    "undo": undo,
    "close": close,
    "resume": resume,
    "open": open_record,
}
