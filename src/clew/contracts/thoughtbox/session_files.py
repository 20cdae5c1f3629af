"""The files of a session in a Thoughtbox directory. An imported session is exported unchanged.

Clew normalizes foreign thoughts: branch ids without capitals, whole numbers, pointers that can be
resolved. If a file had another value, the difference is stored with the thought or session and undone here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from clew.canonical import Json, canonical, without_none
from clew.contracts.thoughtbox.directory import BRANCHES, MANIFEST, Source
from clew.ids import CONTROL
from clew.ledger.chains import MAIN, Point
from clew.ledger.cipher import read
from clew.ledger.exchange.imports import sound, sound_number
from clew.ledger.exchange.session_documents import exported_session, node_json, write_whole
from clew.ledger.sessions import change_columns, session_named
from clew.ledger.thought_rows import every_thought, keep_extra
from clew.registry.context import Context

FILED = "filed"
"""The key under which a thought or a session stores the differences from its file."""
LONGEST_NAME = 200
"""Maximum bytes of a directory's name; file systems allow 255."""
# The characters that Windows allows in no name, and the separators of both systems.
_NO_NAME = frozenset('<>:"|?*/\\')
_KNOWN = ("title", "description", "tags", "createdAt", "updatedAt")
# The time of the last access of a session is known to the store alone; Thoughtbox writes it nowhere either.
_STORED_ONLY = frozenset(
    {"thoughtCount", "branchCount", "partitionPath", "thoughtboxProject", "lastAccessedAt", FILED}
)  # fmt: skip
_WRITTEN_ANEW = frozenset({"id", "thoughtFiles", "branchFiles", "branchNames", "metadata"})
"""Fields of a manifest that are derived from the other files."""


@dataclass
class SessionFiles:
    """A session as files: the nodes, for each its branch directory and name, and the manifest fields."""

    session: Json
    nodes: list[Json]
    names: dict[str, str] = field(init=False)
    """The directory of each branch, which is also its id in the files."""

    def __post_init__(self) -> None:
        self.names = branch_names(self.session, {node["branchId"]: None for node in self.nodes if node["branchId"]})

    @property
    def came(self) -> Json:
        found = self.session.get(FILED)
        return found if isinstance(found, dict) else {}

    def thoughts(self) -> Iterator[tuple[str | None, str, Json]]:
        """The directory, the file name and the content of each thought."""
        ids = {node["id"]: self._id(node) for node in self.nodes}
        used: set[tuple[str | None, str]] = set()
        for node in self.nodes:
            chain = self.names.get(node["branchId"] or MAIN)
            plain = self.plain(node, ids)
            given = undone(plain, _kept(node))
            name = file_name(given["data"]["thoughtNumber"])
            if (chain, name) in used:
                given, name = plain, file_name(plain["data"]["thoughtNumber"])
            used.add((chain, name))
            yield chain, name, given

    def _id(self, node: Json) -> str:
        kept = _kept(node).get("node", {}).get("id")
        return kept if isinstance(kept, str) else self.plain_id(node)

    def plain_id(self, node: Json) -> str:
        chain = self.names.get(node["branchId"] or MAIN)
        return f"{self.session['id']}:{chain + ':' if chain else ''}{node['data']['thoughtNumber']}"

    def plain(self, node: Json, ids: dict[str, str]) -> Json:
        """The node with the branch names used here, as Clew would write it for a native session."""
        chain = self.names.get(node["branchId"] or MAIN)
        data = {name: value for name, value in node["data"].items() if name != FILED}
        if chain:
            data["branchId"] = chain
        # Parsed from the text again on import, so it need not be stored separately.
        if "type" in data and data["type"] == read(data["thought"]).kind:
            del data["type"]
        following = [] if self.came.get("next") is False else [ids.get(key, key) for key in node["next"]]
        pointers = {name: ids.get(node[name], node[name]) for name in ("prev", "revisesNode", "branchOrigin")}
        prev, revised, origin = pointers.values()
        return {
            "id": self.plain_id(node),
            "data": data,
            "prev": prev,
            "next": following,
            "revisesNode": revised,
            "branchOrigin": origin,
            "branchId": chain,
        }

    def manifest(self, files: dict[str | None, list[str]]) -> Json:
        labels = self.session.get("branchNames") or {}
        changed = {self.names[chain]: label for chain, label in labels.items() if self.names.get(chain, label) != label}
        apart = _STORED_ONLY | _WRITTEN_ANEW | set(_KNOWN)
        rest = {name: value for name, value in self.session.items() if name not in apart}
        own = {
            "id": self.session["id"],
            "version": "1.0.0",
            # Sorted as texts, as Thoughtbox does; readers sort by number.
            "thoughtFiles": sorted(files.get(None, [])),
            "branchFiles": {chain: sorted(names) for chain, names in files.items() if chain},
            "metadata": {name: self.session[name] for name in _KNOWN if name in self.session},
            **rest,
            **without_none(branchNames=changed or None),
        }
        metadata = _unchanged(own["metadata"], self.came.get("metadata"))
        return {**_unchanged(own, self.came.get("manifest")), "metadata": metadata}


