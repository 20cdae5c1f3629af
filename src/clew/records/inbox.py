"""The Inbox: all items that wait for a person, from all stores in one call, and deferred ones with their day."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from clew.clock import rfc3339
from clew.errors import invalid, suggest
from clew.memory.files.markdown import clean
from clew.records.open import bare_id
from clew.records.record_view import names_of
from clew.registry.budget import Budget, Clip, Follow, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Input, Name, Title, Whole, operation
from clew.registry.people import check_person
from clew.registry.record import InboxItem, Named, inbox_items, refresh
from clew.store.rows import TableRow, delete, find_many, upsert
from clew.store.workspaces import declare_events

declare_events({"matter_put_off": "Something that waits for a person was put off until a day, or taken up again."})

Kind = Literal["job", "step", "conflict", "file", "contradiction", "proposal", "fact", "review", "proof", "signal"]
ORDER: tuple[str, ...] = get_args(Kind)
"""Sorted by priority: items that block work come first, items to look at come last."""
MOST_EACH = 200
DAY_MS = 86_400_000
_NEXT = Follow(
    "next_offset", lambda whole, result: _following(result["offset"] + len(result["items"]), result["total"])
)
INBOX_BUDGET = Budget(
    (
        Clip("items[].note", 400),
        Trim("items", drop="last", floor=5, follow=_NEXT),
        Clip("items[].note", 80),
        Trim("items", drop="last", follow=_NEXT),
    ),
    {"core": 8_000, "daily": 16_000, "full": 32_000},
    keep=("workspace", "total", "counts"),
)


@dataclass(frozen=True, slots=True)
class Later(TableRow):
    """A deferred inbox item."""

    TABLE: ClassVar[str] = "inbox_later"
    KEY: ClassVar[tuple[str, ...]] = ("id", "kind")

    id: str
    kind: str
    until_ms: int
    why: str | None
    agent: str | None
    seq: int
    ts_ms: int


class InboxList(Bounded):
    kind: Annotated[Kind | None, Field(description="Only matters of this kind; counts are of all.")] = None
    later: Annotated[bool, Field(description="Those that were put off, by their day.")] = False
    offset: Annotated[Whole, Field(description="How many to skip.")] = 0
    limit: Annotated[int, Field(ge=1, le=500, description="Most to show.")] = 50


@operation("inbox_list", mode="own", budget=INBOX_BUDGET)
def inbox_list(ctx: Context, args: InboxList) -> dict[str, Any]:
    """List what waits for a person: proposals, contradictions, conflicts, questions of jobs, blocked or unproven work.

    Each matter says in a sentence what it asks, who asks, what it is about, and what happens if nobody acts.
    """
    catch_up = refresh.find("block")
    if catch_up is not None:
        catch_up(ctx)
    with ctx.reading() as bound:
        now, later = _parted(bound, everything(bound))
        chosen = later if args.later else now
        fitting = [item for item in chosen if args.kind in (None, item.kind)]
        shown = fitting[args.offset : args.offset + args.limit]
        return {
            "workspace": ctx.workspace,
            "items": _items(bound, shown),
            "offset": args.offset,
            "total": len(fitting),
            "next_offset": _following(args.offset + len(shown), len(fitting)),
            "counts": _counts(now),
            "later": len(later),
            "most_of_a_kind": MOST_EACH,
            "truncated": False,
        }


def _following(shown: int, total: int) -> int | None:
    return shown if shown < total else None


def everything(ctx: Context) -> list[InboxItem]:
    """All inbox items in order: by kind, oldest first, so that new ones are added below."""
    found = [item for kind in ORDER if (ask := inbox_items.find(kind)) is not None for item in ask(ctx, MOST_EACH)]
    return sorted(found, key=lambda item: (ORDER.index(item.kind), item.ts_ms, item.id))


def _parted(ctx: Context, found: list[InboxItem]) -> tuple[list[InboxItem], list[InboxItem]]:
    """Splits items into current ones and deferred ones with their day."""
    put_off = {(row.id, row.kind): row.until_ms for row in find_many(ctx.tx, ctx.workspace, Later, _ids(found), "id")}
    until = {(item.id, item.kind): item.until_ms or put_off.get((item.id, item.kind), 0) for item in found}
    now = [item for item in found if until[item.id, item.kind] <= ctx.now_ms]
    later = [item for item in found if until[item.id, item.kind] > ctx.now_ms]
    later.sort(key=lambda item: until[item.id, item.kind])
    return now, later


def _ids(found: list[InboxItem]) -> list[str]:
    return [item.id for item in found]


def _counts(found: list[InboxItem]) -> dict[str, int]:
    counted = Counter(item.kind for item in found)
    return {kind: counted[kind] for kind in ORDER if counted[kind]}


def _items(ctx: Context, shown: list[InboxItem]) -> list[dict[str, Any]]:
    names = names_of(ctx, [id for item in shown for id in item.about])
    put_off = {(row.id, row.kind): row for row in find_many(ctx.tx, ctx.workspace, Later, _ids(shown), "id")}
    return [_item(item, names, put_off.get((item.id, item.kind)), ctx.now_ms) for item in shown]


def _item(item: InboxItem, names: dict[str, Named], later: Later | None, now_ms: int) -> dict[str, Any]:
    shown = {**item.to_json(), "about": [names[id].to_json() for id in item.about if names[id].title != id]}
    if later is not None and later.until_ms > now_ms:
        shown |= {"until_ms": later.until_ms, "later_by": later.agent, "later_why": later.why}
    return shown


class InboxLater(Input):
    id: Annotated[Name, Field(min_length=1, description="The matter, as inbox_list names it.")]
    kind: Annotated[Kind, Field(description="Its kind: one record may wait in two ways.")]
    days: Annotated[Whole, Field(le=3650, description="Until so many days from now; 0 takes it up again.")]
    why: Annotated[Title | None, Field(description="What it waits for.")] = None


@operation("inbox_later", writes=True, idempotent=True, example={"id": "JOB-001", "kind": "job", "days": 1})
def inbox_later(ctx: Context, args: InboxLater) -> dict[str, Any]:
    """Put something off until a day. For a person, whom it waits for; proposals have defer_proposal."""
    command = f"call inbox_later id={shlex.quote(args.id)} kind={args.kind} days={args.days}"
    check_person(ctx, "putting something off", command, suggest("inbox_list", "Shows what waits."))
    if args.kind == "proposal":
        raise invalid("kind", "a proposal is put off with defer_proposal, which agents respect too")
    id = bare_id(ctx, args.id)
    until = ctx.now_ms + args.days * DAY_MS
    item = Later(id, args.kind, until, clean(args.why or "") or None, ctx.agent, ctx.ws.next_seq(), ctx.now_ms)
    (upsert if args.days else delete)(ctx.tx, ctx.workspace, item)
    ctx.emit("records", "matter_put_off", id, {"kind": args.kind, "until_ms": until if args.days else None})
    return {"workspace": ctx.workspace, "id": id, "kind": args.kind, "until": rfc3339(until) if args.days else None}
