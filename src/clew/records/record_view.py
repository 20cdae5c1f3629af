"""record_view: one record in a readable form: its content, author, origin and links; and record_names:
the titles of many records, whichever store has them.

`open` shows the stored form; this returns the same shape for every kind, with titles instead of ids, so
that one page can show any record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.canonical import Json
from clew.clock import rfc3339
from clew.errors import shorten
from clew.ids import PROPOSAL, kind_by_form
from clew.index import item_reads
from clew.ledger import cipher
from clew.memory import blocks
from clew.memory.governance.proposals import proposer
from clew.reasoning.documents import noted_by_path
from clew.reasoning.scope import scope_of
from clew.records.links import SOURCES, Links, links_of
from clew.records.open import Open, bare_id, events_of, find_record, inner_of, surroundings, unknown_record
from clew.records.undo import undo_events
from clew.records.verdicts import verdict_of, verdicts
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Input, Name, operation
from clew.registry.record import Named, Opened, RecordLink, namer, refresh
from clew.registry.write_log import open_writes
from clew.store.events import events_about
from clew.tasks.leases import lease_holders
from clew.tasks.proofs import proof_states, shown_proofs
from clew.tasks.steps import Step, find_step, steps_of

LONGEST = 160
MOST = 200
STEP_PREFIX = "STEP-"
EVIDENCE_PREFIX = "EV-"


def names_of(ctx: Context, ids: Iterable[str]) -> dict[str, Named]:
    """Titles by id. Each kind is queried once; ids with no known form are looked up in the index.

    An unknown id is its own title, so every given id has one.
    """
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Named] = {}
    for kind, own in _by_kind(wanted).items():
        ask = namer.find(kind)
        if ask is not None:
            found |= {named.id: named for named in ask(ctx, own)}
    rest = [id for id in wanted if id not in found]
    found |= {named.id: named for named in _indexed(ctx, rest)}
    return {id: found.get(id) or Named(id, kind_by_form(id) or "record", id) for id in wanted}


def _by_kind(ids: list[str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for id in ids:
        formed = kind_by_form(id)
        # Steps and evidence have their own form, but a card may have such an id too.
        kind = formed or (
            "step" if id.startswith(STEP_PREFIX) else "evidence" if id.startswith(EVIDENCE_PREFIX) else ""
        )
        kinds.setdefault(kind, []).append(id)
    kinds.pop("", None)
    return kinds


def _indexed(ctx: Context, ids: list[str]) -> list[Named]:
    """Entries of the search index: cards, notes, thoughts, evidence, patterns."""
    rows = item_reads.items_by_ref(ctx.tx, ctx.workspace, ids)
    return [
        Named(
            row["ref"],
            SOURCES.get(row["source"], str(row["source"])),
            _line_of(row["title"], row["body"]),
            row["status"],
        )
        for row in rows
    ]


def _line_of(title: str | None, body: str | None) -> str:
    """One line; a thought without its notation."""
    said = title or (cipher.read(body).content if body else "") or ""
    return shorten(" ".join(said.split()), LONGEST)


class RecordNames(Input):
    ids: Annotated[list[Name], Field(min_length=1, max_length=MOST, description="Ids of any records.")]


@operation("record_names", example={"ids": ["TASK-001", "D-20261112-001"]})
def record_names(ctx: Context, args: RecordNames) -> dict[str, Any]:
    """Say what many records are called: kind, title and status for each id, whichever store keeps it."""
    names = names_of(ctx, args.ids)
    return {"workspace": ctx.workspace, "names": [named.to_json() for named in names.values()]}


MOST_BACK, MOST_ON = 6, 3
"""Maximum length of the chain of origin before a record, and of its results after it."""
BOOKS = "AR-"
"""Receipts of writes are bookkeeping and no useful origin of a record."""
MOST_PROOFS = 20
MOST_NOTES = 100
"""Maximum number of notes about the steps of one task, newest first."""
CAME_FROM = ("derives", "rests_on", "answers", "proves", "repeats", "part_of", "about", "depends_on", "replaces")
"""Relations from a record to its origin, most informative first."""
CAME_OF_IT = ("derives", "rests_on", "answers", "proves", "depends_on", "replaces", "about")
"""The same in the other direction. Part-of is left out: steps belong to their task but do not originate from it."""
VIEW_BUDGET = Budget(
    (
        Clip("versions[].diff", 4000),
        Clip("text", 20_000),
        Clip("proofs[].output_tail", 1000),
        Trim("proofs", drop="last", floor=3),
        Trim("events", drop="last", floor=5),
        Trim("versions", drop="last", floor=3),
        *(Trim(name, drop="last", floor=10) for name in ("incoming", "outgoing")),
        Drop("shown"),
        Clip("text", 2000),
        *(
            Trim(name, drop="last")
            for name in ("proofs", "proven", "steps", "events", "versions", "incoming", "outgoing", "chain")
        ),
        Clip("text", 400),
        Clip("text", 100),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "id", "kind", "title", "text"),
)


class RecordView(Bounded):
    synonyms: ClassVar[dict[str, str]] = dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id"), "id")

    id: Annotated[Name, Field(min_length=1, description="Any id that open takes.")]
    limit: Annotated[int, Field(ge=1, le=100, description="Most links, versions and events to show.")] = 40


@operation("record_view", mode="own", budget=VIEW_BUDGET, example={"id": "CARD-1"})
def record_view(ctx: Context, args: RecordView) -> dict[str, Any]:
    """Show any record as a person reads it: its sentence, author, origin, links both ways by name, and versions."""
    id = bare_id(ctx, args.id)
    catch_up = refresh.find(kind_by_form(id) or "")
    if catch_up is not None:
        catch_up(ctx)
    with ctx.reading() as bound:
        # 50 is the most that `open` accepts.
        opened = find_record(bound, id, Open(id=id, limit=min(args.limit, 50), include_drafts=True))
        if opened is None:
            raise unknown_record(id)
        return _view(bound, str(opened.get("id") or opened.get("ref") or id), opened, args.limit)


def _view(ctx: Context, id: str, opened: Opened, limit: int) -> dict[str, Any]:
    around = surroundings(ctx, id, opened, min(limit, 50))
    # One more than is shown, so that `more_links` can report that something is left out.
    links = links_of(ctx, id, limit + 1)
    chain = chain_of(ctx, id, opened, links)
    doubts = [RecordLink(id, "may_contradict", other["id"]) for other in around.get("may_contradict", [])]
    # First, because they need a decision; stored links are only informational.
    outgoing = (*doubts, *links.outgoing)
    verdict = verdict_of(ctx, id)
    disputed = verdict.disputed_with
    linked = [*(link.start for link in links.incoming), *(link.end for link in outgoing)]
    names = names_of(ctx, [id, *disputed, *linked, *chain])
    events = [] if opened["kind"] == "block" else events_of(ctx, id, opened, limit)
    fields = _with_origin(ctx, opened, _view_fields(opened, names[id]), events if len(events) < limit else [])
    return {
        "workspace": ctx.workspace,
        **fields,
        "chain": [{**names[other].to_json(), "here": other == id} for other in chain] if len(chain) > 1 else [],
        **_shown_links(links.incoming, outgoing, _labelled(ctx, names), limit),
        "rests_on_it": len(around.get("rests_on_it", [])),
        "fallen_premises": around.get("fallen_premises", []),
        "state": verdict.state.value,
        "labels": list(verdict.labels),
        "disputed_with": [names[other].to_json() for other in disputed],
        "retraction": around.get("retraction"),
        "label": around.get("label") or fields["status"],
        **{name: around.get(name) for name in ("successor", "disputed", "suspect")},
        "versions": _versions(ctx, opened),
        "versions_total": opened.get("versions") if isinstance(opened.get("versions"), int) else None,
        "events": _with_undo(ctx, id, events, limit),
        **_work(ctx, id, opened["kind"]),
        "shown": {name: part for name, part in opened.items() if name not in ("history", "links", "events", "record")},
        "truncated": False,
    }


def _with_origin(ctx: Context, opened: Opened, fields: Json, events: Sequence[Json]) -> Json:
    """Adds who created the record and when; `events` are its full history, newest first, if available."""
    if opened["kind"] == "block":
        versions = blocks.history(ctx, fields["id"])
        created = versions[0].ts_ms if versions else None
        return fields | {"author": block_author(ctx, fields["id"]) or fields["author"], "created_ms": created}
    if not events:
        return fields
    author = fields["author"] or events[-1].get("by")
    return fields | {"author": author, "created_ms": fields["created_ms"] or _moment(events[-1]["ts"])}


def _labelled(ctx: Context, names: Mapping[str, Named]) -> dict[str, Json]:
    """Records by id as links show them; with a label if replaced, disputed or resting on a retracted premise."""
    doubted = {
        id: verdict.label
        for id, verdict in verdicts(ctx, list(names)).items()
        if verdict.replaced_by or verdict.suspect or verdict.disputed_with
    }
    return {id: named.to_json() | ({"label": doubted[id]} if id in doubted else {}) for id, named in names.items()}


def _shown_links(
    incoming: Sequence[RecordLink], outgoing: Sequence[RecordLink], names: Mapping[str, Json], limit: int
) -> Json:
    return {
        "incoming": [{"rel": link.rel, **names[link.start]} for link in incoming[:limit]],
        "outgoing": [{"rel": link.rel, **names[link.end]} for link in outgoing[:limit]],
        "more_links": max(len(incoming), len(outgoing)) > limit,
    }


def _view_fields(opened: Opened, named: Named) -> dict[str, Any]:
    inner = inner_of(opened)
    fields: dict[str, Any] = inner.get("fields") or {}
    head = opened.get("head") or {}
    return {
        "id": named.id,
        "kind": _kind(opened, inner),
        "type": inner.get("type"),
        "title": _title(opened, inner, named),
        "text": _text(opened["kind"], inner, fields),
        "why": fields.get("Rationale") if fields.get("Rationale") not in ("none", "not given") else None,
        "status": _status(opened, inner, named),
        "author": head.get("agent") or inner.get("agent"),
        "created_ms": inner.get("created_at_ms") or _moment(_first(inner, "createdAt", "timestamp")),
        "changed_ms": head.get("ts_ms") or _first(inner, "updated_at_ms", "ts_ms", "last_ts_ms"),
    }


def _first(values: Json, *names: str) -> Any:
    """The first non-empty value."""
    return next((values[name] for name in names if values.get(name)), None)


def _text(kind: str, inner: Json, fields: Json) -> str:
    if kind == "block":
        return str(_first(fields, "Text", "Description", "Context") or "")
    text: str = next((inner[name] for name in TEXTS if isinstance(inner.get(name), str) and inner[name]), "")
    return cipher.read(text).content if kind == "thought" else text


def block_author(ctx: Context, id: str) -> str | None:
    """The first author; for a block that a person only approved, its proposer."""
    versions = blocks.history(ctx, id)
    if not versions:
        return None
    first = versions[0]
    proposal = blocks.find(ctx, first.cause) if first.cause and PROPOSAL.fullmatch(first.cause) else None
    return (proposer(ctx, proposal) if proposal is not None else None) or first.agent


TEXTS = ("text", "content", "body", "thought", "description", "summary")


def _kind(opened: Opened, inner: dict[str, Any]) -> str:
    """The kind in one word: a decision, a note, a hypothesis card."""
    if opened["kind"] == "block":
        return str(inner.get("type") or "block")
    return {"doc_entry": "note"}.get(opened["kind"], str(opened["kind"]))


def _title(opened: Opened, inner: dict[str, Any], named: Named) -> str:
    if opened["kind"] == "conflict":
        conflict = opened["conflict"]
        return f"{conflict['key']}: changed on {conflict['from']} and on {conflict['into']}"
    own = inner.get("title") if isinstance(inner.get("title"), str) and opened["kind"] != "plan" else None
    return own or (named.title if named.title != named.id else str(opened.get("summary") or named.id))


def _status(opened: Opened, inner: dict[str, Any], named: Named) -> Any:
    """For work, the status derived from its steps; otherwise the stored one."""
    if opened["kind"] in ("plan", "task"):
        return named.status
    return opened.get("status") or _first(inner, "status", "grade") or named.status


def _moment(stamp: Any) -> int | None:
    return int(datetime.fromisoformat(stamp).timestamp() * 1000) if isinstance(stamp, str) else None


def _work(ctx: Context, id: str, kind: str) -> dict[str, list[dict[str, Any]]]:
    """The proof of a task or step, the grade of each closed step, its notes, and who has claimed it."""
    found = steps_of(ctx, id) if kind == "task" else [find_step(ctx, id)] if kind == "step" else []
    steps = [step for step in found if step is not None]
    if not steps:
        return {"proofs": [], "proven": [], "steps": []}
    return {
        "proofs": shown_proofs(ctx, steps, MOST_PROOFS),
        "proven": [proof.to_json() for proof in proof_states(ctx, [s for s in steps if s.completed]).values()],
        "steps": _step_rows(ctx, steps),
    }


def _step_rows(ctx: Context, steps: list[Step]) -> list[dict[str, Any]]:
    scope = scope_of(ctx, steps[0].task)
    notes = noted_by_path(ctx, scope.branch.id, scope.notes, steps[0].task, MOST_NOTES)
    held = lease_holders(ctx, [step.id for step in steps])
    said = [
        {"step_id": step.id, "path": step.path, "notes": notes.get(step.path, []), "held_by": held.get(step.id)}
        for step in steps
    ]
    return [one for one in said if one["notes"] or one["held_by"]]


def _versions(ctx: Context, opened: Opened) -> list[dict[str, Any]]:
    """The versions of a block, newest first. The newest has the way to undo its write, the others their full text."""
    rows = opened["history"] if isinstance(opened.get("history"), list) else []
    if not rows or opened["kind"] != "block":
        return rows
    seqs = [row["seq"] for row in rows]
    texts = {version.seq: version for version in blocks.history(ctx, str(opened.get("id") or opened.get("ref")))}
    undo = next((write for write in open_writes(ctx, seqs[0]) if write.has_seq(seqs[0])), None)
    newest = {**rows[0], "undo": f"evt_{undo.event:016d}" if undo is not None else None}
    return [newest, *({**row, "said": _words_of(texts.get(row["seq"]))} for row in rows[1:])]


def _words_of(version: Any) -> dict[str, str] | None:
    if version is None:
        return None
    return {"statement": version.headline, "why": version.get("Rationale") or ""}


def _with_undo(ctx: Context, id: str, rows: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The history of a record, each entry with the event by which its write can be undone, if possible."""
    if not rows:
        return rows
    known = undo_events(ctx, events_about(ctx.tx, ctx.workspace, id, limit))
    undo = {(type, rfc3339(ts_ms)): event for (type, ts_ms), event in known.items()}
    return [{**row, "undo": undo.get((row["event"], row["ts"]))} for row in rows]