def branch_names(session: Json, chains: dict[str, None]) -> dict[str, str]:
    """The names of branches on disk: the imported ones, or else their ids.

    Two names that differ only in case would be one directory on some systems, so the second gets its id as well.
    """
    labels = session.get("branchNames") or {}
    names: dict[str, str] = {}
    taken: set[str] = set()
    for chain in chains:
        name = str(labels.get(chain, chain))
        if is_directory_name(name) and _folded(name) not in taken:
            names[chain] = name
            taken.add(_folded(name))
    for chain in chains:
        name, tries = chain, 2
        while chain not in names and _folded(name) in taken:
            name, tries = f"{chain[:58]}-{tries}", tries + 1
        taken.add(_folded(names.setdefault(chain, name)))
    return names


def is_directory_name(name: str) -> bool:
    """Whether a name is one part of a path on every system, without leading elsewhere."""
    if not name.strip(". ") or name[-1] in ". " or len(name.encode()) > LONGEST_NAME:
        return False
    return not CONTROL.search(name) and not _NO_NAME & set(name)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def file_name(number: float) -> str:
    """Thoughtbox pads numbers to three places: 001.json, 2.5.json, 0-4.json."""
    return f"{number}".rjust(3, "0") + ".json"


def write_session(sessions: Path, exported: Json) -> Path:
    """Write a session directory. The manifest is written last, so a directory with a manifest is complete."""
    session = exported["session"]
    folder = sessions / str(session["partitionPath"]) / str(session["id"])
    (folder / BRANCHES).mkdir(parents=True, exist_ok=True)
    files = SessionFiles(session, exported["nodes"])
    written: dict[str | None, list[str]] = {}
    for chain, name, node in files.thoughts():
        place = folder / BRANCHES / chain if chain else folder
        place.mkdir(exist_ok=True)
        _write(place / name, node)
        written.setdefault(chain, []).append(name)
    _write(folder / MANIFEST, files.manifest(written))
    return folder


def _write(path: Path, value: Json) -> None:
    write_whole(path, orjson.dumps(value, option=orjson.OPT_INDENT_2))


def keep_as_it_came(ctx: Context, source: Source, added: dict[Point, Json], fresh: bool) -> None:
    """After an import, store how the files differ from what an export would write."""
    if source.manifest is None:
        return
    session = session_named(ctx, source.id)
    thoughts = every_thought(ctx, session.id)
    head = exported_session(ctx, session)
    nodes = [node_json(thought, {}) for thought in thoughts]
    files = SessionFiles(head, nodes)
    about = _session_difference(source, files) if fresh else {}
    if about:
        change_columns(ctx, session.id, extra=canonical({**(session.extra or {}), FILED: about}))
    ids = {node["id"]: files.plain_id(node) for node in nodes}
    for thought, node in zip(thoughts, nodes, strict=True):
        theirs = added.get(thought.point)
        found = node_difference(files.plain(node, ids), theirs) if theirs is not None else None
        if found:
            keep_extra(ctx, thought, {**thought.extra, FILED: found})


