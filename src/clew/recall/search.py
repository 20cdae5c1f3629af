"""One search from request to answer: load the model, read the corpus, rank, judge, fold duplicates, render."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.clock import rfc3339
from clew.errors import ClewError, invalid
from clew.index.item_reads import items_by_id, items_of_past
from clew.index.terms import terms
from clew.kinds.catalogue import state_of_item
from clew.kinds.kind import BLOCK
from clew.kinds.statuses import ACTIVE, SUPERSEDED
from clew.memory.blocks import locate, turns
from clew.memory.files.sync import sync
from clew.recall.answer import NO_PREVIEW, NOTICE, beside_json, previews, replaced_by, result_json
from clew.recall.authors import authors_of
from clew.recall.confidence import AnswerConfidence, confidence_of
from clew.recall.corpus import ALL, Corpus
from clew.recall.features import outdated
from clew.recall.figures import note_question
from clew.recall.floor import above_nought, beside_the_best, near_the_best, strengths, worth_showing
from clew.recall.graph import linked, proposed_instead, successors
from clew.recall.kernel import Kernel, kernel_of
from clew.recall.library import library
from clew.recall.likeness import Likeness
from clew.recall.models import ACTIVE as MODEL_CHOICE
from clew.recall.models import stored_choice
from clew.recall.period import day_said
from clew.recall.query import Query, analyse
from clew.recall.ranking import Ranked, rank, with_links, with_successors
from clew.recall.selection import (
    LOOKED_AT,
    asks_for_work,
    balance,
    beside_opposites,
    diversify,
    fold,
    idle_work,
    is_work,
)
from clew.recall.semantic_arm import SemanticArm
from clew.recall.uses import note_use
from clew.recall.wording import slots_of_signs, with_wording
from clew.registry.context import Context
from clew.registry.record import REPLACES, Preview, successions
from clew.store.database import Row

SOURCES = {
    "blocks": "block",
    "cards": "card",
    "notes": "note",
    "thoughts": "thought",
    "tasks": "task",
    "evidence": "evidence",
    "patterns": "pattern",
}
NO_SLOTS = np.zeros(0, np.int64)
MOST_SWITCHES = 3
MOST_OUTDATED = 32
"""For this many of the best outdated candidates the replacement is looked up."""


@dataclass(frozen=True)
class Request:
    query: str
    limit: int = 10
    active_only: bool = False
    sources: tuple[str, ...] = ()
    """Item sources to search; empty means all."""
    kinds: tuple[str, ...] = ()
    """Kinds of records to search; empty means all."""
    refs: frozenset[str] | None = None
    """The only records to search; None means all."""
    history: bool = False
    """Whether outdated records are ranked like others instead of shown under their replacement."""
    as_of: int | str | None = None
    intent: str | None = None
    """The intent, if the caller names it; else it is derived from the words."""
    explain: bool = False
    words_only: bool = False
    counts: bool = False
    """Whether showing a result counts as a use of it."""
    kernel: Kernel | None = None
    """Weights under trial, in place of the workspace's own."""

    def asking(self, query: str) -> Request:
        return replace(self, query=query)


def holds(source: str, kind: str | None, status: str | None) -> bool:
    """Whether the item is valid. Of blocks only active ones are, as the file format specifies."""
    if source == BLOCK:
        return (status or "").lower() == ACTIVE
    return state_of_item(source, kind, status).is_live


