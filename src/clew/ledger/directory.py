"""A user's Thoughtbox directory: the sessions in it, each once, from wherever they lie."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.ids import SESSION
from clew.ledger.foreign import sound_number, time_ms
from clew.ledger.integrity import MANIFEST, Integrity, SessionFolder, files, folders, read_folder, read_object

IGNORED = ("mental-models", "hub", "claims.db", "runbooks.db", "merges.db", "protocol-events.db")
_MANIFEST_FIELDS = frozenset(
    {"id", "version", "thoughtFiles", "branchFiles", "branches", "metadata", "session", "integrity"}
)


@dataclass
class Source:
    """One session as it was found, in the shape of an export."""

    id: str
    place: str
    exported: dict[str, Any]
    integrity: Integrity | None = None
    merged_exports: int = 0


@dataclass
class Found:
    sources: dict[str, Source] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    memories: list[Path] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def scan(base: Path) -> Found:
    """Everything in a directory that can be imported. Session directories win over stale copies and exports."""
    found = Found()
    for project, place in _session_folders(base):
        _add_folder(found, base, read_folder(place), project)
    for place in _stale_copies(base):
        _add_folder(found, base, read_folder(place), None)
    for path in files(base / "exports", base):
        _add_export(found, path)
    found.memories = [p / "memory" / "graph.jsonl" for p in folders(base / "projects", base)]
    found.memories = [path for path in found.memories if path.is_file()]
    found.ignored = [name for name in IGNORED if (base / name).exists()]
    return found


def _session_folders(base: Path) -> Iterator[tuple[str | None, Path]]:
    for project in folders(base / "projects", base):
        for place in _with_manifest(project / "sessions", base):
            yield project.name, place
    for place in _with_manifest(base / "sessions", base):
        yield None, place


def _with_manifest(place: Path, base: Path) -> Iterator[Path]:
    """Session directories one or two levels deep: partitions are optional."""
    for first in folders(place, base):
        if _is_session(first, base):
            yield first
            continue
        for second in folders(first, base):
            if _is_session(second, base):
                yield second


def _is_session(place: Path, base: Path) -> bool:
    """By its manifest; a directory named by a UUID that lost it is one all the same."""
    named = SESSION.fullmatch(place.name.lower()) is not None
    return (place / MANIFEST).is_file() or (named and bool(files(place, base)))


def _stale_copies(base: Path) -> Iterator[Path]:
    """Copies that the original's export migration left beside `projects`."""
    for partition in folders(base, base):
        if partition.name not in {"projects", "sessions", "exports", "mental-models", "hub"}:
            yield from (place for place in folders(partition, base) if _is_session(place, base))


def _add_folder(found: Found, base: Path, folder: SessionFolder, project: str | None) -> None:
    place = str(folder.path.relative_to(base))
    key = session_id(folder.manifest.get("id") or folder.path.name)
    if key in found.sources:
        found.duplicates.append(place)
        return
    head = _head(folder, key)
    if project is not None:
        head["thoughtboxProject"] = project
    exported = {"version": "1.0", "session": head, "nodes": sorted(folder.nodes, key=_written)}
    found.sources[key] = Source(key, place, exported, folder.integrity)


def _head(folder: SessionFolder, key: str) -> dict[str, Any]:
    inner = folder.manifest.get("metadata") or folder.manifest.get("session")
    metadata = inner if isinstance(inner, dict) else {}
    rest = {name: value for name, value in folder.manifest.items() if name not in _MANIFEST_FIELDS}
    first = min((time for time in map(_time, folder.nodes) if time is not None), default=None)
    created = {} if metadata.get("createdAt") or first is None else {"createdAt": first}
    return {**rest, **metadata, **created, "id": key}


def session_id(raw: Any) -> str:
    """A UUID as it is; anything else gets one that is the same every time."""
    text = str(raw).lower()
    return text if SESSION.fullmatch(text) else str(uuid.uuid5(uuid.NAMESPACE_URL, f"thoughtbox:{raw}"))


def _add_export(found: Found, path: Path) -> None:
    if path.suffix != ".json":
        return
    value, problem = read_object(path)
    head = value.get("session") if value else None
    if value is None or not isinstance(head, dict) or not isinstance(value.get("nodes"), list):
        found.problems.append(f"exports/{path.name}: {problem or 'is not an export'}")
        return
    key = session_id(head.get("id"))
    nodes = [node for node in value["nodes"] if isinstance(node, dict)]
    if key not in found.sources:
        exported = {**value, "session": {**head, "id": key}, "nodes": sorted(nodes, key=_written)}
        found.sources[key] = Source(key, f"exports/{path.name}", exported, merged_exports=1)
        return
    _merge(found.sources[key], nodes, head)


def _merge(source: Source, nodes: list[dict[str, Any]], head: dict[str, Any]) -> None:
    """Add what the session directory has lost; its own text wins."""
    known = {node.get("id") for node in source.exported["nodes"]}
    fresh = [node for node in nodes if node.get("id") not in known]
    source.exported["nodes"] = sorted([*source.exported["nodes"], *fresh], key=_written)
    source.exported["session"] = {**head, **source.exported["session"]}
    source.merged_exports += 1


def _time(node: dict[str, Any]) -> int | None:
    data = node.get("data")
    return time_ms(data.get("timestamp")) if isinstance(data, dict) else None


def _written(node: dict[str, Any]) -> tuple[float, float, str]:
    """By time, then by number: times tell the order of writing better than the links on disk do."""
    data = node.get("data") if isinstance(node.get("data"), dict) else {}
    assert isinstance(data, dict)
    at, number = _time(node), sound_number(data.get("thoughtNumber"))
    return (float("inf") if at is None else at, number or float("inf"), str(node.get("id", "")))
