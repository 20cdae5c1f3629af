"""`clew history`: earlier sessions of coding clients in this project, kept before the clients delete them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import progress_line, say, show_table
from clew.faces.cli.root import call, opened, settings_of

SHOWN_PROBLEMS = 5


def import_(
    ctx: typer.Context,
    client: Annotated[list[str] | None, typer.Option(help="Only this client; may be repeated.", metavar="NAME")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be read.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Read transcripts of Claude Code, Codex, Gemini CLI, Copilot CLI, opencode and Cursor into the store.

    A second run reads only what is new. Secrets are masked, private parts left out.

    Examples:

    - `clew history import --dry-run`
    - `clew history import --client claude_code`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as report:
        answer = call(clew, "history_import", {"clients": client or [], "dry_run": dry_run}, report)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    show_import(answer.envelope["result"])


def show_import(result: dict[str, Any]) -> None:
    if not result["clients"]:
        say("No transcripts of this project were found.")
        return
    rows = [_client_row(report, result["dry_run"]) for report in result["clients"]]
    show_table(("client", "sessions", "unread", "megabytes", "turns"), rows)
    for report in result["clients"]:
        for problem in report["problems"][:SHOWN_PROBLEMS]:
            say(f"not read: {problem}", "yellow")
    if result["dry_run"]:
        say("Nothing was read. `clew history import` or `clew backfill --apply` reads them.", "bold")


def _client_row(report: dict[str, Any], dry_run: bool) -> tuple[str, ...]:
    counts = (report["transcripts"], report["unread"], f"{report['bytes'] / 1e6:.1f}")
    return report["title"], *map(str, counts), "-" if dry_run else str(report["added"])


def search(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="Words, an error, or a file.", metavar="WORDS")] = None,
    about: Annotated[str | None, typer.Option(help="Only sessions that edited this file.", metavar="FILE")] = None,
    limit: Annotated[int, typer.Option(help="Most sessions.", min=1, max=50)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Find what earlier sessions said and did; without words, list the newest.

    Examples:

    - `clew history search lock timed out`
    - `clew history search --about src/relay/lease.py`
    """
    arguments = {"query": " ".join(words or []), "about": about, "limit": limit}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "history_search", {name: value for name, value in arguments.items() if value})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    for hit in result["hits"]:
        say(f"{_day(hit.get('ts_ms'))}  {hit['session']}  {hit.get('title', '')}", "bold")
        _show_turn(hit)
        if "then" in hit:
            say(f"  {hit['then']}", "green")
    sessions = result.get("sessions", ())
    show_table(("session", "ended", "turns", "title"), [_session_row(item) for item in sessions]) if sessions else None
    if not result["hits"] and not sessions:
        say("Nothing found. `clew history import` reads new transcripts.")


def show(
    ctx: typer.Context,
    session: Annotated[str, typer.Argument(help="The id that `clew history search` shows.", metavar="SESSION")],
    after: Annotated[int, typer.Option(help="The turn to go on behind.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="Most turns.", min=1, max=200)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show an earlier session turn by turn.

    Example: `clew history show claude_code:4d1f3a52-7a3f-4a33-9a8a-6f1d1f0a3c11`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "history_open", {"session": session, "after": after, "limit": limit})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(f"{result['session']}  {result['title']}", "bold")
    for turn in result["turns"]:
        _show_turn(turn)
    if result["next_after"] is not None:
        say(f"More: clew history show {session} --after {result['next_after']}", "dim")


def _show_turn(turn: dict[str, Any]) -> None:
    code = f" (exit {turn['exit_code']})" if "exit_code" in turn else ""
    say(f"  #{turn['turn']} {turn['kind']}{code}", "dim")
    for line in turn["text"].splitlines():
        say(f"    {line}")


def _session_row(session: dict[str, Any]) -> tuple[str, ...]:
    return session["session"], _day(session["ended_ms"]), str(session["turns"]), session["title"]


def _day(ts_ms: int | None) -> str:
    return datetime.fromtimestamp(ts_ms / 1000).strftime("%Y-%m-%d %H:%M") if ts_ms else ""


def register(app: typer.Typer) -> None:
    app.command("import")(import_)
    app.command()(search)
    app.command()(show)
    app.callback()(history)


def history() -> None:
    """Earlier sessions of coding clients in this project: read their transcripts, search them."""
