"""Importing the reasoning data of a BranchMind store: branches, documents, entries, graph, anchors.

Seqs are kept, so that `notes@17` and the cutoffs of branches mean the same as before. Therefore the workspace must be
new. BranchMind wraps a card's meta in an object that repeats the card's other fields; only the inner meta is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

import orjson

from clew.canonical import Json, canonical_or_none
from clew.reasoning.anchors.registry import Anchor, save_anchor
from clew.reasoning.branches import Branch, find_branch
from clew.reasoning.document_log import HeadMove, LogCut, NoteTag
from clew.reasoning.documents import NOTES, insert_documents, insert_entries
from clew.reasoning.graph import Edge, Node
from clew.reasoning.graph.writes import PlacedVersion, index_cards, insert_versions
from clew.reasoning.scope import own_scope
from clew.registry.context import Context
from clew.secrets import masked
from clew.store.database import Row
from clew.store.rows import TableRow, insert, insert_many
from clew.store.sqlite_files import ForeignStore
from clew.store.workspaces import raise_count

UNKNOWN = "note"
"""The type of a node of which only a deletion is stored."""


@dataclass
class Adoption:
    """The import of one workspace: its source, the branches created so far, and counts for the report."""

    source: ForeignStore
    workspace: str
    branches: dict[str, Branch] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    last_seq: int = 0
    mirrored: set[int] = field(default_factory=set)
    """Numbers of step notes that are also stored as entries, so that they are not imported twice."""

    def rows(self, table: str, order: str) -> Iterator[Row]:
        return (masked(row)[0] for row in self.source.rows(table, order, workspace=self.workspace))

    def counted(self, name: str, rows: Iterable[Any]) -> None:
        self.counts[name] = self.counts.get(name, 0) + sum(1 for _ in rows)


R = TypeVar("R", bound=TableRow)


def like(record: type[R], row: Row, /, **own: Any) -> R:
    """Convert a row of the source to a record: columns of the same name, and those with another name there."""
    known = own
    for item in fields(record):  # type: ignore[arg-type]  # every TableRow is a dataclass
        value = row.get(item.name)
        if item.name not in own and (value is not None or item.default is MISSING):
            known[item.name] = bool(value) if item.name in record.FLAGS else value
    return record(**known)


def adopt_log(ctx: Context, work: Adoption) -> None:
    entries = list(work.rows("doc_entries", "seq"))
    work.last_seq = max((int(row["seq"]) for row in entries), default=0)
    # BranchMind stores a step's note in the step and as an entry; a note with an entry is not added again.
    work.mirrored |= set(_mirrored(entries))
    _branches(ctx, work, entries)
    _documents(ctx, work)
    adopt_entries(ctx, work, entries)
    _nodes(ctx, work)
    _edges(ctx, work)
    # New writes must have a higher seq than everything imported.
    ctx.ws.seq = max(ctx.ws.seq, work.last_seq)
    _anchors(ctx, work)


def _branches(ctx: Context, work: Adoption, entries: list[Row]) -> None:
    """Create the branches: those with a base, and those that entries or documents name. A base is created first."""
    based = {row["name"]: row for row in work.rows("branches", "created_at_ms, name")}
    # BranchMind stores a row only for branches with a base; others exist by being written to.
    named = [*(row["branch"] for row in entries), *(row["branch"] for row in work.rows("documents", "created_at_ms"))]
    for name in dict.fromkeys([*named, *based]):
        _branch(ctx, work, name, based, frozenset())
    out = next(work.rows("branch_checkout", "branch"), None)
    if out is not None and out["branch"] in work.branches:
        ctx.ws.checkout = work.branches[out["branch"]].id


def _branch(ctx: Context, work: Adoption, name: str, based: dict[str, Row], above: frozenset[str]) -> Branch:
    if name in work.branches:
        return work.branches[name]
    row = based.get(name, {})
    base = None
    # `above` contains the branches that wait for this one, so that a cycle of bases in a damaged store ends here.
    if row.get("base_branch") and row["base_branch"] not in above and row["base_branch"] != name:
        base = _branch(ctx, work, row["base_branch"], based, above | {name})
    found = find_branch(ctx, name)
    since, created = int(row.get("base_seq") or 0), int(row.get("created_at_ms") or ctx.now_ms)
    made = found or Branch(ctx.ws.count("branch"), name, None, None, created)
    if base is not None and found is None:
        made = replace(made, base_id=base.id, base_seq=since, created_seq=since)
    if found is None:
        insert(ctx.tx, ctx.workspace, made)
        work.counted("branches", [name])
    work.branches[name] = made
    return made


def _documents(ctx: Context, work: Adoption) -> None:
    names = ("doc", "kind", "created_at_ms", "updated_at_ms")
    rows = list(work.rows("documents", "branch, doc"))
    insert_documents(ctx, [(work.branches[row["branch"]].id, *(row[name] for name in names)) for row in rows])
    work.counted("documents", rows)


def adopt_entries(ctx: Context, work: Adoption, entries: list[Row]) -> None:
    taken = [_entry(work, row) for row in entries]
    insert_entries(ctx, taken)
    for kind in ("note", "event"):
        work.counted(f"{kind}s", [row for row in taken if row["kind"] == kind])


def _mirrored(entries: list[Row]) -> Iterator[int]:
    for row in entries:
        meta = as_object(row.get("meta_json")) if "tasks_note" in (row.get("meta_json") or "") else None
        if meta and meta.get("source") == "tasks_note" and isinstance(meta.get("note_seq"), int):
            yield meta["note_seq"]


def _entry(work: Adoption, row: Row) -> Row:
    meta = row.get("meta_json") or row.get("payload_json")
    return {
        **{name: row.get(name) for name in ("seq", "doc", "kind", "ts_ms", "title", "format", "content", "path")},
        "branch": work.branches[row["branch"]].id,
        "meta": canonical_or_none(as_object(meta)),
        "source": row.get("source_event_id"),
        "event_type": row.get("event_type"),
        "subject": row.get("task_id"),
    }


def as_object(text: Any) -> Json | None:
    """The object in a JSON column; other values and invalid JSON are wrapped in an object."""
    try:
        value = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return {"text": text}
    return value if isinstance(value, dict) or value is None else {"value": value}


def _nodes(ctx: Context, work: Adoption) -> None:
    kinds: dict[str, str] = {}
    found = []
    for row in work.rows("graph_node_versions", "seq, node_id"):
        # A deletion has no type in the source; it gets the type of the version before it.
        kinds[row["node_id"]] = row.get("node_type") or kinds.get(row["node_id"], UNKNOWN)
        tags = tuple(tag for tag in (row.get("tags") or "").split("\n") if tag)
        own = {"id": row["node_id"], "type": kinds[row["node_id"]], "tags": tags}
        node = like(Node, row, meta=own_meta(as_object(row.get("meta_json"))), **own, **_version(row))
        found.append(PlacedVersion(node, work.branches[row["branch"]].id, row["doc"]))
    versions = _with_ends(found)
    insert_versions(ctx, versions)
    index_cards(ctx, versions)
    work.counted("nodes", versions)
    # Only short ids: other tools create ids such as CARD-<timestamp>, which would push the counter up.
    numbers = [int(key[5:]) for key in kinds if key.startswith("CARD-") and key[5:].isdecimal() and len(key) < 16]
    raise_count(ctx.tx, ctx.workspace, "card", max(numbers, default=0))


def _version(row: Row) -> dict[str, int]:
    return {"last_seq": int(row["seq"]), "last_ts_ms": int(row["ts_ms"])}


def own_meta(meta: Json | None) -> Json | None:
    """The author's own meta inside of BranchMind's wrapper `{source, card_id, type, status, tags, meta}`."""
    if meta is not None and "card_id" in meta and isinstance(meta.get("meta"), dict):
        return meta["meta"] or None
    return meta


def _edges(ctx: Context, work: Adoption) -> None:
    found = [
        PlacedVersion(
            like(Edge, row, meta=as_object(row.get("meta_json")), **_version(row)),
            work.branches[row["branch"]].id,
            row["doc"],
        )
        for row in work.rows("graph_edge_versions", "seq, from_id, rel, to_id")
    ]
    versions = _with_ends(found)
    insert_versions(ctx, versions)
    work.counted("edges", versions)


def _with_ends(versions: list[PlacedVersion]) -> list[PlacedVersion]:
    """Each version with the seq of the next version of the same node or edge in the same document."""
    after: dict[Any, int] = {}
    closed = []
    # From the newest backwards, so that the seq of the next version is already known.
    for version in reversed(versions):
        key = (version.branch, version.doc, version.state.id if isinstance(version.state, Node) else version.state.key)
        closed.append(PlacedVersion(version.state, version.branch, version.doc, after.get(key)))
        after[key] = version.state.last_seq
    return closed[::-1]


def _anchors(ctx: Context, work: Adoption) -> None:
    aliases: dict[str, list[str]] = {}
    for row in work.rows("anchor_aliases", "alias_id, alias"):
        aliases.setdefault(row["anchor_id"], []).append(row.get("alias_id") or row.get("alias") or "")
    found = []
    for row in work.rows("anchors", "id"):
        lists = {name: _lines(row.get(name) or row.get(f"{name}_json")) for name in Anchor.LISTS}
        named = tuple(alias for alias in aliases.get(row["id"], []) if alias)
        found.append(like(Anchor, row, aliases=named, updated_at_ms=0, **lists))
    for anchor in found:
        save_anchor(ctx, anchor)
    work.counted("anchors", found)


def _lines(text: Any) -> tuple[str, ...]:
    """A list that is stored as JSON or as lines, depending on BranchMind's version."""
    if not isinstance(text, str) or not text.strip():
        return ()
    if text.lstrip().startswith("["):
        value = orjson.loads(text)
        return tuple(str(item) for item in value)
    return tuple(line for line in text.split("\n") if line)


