"""`clew handoff`: prints a report in Markdown for the person or agent that takes over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import say, show_json
from clew.faces.cli.root import call, opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(handoff)


def handoff(
    ctx: typer.Context,
    target: Annotated[str | None, typer.Argument(help="Plan or task; default: the focus.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Print a handoff in Markdown: where the work stands, what is done, what remains, what may go wrong.

    Examples:

    - `clew handoff TASK-001`
    - `clew handoff > handoff.md`
    """
    named = {"target": target} if target else {}
    with opened(settings_of(ctx)) as clew:
        report = call(clew, "tasks_handoff", {**named, "max_chars": 1_000_000})
        if not report.ok:
            raise typer.Exit(show_answer(report, as_json))
        known = call(clew, "tasks_resume_pack", {**named, "read_only": True, "max_chars": 1_000_000})
    result = {**report.envelope["result"], "signals": known.envelope["result"].get("signals", {})}
    if as_json:
        show_json({name: result[name] for name in ("target", "handoff", "radar", "signals")})
        return
    for line in markdown(result):
        say(line)


def markdown(result: dict[str, Any]) -> Iterator[str]:
    target, radar, parts, signals = (result[name] for name in ("target", "radar", "handoff", "signals"))
    yield f"# {target['id']}: {plain(target['title'])}"
    yield ""
    yield f"Status {target['status']}, revision {target['revision']}. Now: {plain(radar['now'])}."
    if target.get("description"):
        yield from ("", *(f"> {line}".rstrip() for line in target["description"].splitlines()))
    yield from section("Done", parts["done"])
    yield from section("Remaining", parts["remaining"])
    yield from section("Risks", parts["risks"])
    yield from section("Blockers", radar["blockers"])
    yield from section("To verify", radar["verify"])
    yield from section("Next", radar["next"])
    yield from section("Decisions", map(named, signals.get("decisions", [])))
    yield from section("Evidence", map(named, signals.get("evidence", [])))


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A heading with its list; nothing when there is nothing to say."""
    listed = list(lines)
    if listed:
        yield from ("", f"## {title}", "", *(f"- {plain(line)}" for line in listed))


def named(item: dict[str, Any]) -> str:
    doubt = f" (suspect: {item['suspect']['because']})" if "suspect" in item else ""
    return f"{item['id']} {item['label']} [{item['status']}]{doubt}"


def plain(text: str) -> str:
    return " ".join(text.split())
