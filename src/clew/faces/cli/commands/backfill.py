"""`clew backfill`: what the project knows already, as proposals."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.errors import ClewError
from clew.faces.cli.asking import show_answer
from clew.faces.cli.commands.history import show_import
from clew.faces.cli.output import complain, progress_line, say, show_table
from clew.faces.cli.root import call, opened, settings_of
from clew.registry.envelope import Answer
from clew.settings import Settings, load_settings, project_root

COLUMNS = ("source", "files", "candidates", "proposed", "known", "rejected")
PREVIEWED = 12
MALFORMED = 5


def register(app: typer.Typer) -> None:
    app.command()(backfill)


def backfill(
    ctx: typer.Context,
    source: Annotated[list[str] | None, typer.Option(help="Only this source; may be repeated.", metavar="NAME")] = None,
    limit: Annotated[int, typer.Option(help="Most candidates of each source.", min=1, max=1000)] = 50,
    apply: Annotated[bool, typer.Option("--apply", help="Propose them; without it nothing is written.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Every project in which a client had a session.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Read instruction files, decision records, git history and other tools' memories of this project.

    Each candidate becomes a proposal that waits for you in the Inbox; a second run proposes nothing twice. Unless a
    source is named, the transcripts of coding clients are read too, so that earlier sessions can be searched.

    Examples:

    - `clew backfill` shows what would be proposed and read
    - `clew backfill --source instructions --apply`
    - `clew backfill --all --apply`
    """
    arguments = {"sources": source or [], "limit": limit, "dry_run": not apply}
    if every:
        _backfill_every_project(ctx, arguments)
        return
    answer, sessions = run_backfill(settings_of(ctx), arguments)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    show_backfill(answer, sessions)


def run_backfill(settings: Settings, arguments: dict[str, Any]) -> tuple[Answer, Answer | None]:
    """What the project knows, and unless a source is named, the sessions that were had in it."""
    with opened(settings) as clew, progress_line() as report:
        answer = call(clew, "backfill", arguments, report)
        if arguments["sources"] or not answer.ok:
            return answer, None
        return answer, call(clew, "history_import", {"dry_run": arguments["dry_run"]}, report)


def show_backfill(answer: Answer, sessions: Answer | None) -> None:
    _show(answer.envelope["result"])
    if sessions is not None and sessions.ok and sessions.envelope["result"]["clients"]:
        say("")
        show_import(sessions.envelope["result"])


def _backfill_every_project(ctx: typer.Context, arguments: dict[str, Any]) -> None:
    from clew.app import directories_of_sessions

    roots = list(dict.fromkeys(project_root(folder) for folder in directories_of_sessions()))
    if not roots:
        say("No client of this machine had a session in a project that is still there.")
    for root in roots:
        say(f"\n{root}", "bold")
        try:
            answer, sessions = run_backfill(load_settings(ctx.obj or {}, cwd=root), arguments)
        except ClewError as problem:
            complain(f"left out: {problem.message}", "yellow")
            continue
        if answer.ok:
            show_backfill(answer, sessions)
        else:
            complain(f"left out: {answer.envelope['error']['message']}", "yellow")


def _show(result: dict[str, Any]) -> None:
    if not result["sources"]:
        say("Nothing to read was found in this project.")
        return
    show_table(COLUMNS, [_row(report, result["dry_run"]) for report in result["sources"]])
    for report in result["sources"]:
        _show_problems(report)
    if result["dry_run"]:
        _show_preview(result["preview"])
        say("Nothing was written. `clew backfill --apply` proposes them; you approve each.", "bold")
    else:
        say("What was proposed waits for you: `clew inbox`, or the Inbox of the page.", "bold")


def _row(report: dict[str, Any], dry_run: bool) -> tuple[str, ...]:
    outcomes = ("proposed", "known", "rejected")
    more = f" (+{report['left_out']})" if report["left_out"] else ""
    counts = ["-" if dry_run else str(report[name]) for name in outcomes]
    return report["title"], str(len(report["files"])), f"{report['candidates']}{more}", *counts


def _show_problems(report: dict[str, Any]) -> None:
    for problem in report["malformed"][:MALFORMED]:
        say(f"not read: {problem}", "yellow")
    if len(report["malformed"]) > MALFORMED:
        say(f"and {len(report['malformed']) - MALFORMED} more", "yellow")


def _show_preview(candidates: list[dict[str, Any]]) -> None:
    for candidate in candidates[:PREVIEWED]:
        say(f"{candidate['kind']:<10} {candidate['text']}")
        say(f"{'':<10} {candidate['origin']}", "dim")
    if len(candidates) > PREVIEWED:
        say(f"and {len(candidates) - PREVIEWED} more (--json shows up to 100)", "dim")
