"""import_thoughtbox and export_thoughtbox; the entity graph (`memory/graph.jsonl`) is imported as patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.errors import ClewError, shorten
from clew.ids import confined
from clew.ledger.exchange.imports import import_session, storable, time_ms
from clew.ledger.exchange.session_documents import export_json
from clew.ledger.exchange.thoughtbox_directory import Source, original_directory, read_folder, scan
from clew.ledger.exchange.thoughtbox_files import keep_as_it_came, write_session
from clew.ledger.garden import Pattern, find_pattern, write_pattern
from clew.ledger.inputs import Id, LedgerInput, slug
from clew.ledger.sessions import SessionQuery, find_sessions, session_named
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.surroundings import placed

SHOWN_PROBLEMS = 200
PAGE = 100
PROJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
"""A name of a directory that leads nowhere else."""


def allowed_path(ctx: Context, given: str, folder: str) -> Path:
    """The directory to read or write: any for a call from the shell, else one below the data directory."""
    if ctx.connection.local:
        return placed(given).resolve()
    root = ctx.settings.home / folder
    return confined(root, given)


class ImportThoughtbox(LedgerInput):
    path: Annotated[
        str | None,
        Field(
            max_length=4000,
            description="Directory; below <data directory>/imports over MCP. Default: the one that THOUGHTBOX_DATA_DIR"
            " names, else the data directory itself.",
        ),
    ] = None
    dry_run: Annotated[bool, Field(description="Only say what would be imported.")] = False


@operation("import_thoughtbox", writes=True, mode="own", idempotent=True, example={"path": "dot-thoughtbox"})
def import_thoughtbox(ctx: Context, args: ImportThoughtbox) -> dict[str, Any]:
    """Import the sessions of a Thoughtbox directory; running it again adds only what is new."""
    base = allowed_path(ctx, args.path, "imports") if args.path else original_directory(ctx.settings.home)
    if not base.is_dir():
        raise ClewError(
            "NOT_FOUND", f"{base} is not a directory", "Name a Thoughtbox directory, such as ~/.thoughtbox."
        )
    found = scan(base)
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
        "ignored": found.ignored,
        "patterns": memories,
        "problems": [shorten(text, 300) for text in problems[:SHOWN_PROBLEMS]],
        "problemCount": len(problems),
        "reports": reports,
    }


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
    with ctx.writing() as bound:
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
            raise ClewError(
                "IO_ERROR", f"{base}: {problem.strerror}", "Choose a directory that can be written."
            ) from None
        # Read back from disk, so that the report says what was really written.
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
        "reports": reports,
    }


def _project(exported: dict[str, Any]) -> str:
    """The project directory that a session was imported from, if its name may be one."""
    known = str(exported["session"].get("thoughtboxProject", ""))
    return known if PROJECT.fullmatch(known) else "_default"


def _all_sessions(ctx: Context) -> list[str]:
    keys: list[str] = []
    while True:
        found = find_sessions(ctx, SessionQuery(limit=PAGE, offset=len(keys), sort_by="createdAt", descending=False))
        keys += [session.id for session in found.sessions]
        if not found.has_more:
            return keys


@dataclass
class Memory:
    """The entity graph without duplicates: the first of each name and type, and no dangling observation or relation."""

    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    observations: list[dict[str, Any]] = field(default_factory=list)
    relations: list[dict[str, Any]] = field(default_factory=list)
    dropped: int = 0


def read_memory(path: Path) -> Memory:
    memory, seen = Memory(), set()
    rest: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines():
        value = _line(line)
        if value is None:
            memory.dropped += bool(line.strip())
        elif value.get("type") != "entity":
            rest.append(value)
        elif (value.get("name"), value.get("entityType")) in seen or not isinstance(value.get("id"), str):
            memory.dropped += 1
        else:
            seen.add((value.get("name"), value.get("entityType")))
            memory.entities[value["id"]] = value
    # After all entities: an observation or relation may stand before the entity it refers to.
    for value in rest:
        _attach(memory, value)
    return memory


def _line(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _attach(memory: Memory, value: dict[str, Any]) -> None:
    known = memory.entities
    if value.get("type") == "observation" and value.get("entity_id") in known:
        memory.observations.append(value)
    elif value.get("type") == "relation" and value.get("from_id") in known and value.get("to_id") in known:
        memory.relations.append(value)
    else:
        memory.dropped += 1


def import_memory(ctx: Context, memory: Memory) -> dict[str, int]:
    """Write one pattern for each entity; existing patterns stay as they are."""
    added = already = 0
    for entity in memory.entities.values():
        pattern = _pattern(ctx, memory, entity)
        if find_pattern(ctx, pattern.id) is None:
            write_pattern(ctx, pattern)
            added += 1
        else:
            already += 1
    return {
        "entities": len(memory.entities),
        "added": added,
        "already": already,
        "observations": len(memory.observations),
        "relations": len(memory.relations),
        "dropped": memory.dropped,
    }


def _pattern(ctx: Context, memory: Memory, entity: dict[str, Any]) -> Pattern:
    name, kind = storable(entity.get("name") or "unnamed"), storable(entity.get("entityType") or "entity")
    noted = [item for item in memory.observations if item["entity_id"] == entity["id"]]
    lines = [f"# {name}", "", storable(entity.get("label") or ""), ""]
    lines += ["## Observations", *(f"- {storable(item.get('content') or '')}" for item in noted), ""] if noted else []
    related = [
        f"- {storable(item.get('relationType') or 'RELATES_TO')} {storable(memory.entities[item['to_id']].get('name'))}"
        for item in memory.relations
        if item["from_id"] == entity["id"]
    ]
    lines += ["## Relations", *related, ""] if related else []
    created = time_ms(entity.get("created_at"))
    return Pattern(
        id=f"{slug(name, 40) or 'entity'}-{slug(kind, 20) or 'entity'}",
        title=name,
        description=storable(entity.get("label") or name),
        content="\n".join(lines),
        tags=("thoughtbox", kind.lower()),
        sessions=(),
        created_by=storable(entity["created_by"]) if isinstance(entity.get("created_by"), str) else None,
        created_at_ms=created if created is not None else ctx.now_ms,
        updated_at_ms=time_ms(entity.get("updated_at")) or created or ctx.now_ms,
    )
