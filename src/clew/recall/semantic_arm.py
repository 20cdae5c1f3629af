"""The semantic arm of a search: its model, vectors that are not stored yet, or the reason why it is unavailable."""

from __future__ import annotations

from typing import Any

from clew.errors import ClewError
from clew.index.vectors import Packed, lag
from clew.recall.corpus import Corpus
from clew.recall.filler import embedded, waiting_texts, wake_filler
from clew.recall.kernel import Kernel
from clew.recall.library import library
from clew.recall.likeness import Likeness, Topped
from clew.recall.models import Embedder, ModelFiles, chosen_files, load
from clew.recall.query import Query
from clew.registry.context import Context


class SemanticArm:
    """Loading and embedding are slow: `load` and `embed` are called outside of any transaction, the rest inside."""

    def __init__(self, ctx: Context, question: str, words_only: bool, of_past: bool) -> None:
        self._ctx = ctx
        self._question = question
        self._words_only = words_only
        self._of_past = of_past
        self.model: Embedder | None = None
        self._reason = ""
        self._fresh: dict[int, Packed] = {}
        """Vectors of new items that are not stored yet, by item id."""

    def files(self, ctx: Context, kernel: Kernel) -> ModelFiles | None:
        if self._words_only:
            self._reason = "only words were asked for"
            return None
        if not kernel.whole("vector", "enabled"):
            self._reason = "the kernel hybrid switches vectors off"
            return None
        try:
            files = chosen_files(ctx.settings, ctx.tx)
        except ClewError as problem:
            self._without(problem)
            return None
        self._reason = "" if files is not None else "no embedding model is installed"
        return files

    def load(self, files: ModelFiles | None) -> None:
        """Load the model and embed the question, outside of any transaction. The model caches the question's vector."""
        self._fresh = {}  # of another model, if it was switched since
        try:
            self.model = load(files) if files is not None else None
        except ClewError as problem:
            self._without(problem)
        if self.model is not None:
            self.model.embed_query(self._question)

    def waiting(self, ctx: Context) -> dict[int, str]:
        """New items that have no vector yet."""
        if self.model is None or self._of_past:
            return {}
        return waiting_texts(ctx, self.model)

    def embed(self, waiting: dict[int, str]) -> None:
        """Embed the new items, outside of any transaction."""
        self._fresh = embedded(self.model, waiting) if self.model is not None and waiting else {}

    def _without(self, problem: ClewError) -> None:
        """Fall back to words only, with a warning, if the model cannot be used."""
        if self._reason == problem.message:
            return
        self._reason = problem.message
        self._ctx.warn("SEMANTIC_UNAVAILABLE", problem.message, problem.recovery or "See `clew doctor`.")

    def give_up(self, reason: str) -> None:
        """Fall back to words only."""
        self.model, self._reason = None, reason

    def likeness(
        self, ctx: Context, corpus: Corpus, query: Query, kernel: Kernel
    ) -> tuple[Likeness | None, dict[str, Any]]:
        """The semantic similarity, if there is a model with vectors; and which arms ran, with the reason if not."""
        if self.model is None:
            return None, {"lexical": True, "semantic": False, "reason": self._reason}
        likeness = library(ctx.database).likeness(ctx, kernel, corpus, self.model, query.text)
        if self._fresh:
            likeness = Topped(corpus, likeness, self.model.embed_query(query.text), self._fresh)
        waiting = lag(ctx.tx, ctx.workspace, self.model.id)
        if waiting:
            wake_filler(ctx, self.model)
            if 2 * (waiting - len(self._fresh)) > int(corpus.alive.sum()):
                # The most similar of those few that have a vector is no sign of what the question is about.
                likeness = None
        arms = {"lexical": True, "semantic": likeness is not None, "model": self.model.id, "lag": waiting}
        if likeness is None:
            arms["reason"] = "most have no vector yet; they are being made"
        return likeness, arms
