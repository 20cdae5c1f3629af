"""Measures recall itself: the real store, the real search, one workspace for each conversation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.recall.arms import measure_shape
from benchmarks.recall.data import read
from benchmarks.recall.fit import Case, Weights, fit, fit_meaning, gather, with_weights
from benchmarks.recall.locomo import DEPTHS, Conversation, Search, open_conversations, store_turns, tally
from benchmarks.recall.peers import MIND_MEM, Peer, peers
from benchmarks.recall.vectors import KeptVectors
from clew.errors import ClewError
from clew.recall.bench import BenchRecall
from clew.recall.filler import fill
from clew.recall.kernel import Kernel, default_kernel
from clew.recall.models import chosen_files, load
from clew.recall.search import Request
from clew.recall.search import Search as Asking
from clew.registry.context import Context

Places = dict[str, Context]
Kernels = dict[str, Kernel]
ARMS = {"SQLite FTS5 (porter)": "fts5", "BM25 (stemmed)": "bm25", "MiniLM alone": "model_alone"}


def measure(ctx: Context, args: BenchRecall) -> dict[str, Any]:
    """The result of the operation `bench_recall`: LoCoMo's figures at the top level, each set's under its name."""
    others = [name for name in ("agentmem", "beam", "longmemeval") if getattr(args, name)]
    if not others and not args.locomo:
        raise ClewError("INVALID_INPUT", "no set of questions is given", "Give locomo, agentmem, beam or longmemeval.")
    trial = Trial(ctx, open_conversations(args.locomo) if args.locomo else [])
    if args.semantic:
        trial.bring_model(args.cache)
    result: dict[str, Any] = {
        name: measure_shape(ctx, read(name, Path(getattr(args, name)).expanduser()), trial.model, args.peers)
        for name in others
    }
    if args.locomo:
        measured = _locomo(trial, args)
        result |= {**measured, "locomo": _by_arm(measured)}
    return result


def _by_arm(measured: dict[str, Any]) -> dict[str, Any]:
    """LoCoMo's figures under the names that the arms have for every set."""
    found = {arm: measured[arm] for arm in ("lexical", "semantic") if arm in measured}
    return found | {ARMS[name]: row for name, row in measured.get("peers", {}).items() if name in ARMS}


def _locomo(trial: Trial, args: BenchRecall) -> dict[str, Any]:
    # Other systems run in parallel: mind-mem takes longer than everything else together.
    with ThreadPoolExecutor(1) as aside:
        slow = aside.submit(trial.mind_mem) if args.peers else None
        result = trial.measured(args.held_out)
        if slow is not None:
            result |= trial.others(slow)
    return result