@dataclass(frozen=True)
class _Walk:
    """A traversal in one direction of the chain of origin."""

    steps: Callable[[Context, str, Opened | None, Links], Iterator[str]]
    most: int


def chain_of(ctx: Context, id: str, opened: Opened, links: Links) -> list[str]:
    """Origin, record and results as one line: thought, signal, proposal, decision, proof."""
    back = _walk(ctx, id, opened, links, _Walk(_sources, MOST_BACK), {id})
    on = _walk(ctx, id, opened, links, _Walk(_results, MOST_ON), {id, *back})
    return [*reversed(back), id, *on]


def _walk(ctx: Context, id: str, opened: Opened | None, links: Links, walk: _Walk, seen: set[str]) -> list[str]:
    found: list[str] = []
    seen = set(seen)
    while len(found) < walk.most:
        nearest = next((other for other in walk.steps(ctx, id, opened, links) if other not in seen), None)
        if nearest is None:
            break
        found.append(nearest)
        seen.add(nearest)
        id, opened, links = nearest, None, links_of(ctx, nearest, 20)
    return found


def _sources(ctx: Context, id: str, opened: Opened | None, links: Links) -> Iterator[str]:
    """Possible origins of a record, most informative first: the proposal that created a block, then links."""
    if kind_by_form(id) == "block":
        yield from _block_sources(ctx, id)
    for rel in CAME_FROM:
        yield from (link.end for link in links.outgoing if link.rel == rel)


def _block_sources(ctx: Context, id: str) -> Iterator[str]:
    versions = blocks.history(ctx, id)
    first = next((version for version in versions if version.cause and version.cause != id), None)
    if first is not None and first.cause and not first.cause.startswith(BOOKS):
        yield first.cause
    if versions:
        signal = versions[-1].get("Signal")
        yield from [signal] if signal else []


def _results(ctx: Context, id: str, opened: Opened | None, links: Links) -> Iterator[str]:
    """Results of a record: the block that a proposal created, the proposal of a signal, records that rest on it."""
    if kind_by_form(id) == "block":
        now = blocks.find(ctx, id)
        named = [now.get("Proposal") if now and id.startswith("SIG-") else "", now.get("TargetBlock") if now else ""]
        yield from (other for other in named if other and blocks.find(ctx, other) is not None)
    for rel in CAME_OF_IT:
        yield from (link.start for link in links.incoming if link.rel == rel)
