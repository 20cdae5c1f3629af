"""`clew import`: reads data of Thoughtbox, BranchMind or an exported memory into the workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import describe_warnings, progress_line, say, show_table
from clew.faces.cli.root import call, opened, settings_of

SHOWN = 8


def register(app: typer.Typer) -> None:
    app.callback()(group)
    app.command("thoughtbox")(thoughtbox)
    app.command("branchmind")(branchmind)
    app.command("memory")(memory)


def group() -> None:
    """Read data of other programs into the workspace."""


def thoughtbox(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="Thoughtbox directory.", metavar="DIR")] = "~/.thoughtbox",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Import the sessions of a Thoughtbox directory; running it again adds only what is new.

    Examples:

    - `clew import thoughtbox`
    - `clew import thoughtbox ~/backup/dot-thoughtbox --dry-run`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        answer = call(clew, "import_thoughtbox", {"path": path, "dryRun": dry_run}, progress)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_table(REPORT, [report_row(report) for report in result["reports"]])
    say(
        f"{result['sessions']} sessions, {result['thoughts']} thoughts: {result['added']} added,"
        f" {result['already']} already there",
        "bold",
    )
    for memory in result["patterns"]:
        say(f"{memory['entities']} entities as patterns, {memory['dropped']} ghosts dropped")
    for place, lines in findings(result):
        say()
        say(place, "yellow")
        for line in lines:
            say(f"  {line}")
    describe_warnings(answer.envelope["warnings"])


def branchmind(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="Store or its directory.", metavar="PATH")] = ".agents/mcp/.branchmind",
    only: Annotated[str | None, typer.Option(help="Only this workspace.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which workspaces there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Import the workspaces of a BranchMind store, with all ids; each must be new here.

    Examples:

    - `clew import branchmind`
    - `clew import branchmind ~/backup/branchmind_rust.db --only acme-api`
    """
    arguments = {"path": path, "dry_run": dry_run, **({"only": only} if only else {})}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "import_branchmind", arguments)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    for report in answer.envelope["result"]["workspaces"]:
        counts = {name: value for name, value in report.items() if isinstance(value, int)}
        say(report["workspace"], "bold")
        say(f"  {', '.join(f'{value} {name}' for name, value in counts.items()) or 'not imported'}")
        if report.get("left_out"):
            left = ", ".join(f"{count} {name}" for name, count in report["left_out"].items())
            say(f"  not carried over: {left}", "yellow")
    describe_warnings(answer.envelope["warnings"])


REPORT = ("session", "thoughts", "added", "files", "place")


def report_row(report: dict[str, Any]) -> tuple[str, ...]:
    integrity = report["integrity"]
    state = "-" if integrity is None else "complete" if integrity["valid"] else "damaged"
    # The last part of the path repeats the session id of the first column.
    place = report["place"].removesuffix(f"/{report['sessionId']}")
    return report["sessionId"], str(report["thoughts"]), str(report.get("added", "")), state, place


def findings(result: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Problems grouped by place: what the import had to mend, and what the check of the files found."""
    by_place: dict[str, list[str]] = {report["place"]: [] for report in result["reports"]}
    rest: list[str] = []
    for problem in result["problems"]:
        place = next((place for place in by_place if problem.startswith(f"{place}: ")), None)
        if place is None:
            rest.append(problem)
        else:
            by_place[place].append(problem.removeprefix(f"{place}: "))
    for report in result["reports"]:
        lines = [*by_place[report["place"]], *_file_problems(report["integrity"] or {})]
        if lines:
            yield report["place"], lines
    if rest:
        yield result["path"], rest
    hidden = result["problemCount"] - len(result["problems"])
    if hidden > 0:
        yield "and more", [f"{hidden} further problems"]


def _file_problems(integrity: dict[str, Any]) -> Iterator[str]:
    if missing := integrity.get("missingThoughtFiles"):
        yield f"missing: {_named(missing)}"
    for branch, names in integrity.get("missingBranchFiles", {}).items():
        yield f"missing in branch {branch}: {_named(names)}"
    if unlisted := integrity.get("unlistedFiles"):
        yield f"in no manifest, read all the same: {_named(unlisted)}"


def _named(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def memory(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="File that clew export memory wrote.", metavar="FILE")],
    force: Annotated[bool, typer.Option("--force", help="Replace blocks that read differently now.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Add the blocks of an exported memory. What is there stays, unless forced; what was rejected stays rejected.

    Examples:

    - `clew import memory ~/backup/memory.tar.gz --dry-run`
    - `clew import memory ~/backup/memory.tar.gz`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "import_memory", {"path": path, "force": force, "dry_run": dry_run})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(", ".join(f"{result[name]} {name}" for name in ("added", "replaced", "same", "conflicts", "rejected")))
    for item in result["skipped"]:
        say(f"  {item['block_id']}: {item['why']}", "yellow")
    describe_warnings(answer.envelope["warnings"])
