"""A Thoughtbox directory on disk: reading its sessions with all their damage, and writing one."""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from clew.ids import SESSION
from clew.ledger.exchange.imports import sound_number, time_ms
from clew.secrets import masked
from clew.surroundings import environment, home_directory, placed

MANIFEST = "manifest.json"
BRANCHES = "branches"
SESSIONS = "sessions"
DEFAULT = "_default"
"""The default project for sessions outside of a project directory: Thoughtbox moves them there."""
EVERY = "*"
"""Means all projects; no directory of Thoughtbox has this name."""
# Thoughts are small; a larger file is something else, and reading it could fill the memory.
MOST_BYTES = 64 << 20
_NOT_THOUGHTS = frozenset({MANIFEST, "audit-manifest.json"})
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass
class Integrity:
    """The seed's IntegrityValidationResult, and also the files that no manifest lists."""

    session_exists: bool = True
    manifest_exists: bool = False
    manifest_valid: bool = False
    missing_thoughts: list[str] = field(default_factory=list)
    missing_branches: dict[str, list[str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        complete = self.session_exists and self.manifest_exists and self.manifest_valid
        return complete and not (self.missing_thoughts or self.missing_branches or self.errors)

    def to_dict(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "sessionExists": self.session_exists,
            "manifestExists": self.manifest_exists,
            "manifestValid": self.manifest_valid,
            "missingThoughtFiles": self.missing_thoughts,
            "missingBranchFiles": self.missing_branches,
            "errors": self.errors,
            "unlistedFiles": self.unlisted,
        }


@dataclass
class SessionFolder:
    """The content of a session directory, read once."""

    path: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    integrity: Integrity = field(default_factory=Integrity)


def read_folder(path: Path) -> SessionFolder:
    """Read every thought in the directory, listed or not. Links that lead outside are not followed."""
    folder = SessionFolder(path)
    _read_manifest(folder)
    listed = _names(folder.manifest.get("thoughtFiles"))
    _read_thoughts(folder, path, None, listed, folder.integrity.missing_thoughts)
    _read_branches(folder)
    return folder


def _read_manifest(folder: SessionFolder) -> None:
    found, problem = read_object(folder.path / MANIFEST)
    folder.integrity.manifest_exists = _readable((folder.path / MANIFEST).is_file)
    if found is None:
        folder.integrity.errors.append(f"{MANIFEST}: {problem}")
        return
    folder.integrity.manifest_valid = True
    folder.manifest = found


def _read_branches(folder: SessionFolder) -> None:
    listed = folder.manifest.get("branchFiles", folder.manifest.get("branches"))
    done: set[Path] = set()
    for raw, names in listed.items() if isinstance(listed, dict) else ():
        place = _branch_place(folder.path, str(raw))
        missing: list[str] = []
        if place is None:
            folder.integrity.errors.append(f"branch {str(raw)[:80]!r} lies outside of the session's directory")
        else:
            done.add(place)
            _read_thoughts(folder, place, str(raw), _names(names), missing)
        if missing:
            folder.integrity.missing_branches[str(raw)] = missing
    for place in _branch_folders(folder.path):
        if place not in done:
            _read_thoughts(folder, place, place.name, [], [])


def _branch_place(session: Path, raw: str) -> Path | None:
    """The directory of a branch. Thoughtbox derived it from the raw id; None if the id would lead outside."""
    for base in (session / BRANCHES, session):
        place = Path(os.path.normpath(base / raw)) if "\x00" not in raw else session
        if place != session and place != base and is_inside(place, session) and _readable(place.is_dir):
            return place
    # Nothing exists there. An id that stays inside is a lost branch, any other one tries to escape the directory.
    escaped = Path(os.path.normpath(session / BRANCHES / raw)) if "\x00" not in raw else session
    return escaped if is_inside(escaped, session) and escaped not in (session, session / BRANCHES) else None


def _branch_folders(session: Path) -> list[Path]:
    found = [path for base in (session / BRANCHES, session) for path in folders(base, session) if path.name != BRANCHES]
    return sorted(found)


def _read_thoughts(folder: SessionFolder, place: Path, raw: str | None, listed: list[str], missing: list[str]) -> None:
    present = {path.name: path for path in files(place, folder.path)}
    # After a crash of Thoughtbox both the manifest and the directory may be incomplete: files are written before they
    # are listed, and listed files may be lost. Their union is everything that can be recovered.
    for name in sorted({*listed, *present}, key=file_order):
        label = name if raw is None else f"{raw}/{name}"
        if name not in present:
            missing.append(name)
        elif name.endswith(".tmp"):
            folder.integrity.errors.append(f"{label}: left over from a crash; not read")
        elif name.endswith(".json") and name not in _NOT_THOUGHTS:
            if name not in listed:
                folder.integrity.unlisted.append(label)
            _read_thought(folder, present[name], label, raw)


def _read_thought(folder: SessionFolder, path: Path, label: str, raw: str | None) -> None:
    found, problem = read_object(path)
    if found is None:
        folder.integrity.errors.append(f"{label}: {problem}")
        return
    node: dict[str, Any] = found if isinstance(found.get("data"), dict) else {"data": found}
    if not isinstance(node["data"].get("thought"), str):
        folder.integrity.errors.append(f"{label}: holds no thought")
        return
    if raw is not None and not node.get("branchId") and not node["data"].get("branchId"):
        node["branchId"] = raw
    folder.nodes.append(node)


def _names(value: Any) -> list[str]:
    """The file names that a manifest lists; names that contain a path are ignored."""
    given = value if isinstance(value, list) else []
    return [name for name in given if isinstance(name, str) and name and Path(name).name == name]


def file_order(name: str) -> tuple[float, str]:
    """Sort key by the number in the name: 1000.json comes after 101.json."""
    found = _NUMBER.search(name)
    return (float(found.group()) if found else float("inf"), name)


def read_object(path: Path) -> tuple[dict[str, Any] | None, str]:
    """The JSON object in a file, or None with the reason."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None, "too large"
        value, _ = masked(orjson.loads(path.read_bytes()))
    except OSError as problem:
        return None, f"cannot be read: {problem.strerror}"
    except orjson.JSONDecodeError as problem:
        return None, f"is not JSON: {problem}"
    return (value, "") if isinstance(value, dict) else (None, "is not an object")


def is_inside(path: Path, base: Path) -> bool:
    """Whether a path is below `base` after following links."""
    try:
        resolved, root = path.resolve(), base.resolve()
    except (OSError, RuntimeError):
        return False
    return resolved == root or root in resolved.parents


def folders(path: Path, base: Path) -> list[Path]:
    return [item for item in _items(path) if _readable(item.is_dir) and is_inside(item, base)]


def files(path: Path, base: Path) -> list[Path]:
    return [item for item in _items(path) if _readable(item.is_file) and is_inside(item, base)]


def _readable(check: Callable[[], bool]) -> bool:
    """Paths without permission are treated like missing ones."""
    try:
        return check()
    except OSError:
        return False


def _items(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


IGNORED = ("mental-models", "hub", "claims.db", "runbooks.db", "merges.db", "protocol-events.db")
_MANIFEST_FIELDS = frozenset(
    {"id", "version", "thoughtFiles", "branchFiles", "branches", "metadata", "session", "integrity"}
)


@dataclass
class Source:
    """One session in the format of an export, with the path where it was found."""

    id: str
    place: str
    exported: dict[str, Any]
    integrity: Integrity | None = None
    manifest: dict[str, Any] | None = None
    """As it was read, for a session with a separate directory under its own id."""

    @property
    def project(self) -> str:
        return str(self.exported["session"].get("thoughtboxProject") or DEFAULT)


@dataclass
class DirectoryScan:
    sources: dict[str, Source] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    memories: list[Path] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def scan(base: Path) -> DirectoryScan:
    """Find everything importable in a directory. Session directories take precedence over stale copies and exports."""
    found = DirectoryScan()
    for project, place in _session_folders(base):
        _add_folder(found, base, read_folder(place), project)
    for place in _stale_copies(base):
        _add_folder(found, base, read_folder(place), None)
    for path in files(base / "exports", base):
        _add_export(found, path)
    found.memories = [p / "memory" / "graph.jsonl" for p in folders(base / "projects", base)]
    found.memories = [path for path in found.memories if _readable(path.is_file)]
    found.ignored = [name for name in IGNORED if _readable((base / name).exists)]
    return found


def original_directory(home: Path) -> Path:
    """Thoughtbox's data directory: its environment variable, else the store's directory, else its own default."""
    named = environment().get("THOUGHTBOX_DATA_DIR", "").strip()
    if named:
        return placed(named)
    usual = usual_directory()
    holds_data = any((home / name).is_dir() for name in ("projects", SESSIONS))
    return home if holds_data or usual is None else usual


def usual_directory() -> Path | None:
    """Thoughtbox's own default, if there is one."""
    try:
        place = home_directory() / ".thoughtbox"
    except RuntimeError:  # the caller has no home
        return None
    return place if place.is_dir() else None


def graphs_elsewhere(base: Path) -> list[Path]:
    """Graphs next to the directory: Thoughtbox writes them to its default even if its variable names another."""
    usual = usual_directory()
    if usual is None or usual == base:
        return []
    return [path for path in sorted(usual.glob("projects/*/memory/graph.jsonl")) if is_inside(path, usual)]


def chosen_project() -> str:
    """The project in the caller's environment variable: a client of Thoughtbox sees no other."""
    return environment().get("THOUGHTBOX_PROJECT", "").strip() or EVERY


def leave_others(found: DirectoryScan, project: str) -> dict[str, int]:
    """Remove the sessions of other projects from a scan; returns how many each of these has."""
    if project == EVERY:
        return {}
    left = Counter(source.project for source in found.sources.values() if source.project != project)
    found.sources = {key: source for key, source in found.sources.items() if source.project == project}
    found.memories = [path for path in found.memories if path.parent.parent.name == project]
    return dict(sorted(left.items()))


def some_sessions(base: Path, most: int, project: str = EVERY) -> list[str]:
    """The ids of a few sessions of a directory. It may contain thousands, so the search stops at the limit."""
    roots = [place / SESSIONS for place in folders(base / "projects", base) if project in (EVERY, place.name)]
    roots += [base / SESSIONS] if project in (EVERY, DEFAULT) else []
    manifests = (path for root in roots for depth in ("*/*", "*") for path in root.glob(f"{depth}/{MANIFEST}"))
    found = ((path, read_object(path)[0] or {}) for path in islice(manifests, most))
    return [session_id(manifest.get("id") or path.parent.name) for path, manifest in found]


def _session_folders(base: Path) -> Iterator[tuple[str | None, Path]]:
    for project in folders(base / "projects", base):
        for place in _with_manifest(project / SESSIONS, base):
            yield project.name, place
    for place in _with_manifest(base / SESSIONS, base):
        yield None, place


def _with_manifest(place: Path, base: Path) -> Iterator[Path]:
    """Session directories one or two levels deep, because partitions by month are optional."""
    for first in folders(place, base):
        if _is_session(first, base):
            yield first
            continue
        for second in folders(first, base):
            if _is_session(second, base):
                yield second


def _is_session(place: Path, base: Path) -> bool:
    """Whether a directory is a session: it has a manifest, or a UUID as its name and files in it."""
    named = SESSION.fullmatch(place.name.lower()) is not None
    return _readable((place / MANIFEST).is_file) or (named and bool(files(place, base)))


def _stale_copies(base: Path) -> Iterator[Path]:
    """Copies that Thoughtbox's export migration left next to `projects`."""
    for partition in folders(base, base):
        if partition.name not in {"projects", SESSIONS, "exports", "mental-models", "hub"}:
            yield from (place for place in folders(partition, base) if _is_session(place, base))


def _add_folder(found: DirectoryScan, base: Path, folder: SessionFolder, project: str | None) -> None:
    place = str(folder.path.relative_to(base))
    key = session_id(folder.manifest.get("id") or folder.path.name)
    # The first one takes precedence: `scan` visits them in the order of how current Thoughtbox keeps them.
    if key in found.sources:
        found.duplicates.append(place)
        return
    within = folder.path.parent.name
    head = {**_head(folder, key), "partitionPath": "" if within == SESSIONS else within}
    if project is not None:
        head["thoughtboxProject"] = project
    exported = {"version": "1.0", "session": head, "nodes": _in_writing_order(folder.nodes)}
    own = folder.manifest if folder.manifest.get("id") == key else None
    found.sources[key] = Source(key, place, exported, folder.integrity, manifest=own)


def _head(folder: SessionFolder, key: str) -> dict[str, Any]:
    inner = folder.manifest.get("metadata") or folder.manifest.get("session")
    metadata = inner if isinstance(inner, dict) else {}
    rest = {name: value for name, value in folder.manifest.items() if name not in _MANIFEST_FIELDS}
    first = min((time for time in map(_time, folder.nodes) if time is not None), default=None)
    created = {} if metadata.get("createdAt") or first is None else {"createdAt": first}
    return {**rest, **metadata, **created, "id": key}


def session_id(raw: Any) -> str:
    """The id if it is a UUID, else a UUID derived from it."""
    text = str(raw).lower()
    # Derived, not random, so that a second import finds the session of the first.
    return text if SESSION.fullmatch(text) else str(uuid.uuid5(uuid.NAMESPACE_URL, f"thoughtbox:{raw}"))


def _add_export(found: DirectoryScan, path: Path) -> None:
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
        exported = {**value, "session": {**head, "id": key}, "nodes": _in_writing_order(nodes)}
        found.sources[key] = Source(key, f"exports/{path.name}", exported)
        return
    _merge(found.sources[key], nodes, head)


def _merge(source: Source, nodes: list[dict[str, Any]], head: dict[str, Any]) -> None:
    """Add thoughts of an export that the session directory has lost; the directory's own texts take precedence."""
    known = {node.get("id") for node in source.exported["nodes"]}
    fresh = [node for node in nodes if node.get("id") not in known]
    source.exported["nodes"] = _in_writing_order([*source.exported["nodes"], *fresh])
    # The directory's own fields take precedence, because an export is written once and then becomes outdated.
    source.exported["session"] = {**head, **source.exported["session"]}


def _time(node: dict[str, Any]) -> int | None:
    data = node.get("data")
    return time_ms(data.get("timestamp")) if isinstance(data, dict) else None


def _in_writing_order(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nodes by time, then by number: times give the order of writing more reliably than the stored links.

    Thoughts of several chains may have the same millisecond. Those that follow the same thought have their order
    in its `next`.
    """
    followers = [node["next"] for node in nodes if isinstance(node.get("next"), list)]
    place = {str(id): at for ids in followers for at, id in enumerate(ids)}

    def key(node: dict[str, Any]) -> tuple[float, float, float, str]:
        data = node["data"] if isinstance(node.get("data"), dict) else {}
        at, number, id = _time(node), sound_number(data.get("thoughtNumber")), str(node.get("id", ""))
        return float("inf") if at is None else at, number or float("inf"), place.get(id, float("inf")), id

    return sorted(nodes, key=key)
