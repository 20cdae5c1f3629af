"""`clew backup` and `clew restore`: a copy of the store while it is in use, and the way back to it. `clew import`:
reads data of Thoughtbox, BranchMind or an exported memory into the workspace. `clew export`: writes thought sessions or
governed memory as files that other programs read. `clew capture`: turns daily logs and agent transcripts into signals;
a client's stop hook may call it too.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.faces.cli.asking import answer_with, show_answer
from clew.faces.cli.commands.session import complete_id
from clew.faces.cli.commands.sync import show_exchange
from clew.faces.cli.output import describe_warnings, progress_line, progress_lines, say, show_json, show_table
from clew.faces.cli.person import decided
from clew.faces.cli.root import call, opened, settings_of

_RECORD = re.compile(r"[A-Za-z]{1,5}[-:][^/\\.]+( s:[\d.s:]+)?")
"""An id of a record, which is never the name of a backup."""


def backup(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="File to write; it must not exist.", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the file and its size as JSON.")] = False,
) -> None:
    """Copy the whole store, every workspace, into one file while servers and agents go on.

    The copy is one moment of the store, checked and synced before it gets its name; memory files are read in before.
    A backup of either engine can be restored into either.

    Example: `clew backup ~/backup/clew-monday.db`
    """
    from clew.app import back_up

    with opened(settings_of(ctx)) as clew:
        size = back_up(clew, path.expanduser().absolute())
    if as_json:
        show_json({"path": str(path), "bytes": size})
    else:
        say(f"{size} bytes in {path}")


def restore(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file that `clew backup` wrote, or the id of a record.")],
    why: Annotated[str | None, typer.Option("--why", help="Of a record: why it holds again.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Bring back a record that was withdrawn or replaced; or replace the whole store by a backup.

    A backup replaces everything, memory files too, also for servers that run; the present state is kept.

    Examples:

    - `clew restore D-2 --why "we were right"`
    - `clew restore ~/backup/clew-monday.db`
    """
    if _RECORD.fullmatch(str(path)) and not path.exists():
        answer_with(ctx, "restore", {"id": str(path), "why": why}, as_json)
        return
    from clew.app import restore as restore_store

    with opened(settings_of(ctx)) as clew:
        kept, folders = restore_store(clew, path.expanduser().absolute())
    if as_json:
        show_json({"path": str(path), "kept": str(kept), "files": [str(folder) for folder in folders]})
        return
    say(f"restored from {path}; what was there before is in {kept}")
    for folder in folders:
        say(f"memory files as they were: {folder}")