class Search:
    def __init__(self, ctx: Context, request: Request) -> None:
        self.ctx = ctx
        self.request = request
        # Punctuation only (`?`) has no meaning that could be compared: it would be similar to anything.
        words_only = request.words_only or not terms(request.query)
        self.semantic = SemanticArm(ctx, request.query, words_only, request.as_of is not None)
        self.known_first = not (request.sources or request.kinds or asks_for_work(request.query))
        """Whether work is ranked after knowledge: decisions and facts answer, steps and proofs rarely do."""

    def run(self) -> dict[str, Any]:
        if not self.request.sources or "block" in self.request.sources:
            sync(self.ctx)
        # Loading a model and embedding are slow, so they happen between transactions; a fresh read then checks that the
        # model is still the chosen one. After too many switches a search falls back to words only.
        for _ in range(MOST_SWITCHES):
            with self.ctx.reading() as ctx:
                kernel = self.request.kernel or kernel_of(ctx)
                choice, files = stored_choice(ctx.tx, MODEL_CHOICE), self.semantic.files(ctx, kernel)
            self.semantic.load(files)
            with self.ctx.reading() as ctx:
                # Another model may have been chosen while this one was loaded; then its vectors are gone.
                serves = files is None or stored_choice(ctx.tx, MODEL_CHOICE) == choice
                waiting = self.semantic.waiting(ctx)
                if serves and not waiting:
                    return self._search(ctx, kernel)
            self.semantic.embed(waiting)
            with self.ctx.reading() as ctx:
                if serves and stored_choice(ctx.tx, MODEL_CHOICE) == choice:
                    return self._search(ctx, kernel)
        self.semantic.give_up("the embedding model is being changed")
        with self.ctx.reading() as ctx:
            return self._search(ctx, kernel)

    def _search(self, ctx: Context, kernel: Kernel) -> dict[str, Any]:
        query = analyse(self.request.query, kernel, ctx.now_ms, self.request.intent)
        query = replace(query, history=query.history or self.request.history)
        with library(ctx.database).lock:
            return self._rank_and_answer(ctx, query, kernel)

    def _rank_and_answer(self, ctx: Context, query: Query, kernel: Kernel) -> dict[str, Any]:
        corpus = self.corpus(ctx, kernel)
        visible = self.visible(corpus)
        likeness, arms = self.semantic.likeness(ctx, corpus, query, kernel)
        ranked = self._rank(ctx, corpus, query, kernel, visible, likeness)
        # Judged before replacements take the place of outdated records, which may hold the question's words.
        confidence = confidence_of(ranked)
        if self._is_led_by_work(ranked):
            known = ranked.reordered(np.flatnonzero(~corpus.are(ranked.slots, is_work)))
            of_known = confidence_of(known)
            self.known_first = of_known.is_answer
            confidence = of_known if of_known.is_answer else confidence
        ranked = self._current_first(ctx, ranked, query, likeness)
        order, folded = self._choose(corpus, ranked, query, confidence)
        return self._answer(ctx, ranked, query, order, folded, confidence, arms)

    def _is_led_by_work(self, ranked: Ranked) -> bool:
        """Whether a step or a proof is ranked before all knowledge although none was requested."""
        return self.known_first and bool(ranked.scene.corpus.are(ranked.slots[:1], is_work).any())

    def corpus(self, ctx: Context, kernel: Kernel) -> Corpus:
        if self.request.as_of is None:
            return library(ctx.database).current(ctx, kernel)
        column, moment = moment_of(self.request.as_of, ctx.now_ms)
        return library(ctx.database).as_of(ctx, kernel, column, moment)

    def visible(self, corpus: Corpus) -> NDArray[np.bool_]:
        visible = self._of_any_kind(corpus)
        if self.request.kinds:
            visible &= corpus.are(ALL, self._is_of_kind)
        return visible

    def _is_of_kind(self, source: str, kind: str | None, _: str | None) -> bool:
        """Thoughts, evidence and notes have no kind and are found by their source."""
        wanted = self.request.kinds
        return (kind or "").lower() in wanted or (source in wanted and source != "task")

    def _of_any_kind(self, corpus: Corpus) -> NDArray[np.bool_]:
        visible = corpus.alive.copy()
        if self.request.sources:
            visible &= corpus.are(ALL, lambda source, *_: source in self.request.sources)
        if self.request.active_only:
            visible &= corpus.are(ALL, holds)
        if self.request.refs is not None:
            visible &= np.fromiter((ref in self.request.refs for ref in corpus.refs), np.bool_, len(corpus))
        return visible

    def _rank(
        self,
        ctx: Context,
        corpus: Corpus,
        query: Query,
        kernel: Kernel,
        visible: NDArray[np.bool_],
        likeness: Likeness | None,
    ) -> Ranked:
        ranked = rank(corpus, query, kernel, visible, likeness)
        if query.intent.graph_depth and len(ranked.slots) and self.request.as_of is None:
            ways = linked(ctx, corpus, ranked.slots.tolist(), query.intent.graph_depth)
            ranked = with_links(ranked, ways, likeness)
        signs = slots_of_signs(ctx.tx, ctx.workspace, corpus, query.text) if self.request.as_of is None else NO_SLOTS
        return with_wording(ranked, query.text, signs, likeness)

    def _current_first(self, ctx: Context, ranked: Ranked, query: Query, likeness: Likeness | None) -> Ranked:
        """Rank valid records before outdated ones, unless the question or `as_of` asks for the past."""
        if query.history or not len(ranked.slots):
            return ranked
        corpus = ranked.scene.corpus
        late = ranked.slots[outdated(corpus, ranked.slots)]
        if not len(late):
            return ranked
        after = successors(ctx, corpus, late[:MOST_OUTDATED].tolist()) if self.request.as_of is None else {}
        # A rule may have been replaced by a decision, which is then the valid one, whatever kind was requested.
        allowed = self._of_any_kind(corpus)
        heirs = {old: new for old, new in after.items() if allowed[new]}
        return replace(with_successors(ranked, heirs, likeness), replaced=frozenset(after))

    def _choose(
        self, corpus: Corpus, ranked: Ranked, query: Query, confidence: AnswerConfidence
    ) -> tuple[list[int], dict[int, list[int]]]:
        if not confidence.probability:
            return [], {}
        varied = query.intent.rerank == "diversity" or len(query.sides) > 1
        most = self.request.limit * LOOKED_AT if varied else self.request.limit
        worth = (worth_showing(ranked) & near_the_best(ranked)) | beside_the_best(ranked)
        worth &= above_nought(ranked)
        if not query.history and self.request.as_of is None:
            worth &= ~self._gives_way(corpus, ranked)
        work = corpus.are(ranked.slots, is_work) & self.known_first
        worth &= ~idle_work(ranked, work)
        kept, folded = fold(corpus, ranked, worth, most)
        if query.intent.rerank == "diversity":
            kept = diversify(corpus, ranked, kept, self.request.limit)
        elif len(query.sides) > 1:
            kept = balance(ranked.matches, ranked, kept, query.sides)
        order = beside_opposites(ranked, kept)
        if not query.history:
            late = outdated(corpus, ranked.slots)
            order = sorted(order, key=lambda at: (bool(work[at]), bool(late[at])))
        return order[: self.request.limit], folded

    def _gives_way(self, corpus: Corpus, ranked: Ranked) -> NDArray[np.bool_]:
        """Outdated records are shown only if the past is asked for. A superseded block with an unknown
        successor is all that is left of its subject: it comes last, unless records of a kind are requested."""
        late = outdated(corpus, ranked.slots)
        if self.request.kinds:
            return late
        known = np.isin(ranked.slots, list(ranked.replaced))
        orphaned = corpus.are(ranked.slots, lambda _source, _kind, status: status == SUPERSEDED) & ~known
        return np.asarray(late & ~orphaned, bool)

    def _answer(
        self,
        ctx: Context,
        ranked: Ranked,
        query: Query,
        order: list[int],
        folded: dict[int, list[int]],
        confidence: AnswerConfidence,
        arms: dict[str, Any],
    ) -> dict[str, Any]:
        # Without results the best candidate is retrieved as well, for `nearest`.
        shown = [int(ranked.slots[at]) for at in (order or [0][: len(ranked.slots)])]
        replaced = replaced_by(ranked, shown)
        heirs = self._heirs(ctx, ranked, shown, query)
        waiting = proposed_instead(ctx, ranked.scene.corpus, shown) if self.request.as_of is None else {}
        told = (*shown, *chain(*replaced.values()), *waiting.values())
        rows = self._rows(ctx, [int(ranked.scene.corpus.ids[slot]) for slot in told])
        by_slot = {slot: rows[id] for slot in told if (id := int(ranked.scene.corpus.ids[slot])) in rows}
        says = previews(ctx, rows.values()) if self.request.as_of is None else {}
        origins, beside = origins_of(ctx, list(rows.values())), self._beside(ctx, by_slot, says, replaced, query)
        results = []
        for at, strength in zip(order, strengths(ranked, order, confidence.doubtful), strict=True):
            slot = int(ranked.slots[at])
            row = by_slot.get(slot)
            if row is not None:
                told_now = says.get(row["ref"], NO_PREVIEW)
                found = result_json(row, told_now, ranked, at, query, ctx.now_ms, self.request.explain)
                found |= {"strength": strength, **origins[row["ref"]], **beside.get(slot, {})}
                found |= _replaced_json(heirs.get(slot), ranked.scene.corpus)
                if waiting.get(slot) in by_slot:
                    found["proposed"] = beside_json(by_slot[waiting[slot]], says, query)
                results.append(_with_folded(found, folded.get(at, []), ranked.scene.corpus))
        answer: dict[str, Any] = {
            "query": query.text,
            "intent": query.intent.name,
            "results": results,
            "count": len(results),
            "confidence": confidence.label,
            "probability": confidence.probability,
            **({"doubtful": True} if confidence.doubtful else {}),
            "arms": arms,
            "notice": NOTICE,
        }
        self._count(ctx, query, results, confidence)
        if not results:
            answer["nearest"] = self._nearest(ranked, rows, says, query)
            answer["message"] = "Nothing relevant is stored."
        if self.request.explain:
            answer["analysis"] = _analysis(query, ranked, confidence)
        return answer

    def _count(self, ctx: Context, query: Query, results: list[dict[str, Any]], confidence: AnswerConfidence) -> None:
        if self.request.counts:
            note_use(ctx, [found["_id"] for found in results], ctx.now_ms)
            note_question(ctx, query.text, bool(results) and not confidence.doubtful)

    def _heirs(self, ctx: Context, ranked: Ranked, shown: list[int], query: Query) -> dict[int, int]:
        """If the past is asked for: the replacements of results that no longer hold."""
        corpus, slots = ranked.scene.corpus, np.array(shown, np.int64)
        if not query.history or self.request.as_of is not None or not len(slots):
            return {}
        late = slots[outdated(corpus, slots)].tolist()
        return successors(ctx, corpus, late) if late else {}

    def _rows(self, ctx: Context, ids: list[int]) -> dict[int, Row]:
        if self.request.as_of is None:
            return items_by_id(ctx.tx, ctx.workspace, ids)
        column, moment = moment_of(self.request.as_of, ctx.now_ms)
        return items_of_past(ctx.tx, ctx.workspace, ids, column, moment)

    def _beside(
        self,
        ctx: Context,
        by_slot: dict[int, Row],
        says: dict[str, Preview],
        replaced: dict[int, list[int]],
        query: Query,
    ) -> dict[int, dict[str, Any]]:
        """For each shown slot the records that it replaced, so that the old one is not taken for the new one."""
        pairs = {
            (new, old): (by_slot[new]["ref"], by_slot[old]["ref"])
            for new, olds in replaced.items()
            for old in olds
            if new in by_slot and old in by_slot
        }
        how = successions(ctx, pairs.values()) if pairs else {}
        found: dict[int, dict[str, Any]] = {}
        for (new, old), pair in pairs.items():
            told = beside_json(by_slot[old], says, query)
            told |= {"how": how[pair]} if how[pair] != REPLACES else {}
            found.setdefault(new, {"replaces": []})["replaces"].append(told)
        return found

    def _nearest(
        self, ranked: Ranked, rows: dict[int, Row], says: dict[str, Preview], query: Query
    ) -> dict[str, Any] | None:
        """The closest item, so that the caller can judge whether the abstention is right."""
        row = next(iter(rows.values()), None)
        if row is None or not len(ranked.slots):
            return None
        state = says.get(row["ref"], NO_PREVIEW).state
        told = {**beside_json(row, says, query), **({"state": state} if state else {})}
        return {**told, "score": round(float(ranked.scores[0]), 4)}


