"""Capture: turns daily logs and conversations into signals, without secrets and without echoes of our own answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, invalid, shorten
from clew.ids import check_name
from clew.index.item_reads import titles_of
from clew.kinds import statuses
from clew.memory import blocks, signals
from clew.memory.blocks import Block
from clew.memory.files.directory import directory_of
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import clean, set_field
from clew.memory.governance import proposals
from clew.memory.governance.patches import Op
from clew.memory.governance.proposals import Staged
from clew.memory.governance.submission import Said, decision_text, task_text
from clew.memory.kinds import KINDS, check_block_id, kind_of
from clew.memory.marks import mark, normal_words
from clew.memory.signals import Notice, in_log, in_talk, spoken, tags_of
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, Name, Text, operation
from clew.secrets import screened

MOST = 500
ECHO_SHARE = 0.9
"""An echo may add one word in ten, such as a name or an adverb."""
ECHO_LEAST = 4
"""Shorter lines share all of their words with some block by chance."""
ACTIONS = {"decision": "promote_signal makes a proposed decision of it"}
_FORMALISE = "promote_signal makes a proposed task of it"


class Capture(Input):
    text: Annotated[Text | None, Field(description="What to look through; default: the workspace's daily logs.")] = None
    format: Annotated[
        Literal["log", "talk", "transcript"],
        Field(description="log: notes; talk: plain conversation; transcript: JSON lines of an agent's session."),
    ] = "log"
    source: Annotated[Name, Field(description="Where the text comes from, kept with each signal.")] = "capture"
    days: Annotated[int, Field(ge=1, le=31, description="Without text: daily logs of how many days.")] = 1


@operation("capture", writes=True, mode="own", idempotent=True, view=BARE)
def capture(ctx: Context, args: Capture) -> dict[str, Any]:
    """Turn a log or a conversation into signals that wait for review."""
    texts = [(check_name(args.source, "source"), args.text)] if args.text is not None else _daily_logs(ctx, args.days)
    found = [(source, notice) for source, text in texts for notice in _noticed(text, args.format)]
    with governed_transaction(ctx, KINDS["SIG"].file) as bound:
        return _recorded(bound, found[:MOST], len(found) - MOST)


def _noticed(text: str, format: str) -> Iterable[Notice]:
    if format == "log":
        return in_log(text)
    return in_talk(spoken(text) if format == "transcript" else text)


def _daily_logs(ctx: Context, days: int) -> list[tuple[str, str]]:
    """Today's `memory/YYYY-MM-DD.md` and those of the previous days."""
    directory = directory_of(ctx)
    if directory is None:
        raise ClewError("INVALID_INPUT", "this workspace has no files, so no daily logs", "Give the text itself.")
    today = datetime.fromtimestamp(ctx.clock() / 1000, UTC)
    paths = [f"memory/{(today - timedelta(days=back)).strftime('%Y-%m-%d')}.md" for back in range(days)]
    return [(path, data.decode("utf-8", "replace")) for path in paths if (data := directory.read(path))]


def _recorded(ctx: Context, found: list[tuple[str, Notice]], left_out: int) -> dict[str, Any]:
    written: list[dict[str, Any]] = []
    skipped: Counter[str] = Counter()
    masked = 0
    echoes = Echoes(ctx)
    for source, raw in found:
        # First of all, so that no later step can store a secret.
        text, secrets = screened(clean(raw.text))
        notice = replace(raw, text=text)
        masked += secrets
        reason = _superfluous(ctx, notice, echoes)
        if reason:
            skipped[reason] += 1
            continue
        written.append(_signal(ctx, f"{source}:{notice.line}", notice))
    if left_out > 0:
        skipped["left_out"] = left_out
    return {"captured": len(written), "signals": written, "skipped": dict(sorted(skipped.items())), "masked": masked}


def _signal(ctx: Context, source: str, notice: Notice) -> dict[str, Any]:
    block = signals.record(
        ctx,
        kind=notice.kind,
        excerpt=notice.text,
        source=source,
        confidence=notice.confidence,
        tags=tags_of(notice.text),
        action=ACTIONS.get(notice.kind, _FORMALISE),
        origin="capture",
    )
    return {"signal_id": block.id, "type": notice.kind, "confidence": notice.confidence, "excerpt": notice.text}


