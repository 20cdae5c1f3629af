"""The mindpack: a short, versioned page from which a new session resumes work in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import shorten
from clew.reasoning.anchors.registry import names_anchor
from clew.reasoning.branches import END, checked_out
from clew.reasoning.cards.card_selection import Lens, select
from clew.reasoning.documents import NOTES, Range, append, newest_entries
from clew.reasoning.graph import Node
from clew.registry.budget import Budget, Clip, Drop, Trim, drops
from clew.registry.context import Context
from clew.registry.envelope import command, one_line
from clew.registry.operation import Bounded, Name, operation
from clew.store.workspaces import declare_events
from clew.tasks.plans import find_work, tasks_of
from clew.tasks.steps import step_tag
from clew.tasks.views.actions import ANYONE, progress_for
from clew.tasks.views.material import primary_ref, spot_of
from clew.tasks.views.outlook import HORIZON, Subject, horizon_of, subject_of
from clew.tasks.views.status_view import StatusView

DOC = "mindpack"
VERSION = 1
CARDS = 40
# Sizes of BranchMind's contract: a page that fits into any prompt.
MOST_LINE, MOST_CONTENT, MOST_CHANGED = 200, 1600, 5
MOST_TASKS = 50

declare_events({"mindpack_updated": "The workspace's mindpack got a new version."})

Meta = Json


@dataclass(frozen=True, slots=True)
class StoredMindpack:
    """The newest version of the mindpack."""

    seq: int
    ts_ms: int
    content: str
    meta: Meta

    @property
    def ref(self) -> str:
        return f"{DOC}@{self.seq}"


class Mindpack(Bounded):
    update: Annotated[bool, Field(description="Keep a new version when something changed.")] = True
    reason: Annotated[Name | None, Field(description="Short tag such as focus_change or close_step.")] = None
    read_only: Annotated[bool, Field(description="Show what the mindpack would be, and keep nothing.")] = False


MINDPACK_BUDGET = Budget(
    (
        Trim("changed", drop="last", floor=1),
        Drop("mindpack.meta"),
        Clip("mindpack.summary", 400, whole_lines=True),
        Drop("changed"),
        Clip("mindpack.summary", MOST_LINE, whole_lines=True),
        # The first line is the mindpack; the other fields are dropped before it.
        *drops("latest_ref", "mindpack.ts_ms", "mindpack.doc", "updated", "workspace"),
        *drops("seq", "ref", of="mindpack."),
        Clip("mindpack.summary", 0, whole_lines=True),
    ),
    12_000,
    keep=("ref", "mindpack"),
    handles=("ref",),
)


@operation("tasks_mindpack", writes=True, mode="own", idempotent=True, budget=MINDPACK_BUDGET)
def tasks_mindpack(ctx: Context, args: Mindpack) -> Json:
    """Show the workspace's mindpack, the short page to resume from, and renew it when something changed."""
    with ctx.reading() as reading:
        stored, meta = newest(reading), present_meta(reading)
        keeps = args.update and not args.read_only
        if not keeps or not differs(stored, meta):
            return _answer(reading, stored, meta, False)
    with ctx.writing() as writing:
        # Read again under the write lock: another session may have renewed it between the two transactions.
        before, meta = newest(writing), present_meta(writing)
        renewed = renew(writing, meta, args.reason)
        return _answer(writing, renewed, meta, before != renewed, before)


def present_meta(ctx: Context) -> Meta:
    """The content of a mindpack for the current focus."""
    focused = find_work(ctx, ctx.ws.focus) if ctx.ws.focus else None
    if focused is None:
        return {"version": VERSION, "focus": None}
    return _meta(ctx, subject_of(ctx, focused), None)


def meta_of(ctx: Context, view: StatusView) -> Meta:
    """The content of a mindpack for a view that was just built; its cards are reused if they are the usual ones."""
    wish, cards = view.wish, view.material.cards
    # Other views select other cards: their mindpacks of the same state would differ and replace each other forever.
    usual = wish.view == "smart" and cards.limit == CARDS and wish.cursors.cards is None
    return _meta(ctx, view.subject, cards.nodes if usual else None)


def _meta(ctx: Context, subject: Subject, cards: Sequence[Node] | None) -> Meta:
    """The content of a mindpack. It does not depend on the caller, so that two sessions do not replace each other's."""
    if cards is None:
        cards = select(ctx, subject.scope, "smart", CARDS, Lens(step=subject.step_focus, only_step=False)).listed()
    work, step = subject.work, subject.first_open
    plan = work.parent if work.is_task else work.id
    progress = progress_for(ctx, subject, ANYONE)
    return {
        "version": VERSION,
        "focus": {"id": work.id, "kind": work.kind, "status": work.status},
        "ref": primary_ref(subject, cards),
        "where": spot_of(cards, step_tag(step) if step else None).to_json(),
        "plan": {"id": plan},
        "horizon": picked(horizon_of(ctx, plan), *HORIZON) if plan else None,
        "kpi": _kpi(ctx, plan) if plan else None,
        "next": picked(progress, "tool", "args", "purpose") if progress else None,
        "backup": {"tool": "tasks_snapshot", "args": {work.kind: work.id}},
    }