def origins_of(ctx: Context, rows: list[Row]) -> dict[str, dict[str, Any]]:
    """For each row, by ref: file and line of a block, turn of a conversation, and author, if there are any."""
    held = [row["ref"] for row in rows if row["source"] == "block"]
    places, talk, authors = locate(ctx, held), turns(ctx, held), authors_of(ctx, rows)
    found: dict[str, dict[str, Any]] = {}
    for ref in (row["ref"] for row in rows):
        file, line = places.get(ref, ("", 0))
        turn = {"DiaID": talk[ref]} if ref in talk else {}
        found[ref] = {"file": file, "line": line, **turn, **({"author": authors[ref]} if ref in authors else {})}
    return found


def _replaced_json(heir: int | None, corpus: Corpus) -> dict[str, Any]:
    return {"superseded_by": corpus.refs[heir]} if heir is not None else {}


def _with_folded(found: dict[str, Any], slots: list[int], corpus: Corpus) -> dict[str, Any]:
    if slots:
        found["same"] = {"count": len(slots), "ids": sorted(corpus.refs[slot] for slot in slots)[:5]}
    return found


def _analysis(query: Query, ranked: Ranked, confidence: AnswerConfidence) -> dict[str, Any]:
    period = query.period
    return {
        **query.intent.to_dict(),
        "terms": list(query.terms),
        "added": ranked.added_words,
        "phrases": [" ".join(phrase) for phrase in query.phrases],
        "names": sorted(query.names),
        "period": _period_json(period) if period else None,
        "candidates": len(ranked.slots),
        "signals": confidence.signals,
    }


