"""The multi-agent ledger: facts with source and status in `shared/intelligence/LEDGER.md`.

A fact is `pending-review` wherever it is shown until it is reviewed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, invalid, suggest
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import clean, print_block, set_field
from clew.memory.files.sync import sync
from clew.memory.governance import policy, submission
from clew.memory.kinds import KINDS, check_block_id
from clew.memory.marks import mark
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, Name, operation
from clew.secrets import screened
from clew.store.workspaces import declare_events

declare_events({"fact_reviewed": "A fact of the shared ledger was accepted or rejected."})

PENDING = "pending-review"


class ShareFact(Input):
    text: Annotated[str, Field(min_length=1, max_length=20_000, description="The fact.")]
    type: Annotated[Name, Field(description="Kind of fact, such as observation or convention.")] = "fact"
    confidence: Annotated[submission.Confidence, Field(description="high, medium or low.")] = "medium"
    source_block: Annotated[str | None, Field(max_length=140, description="Block the fact comes from.")] = None


@operation("share_fact", writes=True, mode="own", example={"text": "CI needs Node 22."}, view=BARE)
def share_fact(ctx: Context, args: ShareFact) -> dict[str, Any]:
    """Put a fact into the ledger that agents share; it waits for review there."""
    with governed_transaction(ctx) as bound:
        text, masked = screened(clean(args.text))
        if not text:
            raise invalid("text", "must not be empty", "Say the fact.", kind="non_empty")
        bound.note_masked(masked)
        known = [fact for fact in blocks.with_mark(bound, "FACT", mark(text)) if fact.status != statuses.REJECTED]
        if known:
            return {"status": known[0].status, "written": 0, "fact_id": known[0].id, "duplicate_of": known[0].id}
        source = blocks.get(bound, check_block_id(args.source_block, "source_block")).id if args.source_block else None
        fact = _write(bound, args, text, source)
        return {"status": PENDING, "written": 1, "fact_id": fact.id, "location": fact.file}


def _write(ctx: Context, args: ShareFact, text: str, source_block: str | None) -> Block:
    id = _free_id(ctx)
    printed = print_block(
        id,
        {
            "Date": blocks.day_of(ctx.now_ms),
            "Source": ctx.agent or "unknown agent",
            "Confidence": args.confidence,
            "Type": clean(args.type),
            "Text": text,
            "SourceBlock": source_block,
            "Status": PENDING,
        },
    )
    return blocks.write(ctx, id, printed, origin="share")


def _free_id(ctx: Context) -> str:
    """`FACT-YYYYMMDD-HHMMSS`, the next free second."""
    # In Mind-Mem two facts of one second share an id; here the later one takes the next free second.
    moment = datetime.fromtimestamp(ctx.now_ms / 1000, UTC)
    while True:
        id = f"FACT-{moment.strftime('%Y%m%d-%H%M%S')}"
        if not blocks.history(ctx, id):
            return id
        moment += timedelta(seconds=1)


class ReviewFact(Input):
    fact_id: Annotated[str, Field(max_length=140, description="The fact, FACT-YYYYMMDD-HHMMSS.")]
    verdict: Annotated[Literal["accepted", "rejected"], Field(description="Whether other agents may rely on it.")]
    reason: Annotated[str, Field(max_length=2000, description="Why.")] = ""


@operation(
    "review_fact",
    writes=True,
    mode="own",
    example={"fact_id": "FACT-20260213-101500", "verdict": "accepted"},
    view=BARE,
)
def review_fact(ctx: Context, args: ReviewFact) -> dict[str, Any]:
    """Accept or reject a fact of the shared ledger. For a person."""
    id = check_block_id(args.fact_id, "fact_id")
    with governed_transaction(ctx) as bound:
        command = f"approve {id}" if args.verdict == "accepted" else f"reject {id} --reason ..."
        policy.check_decider(bound, f"reviewing {id}", command, suggest("list_facts", "Lists the facts."))
        fact = blocks.get(bound, id)
        if fact.kind is not KINDS["FACT"]:
            raise ClewError("CONFLICT", f"{id} is not a fact of the ledger", "Give an id that begins with FACT-.")
        if fact.status != PENDING:
            raise ClewError("CONFLICT", f"{id} is {fact.status} already", "Share a new fact instead.")
        text = set_field(fact.text, "Status", args.verdict)
        text = set_field(text, "ReviewedBy", bound.agent or "unknown agent")
        if args.reason:
            text = set_field(text, "Reason", clean(args.reason))
        blocks.write(bound, id, text, origin="review", cause=id)
        bound.emit("memory", "fact_reviewed", id, {"verdict": args.verdict})
        return {"fact_id": id, "status": args.verdict}


class ListFacts(Input):
    status: Annotated[
        Literal["pending-review", "accepted", "rejected", "any"], Field(description="Which ones; default: any.")
    ] = "any"
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show, newest first.")] = 50


@operation("list_facts", mode="own", view=BARE)
def list_facts(ctx: Context, args: ListFacts) -> dict[str, Any]:
    """List the facts of the shared ledger with source and status."""
    sync(ctx)
    with ctx.reading() as bound:
        status = None if args.status == "any" else args.status
        found = blocks.current(bound, prefix="FACT", status=status)[::-1]
        return {"facts": [_fact_json(fact) for fact in found[: args.limit]], "total": len(found)}


def _fact_json(fact: Block) -> dict[str, Any]:
    return {
        "fact_id": fact.id,
        "text": fact.get("Text"),
        "type": fact.get("Type"),
        "source": fact.get("Source"),
        "confidence": fact.get("Confidence"),
        "status": fact.status,
        "source_block": fact.get("SourceBlock") or None,
    }
