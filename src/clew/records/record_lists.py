"""record_list: everything that is kept, as lists that people filter: by kind, status, author, area and words."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import shorten
from clew.index import item_lists
from clew.index.item_lists import Shelf, Wanted
from clew.ledger import cipher
from clew.memory import blocks
from clew.reasoning.anchors.registry import Anchor, all_anchors, canonical
from clew.registry.budget import Budget, Clip, Follow, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, Whole, operation
from clew.registry.record import refresh
from clew.store.database import Row
from clew.store.events import busy_agents, last_event_seq, writers_of, written_by
from clew.tasks.proofs import stale_evidence

EVERYTHING = "any"
BOOKKEEPING = frozenset({"signal", "proposal", "receipt", "contradiction", "drift", "summary"})
"""Kinds that say how memory is kept, not what is known."""
WORK = frozenset({"plan", "task", "step", "job", "proof", "thought"})
"""Kinds with places of their own on the page; a list shows them when they are asked for by name."""
NEWEST_EVENTS = 50_000
"""Authors are looked for in so many of the newest events; `authors_since` says where that begins."""
MOST_WRITTEN = 5_000
MOST_AUTHORS, MOST_AREAS = 50, 200
MOST_FILES = 32
TITLE, SAYS = 200, 300
_NEXT = Follow(
    "next_offset", lambda whole, result: following(result["offset"] + len(result["records"]), result["total"])
)
LIST_BUDGET = Budget(
    (
        Clip("records[].says", 120),
        Trim("records", drop="last", floor=5, follow=_NEXT),
        Trim("areas", drop="last"),
        Trim("authors", drop="last"),
        Trim("records", drop="last", follow=_NEXT),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "total"),
)


class RecordList(Bounded):
    synonyms: ClassVar[dict[str, str]] = {"agent": "author", "anchor": "area", "query": "words", "text": "words"}

    kind: Annotated[str, Field(max_length=60, description="A kind, or any; empty: what is known, without work.")] = ""
    status: Annotated[str | None, Field(max_length=60, description="Only those that stand so; empty: none.")] = None
    author: Annotated[Name | None, Field(description="Only what this agent or person wrote or changed.")] = None
    area: Annotated[Name | None, Field(description="Only what belongs to this area, or to one inside it.")] = None
    words: Annotated[str, Field(max_length=400, description="Only those that hold all these words.")] = ""
    overdue: Annotated[bool, Field(description="Only those whose review date has passed.")] = False
    stale: Annotated[bool, Field(description="Only proofs over files that changed since.")] = False
    offset: Annotated[Whole, Field(description="How many to skip.")] = 0
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show, those changed last first.")] = 50


def following(shown: int, total: int) -> int | None:
    """Where the next page begins; nowhere after the last record."""
    return shown if shown < total else None


@operation("record_list", mode="own", budget=LIST_BUDGET)
def record_list(ctx: Context, args: RecordList) -> dict[str, Any]:
    """List records of all stores by kind, status, author, area and words, those changed last first.

    The counts by kind and by status say what the other filters leave, so each is a way to narrow further.
    """
    catch_up = refresh.find("block")
    if catch_up is not None:
        catch_up(ctx)
    with ctx.reading() as bound:
        anchors = all_anchors(bound, MOST_AREAS)
        after = max(0, last_event_seq(bound.tx, ctx.workspace) - NEWEST_EVENTS)
        wanted = _wanted(bound, args, anchors, after)
        kinds = item_lists.shelves(bound.tx, ctx.workspace, wanted)
        narrowed = replace(wanted, shelves=_shelves(bound, wanted, kinds, args.kind))
        rows = item_lists.listed(bound.tx, ctx.workspace, narrowed, args.offset, args.limit)
        statuses = item_lists.statuses(bound.tx, ctx.workspace, narrowed)
        total = statuses.get(args.status, 0) if args.status is not None else sum(statuses.values())
        return {
            "workspace": ctx.workspace,
            "records": _records(bound, rows),
            "offset": args.offset,
            "total": total,
            "next_offset": following(args.offset + len(rows), total),
            "kinds": _by_word(kinds),
            "statuses": statuses,
            "authors": [row["agent"] for row in busy_agents(bound.tx, ctx.workspace, after, MOST_AUTHORS)],
            "authors_since": after,
            "areas": [{"id": anchor.id, "title": anchor.title} for anchor in anchors],
            "truncated": False,
        }


def kind_word(shelf: Shelf) -> str:
    """What people call an item of this source and kind: a decision is one, block or card."""
    source, kind = shelf
    if source in ("thought", "pattern"):
        return source
    if source == "note":
        return "note"
    if source == "evidence":
        return "proof"
    return kind or source


def _fits(word: str, asked: str) -> bool:
    if not asked:
        return word not in BOOKKEEPING and word not in WORK
    return asked in (EVERYTHING, word)


def _shelves(ctx: Context, wanted: Wanted, kinds: dict[Shelf, int], asked: str) -> tuple[Shelf, ...]:
    """The shelves that hold records of the kind asked for, those too on which none has the status asked for."""
    every = kinds if wanted.status is None else item_lists.shelves(ctx.tx, ctx.workspace, replace(wanted, status=None))
    return tuple(shelf for shelf in every if _fits(kind_word(shelf), asked))


def _by_word(kinds: dict[Shelf, int]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for shelf, items in kinds.items():
        counted[kind_word(shelf)] = counted.get(kind_word(shelf), 0) + items
    return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def _wanted(ctx: Context, args: RecordList, anchors: list[Anchor], after: int) -> Wanted:
    named = written_by(ctx.tx, ctx.workspace, args.author, after, MOST_WRITTEN) if args.author else None
    own = inside(anchors, canonical(ctx, args.area.strip().lower())) if args.area else []
    return Wanted(
        status=args.status,
        words=tuple(args.words.split()),
        areas=tuple(name for anchor in own for name in (anchor.id, *anchor.aliases)) or _unknown(args.area),
        files=tuple(file for anchor in own for file in anchor.refs if is_file(file))[:MOST_FILES],
        refs=_refs(ctx, args),
        subjects=tuple(named) if named is not None else None,
    )


def _refs(ctx: Context, args: RecordList) -> tuple[str, ...] | None:
    """The records that may be listed, where a filter names them one by one."""
    named = [
        *([set(blocks.overdue(ctx))] if args.overdue else []),
        *([set(stale_evidence(ctx))] if args.stale else []),
    ]
    return tuple(sorted(set.intersection(*named))) if named else None


def _unknown(area: str | None) -> tuple[str, ...]:
    """An area that nobody registered may still stand in tags and texts."""
    return (area.strip().lower(),) if area else ()


def is_file(ref: str) -> bool:
    """Whether a reference of an area names a file or directory: not an address, an id or a sentence."""
    return ("/" in ref or "." in ref) and "://" not in ref and " " not in ref and ":" not in ref


def inside(anchors: list[Anchor], id: str) -> list[Anchor]:
    """An area and all that it contains, however deep."""
    children: dict[str | None, list[Anchor]] = {}
    for anchor in anchors:
        children.setdefault(anchor.parent_id, []).append(anchor)
    found = {anchor.id: anchor for anchor in anchors if anchor.id == id}
    waiting = list(found)
    while waiting:
        for anchor in children.get(waiting.pop(), []):
            if anchor.id not in found:
                found[anchor.id] = anchor
                waiting.append(anchor.id)
    return list(found.values())


def _records(ctx: Context, rows: list[Row]) -> list[dict[str, Any]]:
    writers = writers_of(ctx.tx, ctx.workspace, sorted({row["subject"] for row in rows if row["subject"]}))
    due = blocks.overdue(ctx, [row["ref"] for row in rows if row["review_by"]])
    stale = stale_evidence(ctx, [row["ref"] for row in rows if row["source"] == "evidence"])
    records = [_record(row, writers.get(row["subject"], []), due.get(row["ref"])) for row in rows]
    return [{**record, "changed": stale.get(record["id"], [])[:20]} for record in records]


def _record(row: Row, authors: list[str], due: str | None) -> dict[str, Any]:
    said = " ".join((cipher.read(row["body"]).content if row["source"] == "thought" else row["body"] or "").split())
    title = shorten(" ".join((row["title"] or said or row["ref"]).split()), TITLE)
    tags = (row["tags"] or "").split("\n")
    return {
        "id": row["ref"],
        "kind": kind_word((row["source"], row["kind"])),
        "store": row["source"],
        "title": title,
        "says": "" if said.startswith(title.removesuffix("…")) else shorten(said, SAYS),
        "status": row["status"],
        "authors": authors[:3],
        "areas": [tag for tag in tags if tag.startswith("a:")],
        "changed_ms": row["ts_ms"],
        "review_due": due,
    }
