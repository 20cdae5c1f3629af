"""The registry of anchors and their aliases; anchors_rename and anchors_merge, after which old ids become aliases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json, as_json
from clew.errors import ClewError, Suggestion, suggest, unknown_id
from clew.ids import ANCHOR, check_anchor
from clew.kinds import statuses
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.registry.record import Restoration, Retracted, Retraction, restorer, retracter
from clew.store.database import Row, placeholders
from clew.store.rows import TableRow, insert_absent, load, upsert
from clew.store.workspaces import declare_events

NOTE = "What holds in this area: invariants, risks, tests."
ANCHOR_DEFAULT = {"core": 30_000, "daily": 60_000, "full": 80_000}
"""Default budgets of responses that show anchors, as in BranchMind's contract."""

declare_events(
    {
        "anchor_created": "An anchor was registered.",
        "anchor_updated": "An anchor's record changed.",
        "anchor_renamed": "An anchor got another id; the old one stays as an alias.",
        "anchors_merged": "Anchors were merged into one; the old ids stay as aliases.",
    }
)


@dataclass(frozen=True, slots=True)
class Anchor(TableRow):
    TABLE: ClassVar[str] = "anchor"
    LISTS: ClassVar[frozenset[str]] = frozenset({"refs", "depends_on"})
    KEPT: ClassVar[frozenset[str]] = frozenset({"created_at_ms"})
    ASIDE: ClassVar[frozenset[str]] = frozenset({"aliases"})

    id: str
    title: str
    kind: str = "component"
    status: str = statuses.ACTIVE
    description: str | None = None
    refs: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    parent_id: str | None = None
    depends_on: tuple[str, ...] = ()
    created_at_ms: int = 0
    updated_at_ms: int = 0

    def to_json(self) -> Json:
        return as_json(self)


def slug_title(anchor_id: str) -> str:
    """A title derived from an id: `a:job-queue` becomes Job Queue."""
    return " ".join(word.capitalize() for word in anchor_id.removeprefix("a:").split("-") if word)


def find_anchor(ctx: Context, anchor_id: str) -> Anchor | None:
    row = ctx.tx.one("SELECT * FROM anchor WHERE workspace = ? AND id = ?", ctx.workspace, anchor_id)
    return _anchor(row, aliases_of(ctx, [anchor_id]).get(anchor_id, ())) if row else None


def all_anchors(ctx: Context, limit: int) -> list[Anchor]:
    """Anchors in the order of their ids."""
    rows = ctx.tx.all("SELECT * FROM anchor WHERE workspace = ? ORDER BY id LIMIT ?", ctx.workspace, limit)
    return with_aliases(ctx, rows)


def with_aliases(ctx: Context, rows: Sequence[Row]) -> list[Anchor]:
    aliases = aliases_of(ctx, [row["id"] for row in rows])
    return [_anchor(row, aliases.get(row["id"], ())) for row in rows]


def aliases_of(ctx: Context, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if not ids:
        return {}
    sql = (
        f"SELECT anchor, alias FROM anchor_alias WHERE workspace = ? AND anchor IN ({placeholders(len(ids))})"
        " ORDER BY anchor, alias"
    )
    rows = ctx.tx.all(sql, ctx.workspace, *ids)
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["anchor"], []).append(row["alias"])
    return {anchor: tuple(names) for anchor, names in found.items()}


def owner_of(ctx: Context, alias: str) -> str | None:
    """The id of the anchor that has this alias; None if there is none."""
    owner = ctx.tx.value("SELECT anchor FROM anchor_alias WHERE workspace = ? AND alias = ?", ctx.workspace, alias)
    return None if owner is None else str(owner)


def canonical(ctx: Context, anchor_id: str) -> str:
    """The id itself if it is registered, else the id of the anchor that has it as an alias, else the id."""
    sql = "SELECT 1 AS known FROM anchor WHERE workspace = ? AND id = ?"
    if ctx.tx.one(sql, ctx.workspace, anchor_id):
        return anchor_id
    return owner_of(ctx, anchor_id) or anchor_id


