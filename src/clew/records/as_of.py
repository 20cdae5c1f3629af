"""The workspace as of a point in time: what it contained, and what happened to that since."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.clock import iso_millis
from clew.index.item_lists import CHANGES, Page, change_counts, changes_since, held_counts, held_items
from clew.ledger import cipher
from clew.recall.search import moment_of
from clew.registry.budget import Budget, Clip, Follow, Step, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Whole, operation
from clew.store.database import Row
from clew.store.events import event_times, events_at, last_authors, last_event_seq, last_event_until

Source = Literal["task", "block", "card", "thought", "note", "evidence", "pattern"]
Change = Literal["added", "changed", "closed", "retracted", "gone"]
MARKS = 60
"""Maximum number of points between the first and the last event that are returned with their times, for
a time axis."""
LONGEST = 300
_NEXT = Follow(
    "next_offset", lambda whole, result: _following(result["offset"] + len(result["items"]), result["total"])
)


def _budget(*texts: str) -> Budget:
    shortened = tuple(Clip(f"items[].{text}", 120) for text in texts)
    steps: tuple[Step, ...] = (
        *shortened,
        Trim("items", drop="last", floor=5, follow=_NEXT),
        Trim("marks", drop="first"),
        Trim("items", drop="last", follow=_NEXT),
    )
    return Budget(steps, {"core": 8_000, "daily": 16_000, "full": 120_000}, keep=("workspace", "moment", "total"))


class AsOf(Bounded):
    as_of: Annotated[
        int | str | None, Field(description="The moment: a date or time (ISO), or a seq. Default: now.")
    ] = None
    event: Annotated[Whole | None, Field(description="The moment right after the event with this number.")] = None
    source: Annotated[Source | None, Field(description="List only what lives there; counts are of all.")] = None
    offset: Annotated[Whole, Field(description="How many to skip.")] = 0
    limit: Annotated[int, Field(ge=1, le=200, description="Most to list.")] = 50


class WorkspaceSince(AsOf):
    change: Annotated[Change | None, Field(description="List only this; counts are of all.")] = None


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A point in the workspace's history: after which event, and when that was."""

    event: int
    ts_ms: int
    last: int

    def to_json(self, ctx: Context) -> dict[str, Any]:
        happened = next(iter(events_at(ctx.tx, ctx.workspace, [self.event])), None)
        return {
            "event": self.event,
            "last_event": self.last,
            "ts_ms": self.ts_ms,
            "at": iso_millis(self.ts_ms),
            "now": self.event == self.last,
            "happened": happened.shown() if happened else None,
        }


@operation("workspace_at", budget=_budget("text"), example={"as_of": "2026-11-12"})
def workspace_at(ctx: Context, args: AsOf) -> dict[str, Any]:
    """Show what the workspace held at a moment: work, records, cards and thoughts as they stood, counted and listed."""
    moment = find_moment(ctx, args)
    counts = held_counts(ctx.tx, ctx.workspace, moment.ts_ms)
    total = sum(row["items"] for row in counts if args.source in (None, row["source"]))
    rows = held_items(ctx.tx, ctx.workspace, moment.ts_ms, Page(args.source, args.offset, args.limit))
    return {
        "workspace": ctx.workspace,
        "moment": moment.to_json(ctx),
        "counts": counts,
        "items": [_held(row) for row in rows],
        "offset": args.offset,
        "total": total,
        "next_offset": _following(args.offset + len(rows), total),
        "marks": _marks(ctx, moment.last),
        "truncated": False,
    }


@operation("workspace_since", budget=_budget("before.text", "now.text"), example={"as_of": "2026-11-12"})
def workspace_since(ctx: Context, args: WorkspaceSince) -> dict[str, Any]:
    """Show what became of the workspace since a moment: added, changed, closed, retracted, gone; with both states."""
    moment = find_moment(ctx, args)
    found = change_counts(ctx.tx, ctx.workspace, moment.ts_ms)
    fitting = [row for row in found if args.source in (None, row["source"]) and args.change in (None, row["change"])]
    total = sum(row["items"] for row in fitting)
    page = Page(args.source, args.offset, args.limit)
    rows = changes_since(ctx.tx, ctx.workspace, moment.ts_ms, page, args.change)
    by = last_authors(ctx.tx, ctx.workspace, [row["ref"] for row in rows])
    return {
        "workspace": ctx.workspace,
        "moment": moment.to_json(ctx),
        "counts": _by_change(found),
        "sources": found,
        "items": [_changed(row, by.get(row["ref"])) for row in rows],
        "offset": args.offset,
        "total": total,
        "next_offset": _following(args.offset + len(rows), total),
        "truncated": False,
    }


def find_moment(ctx: Context, args: AsOf) -> PointInTime:
    """A time between two events resolves to the point after the first of them; before all of them there
    was nothing."""
    last = last_event_seq(ctx.tx, ctx.workspace)
    if args.event is not None:
        number = min(args.event, last)
    elif args.as_of is not None:
        column, value = moment_of(args.as_of, ctx.now_ms)
        number = last_event_until(ctx.tx, ctx.workspace, "ts_ms" if column == "ts_ms" else "at_seq", value)
    else:
        number = last
    times = event_times(ctx.tx, ctx.workspace, [number])
    return PointInTime(number, times[0]["ts_ms"] if times else 0, last)


def _following(shown: int, total: int) -> int | None:
    return shown if shown < total else None


def _marks(ctx: Context, last: int) -> list[list[int]]:
    """Events at regular intervals with their times, including the first and the last."""
    places = {1 + round(place * (last - 1) / max(1, MARKS - 1)) for place in range(MARKS)} if last else set()
    return [[row["seq"], row["ts_ms"]] for row in event_times(ctx.tx, ctx.workspace, sorted(places))]


def _by_change(found: list[Row]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for row in found:
        counted[row["change"]] += row["items"]
    return {change: counted[change] for change in CHANGES}


def _named(row: Row) -> dict[str, Any]:
    own = row["source"] in ("task", "block") and row["kind"]
    return {
        "id": row["ref"],
        "source": row["source"],
        "kind": row["kind"] if own else row["source"],
        "type": row["kind"],
    }


def _held(row: Row) -> dict[str, Any]:
    return {**_named(row), **_state(row["title"], row["body"], row["status"]), "ts_ms": row["ts_ms"]}


def _changed(row: Row, by: str | None) -> dict[str, Any]:
    before = None if row["change"] == "added" else _state(row["title"], row["body"], row["status"])
    present = (row["now_title"], row["now_body"], row["now_status"])
    now = None if present == (None, None, None) else _state(*present)
    return {**_named(row), "change": row["change"], "ts_ms": row["at_ms"], "by": by, "before": before, "now": now}


def _state(title: str | None, body: str | None, status: str | None) -> dict[str, Any]:
    """One line split into its title, a thought without its notation, and the rest."""
    said = title or (cipher.read(body).content if body else "") or ""
    text = body if title and body else ""
    return {"title": " ".join(said.split())[:LONGEST], "text": (text or "")[:LONGEST], "status": status}