def migrate(
    ctx: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Bring the schema up to date.")] = False,
    row_security: Annotated[
        bool | None,
        typer.Option("--row-security/--no-row-security", help="Let PostgreSQL itself keep workspaces apart."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the versions as JSON.")] = False,
) -> None:
    """Say whether the store's schema is the newest, and bring it up to date with --apply.

    Needed where `auto_migrate` is off, as for servers whose role may not change tables. Exit code 1: not the newest.
    With --row-security the tables' owner lets PostgreSQL refuse every other role what it did not name the workspace of.

    Example: `clew migrate --apply`
    """
    from clew.app import fence_workspaces, schema_versions

    if row_security is not None:
        tables = fence_workspaces(settings_of(ctx), row_security)
        say(f"row-level security is on for {len(tables)} tables" if tables else "row-level security is off")
        return
    found, newest = schema_versions(settings_of(ctx), apply)
    if as_json:
        show_json({"schema": found, "newest": newest})
    elif found == newest:
        say(f"schema {found} is the newest")
    else:
        say(f"schema {found}, the newest is {newest}: run `clew migrate --apply`", "yellow")
    raise typer.Exit(0 if found == newest else 1)


def migrate_store(
    ctx: typer.Context,
    target: Annotated[str, typer.Argument(help="A postgresql:// URL, or a data directory.", metavar="TARGET")],
    as_json: Annotated[bool, typer.Option("--json", help="Print rows and digest of each table.")] = False,
) -> None:
    """Copy the whole store from SQLite to PostgreSQL or back; the target must be empty, the source stays as it is.

    It is one transaction: all of it is there and reads the same on both sides, table by table, or nothing is.
    Stop servers first: what they write meanwhile is not in the copy.

    Examples:

    - `clew migrate-store postgresql://clew@db.example.com/clew`
    - `CLEW_DATABASE_URL=postgresql://clew@db.example.com/clew clew migrate-store ~/clew-copy`
    """
    from clew.app import migrate_store

    settings = settings_of(ctx)
    with progress_lines() as report:
        copied = migrate_store(settings, target, report)
    if as_json:
        show_json({"tables": {table.name: {"rows": table.rows, "digest": table.digest} for table in copied}})
        return
    say(f"{sum(table.rows for table in copied)} rows in {len(copied)} tables copied; every digest agrees", "bold")
    setting = "CLEW_DATABASE_URL" if "://" in target else "CLEW_HOME"
    say(f"To use the copy, set {setting} to it and start your servers again.")


def vacuum(
    ctx: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; else only say what would be done.")] = False,
    older_than: Annotated[
        int | None, typer.Option("--older-than", help="Also drop old logs: older than this many days.", metavar="DAYS")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Only these logs: task log, notebook runs, agent sessions, use."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Say what the store holds, in bytes by kind; with --apply compact it, and drop old logs where an age is given.

    Records, events, receipts and transcripts stay whatever their age.

    Examples:

    - `clew vacuum`
    - `clew vacuum --older-than 90 --kind "agent sessions"` says what would go
    - `clew vacuum --older-than 365 --apply`
    """
    given = {"older_than_days": older_than, "kinds": kind or [], "dry_run": not apply}
    answer_with(ctx, "vacuum", given, as_json)


SHOWN = 8


def import_() -> None:
    """Read data of other programs into the workspace."""


def import_thoughtbox(
    ctx: typer.Context,
    path: Annotated[
        str, typer.Argument(help="Thoughtbox directory.", metavar="DIR", envvar="THOUGHTBOX_DATA_DIR")
    ] = "~/.thoughtbox",
    project: Annotated[
        str, typer.Option(help="Only this project directory, '*' for all; default: THOUGHTBOX_PROJECT, else all.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be imported.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Import the sessions of a Thoughtbox directory; running it again adds only what is new.

    Examples:

    - `clew import thoughtbox`
    - `clew import thoughtbox ~/backup/dot-thoughtbox --dry-run`
    - `clew import thoughtbox --project acme`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        arguments = {"path": path, "dryRun": dry_run, "project": project or None}
        answer = call(clew, "import_thoughtbox", arguments, progress)
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


def import_branchmind(
    ctx: typer.Context,
    path: Annotated[
        str | None,
        typer.Argument(help="Store or its directory; default: the data directory, else .agents/mcp/.branchmind."),
    ] = None,
    only: Annotated[str | None, typer.Option(help="Only this workspace.")] = None,
    into: Annotated[str | None, typer.Option(help="Import it into this workspace.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which workspaces there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Import the workspaces of a BranchMind store, with all ids; where each goes must hold nothing yet.

    Examples:

    - `clew import branchmind`
    - `clew import branchmind ~/backup/branchmind_rust.db --only acme-api`
    - `clew import branchmind --only acme-api --into acme-api-old` beside a workspace of that name
    """
    given = {"path": path, "only": only, "into": into}
    arguments = {"dry_run": dry_run, **{name: value for name, value in given.items() if value}}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "import_branchmind", arguments)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    for report in answer.envelope["result"]["workspaces"]:
        counts = {name: value for name, value in report.items() if isinstance(value, int)}
        say(" -> ".join(report[name] for name in ("workspace", "into") if name in report), "bold")
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
    """Problems grouped by place: repairs of the import, and findings of the check of the files."""
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
        yield f"missing: {_name_list(missing)}"
    for branch, names in integrity.get("missingBranchFiles", {}).items():
        yield f"missing in branch {branch}: {_name_list(names)}"
    if unlisted := integrity.get("unlistedFiles"):
        yield f"in no manifest, read all the same: {_name_list(unlisted)}"


def _name_list(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def import_memory(
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
        arguments = {"path": path, "force": force, "dry_run": dry_run}
        answer = decided(clew, "import_memory", arguments, call(clew, "import_memory", arguments))
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(", ".join(f"{result[name]} {name}" for name in ("added", "replaced", "same", "conflicts", "rejected")))
    for item in result["skipped"]:
        say(f"  {item['block_id']}: {item['why']}", "yellow")
    describe_warnings(answer.envelope["warnings"])


def import_bundle(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="File that clew export bundle wrote.", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Take in the memory of another store, after verifying the bundle; doing so again changes nothing.

    Example: `clew import bundle memory.clew`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        arguments = {"path": path}
        answer = decided(clew, "import_bundle", arguments, call(clew, "import_bundle", arguments, progress))
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    show_exchange(answer.envelope["result"])
    describe_warnings(answer.envelope["warnings"])


def export() -> None:
    """Write the workspace for other programs."""


def export_thoughtbox(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="Directory to write to.", metavar="DIR")],
    session: Annotated[list[str] | None, typer.Option(help="Only this session; may be given again.")] = None,
    project: Annotated[str, typer.Option(help="Project directory inside DIR; default: where each came from.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Write thought sessions as a Thoughtbox directory and check every file of it.

    Examples:

    - `clew export thoughtbox ~/thoughtbox-copy`
    - `clew export thoughtbox ./out --session 017020a3 --project acme`
    """
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        keys = [complete_id(clew, key) for key in session or []]
        arguments = {"path": path, "project": project or None, "sessionIds": keys}
        answer = call(clew, "export_thoughtbox", arguments, progress)
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_table(
        ("session", "thoughts", "files", "place"),
        [(key, thoughts, state, place) for key, thoughts, _, state, place in map(report_row, result["reports"])],
    )
    state = "complete" if result["valid"] else "damaged"
    say(f"{result['sessions']} sessions, {result['thoughts']} thoughts, files {state}")


def export_memory(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="File to write.", metavar="FILE")] = "memory.tar.gz",
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Write governed memory into one file, with every version: a backup, or a copy for another machine.

    Example: `clew export memory ~/backup/memory.tar.gz`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "export_memory", {"path": path})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(f"{result['files']} files, {result['bytes']} bytes in {result['path']}")


def export_bundle(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="File to write.", metavar="FILE")] = "memory.clew",
    origin: Annotated[str | None, typer.Option(help="Whose log; default: this store's own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Write every change of this store's memory into one file that anybody can verify without Clew.

    Example: `clew export bundle memory.clew`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "export_bundle", {"path": path, "origin": origin})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(f"{result['changes']} changes of {result['origin']}, {result['bytes']} bytes in {result['path']}")
    say(f"head {result['head']}: who knows it knows that nothing in the file was changed")


# Characters of one call. An operation takes texts of up to a million; this leaves room.
PORTION = 400_000
RECENT_SECONDS = 3 * 86_400


def capture(
    ctx: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(help="Logs (.md, .txt) or transcripts (.jsonl).")] = None,
    days: Annotated[int, typer.Option(help="Without files: daily logs of how many days.", min=1, max=31)] = 1,
    transcripts: Annotated[
        Path | None, typer.Option(help="Folder of transcripts; those of the last three days are read.")
    ] = None,
    hook: Annotated[bool, typer.Option("--hook", help="Read a client's hook event from stdin; print nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope of each call.")] = False,
) -> None:
    """Turn daily logs and agent transcripts into signals that wait for review.

    Examples:

    - `clew capture` reads today's log, `memory/YYYY-MM-DD.md` of the memory workspace
    - `clew capture notes.md session.jsonl`
    - `clew capture --transcripts ~/.claude/projects`
    - `clew capture --hook` as the command of a stop hook
    """
    found = _transcript_of_hook() if hook else [*(files or []), *_recent(transcripts)]
    calls = _calls(found) if found or hook or transcripts else iter([{"days": days}])
    worst = 0
    with opened(settings_of(ctx)) as clew:
        for arguments in calls:
            answer = call(clew, "capture", arguments)
            # A hook prints nothing: a client may show its output to the agent or to the user.
            worst = max(worst, int(not answer.ok) if hook else show_answer(answer, as_json))
    raise typer.Exit(worst)


def _transcript_of_hook() -> list[Path]:
    """The transcript that a client's event names; none if the event names no file."""
    try:
        event = json.loads(sys.stdin.read() or "{}")
    except ValueError:
        return []
    path = event.get("transcript_path") if isinstance(event, dict) else None
    return [Path(path)] if isinstance(path, str) and Path(path).is_file() else []


def _recent(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    since = time.time() - RECENT_SECONDS
    return sorted(path for path in folder.expanduser().rglob("*.jsonl") if path.stat().st_mtime >= since)


def _calls(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        try:
            # An operation refuses text with null characters, and one of them must not lose a whole log.
            text = path.read_text(encoding="utf-8", errors="replace").replace("\x00", "")
        except OSError as problem:
            raise typer.BadParameter(f"{path}: {problem.strerror}") from problem
        form = "transcript" if path.suffix == ".jsonl" else "log"
        for portion in _portions(text):
            yield {"text": portion, "format": form, "source": path.name[-200:]}


def _portions(text: str) -> Iterator[str]:
    """Split a text into calls at line ends. A line longer than a whole call is not speech and is left out."""
    held: list[str] = []
    size = 0
    for line in text.splitlines():
        if len(line) > PORTION:
            continue
        if size + len(line) > PORTION:
            yield "\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield "\n".join(held)


def register_import(app: typer.Typer) -> None:
    app.callback()(import_)
    app.command("thoughtbox")(import_thoughtbox)
    app.command("branchmind")(import_branchmind)
    app.command("memory")(import_memory)
    app.command("bundle")(import_bundle)


def register_export(app: typer.Typer) -> None:
    app.callback()(export)
    app.command("thoughtbox")(export_thoughtbox)
    app.command("memory")(export_memory)
    app.command("bundle")(export_bundle)


GROUPS = {"import": register_import, "export": register_export}
COMMANDS = {
    "backup": backup,
    "restore": restore,
    "migrate": migrate,
    "migrate-store": migrate_store,
    "vacuum": vacuum,
    "capture": capture,
}