class Trial:
    def __init__(self, ctx: Context, conversations: list[Conversation]) -> None:
        self.ctx = ctx
        self.conversations = conversations
        self.total = sum(len(conversation.questions) for conversation in conversations)
        self.places = {conversation.name: place_of(ctx, conversation) for conversation in conversations}
        self.model: KeptVectors | None = None

    def bring_model(self, cache: str | None) -> None:
        with self.ctx.reading() as bound:
            files = chosen_files(bound.settings, bound.tx)
        if files is not None:
            folder = Path(cache) if cache else bound.settings.home / "kept-vectors"
            self.model = KeptVectors(load(files), folder)

    def measured(self, held_out: bool) -> dict[str, Any]:
        """Clew with lexical and, with a model, semantic search; also with weights that never saw the conversation."""
        self._store()
        result: dict[str, Any] = {"lexical": self._arm("lexical", {})}
        cases = self._cases("lexical", None) if held_out else []
        words = _fitted_without(cases, lambda others: fit(others, default_kernel().weights()))
        if words:
            result["lexical"]["held_out"] = self._arm("lexical, held out", _kernels(words))
        if self.model is None:
            return result
        self._embed(self.model)
        result["semantic"] = self._arm("semantic", {})
        cases = self._cases("semantic", self.model) if held_out else []
        if cases:
            both = {
                name: fit_meaning([case for case in cases if case.conversation != name], weights)
                for name, weights in words.items()
            }
            result["semantic"]["held_out"] = self._arm("semantic, held out", _kernels(both))
        return result

    def _store(self) -> None:
        for conversation in self.conversations:
            with self.places[conversation.name].writing() as bound:
                store_turns(bound, conversation)

    def _embed(self, model: KeptVectors) -> None:
        total = sum(len(conversation.turns) for conversation in self.conversations)
        before = 0
        for conversation in self.conversations:
            fill(self.places[conversation.name], model, self._embedding(before, total))
            model.save()
            before += len(conversation.turns)

    def _embedding(self, before: int, total: int) -> Callable[[int, int], None]:
        return lambda made, _: self.ctx.progress(before + made, total, "turns embedded")

    def _arm(self, name: str, kernels: Kernels) -> dict[str, Any]:
        """`kernels` override the shipped numbers, for each conversation."""
        words_only, seconds = name.startswith("lexical"), list[float]()

        def search_in(conversation: str) -> Search:
            request = Request("", limit=DEPTHS[-1], words_only=words_only, kernel=kernels.get(conversation))
            return lambda query: _asked(self.places[conversation], request, query, seconds)

        searches = {name: search_in(name) for name in self.places}
        report = tally(self.conversations, searches, self._asking(name)).report()
        return {**report, "ms_p50": round(statistics.median(seconds) * 1000, 2)}

    def _cases(self, name: str, model: KeptVectors | None) -> list[Case]:
        """The training cases; a single conversation leaves nothing to fit on."""
        if len(self.conversations) < 2:
            return []
        found: list[Case] = []
        for conversation in self.conversations:
            found += gather(self.places[conversation.name], conversation, model)
            self.ctx.progress(len(found), self.total, f"{name}: features for other weights")
        return found

    def _asking(self, name: str) -> Callable[[int], None]:
        return lambda done: self.ctx.progress(done, self.total, f"{name}: questions") if done % 20 == 0 else None

    def mind_mem(self) -> dict[str, Any] | None:
        return self._peer(next(peer for peer in peers(None) if peer.name == MIND_MEM))

    def others(self, slow: Future[dict[str, Any] | None]) -> dict[str, Any]:
        """Reports by name, and how to get those that are not installed."""
        reports: dict[str, Any] = {}
        everybody = peers(self.model)
        for peer in everybody:
            self.ctx.progress(0, self.total, f"{peer.name}: questions")
            found = slow.result() if peer.name == MIND_MEM else self._peer(peer)
            reports |= {peer.name: found} if found is not None else {}
        if self.model is not None:
            self.model.save()
        return {"peers": reports, "not_installed": {peer.name: peer.get for peer in everybody if peer.make is None}}

    def _peer(self, peer: Peer) -> dict[str, Any] | None:
        if peer.make is None:
            return None
        try:
            searches = {conversation.name: peer.make(conversation) for conversation in self.conversations}
            return tally(self.conversations, searches).report()
        except Exception as problem:  # third-party code may fail in any way; the others are still measured
            return {"error": f"{type(problem).__name__}: {problem}"}


def place_of(ctx: Context, conversation: Conversation) -> Context:
    return Context(ctx.dispatcher, ctx.connection, f"locomo/{conversation.name}", ctx.agent, ctx.progress)


def _asked(ctx: Context, request: Request, query: str, seconds: list[float]) -> list[str]:
    started = time.perf_counter()
    answer = Asking(ctx, request.asking(query)).run()
    seconds.append(time.perf_counter() - started)
    return [hit["_id"] for hit in answer["results"]]


def _fitted_without(cases: list[Case], fitted: Callable[[list[Case]], Weights]) -> dict[str, Weights]:
    """For each conversation the weights fitted on the others."""
    names = sorted({case.conversation for case in cases})
    return {name: fitted([case for case in cases if case.conversation != name]) for name in names}


def _kernels(weights: dict[str, Weights]) -> Kernels:
    return {name: with_weights(default_kernel(), held) for name, held in weights.items()}
