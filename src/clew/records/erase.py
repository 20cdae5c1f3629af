"""erase: a person permanently removes the text of a record from the store and its files; a tombstone stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.errors import ClewError, shorten, suggest
from clew.index.erasing import forget_items, forget_texts
from clew.index.item_reads import refs_starting
from clew.kinds.kind import BLOCK
from clew.kinds.state import LIVE
from clew.memory import blocks
from clew.memory.files.erasing import erase_in_files
from clew.memory.files.sync import exclusive
from clew.memory.governance.patches import read
from clew.records.focus import step_named
from clew.records.instructions import erase_in_instructions
from clew.records.links import kind_of
from clew.records.open import Open, bare_id, find_record, tombstone_of, unknown_record
from clew.records.retract import retract_within
from clew.records.succession import state_of
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Text, View, operation
from clew.registry.people import check_person
from clew.registry.record import Retraction
from clew.store.erasing import (
    RECORD_ERASED,
    Erasure,
    empty_rows,
    erase_copies,
    event_digest,
    forget_kept_state,
    own_rows,
    remove_rows,
    texts_of,
)
from clew.store.redaction import ERASED, Redactor
from clew.tasks.proof_receipts import seals

MOST_NAMED = 50
GARDEN = ("scratchpad", "pattern")
SHORTEST = 6


class Erase(Input):
    synonyms: ClassVar[dict[str, str]] = {
        "texts": "text",
        **dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id"), "id"),
    }

    id: Annotated[Name, Field(min_length=1, description="What is to be erased: any id that open takes.")]
    text: Annotated[
        list[Annotated[Text, Field(min_length=SHORTEST, max_length=10_000)]],
        Field(max_length=20, description="Further texts to erase wherever they stand, such as a name or a secret."),
    ] = []
    dry_run: Annotated[bool, Field(description="Only say what would be erased.")] = True


@dataclass(frozen=True)
class _Record:
    """The texts to erase: the record, its parts, and their texts."""

    id: str
    kind: str
    parts: tuple[str, ...]
    redactor: Redactor

    @property
    def key(self) -> str | int:
        """The key of its rows: of an entry its number in the log, of a note its id without the kind."""
        if self.kind == "entry":
            return int(self.id.rpartition("@")[2])
        return self.id.partition(":")[2] if self.kind in GARDEN else self.id


def erase_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    rows = sum(result["rows"].values())
    if result["dry_run"]:
        lines = [f"{result['id']} ({result['kind']}) would be erased: {rows} rows in {len(result['rows'])} tables"]
    else:
        files = f" and {len(result['files'])} files" if result["files"] else ""
        lines = [f"erased {result['id']} ({result['kind']}): {rows} rows{files}"]
    if result["also_in"]:
        lines.append(f"the same text also goes from: {', '.join(result['also_in'])}")
    return [*lines, *(f"still holds it: {place}" for place in result["still_holds"])]


@operation("erase", writes=True, mode="own", example={"id": "CARD-1"}, view=View(lines=erase_lines))
def erase(ctx: Context, args: Erase) -> dict[str, Any]:
    """Take the text of a record out of every table, index and file for good; only a person may, and nothing undoes it.

    Copies of its text in other records, events, receipts and answers go too. Its id stays with who erased it and when.
    The answer names backups and other files that still hold it.
    """
    check_person(ctx, f"erasing {args.id}", f"erase {args.id}")
    return erase_for_good(ctx, args)


def erase_for_good(ctx: Context, args: Erase) -> dict[str, Any]:
    """Erase without asking, for callers that have checked that a person decided it, here or in the source store."""
    with ctx.reading() as reading:
        record = _found(reading, args)
        if args.dry_run:
            return {**_planned(reading, record), "dry_run": True}
    done = Erasure()
    with exclusive(ctx), ctx.writing() as bound:
        _withdraw(bound, record)
        _erase_rows(bound, record, done)
        also = _also_in(record, done)
        _leave_tombstone(bound, record, done)
    left = ctx.database.purge(sorted({*done.changed, "item_past", "item_terms", "item_vector"}))
    files = erase_in_files(ctx, record.redactor)
    erase_in_instructions(ctx, record.redactor, files)
    return {
        "workspace": ctx.workspace,
        "id": record.id,
        "kind": record.kind,
        "dry_run": False,
        "rows": done.counts(),
        "files": files.cleaned,
        "also_in": also,
        "still_holds": [*files.holding, *([left] if left else []), *_outside(ctx)],
    }


def _found(ctx: Context, args: Erase) -> _Record:
    id = bare_id(ctx, args.id)
    id = step_named(ctx, id) or id
    if tombstone_of(ctx, id) is not None and not args.text:
        raise ClewError(
            "CONFLICT",
            f"{id} is erased already",
            "Give text=[...] to erase what is left of it elsewhere.",
            suggestions=[suggest("open", "Shows who erased it and when.", "high", id=id)],
        )
    kind = next((kind for kind in GARDEN if id.startswith(f"{kind}:")), None) or kind_of(ctx, id)
    if kind is None or find_record(_quiet(ctx), id, Open(id=id, limit=1)) is None:
        raise unknown_record(id)
    bare = _Record(id, kind, (), Redactor(()))
    rows = list(own_rows(ctx.tx, ctx.workspace, kind, id, bare.key))
    parts = {str(row["id"]) for _, row in rows if isinstance(row.get("id"), str)}
    parts |= set(refs_starting(ctx.tx, ctx.workspace, f"{id}:"))
    texts = [*texts_of(rows), *(_proposed_for(ctx, id) if kind == BLOCK else ())]
    return _Record(id, kind, tuple(sorted({id, *parts})), Redactor(texts, args.text))


def _proposed_for(ctx: Context, id: str) -> Iterator[str]:
    """The texts that proposals would give the record, whatever their status."""
    for proposal in blocks.current(ctx, prefix="P"):
        ops = proposal.fields.get("Ops")
        if proposal.get("TargetBlock") == id and ops:
            with suppress(ClewError):  # a person may have edited it
                yield from (op.value for op in read(ops) if op.op == "update_field" and op.value)


def _quiet(ctx: Context) -> Context:
    return Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent, ws=ctx.ws)


def _planned(ctx: Context, record: _Record) -> dict[str, Any]:
    done = Erasure()
    erase_copies(ctx.tx, ctx.workspace, record.redactor, record.parts, done, dry=True)
    return {
        "workspace": ctx.workspace,
        "id": record.id,
        "kind": record.kind,
        "rows": done.counts(),
        "files": [],
        "also_in": _also_in(record, done),
        "still_holds": _outside(ctx),
    }


def _withdraw(ctx: Context, record: _Record) -> None:
    """Records no longer rest on it; what it had replaced is in force again."""
    if state_of(ctx, record.id) in LIVE:
        with suppress(ClewError):  # a record that cannot be withdrawn is still emptied
            retract_within(ctx, record.id, Retraction(ERASED))
    if record.kind == BLOCK and blocks.find(ctx, record.id) is not None:
        blocks.remove(ctx, record.id, origin="apply")


def _erase_rows(ctx: Context, record: _Record, done: Erasure) -> None:
    tx, workspace = ctx.tx, ctx.workspace
    forget_items(tx, workspace, record.parts)
    empty_rows(tx, workspace, own_rows(tx, workspace, record.kind, record.id, record.key), done)
    erase_copies(tx, workspace, record.redactor, record.parts, done)
    for id in record.parts:
        remove_rows(tx, workspace, id)
    forget_texts(tx, workspace, ctx.ws.number, record.redactor, done)
    forget_kept_state(tx)


def _leave_tombstone(ctx: Context, record: _Record, done: Erasure) -> None:
    """The tombstone event records the remains of the chained rows, so that `verify` accepts exactly these."""
    events = {str(change.after["seq"]): event_digest(change.after) for change in done.rows("event")}
    receipts = seals(ctx, [change.after["id"] for change in done.rows("proof_receipt")])
    payload = {"kind": record.kind, "rows": done.counts(), "events": events, "receipts": receipts}
    ctx.emit("records", RECORD_ERASED, record.id, payload)


def _also_in(record: _Record, done: Erasure) -> list[str]:
    """Other records that contain the same text."""
    refs = [change.after["ref"] for change in done.rows("item")]
    return [ref for ref in dict.fromkeys(refs) if ref not in record.parts][:MOST_NAMED]


def _outside(ctx: Context) -> Sequence[str]:
    """Places that cannot be erased here and may contain it too."""
    kept = "copies made elsewhere with clew backup or pg_dump, exports, and transcripts that clients keep themselves"
    return [shorten(kept, 200)]
