"""import_thoughtbox and export_thoughtbox: the sessions and the knowledge of a Thoughtbox directory, both ways."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import canonical, without_none
from clew.contracts.thoughtbox.directory import (
    DEFAULT,
    EVERY,
    Source,
    chosen_project,
    graphs_elsewhere,
    leave_others,
    original_directory,
    read_folder,
    scan,
    some_sessions,
)
from clew.contracts.thoughtbox.entity_graph import (
    GRAPH,
    graph_lines,
    import_memory,
    keep_graph,
    read_memory,
    write_graph,
)
from clew.contracts.thoughtbox.session_files import keep_as_it_came, write_session
from clew.errors import ClewError, shorten, suggest
from clew.ids import confined, real_path
from clew.ledger.exchange.imports import import_session, storable
from clew.ledger.exchange.session_documents import export_json
from clew.ledger.garden import kept_versions
from clew.ledger.inputs import Id, LedgerInput
from clew.ledger.session_start import sessions_elsewhere
from clew.ledger.sessions import SessionQuery, find_session, find_sessions, session_named
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.secrets import redact_text
from clew.surroundings import placed

SHOWN_PROBLEMS = 200
PAGE = 100
PROJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
"""A plain directory name, without path parts."""


def allowed_path(ctx: Context, given: str, folder: str) -> Path:
    """The directory to read or write: any for a call from the shell, else one below the data directory."""
    if ctx.connection.local:
        return real_path(placed(given))
    root = ctx.settings.home / folder
    return confined(root, given)


class ImportThoughtbox(LedgerInput):
    path: Annotated[
        str | None,
        Field(
            max_length=4000,
            description="Directory; below <data directory>/imports over MCP. Default: the one that THOUGHTBOX_DATA_DIR"
            " names, else the data directory itself, else ~/.thoughtbox.",
        ),
    ] = None
    dry_run: Annotated[bool, Field(description="Only say what would be imported.")] = False
    project: Annotated[
        str | None,
        Field(
            pattern=rf"^(\{EVERY}|{PROJECT.pattern})$",
            description=f"Only sessions of this project directory; {EVERY} for all. Default: the one that"
            " THOUGHTBOX_PROJECT names, else all.",
        ),
    ] = None


LOOKED_AT = 5
"""How many sessions of a directory are looked up: an import brings all of them or reports which failed."""


@sessions_elsewhere("thoughtbox")
def offer_import(ctx: Context) -> None:
    """Suggest an import if a directory of Thoughtbox contains sessions that the store does not have yet."""
    place = original_directory(ctx.settings.home)
    waiting = some_sessions(place, LOOKED_AT, chosen_project())
    if not waiting or any(find_session(ctx, id) for id in waiting):
        return
    ctx.warn(
        "IMPORT_OFFERED",
        f"{place} is a directory of Thoughtbox; its sessions are not in the store yet.",
        "Import them with import_thoughtbox, or `clew import thoughtbox` in a shell.",
    )
    ctx.suggest(suggest("import_thoughtbox", "Reads the sessions of the data directory.", "high"))


@operation("import_thoughtbox", writes=True, mode="own", idempotent=True, example={"path": "dot-thoughtbox"})
def import_thoughtbox(ctx: Context, args: ImportThoughtbox) -> dict[str, Any]:
    """Import the sessions of a Thoughtbox directory; running it again adds only what is new."""
    base = allowed_path(ctx, args.path, "imports") if args.path else original_directory(ctx.settings.home)
    if not base.is_dir():
        raise ClewError(
            "NOT_FOUND", f"{base} is not a directory", "Name a Thoughtbox directory, such as ~/.thoughtbox."
        )
    found = scan(base)
    if args.path is None:
        found.memories += graphs_elsewhere(base)
    others = leave_others(found, args.project or chosen_project())
    _tell_others(ctx, args, others)
    reports, problems = [], list(found.problems)
    for place, source in enumerate(found.sources.values()):
        report = _dry_report(source) if args.dry_run else _import(ctx, source)
        problems += [f"{source.place}: {text}" for text in report.pop("problems")]
        reports.append(report)
        ctx.progress(place + 1, len(found.sources), source.place)
    memories = [_memory(ctx, path, args.dry_run) for path in found.memories]
    return {
        "path": str(base),
        "dryRun": args.dry_run,
        "sessions": len(reports),
        "thoughts": sum(report["thoughts"] for report in reports),
        "added": sum(report["added"] for report in reports),
        "already": sum(report["already"] for report in reports),
        "failed": [report["sessionId"] for report in reports if report.get("failed")],
        "duplicates": found.duplicates,
        "otherProjects": others,
        "ignored": found.ignored,
        "patterns": memories,
        "problems": [shorten(text, 300) for text in problems[:SHOWN_PROBLEMS]],
        "problemCount": len(problems),
        "reports": reports,
    }


def _tell_others(ctx: Context, args: ImportThoughtbox, others: dict[str, int]) -> None:
    if not others:
        return
    named = ", ".join(f"{project} ({count})" for project, count in others.items())
    again = {"project": EVERY, **without_none(path=args.path or None)}
    ctx.warn(
        "OTHER_PROJECTS",
        f"{sum(others.values())} sessions of other projects were left: {shorten(named, 200)}.",
        f"Bring them with import_thoughtbox {canonical(again)}, or one project by its name.",
    )
    ctx.suggest(suggest("import_thoughtbox", "Imports the sessions of all projects.", "medium", **again))


def _dry_report(source: Source) -> dict[str, Any]:
    return {**_facts(source), "added": 0, "already": 0, "problems": []}


def _facts(source: Source) -> dict[str, Any]:
    return {
        "sessionId": source.id,
        "place": source.place,
        "thoughts": len(source.exported["nodes"]),
        "integrity": source.integrity.to_dict() if source.integrity else None,
    }


def _import(ctx: Context, source: Source) -> dict[str, Any]:
    """Import one session in its own transaction, so that a refused session does not stop the others."""
    try:
        with ctx.writing() as bound:
            report = import_session(bound, source.exported, merge=True)
            keep_as_it_came(bound, source, report.written, report.fresh)
    except ClewError as error:
        # A full or locked store would refuse every further session too.
        if error.code.startswith("STORE_"):
            raise
        return {**_facts(source), "added": 0, "already": 0, "failed": True, "problems": [error.message]}
    problems = [*report.problems, *(source.integrity.errors if source.integrity else [])]
    return {**_facts(source), "added": report.added, "already": report.already, "problems": problems}


def _memory(ctx: Context, path: Path, dry_run: bool) -> dict[str, Any]:
    memory = read_memory(path)
    if dry_run:
        return {"place": str(path), "entities": len(memory.entities), "dropped": memory.dropped}
    text = redact_text(storable(path.read_text(encoding="utf-8", errors="replace")))
    project = path.parent.parent.name
    with ctx.writing() as bound:
        keep_graph(bound, project, text)
        return {"place": str(path), **import_memory(bound, memory)}


class ExportThoughtbox(LedgerInput):
    path: Annotated[
        str, Field(min_length=1, max_length=4000, description="Directory; below <data directory>/exports over MCP.")
    ]
    session_ids: Annotated[list[Id], Field(max_length=1000, description="Only these sessions.")] = []
    project: Annotated[
        str | None,
        Field(
            pattern=f"^{PROJECT.pattern}$",
            description="Project directory to write to; default: the one a session came from, else _default.",
        ),
    ] = None


@operation("export_thoughtbox", writes=True, mode="own", idempotent=True, example={"path": "thoughtbox"})
def export_thoughtbox(ctx: Context, args: ExportThoughtbox) -> dict[str, Any]:
    """Write sessions as a Thoughtbox directory, then check every file of it."""
    base = allowed_path(ctx, args.path, "exports")
    with ctx.reading() as bound:
        keys = list(args.session_ids) or _all_sessions(bound)
    reports: list[dict[str, Any]] = []
    for place, key in enumerate(keys):
        with ctx.reading() as bound:
            exported = export_json(bound, session_named(bound, key), resolve_anchors=False)
        try:
            folder = write_session(base / "projects" / (args.project or _project(exported)) / "sessions", exported)
        except OSError as problem:
            raise _unwritable(base, problem) from None
        # Read back from disk, so that the report shows what was really written.
        checked = read_folder(folder)
        reports.append(
            {
                "sessionId": key,
                "place": str(folder.relative_to(base)),
                "thoughts": len(checked.nodes),
                "integrity": checked.integrity.to_dict(),
            }
        )
        ctx.progress(place + 1, len(keys), exported["session"]["title"])
    return {
        "path": str(base),
        "sessions": len(reports),
        "thoughts": sum(report["thoughts"] for report in reports),
        "valid": all(report["integrity"]["valid"] for report in reports),
        # A graph belongs to a project and to no session, so it is exported only with all of them.
        "graphs": [] if args.session_ids else _write_graphs(ctx, base, args.project),
        "reports": reports,
    }


def _write_graphs(ctx: Context, base: Path, wanted: str | None) -> list[str]:
    """Write the graphs that were imported back to their projects, or to the wanted one."""
    with ctx.reading() as bound:
        graphs = {project: list(graph_lines(bound, text)) for project, text in kept_versions(bound, GRAPH).items()}
    places: dict[str, None] = {}
    for project, lines in graphs.items():
        place = base / "projects" / (wanted or (project if PROJECT.fullmatch(project) else DEFAULT))
        try:
            write_graph(place / "memory" / "graph.jsonl", lines)
        except OSError as problem:
            raise _unwritable(base, problem) from None
        places[str((place / "memory" / "graph.jsonl").relative_to(base))] = None
    return list(places)


def _unwritable(base: Path, problem: OSError) -> ClewError:
    return ClewError("IO_ERROR", f"{base}: {problem.strerror}", "Choose a directory that can be written.")


def _project(exported: dict[str, Any]) -> str:
    """The project directory that a session was imported from, if its name may be one."""
    known = str(exported["session"].get("thoughtboxProject", ""))
    return known if PROJECT.fullmatch(known) else DEFAULT


def _all_sessions(ctx: Context) -> list[str]:
    keys: list[str] = []
    while True:
        found = find_sessions(ctx, SessionQuery(limit=PAGE, offset=len(keys), sort_by="createdAt", descending=False))
        keys += [session.id for session in found.sessions]
        if not found.has_more:
            return keys
