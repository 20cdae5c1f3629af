"""record_list: all stored records, as lists with filters: by kind, status, author, area and words."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import shorten
from clew.ids import is_person, kind_by_form
from clew.index import item_lists
from clew.index.item_lists import Shelf, Wanted
from clew.kinds.catalogue import shown_label
from clew.kinds.state import Verdict
from clew.ledger import cipher
from clew.memory import blocks
from clew.reasoning.anchors.registry import Anchor, all_anchors, canonical
from clew.records.record_view import block_author
from clew.records.verdicts import verdicts
from clew.registry.budget import Budget, Clip, Follow, Trim
from clew.registry.callers import BY_CLIENT, CLIENT, families
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, View, Whole, operation
from clew.registry.paging import After, follow_after, following, next_after, position
from clew.registry.record import refresh
from clew.store.database import Row
from clew.store.events import authored, busy_agents, last_event_seq, subjects_of, writers_of
from clew.tasks.proofs import stale_evidence

EVERYTHING = "any"
BOOKKEEPING = frozenset({"signal", "proposal", "receipt", "contradiction", "drift", "summary"})
"""Bookkeeping kinds, which are about the memory itself."""
WORK = frozenset({"plan", "task", "step", "job", "proof", "thought"})
"""Kinds with their own place on the page; listed only if they are requested by name."""
NEWEST_EVENTS, COUNTED_EVENTS = 2_000, 50_000
"""Authors are looked up in this many of the newest events, and in more if a query filters by one or
counts their records; `authors_since` reports the start."""
MOST_AUTHORS, MOST_AREAS = 50, 200
MOST_FILES = 32
TITLE, SAYS = 200, 300
FEW = 500
"""Up to this many records, sorting is faster than walking a large store from its newest record."""
_NEXT = Follow(
    "next_offset", lambda whole, result: following(result["offset"], len(result["records"]), result["total"])
)
_BEHIND = follow_after("records", "id")
LIST_BUDGET = Budget(
    (
        Clip("records[].says", 120),
        Trim("records", drop="last", floor=5, follow=_NEXT, also_follow=_BEHIND),
        Trim("areas", drop="last"),
        Trim("authors", drop="last"),
        Trim("records", drop="last", follow=_NEXT, also_follow=_BEHIND),
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
    count_authors: Annotated[bool, Field(description="Count what each author wrote; reads many events.")] = False
    overdue: Annotated[bool, Field(description="Only those whose review date has passed.")] = False
    stale: Annotated[bool, Field(description="Only proofs over files that changed since.")] = False
    offset: Annotated[Whole, Field(description="How many to skip.")] = 0
    after: After = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show, those changed last first.")] = 50


def list_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """A line for each record, then the number of each kind."""
    shown = [_record_line(item) for item in result["records"]]
    left = result["total"] - len(shown) - (result["offset"] or 0)
    more = [f"and {left} more"] if left > 0 else []
    kinds = " ".join(f"{kind}={count}" for kind, count in result["kinds"].items())
    return [*shown, *more, f"kinds: {kinds}"] if shown else ["no record fits", f"kinds: {kinds}"]


def _record_line(item: dict[str, Any]) -> str:
    label = item.get("label") or item.get("status")
    facts = ", ".join(str(part) for part in (item.get("kind"), label, *item.get("authors", [])) if part)
    says = f": {shorten(item['says'], 160)}" if item.get("says") else ""
    return f"{item['id']} ({facts}): {shorten(item.get('title') or '', 160)}{says}"


@operation("record_list", mode="own", budget=LIST_BUDGET, view=View(lines=list_lines))
def record_list(ctx: Context, args: RecordList) -> dict[str, Any]:
    """List records of all stores by kind, status, author, area and words, those changed last first.

    The counts by kind and by status say what the other filters leave, so each is a way to narrow further.
    """
    catch_up = refresh.find("block")
    if catch_up is not None:
        catch_up(ctx)
    after = position(args.after)
    with ctx.reading() as bound:
        anchors = all_anchors(bound, MOST_AREAS)
        reach = COUNTED_EVENTS if args.author or args.count_authors else NEWEST_EVENTS
        since = max(0, last_event_seq(bound.tx, ctx.workspace) - reach)
        wanted = _wanted(bound, args, anchors, since)
        counted = item_lists.counts(bound.tx, ctx.workspace, wanted)
        shelves = tuple(dict.fromkeys(shelf for shelf, _ in counted if _fits(kind_word(shelf), args.kind)))
        statuses = _by_status(counted, shelves)
        total = statuses.get(args.status, 0) if args.status is not None else sum(statuses.values())
        narrowed = replace(wanted, shelves=shelves, few=total <= FEW)
        rows = item_lists.listed(bound.tx, ctx.workspace, narrowed, after, args.offset, args.limit + 1)
        records = _records(bound, rows[: args.limit])
        offset = args.offset if after is None else None
        return {
            "workspace": ctx.workspace,
            "records": records,
            "offset": offset,
            "total": total,
            "next_offset": following(offset, len(records), total),
            "next_after": next_after(records, "id", len(rows) > len(records)),
            "kinds": _by_kind(counted, args.status),
            "statuses": statuses,
            "authors": _clients(bound, since),
            **({"written": _written(bound, replace(wanted, subjects=None), args, since)} if args.count_authors else {}),
            "authors_since": since,
            "areas": [{"id": anchor.id, "title": anchor.title} for anchor in anchors],
            "truncated": False,
        }


def kind_word(shelf: Shelf) -> str:
    """The display name of a source and kind: a decision is a decision, whether block or card."""
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


Counted = dict[tuple[Shelf, str], int]


def _by_kind(counted: Counted, status: str | None) -> dict[str, int]:
    """The number of records of each kind, largest first; kinds without a match are omitted."""
    found: Counter[str] = Counter()
    for (shelf, stands), items in counted.items():
        if status in (None, stands):
            found[kind_word(shelf)] += items
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _by_status(counted: Counted, shelves: tuple[Shelf, ...]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (shelf, status), items in counted.items():
        if shelf in shelves:
            found[status] += items
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _clients(ctx: Context, since: int) -> list[str]:
    """Recent authors; an agent with many connections is listed once, as its client."""
    known = families(ctx)
    busy = [row["agent"] for row in busy_agents(ctx.tx, ctx.workspace, since, MOST_AUTHORS)]
    return list(dict.fromkeys(known.get(agent, agent) for agent in busy))


def _connections(ctx: Context, author: str) -> list[str]:
    """The names of all connections of a client; for other authors the name itself."""
    return [author, *(agent for agent, client in families(ctx).items() if client == author != agent)]


def _written(ctx: Context, wanted: Wanted, args: RecordList, since: int) -> dict[str, int]:
    """How many of the records that match the other filters each author wrote or changed; agents by client."""
    counted = item_lists.counts(ctx.tx, ctx.workspace, wanted)
    shelves = tuple(dict.fromkeys(shelf for shelf, _ in counted if _fits(kind_word(shelf), args.kind)))
    select = (authored(CLIENT, BY_CLIENT), [ctx.workspace, since])
    rows = item_lists.by_author(ctx.tx, ctx.workspace, replace(wanted, shelves=shelves), select, MOST_AUTHORS)
    return {row["name"]: row["records"] for row in rows}


def _wanted(ctx: Context, args: RecordList, anchors: list[Anchor], since: int) -> Wanted:
    who = _connections(ctx, args.author) if args.author else []
    own = inside(anchors, canonical(ctx, args.area.strip().lower())) if args.area else []
    return Wanted(
        status=args.status,
        words=tuple(args.words.split()),
        areas=tuple(name for anchor in own for name in (anchor.id, *anchor.aliases)) or _unknown(args.area),
        files=tuple(file for anchor in own for file in anchor.refs if is_file(file))[:MOST_FILES],
        refs=_refs(ctx, args),
        subjects=subjects_of(ctx.workspace, who, since) if who else None,
    )


def _refs(ctx: Context, args: RecordList) -> tuple[str, ...] | None:
    """The candidate records, if a filter names them one by one."""
    named = [
        *([set(blocks.overdue(ctx))] if args.overdue else []),
        *([set(stale_evidence(ctx))] if args.stale else []),
    ]
    return tuple(sorted(set.intersection(*named))) if named else None


def _unknown(area: str | None) -> tuple[str, ...]:
    """An unregistered area may still occur in tags and texts."""
    return (area.strip().lower(),) if area else ()


def is_file(ref: str) -> bool:
    """Whether a reference of an area is a file or directory: not a URL, an id or a sentence."""
    return ("/" in ref or "." in ref) and "://" not in ref and " " not in ref and ":" not in ref


def inside(anchors: list[Anchor], id: str) -> list[Anchor]:
    """An area and all areas that it contains, however deep."""
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
    writers = _writers(ctx, rows)
    due = blocks.overdue(ctx, [row["ref"] for row in rows if row["review_by"]])
    stale = stale_evidence(ctx, [row["ref"] for row in rows if row["source"] == "evidence"])
    assessed = verdicts(ctx, [row["ref"] for row in rows])
    records = [_record(row, writers.get(row["subject"], []), due.get(row["ref"])) for row in rows]
    records = [{**record, **_label(row, assessed)} for record, row in zip(records, rows, strict=True)]
    return [{**record, "changed": stale.get(record["id"], [])[:20]} for record in records]


def _writers(ctx: Context, rows: list[Row]) -> dict[str, list[str]]:
    """The authors of each record, the first one first; for a record that a person only approved, its proposer."""
    found = writers_of(ctx.tx, ctx.workspace, sorted({row["subject"] for row in rows if row["subject"]}))
    approved = [row["ref"] for row in rows if row["source"] == "block" and is_person(found.get(row["ref"], [""])[0])]
    for id in approved:
        found[id] = list(dict.fromkeys([block_author(ctx, id) or found[id][0], *found[id]]))
    return found


def _label(row: Row, assessed: dict[str, Verdict]) -> dict[str, Any]:
    verdict = assessed.get(row["ref"])
    label = shown_label(row["source"], row["kind"], verdict) if verdict is not None else ""
    disputed = list(verdict.disputed_with) if verdict is not None else []
    return {"label": label or row["status"] or "", "disputed_with": disputed}


def _said(source: str, body: str) -> str:
    """The readable part of an item's text: for a record its facts, separated and without ids."""
    if source == "thought":
        return cipher.read(body).content
    return " · ".join(line for line in body.split("\n") if kind_by_form(line) is None) if source == "block" else body


def _record(row: Row, authors: list[str], due: str | None) -> dict[str, Any]:
    said = " ".join(_said(row["source"], row["body"] or "").split())
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
        "seq": row["seq"],
        "review_due": due,
    }
