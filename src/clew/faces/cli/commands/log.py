"""`clew log` and `clew watch`: what happened in the workspace, and what happens now."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import say
from clew.faces.cli.root import call, opened, settings_of

PAGE = 500
WAIT_S = 1.0
DAY_MS = 86_400_000
QUIET = frozenset({"memory_file_written", "workspace_created", "branch_created"})
"""Events of storage, which say nothing about the work."""


def log(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most events.", min=1, max=PAGE)] = 30,
    by: Annotated[
        str | None, typer.Option(help="Only this author: @ines, ci, or a client for its connections.")
    ] = None,
    days: Annotated[int | None, typer.Option(help="Only the last so many days.", min=1)] = None,
    type: Annotated[list[str] | None, typer.Option(help="Only events of this type; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Show what happened in the workspace, the newest first.

    Examples:

    - `clew log -n 50`
    - `clew log --by @ines --days 7` is what Ines decided and wrote this week
    """
    asked: dict[str, Any] = {"limit": limit, "by": by, "types": type or None}
    with opened(settings_of(ctx)) as clew:
        if days is not None:
            asked["since_ms"] = clew.dispatcher.clock() - days * DAY_MS
        answer = call(clew, "events_list", {name: value for name, value in asked.items() if value is not None})
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    for event in answer.envelope["result"]["events"]:
        _show(event)


def watch(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
) -> None:
    """Print what happens in the workspace as it happens, until you press Ctrl-C.

    Example: `clew watch`
    """
    import orjson

    with opened(settings_of(ctx)) as clew:
        newest = call(clew, "events_list", {"limit": 1}).envelope["result"]["events"]
        after = newest[0]["seq"] if newest else 0
        for _ in clew.database.changes(WAIT_S):
            events = call(clew, "events_list", {"after": after, "limit": PAGE}).envelope["result"]["events"]
            for event in reversed(events):
                say(orjson.dumps(event).decode()) if as_json else _show(event)
            after = events[0]["seq"] if events else after


def _show(event: dict[str, Any]) -> None:
    if event["type"] in QUIET:
        return
    time = datetime.fromtimestamp(event["ts_ms"] / 1000).strftime("%Y-%m-%d %H:%M:%S")
    subject = " ".join(filter(None, (event.get("subject"), event.get("path"))))
    say(f"{time}  {event.get('agent') or '':<16}  {event['type'].replace('_', ' ')}  {subject}")


COMMANDS = {"log": log, "watch": watch}