def adopt_scope(ctx: Context, work: Adoption, target: str, kind: str, row: Row) -> None:
    """The branch and documents that belong to a plan or task."""
    branch = _branch(ctx, work, row["branch"], {}, frozenset())
    own_scope(ctx, target, kind, branch, (row["notes_doc"], row["graph_doc"], row["trace_doc"]))


REFS = ("vcs_tags", "vcs_refs", "vcs_reflog")


def adopt_refs(ctx: Context, work: Adoption) -> None:
    _adopt_tags(ctx, work)
    moves = list(work.rows("vcs_reflog", "ts_ms, new_seq"))
    _adopt_reflog(ctx, work, moves)
    _adopt_heads(ctx, work, moves)


def _adopt_tags(ctx: Context, work: Adoption) -> None:
    found = [(row, _adopted_branch(work, row)) for row in work.rows("vcs_tags", "name")]
    tags = [
        like(NoteTag, row, branch=branch.id, doc=row.get("doc") or NOTES, created_at_ms=row.get("created_at_ms") or 0)
        for row, branch in found
        if branch is not None
    ]
    insert_many(ctx.tx, ctx.workspace, tags)
    work.counted("tags", tags)


def _adopt_reflog(ctx: Context, work: Adoption, rows: list[Row]) -> None:
    found = [(row, _adopted_branch(work, row)) for row in rows]
    moves = [
        like(HeadMove, row, seq=ctx.ws.next_seq(), branch=branch.id, message=row.get("message") or "")
        for row, branch in found
        if branch is not None
    ]
    insert_many(ctx.tx, ctx.workspace, moves)
    work.counted("reflog", moves)


def _adopt_heads(ctx: Context, work: Adoption, moves: Iterable[Row]) -> None:
    """Import heads. One that was reset to an earlier note hides later ones; any other is just the newest note."""
    last = {(row["ref"], row["doc"]): row for row in moves}
    kept = 0
    for row in work.rows("vcs_refs", "ref, doc"):
        branch, moved = _adopted_branch(work, row), last.get((row["ref"], row["doc"]))
        if branch is None:
            continue
        kept += 1
        old = moved.get("old_seq") if moved is not None else None
        if old is not None and row["seq"] < old:
            insert(ctx.tx, ctx.workspace, LogCut(branch.id, row["doc"], low=row["seq"], high=work.last_seq))
    work.counted("heads", range(kept))


def _adopted_branch(work: Adoption, row: Row) -> Branch | None:
    """The branch that a row names. A ref has the name of its branch."""
    return work.branches.get(row.get("branch") or row.get("ref") or "")
