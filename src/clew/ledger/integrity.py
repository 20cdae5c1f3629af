"""A session directory of Thoughtbox: which files its manifest names, which are there, and what is wrong."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

MANIFEST = "manifest.json"
BRANCHES = "branches"
MOST_BYTES = 64 << 20
_NOT_THOUGHTS = frozenset({MANIFEST, "audit-manifest.json"})
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass
class Integrity:
    """The seed's IntegrityValidationResult, and besides the files that no manifest names."""

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
    """What a session directory holds, read once."""

    path: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    integrity: Integrity = field(default_factory=Integrity)


def read_folder(path: Path) -> SessionFolder:
    """Every thought in the directory, listed or not; nothing outside of it is followed."""
    folder = SessionFolder(path)
    _read_manifest(folder)
    listed = _names(folder.manifest.get("thoughtFiles"))
    _read_thoughts(folder, path, None, listed, folder.integrity.missing_thoughts)
    _read_branches(folder)
    return folder


def _read_manifest(folder: SessionFolder) -> None:
    found, problem = read_object(folder.path / MANIFEST)
    folder.integrity.manifest_exists = (folder.path / MANIFEST).is_file()
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
    """The directory a branch id leads to, as the original made it from the raw id; None when that escapes."""
    for base in (session / BRANCHES, session):
        place = Path(os.path.normpath(base / raw)) if "\x00" not in raw else session
        if place != session and place != base and is_inside(place, session) and place.is_dir():
            return place
    escaped = Path(os.path.normpath(session / BRANCHES / raw)) if "\x00" not in raw else session
    return escaped if is_inside(escaped, session) and escaped not in (session, session / BRANCHES) else None


def _branch_folders(session: Path) -> list[Path]:
    found = [path for base in (session / BRANCHES, session) for path in folders(base, session) if path.name != BRANCHES]
    return sorted(found)


def _read_thoughts(folder: SessionFolder, place: Path, raw: str | None, listed: list[str], missing: list[str]) -> None:
    present = {path.name: path for path in files(place, folder.path)}
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
    """File names a manifest lists; a name with a path in it is none."""
    given = value if isinstance(value, list) else []
    return [name for name in given if isinstance(name, str) and name and Path(name).name == name]


def file_order(name: str) -> tuple[float, str]:
    """By the number inside the name: 1000.json comes after 101.json."""
    found = _NUMBER.search(name)
    return (float(found.group()) if found else float("inf"), name)


def read_object(path: Path) -> tuple[dict[str, Any] | None, str]:
    """The JSON object in a file, or None and why not."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None, "too large"
        value = orjson.loads(path.read_bytes())
    except OSError as problem:
        return None, f"cannot be read: {problem.strerror}"
    except orjson.JSONDecodeError as problem:
        return None, f"is not JSON: {problem}"
    return (value, "") if isinstance(value, dict) else (None, "is not an object")


def is_inside(path: Path, base: Path) -> bool:
    """Whether a path, links followed, lies below `base`."""
    try:
        resolved, root = path.resolve(), base.resolve()
    except (OSError, RuntimeError):
        return False
    return resolved == root or root in resolved.parents


def folders(path: Path, base: Path) -> list[Path]:
    return [item for item in _items(path) if item.is_dir() and is_inside(item, base)]


def files(path: Path, base: Path) -> list[Path]:
    return [item for item in _items(path) if item.is_file() and is_inside(item, base)]


def _items(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []
