"""`clew start, think, remember, retract, close, resume, open`: the everyday tools of an agent, from the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.commands.call import answer_with


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
    answer_with(ctx, "remember", {**given, "about": about, "task": task, "review_by": review_by}, as_json)


def retract(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="Any id that open takes.")],
    why: Annotated[str, typer.Option("--why", help="The reason; whoever meets the record is told.")],
    replaced_by: Annotated[str | None, typer.Option("--replaced-by", help="Id of what holds instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Take back any record by its id. Nothing is deleted; what rested on it is listed.

    Examples:

    - `clew retract CARD-1 --why "The measurement was wrong"`
    - `clew retract D-20260213-001 --why "We changed our mind" --replaced-by D-20261116-001`
    """
    answer_with(ctx, "retract", {"id": id, "why": why, "replaced_by": replaced_by}, as_json)


def close(
    ctx: typer.Context,
    step: Annotated[str | None, typer.Argument(help="s:1 or STEP-...; default: your first open step.")] = None,
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
    max_chars: Annotated[int, typer.Option("--max-chars", help="Most characters.")] = 2000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show where the work stands in at most 2,000 characters. Changes nothing.

    Examples:

    - `clew resume`
    - `clew resume TASK-001 --max-chars 4000`
    """
    answer_with(ctx, "resume", {"task": task, "max_chars": max_chars}, as_json)


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


COMMANDS = {
    "start": start,
    "think": think,
    "remember": remember,
    "retract": retract,
    "close": close,
    "resume": resume,
    "open": open_record,
}