def save_anchor(ctx: Context, anchor: Anchor) -> Anchor:
    """Insert or replace an anchor and its aliases; a `created_at_ms` of zero means now."""
    saved = replace(anchor, created_at_ms=anchor.created_at_ms or ctx.now_ms, updated_at_ms=ctx.now_ms)
    upsert(ctx.tx, ctx.workspace, saved)
    # The anchor holds all its aliases, so those that it no longer names are removed.
    ctx.tx.run("DELETE FROM anchor_alias WHERE workspace = ? AND anchor = ?", ctx.workspace, saved.id)
    sql = "INSERT INTO anchor_alias (workspace, alias, anchor) VALUES (?, ?, ?)"
    ctx.tx.many(sql, [(ctx.workspace, alias, saved.id) for alias in saved.aliases])
    return saved


def delete_anchor(ctx: Context, anchor_id: str) -> None:
    ctx.tx.run("DELETE FROM anchor WHERE workspace = ? AND id = ?", ctx.workspace, anchor_id)
    ctx.tx.run("DELETE FROM anchor_alias WHERE workspace = ? AND anchor = ?", ctx.workspace, anchor_id)


def ensure_anchor(ctx: Context, anchor_id: str) -> str:
    """The canonical id; registers a minimal anchor if there is none."""
    known = canonical(ctx, anchor_id)
    # One statement inserts it and returns whether it existed.
    minimal = Anchor(known, slug_title(known), created_at_ms=ctx.now_ms, updated_at_ms=ctx.now_ms)
    if insert_absent(ctx.tx, ctx.workspace, minimal):
        ctx.emit("reasoning", "anchor_created", known, {"automatic": True})
    return known


def register_tags(ctx: Context, tags: Iterable[str]) -> None:
    """Register every anchor that a canonical card's tags name."""
    for tag in tags:
        if ANCHOR.fullmatch(tag):
            ensure_anchor(ctx, tag)


def names_anchor(ctx: Context, target: str) -> bool:
    """Whether any live card of a plan or task is tagged with an anchor."""
    found = ctx.tx.value(
        "SELECT 1 FROM reasoning_ref JOIN node_tag ON node_tag.workspace = reasoning_ref.workspace"
        " AND node_tag.branch = reasoning_ref.branch AND node_tag.doc = reasoning_ref.graph_doc"
        " JOIN node ON node.workspace = node_tag.workspace AND node.seq = node_tag.seq"
        # A range ('a;' follows 'a:') instead of a prefix test, so that the index on (branch, doc, tag) is used.
        " WHERE reasoning_ref.workspace = ? AND reasoning_ref.id = ?"
        " AND node_tag.tag >= 'a:' AND node_tag.tag < 'a;' AND node.until IS NULL AND node.deleted = 0 LIMIT 1",
        ctx.workspace,
        target,
    )
    return found is not None


def _anchor(row: Row, aliases: tuple[str, ...]) -> Anchor:
    return replace(load(Anchor, row), aliases=aliases)


def resolve_anchor(ctx: Context, given: str, field: str = "anchor") -> str:
    """The canonical id of an anchor; an alias adds a warning."""
    wanted = check_anchor(given, field)
    known = canonical(ctx, wanted)
    if known != wanted:
        ctx.warn("ANCHOR_ALIAS_RESOLVED", f"{wanted} is an alias of {known}", f"Use {known}.")
    return known


def note_call(anchor_id: str, title: str, kind: str = "component", priority: str = "medium") -> Suggestion:
    params = {"anchor": anchor_id, "content": NOTE, "kind": kind, "title": title, "visibility": "canon"}
    return suggest("macro_anchor_note", "Binds a note to the anchor, and registers it if needed.", priority, **params)


def known_anchor(ctx: Context, anchor_id: str) -> Anchor:
    """The anchor with this id; refused if it is not registered."""
    anchor = find_anchor(ctx, anchor_id)
    if anchor is None:
        ways = [note_call(anchor_id, slug_title(anchor_id), priority="high")]
        raise unknown_id("anchor", anchor_id, "List the anchors, or register this one.", ways)
    return anchor


EVERY = 1_000_000


@retracter("anchor")
def retract_anchor(ctx: Context, id: str, said: Retraction) -> Retracted:
    """Retract an anchor. It is kept in the map as deprecated, so that its cards remain attached."""
    return Retracted(_set_status(ctx, id, statuses.DEPRECATED, said.why))


@restorer("anchor")
def restore_anchor(ctx: Context, id: str, why: str, was: str | None) -> Restoration:
    return Restoration(_set_status(ctx, id, statuses.ACTIVE, why))