def _session_difference(source: Source, files: SessionFiles) -> Json:
    theirs, ours = source.manifest or {}, files.manifest({})
    given = theirs.get("metadata")
    found = {
        "manifest": _changes(ours, theirs),
        "metadata": _changes(ours["metadata"], given) if isinstance(given, dict) else {},
    }
    nodes = [node for node in source.exported["nodes"] if _is_filed(node)]
    # Thoughtbox leaves `next` empty on disk; only then does an export of this session leave it empty too.
    empty = len(nodes) > 1 and all(node.get("next") == [] for node in nodes)
    return {**{name: value for name, value in found.items() if value}, **({"next": False} if empty else {})}


def _is_filed(node: Json) -> bool:
    """Whether a node had a separate file: only nodes of exports contain what they were revised by."""
    return "id" in node and "revisionMetadata" not in node


def _changes(ours: Json, theirs: Json) -> Json:
    """For each field that differs its value here and there, without missing ones."""
    return {
        name: {side: values[name] for side, values in (("ours", ours), ("theirs", theirs)) if name in values}
        for name in {**ours, **theirs}
        if name not in _WRITTEN_ANEW and not _same(ours, theirs, name)
    }


def _same(ours: Json, theirs: Json, name: str) -> bool:
    return (name in ours) == (name in theirs) and ours.get(name) == sound(theirs.get(name))


def _unchanged(ours: Json, changes: Any) -> Json:
    """The original fields, except those that have changed since."""
    shown = dict(ours)
    for name, change in changes.items() if isinstance(changes, dict) else ():
        if name in _WRITTEN_ANEW or not isinstance(change, dict):
            continue
        if (name in ours, ours.get(name)) != ("ours" in change, change.get("ours")):
            continue
        shown.pop(name, None)
        if "theirs" in change:
            shown[name] = change["theirs"]
    return shown


def node_difference(ours: Json, theirs: Json) -> Json:
    """The changes that convert a node as it is written here to its original; empty if there is no difference."""
    data = theirs["data"] if isinstance(theirs.get("data"), dict) else {}
    branch = theirs.get("branchId") or data.get("branchId") or None
    # A node whose branch or number could not be kept cannot be restored to its original file.
    if not _is_filed(theirs) or branch != ours["branchId"]:
        return {}
    if not _may_be_number(ours["data"]["thoughtNumber"], data.get("thoughtNumber")):
        return {}
    parts = {"node": ({**ours, "data": 0, "next": 0}, {**theirs, "data": 0, "next": 0}), "data": (ours["data"], data)}
    found: Json = {}
    for part, (here, there) in parts.items():
        changed = {name: sound(value) for name, value in there.items() if not _same(here, there, name)}
        gone = [name for name in here if name not in there]
        found |= ({part: changed} if changed else {}) | ({f"{part}Without": gone} if gone else {})
    return found


def _may_be_number(ours: int, theirs: Any) -> bool:
    """Only a number that no thought of Clew can have may replace our own, so that no file is lost."""
    if theirs == ours and not isinstance(theirs, bool):
        return True
    known = isinstance(theirs, (int, float)) and not isinstance(theirs, bool) and abs(theirs) < 1e9
    return known and sound_number(theirs) is None


def _kept(node: Json) -> Json:
    """The stored differences of a thought from its file. An export may come from anywhere, so nothing is trusted."""
    found = node["data"].get(FILED)
    if not isinstance(found, dict):
        return {}
    kept: Json = {part: found[part] for part in ("node", "data") if isinstance(found.get(part), dict)}
    for part in ("nodeWithout", "dataWithout"):
        names = found.get(part)
        kept[part] = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
    own = node["data"]["thoughtNumber"]
    number = kept.get("data", {}).get("thoughtNumber", own)
    return kept if _may_be_number(own, number) and "thoughtNumber" not in kept["dataWithout"] else {}


def undone(ours: Json, kept: Json) -> Json:
    """The original node."""
    if not kept:
        return ours
    data = {name: value for name, value in ours["data"].items() if name not in kept["dataWithout"]}
    node = {name: value for name, value in ours.items() if name not in kept["nodeWithout"]}
    return {**node, **kept.get("node", {}), "data": {**data, **kept.get("data", {})}}