def _period_json(period: Any) -> dict[str, Any]:
    return {
        "from": rfc3339(period.low) if period.low is not None else None,
        "to": rfc3339(period.high) if period.high is not None else None,
        "month": period.month,
        "day": period.day,
        "side": period.side,
        "anchor": " ".join(period.anchor) or None,
    }


def moment_of(value: int | str, now_ms: int) -> tuple[str, int]:
    """The column and value of a moment: a seq, or the milliseconds of an ISO time or of the end of a day."""
    if isinstance(value, int):
        if value < 0:
            raise invalid("as_of", "must not be negative", "Give a seq, or an ISO date.", kind="range", ge=0)
        return "seq", value
    text = value.strip()
    if text.isdigit() and len(text) < 18:
        return "seq", int(text)
    said = day_said(text, now_ms)
    if said is not None:
        return "ts_ms", said
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ClewError(
            "INVALID_INPUT",
            f"as_of: {text[:60]!r} is neither a seq nor an ISO date or time",
            "Write 120, 2026-05-01, 2026-05-01T12:00:00Z or such as yesterday, last tuesday, 3 days ago.",
            [{"kind": "format", "field": "as_of", "expected": "seq or ISO 8601"}],
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    ends = 86_400_000 - 1 if len(text) == 10 else 0
    return "ts_ms", int(moment.timestamp() * 1000) + ends