def _set_status(ctx: Context, id: str, status: str, why: str) -> str:
    anchor = known_anchor(ctx, resolve_anchor(ctx, id, "id"))
    save_anchor(ctx, replace(anchor, status=status))
    ctx.emit("reasoning", "anchor_updated", anchor.id, {"kind": anchor.kind, "why": why})
    return status


class AnchorsRename(Input):
    from_: Annotated[Name, Field(alias="from", description="Present id.")]
    to: Annotated[Name, Field(description="New id.")]


@operation("anchors_rename", writes=True, example={"from": "a:core", "to": "a:kernel"})
def anchors_rename(ctx: Context, args: AnchorsRename) -> Json:
    """Give an anchor another id; the old one stays as an alias."""
    old, new = check_anchor(args.from_, "from"), check_anchor(args.to, "to")
    anchor = known_anchor(ctx, old)
    if find_anchor(ctx, new) is not None or (owner_of(ctx, new) is not None):
        raise _taken(new)
    # Before the new one is saved, because the old id becomes an alias, and no name may be both.
    delete_anchor(ctx, old)
    renamed = save_anchor(ctx, replace(anchor, id=new, aliases=tuple(sorted({*anchor.aliases, old}))))
    _repoint(ctx, {old, *anchor.aliases}, new)
    ctx.emit("reasoning", "anchor_renamed", new, {"previous": old})
    return {"workspace": ctx.workspace, "from": old, "to": new, "anchor": (find_anchor(ctx, new) or renamed).to_json()}


class AnchorsMerge(Input):
    from_: Annotated[
        list[Annotated[str, Field(max_length=80)]],
        Field(alias="from", min_length=1, max_length=200, description="Anchors that become aliases."),
    ]
    into: Annotated[Name, Field(description="Anchor that stays.")]


@operation(
    "anchors_merge", writes=True, idempotent=True, destructive=True, example={"from": ["a:old"], "into": "a:core"}
)
def anchors_merge(ctx: Context, args: AnchorsMerge) -> Json:
    """Merge anchors into one; their ids stay as aliases of it."""
    into = check_anchor(args.into, "into")
    anchor = known_anchor(ctx, into)
    given = list(dict.fromkeys(check_anchor(value, "from") for value in args.from_))
    skipped = [old for old in given if old == into or owner_of(ctx, old) == into]
    merged = [old for old in given if old not in skipped]
    for old in merged:
        anchor = _swallow(ctx, anchor, old)
    if merged:
        ctx.emit("reasoning", "anchors_merged", into, {"from": merged})
    final = find_anchor(ctx, into) or anchor
    done = {"from": given, "into": into, "merged": merged, "skipped": skipped}
    return {"workspace": ctx.workspace, **done, "anchor": final.to_json()}


def _swallow(ctx: Context, into: Anchor, old: str) -> Anchor:
    source = known_anchor(ctx, old)
    delete_anchor(ctx, old)
    aliases = {*into.aliases, *source.aliases, old} - {into.id}
    save_anchor(ctx, replace(into, aliases=tuple(sorted(aliases))))
    _repoint(ctx, {old, *source.aliases}, into.id)
    return find_anchor(ctx, into.id) or into


def _repoint(ctx: Context, old: set[str], new: str) -> None:
    """Replace old ids by the new one in all parents and dependencies, without references of an anchor to itself."""
    # Relations are lists inside of rows, so every anchor is read. Renaming is rare, and a map has only hundreds.
    for anchor in all_anchors(ctx, EVERY):
        parent = new if anchor.parent_id in old else anchor.parent_id
        depends = dict.fromkeys(new if value in old else value for value in anchor.depends_on)
        changed = replace(
            anchor,
            parent_id=None if parent == anchor.id else parent,
            depends_on=tuple(value for value in depends if value != anchor.id),
        )
        if changed != anchor:
            save_anchor(ctx, changed)


def _taken(new: str) -> ClewError:
    recovery = "Choose another id, or merge the two anchors."
    hints = [{"kind": "conflict", "field": "to"}]
    ways = [suggest("open", "Shows the anchor that has the name.", "high", id=new)]
    return ClewError("INVALID_INPUT", f"to: {new} is taken", recovery, hints, ways)