def _superfluous(ctx: Context, notice: Notice, echoes: Echoes) -> str | None:
    """Why a line is not worth a signal: it is known, was rejected before, or echoes what recall showed."""
    form = mark(notice.text)
    if any(blocks.with_mark(ctx, prefix, form) for prefix in ("SIG", "D", "T")):
        return "known"
    if proposals.rejected(ctx, notice.text):
        return "rejected"
    return "echo" if echoes.hold(notice.text) else None


class Echoes:
    """Detects lines that only repeat a block: nearly all of their words occur in its headline.

    An agent quotes what recall showed it; without this check, every quotation would become a signal again.
    """

    def __init__(self, ctx: Context) -> None:
        self.said = [frozenset(normal_words(title)) for title in titles_of(ctx.tx, ctx.workspace, "block")]
        self.places: dict[str, list[int]] = {}
        for place, words in enumerate(self.said):
            for word in words:
                self.places.setdefault(word, []).append(place)

    def hold(self, text: str) -> bool:
        words = set(normal_words(text))
        if len(words) < ECHO_LEAST:
            return False
        shared: Counter[int] = Counter()
        for word in words:
            # An inverted index: each word maps to the few headlines that contain it, instead of
            # comparing with all of them.
            shared.update(self.places.get(word, ()))
        # Measured by the line and not by the headline: a short quotation of a long block is an echo as well.
        return any(count >= ECHO_SHARE * len(words) for count in shared.values())


class PromoteSignal(Input):
    signal_id: Annotated[str, Field(max_length=140, description="The signal, SIG-YYYYMMDD-NNN.")]
    block_type: Annotated[
        Literal["decision", "task"] | None, Field(description="What it becomes; default: by the signal's type.")
    ] = None
    statement: Annotated[str | None, Field(max_length=20_000, description="Better words than the signal's own.")] = None


@operation("promote_signal", writes=True, mode="own", example={"signal_id": "SIG-20260213-001"}, view=BARE)
def promote_signal(ctx: Context, args: PromoteSignal) -> dict[str, Any]:
    """Stage a proposal from a captured signal."""
    id = check_block_id(args.signal_id, "signal_id")
    with governed_transaction(ctx) as bound:
        signal = blocks.get(bound, id)
        if kind_of(id).name != "signal" or signal.status != statuses.PENDING:
            raise ClewError("CONFLICT", f"{id} is {signal.status or 'no signal'}; only a pending signal is promoted")
        if blocks.find(bound, signal.get("Proposal")) is not None:
            raise ClewError("CONFLICT", f"{id} has the proposal {signal.get('Proposal')} already", "Review that one.")
        return _promoted(bound, signal, args)


def _promoted(ctx: Context, signal: Block, args: PromoteSignal) -> dict[str, Any]:
    excerpt = signal.fields.get("Excerpt", "")
    said, _ = screened(clean(args.statement or (excerpt if isinstance(excerpt, str) else ", ".join(excerpt))))
    if not said:
        raise invalid("statement", "must not be empty", kind="non_empty")
    proposals.check_not_rejected(ctx, said)
    chosen = args.block_type or ("decision" if signal.get("Type").endswith("-decision") else "task")
    block_id = blocks.dated_id(ctx, "D" if chosen == "decision" else "T")
    write = decision_text if chosen == "decision" else task_text
    text = write(ctx, block_id, Said(said, "", signal.tags, signal.id, signal.get("Confidence")))
    op = Op("append_block", file=kind_of(block_id).file, patch=text)
    evidence = (f"{signal.id}: {shorten(signal.headline, 200)}", f"captured from {signal.get('Source')}")
    proposal = proposals.stage(ctx, Staged(chosen, block_id, (op,), evidence, signal=signal.id))
    # The signal stays pending until the proposal is decided; the field prevents a second promotion.
    blocks.write(ctx, signal.id, set_field(signal.text, "Proposal", proposal.id), origin="review", cause=proposal.id)
    return {
        "status": statuses.PROPOSED,
        "signal_id": signal.id,
        "proposal_id": proposal.id,
        "block_id": block_id,
        "next_step": proposals.next_step(proposal.id),
    }