def _kpi(ctx: Context, plan: str) -> Meta:
    active = tasks_of(ctx, plan, "ACTIVE")[:MOST_TASKS]
    return {"active_missing_anchor": sum(not names_anchor(ctx, task.id) for task in active), "active": len(active)}


def newest(ctx: Context) -> StoredMindpack | None:
    for row in newest_entries(ctx, Range(checked_out(ctx).id, 0, END), DOC, 1):
        return StoredMindpack(row["seq"], row["ts_ms"], row["content"], orjson.loads(row["meta"]))
    return None


def differs(stored: StoredMindpack | None, meta: Meta) -> bool:
    # The reason explains why a version was written; it is not part of the content that is compared.
    return stored is None or {name: value for name, value in stored.meta.items() if name != "reason"} != meta


def renew(ctx: Context, meta: Meta, reason: str | None = None) -> StoredMindpack:
    """The newest version of the mindpack; writes a new one if something changed."""
    stored = newest(ctx)
    if stored is not None and not differs(stored, meta):
        return stored
    content = page(meta, changes(stored.meta if stored else None, meta))
    kept = {**meta, **({"reason": shorten(one_line(reason), 80)} if reason else {})}
    branch = checked_out(ctx).id
    row = append(ctx, branch, DOC, content=content, doc_kind=NOTES, title="Mindpack", meta=kept, item_source=None)
    ctx.emit("tasks", "mindpack_updated", f"{DOC}@{row['seq']}")
    return StoredMindpack(row["seq"], row["ts_ms"], content, kept)


def page(meta: Meta, changed: Sequence[str]) -> str:
    """The text of the mindpack. Its first line alone is enough to resume."""
    if meta["focus"] is None:
        return f"mindpack v{VERSION} | focus=none"
    kpi, where = meta["kpi"], meta["where"]
    parts = [f"mindpack v{VERSION}", f"focus={meta['focus']['id']}", f"where={where['where']}"]
    parts += [f"plan={meta['plan']['id']}"] if meta["plan"]["id"] else []
    parts += [f"kpi missing_anchor={kpi['active_missing_anchor']}/{kpi['active']}"] if kpi else []
    lines = [shorten(" | ".join(parts), MOST_LINE), f"ref {meta['ref']}"]
    if meta["horizon"]:
        lines.append("horizon " + " ".join(f"{name}={count}" for name, count in meta["horizon"].items()))
    lines += [f"anchors {' '.join(where['top_anchors'])}"] if where["top_anchors"] else []
    lines += [f"{name} {_command(meta[name])}" for name in ("next", "backup") if meta[name]]
    return shorten("\n".join([*lines, *(f"changed {line}" for line in changed)]), MOST_CONTENT)


def changes(before: Meta | None, now: Meta) -> list[str]:
    """A few short lines that say what differs from the version before."""
    if before is None:
        return []
    counts = ("horizon.active", "horizon.backlog", "horizon.done", "kpi.active_missing_anchor")
    lines = []
    for path in ("focus.id", "focus.status", "where.where", "ref", *counts):
        old, after = _at(before, path), _at(now, path)
        if old != after:
            known = f" {old}" if path in counts else ""
            lines.append(shorten(f"{path}{known} -> {after}", MOST_LINE))
    return lines[:MOST_CHANGED]


def _at(meta: Meta, path: str) -> Any:
    value: Any = meta
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _command(call: Meta) -> str:
    return shorten(command(call["tool"], call["args"]), MOST_LINE)


def _answer(
    ctx: Context, stored: StoredMindpack | None, meta: Meta, updated: bool, before: StoredMindpack | None = None
) -> Json:
    """The stored version if it is up to date, else what a new one would be."""
    earlier = before if updated else stored
    changed = changes(earlier.meta if earlier else None, meta)
    if stored is not None and not differs(stored, meta):
        shown: Json = {**picked(stored, "ref", "seq", "ts_ms"), "summary": stored.content, "meta": stored.meta}
    else:
        shown = {"ref": None, "seq": None, "ts_ms": None, "summary": page(meta, changed), "meta": meta}
    return {
        "workspace": ctx.workspace,
        "ref": shown["ref"],
        "mindpack": {"ref": shown["ref"], "doc": DOC, **shown},
        "latest_ref": stored.ref if stored else None,
        "updated": updated,
        "changed": changed,
    }
