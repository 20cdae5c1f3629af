"""The topic of a task and its current step, by which records are ranked: files, links, areas, words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath

from clew.ids import ANCHOR
from clew.reasoning.graph import nodes
from clew.recall.about import names_any, paths_in
from clew.records.brief import NEAR
from clew.records.links import linked_by_hand, neighbours
from clew.registry.context import Context
from clew.registry.record import FileEdit, file_edits
from clew.tasks.plans import Work
from clew.tasks.proofs import Proof
from clew.tasks.steps import Step, step_tag
from clew.tasks.views.status_view import StatusView

RECALLED = 30
MOST_QUERY = 600
STEP_FILE, STEP_LINK = 2 * NEAR, NEAR
LINKED, SAME_FILE, SAME_AREA = 8.0, 4.0, 3.0
BY_RECALL, BY_STEP_WORDS, BY_WORDS = 3.0, 1.0, 0.5
"""A file of the step weighs most, then a link, which was made on purpose; a shared word weighs little.
Two words at least, at most four count."""
MOST_COVERED = 40
"""A proof that covers more files than this is about the whole project, not the step."""
MOST_FILES = 200
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMON_WORDS = """
about after also been before both does done each every from have into just like more most must never none only other
over same shall should some such than that their them then there these they this those uses used using very want were
what when where which while will with without would your test tests step task plan file files code make made keep kept
read write main init index base core utils util common
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class About:
    """The subject of one piece of work."""

    ids: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def is_linked(self, id: str, text: str) -> bool:
        # A record whose text names the task is as good as linked with it.
        return id in self.linked or names_any(self.ids, text)

    def shares_words(self, words: frozenset[str]) -> int:
        """How many words both have. One is chance; more than four add nothing."""
        shared = len(self.words & words)
        return min(shared, 4) if shared > 1 else 0


@dataclass(frozen=True, slots=True)
class Topic:
    """The subject of the current work. Without a task it is empty, and records rank by their age alone."""

    task: About = field(default_factory=About)
    step: About = field(default_factory=About)
    step_path: str = ""
    areas: frozenset[str] = frozenset()
    recalled: dict[str, float] = field(default_factory=dict)

    @property
    def named(self) -> list[str]:
        """Records that are relevant at any age, so that they are read in addition to the newest."""
        return [*self.step.linked, *self.task.linked, *self.recalled]

    def rank(self, id: str, text: str) -> float:
        """The relevance of a record to the current work; 0 if unrelated."""
        by_recall = BY_RECALL * self.recalled.get(id, 0.0)
        return by_recall + self._rank_by_text(id, text) if self.task.ids else by_recall

    def _rank_by_text(self, id: str, text: str) -> float:
        words = words_of(text)
        score = STEP_FILE if self._of_step_files(text) else 0.0
        score += STEP_LINK if self._kept_for_step(id, text) else 0.0
        score += LINKED if self.task.is_linked(id, text) else 0.0
        score += SAME_FILE if names_any(self.task.files, text) else 0.0
        score += SAME_AREA if names_any(self.areas, text) else 0.0
        score += BY_STEP_WORDS * self.step.shares_words(words)
        return score + BY_WORDS * self.task.shares_words(words)

    def _kept_for_step(self, id: str, text: str) -> bool:
        """Whether a record is linked with the step, or was stored for it."""
        if self.step.is_linked(id, text):
            return True
        return f"\nStep: {self.step_path}\n" in text and names_any(self.task.ids, text)

    def _of_step_files(self, text: str) -> bool:
        """Whether a text names a file of the step, or a file named after its subject."""
        if names_any(self.step.files, text):
            return True
        return any(called_after(path, self.step.words) for path in paths_in(text))


@lru_cache(maxsize=4_096)
def _stem_words(path: str) -> frozenset[str]:
    return words_of(PurePosixPath(path).stem)


def called_after(path: str, words: frozenset[str]) -> bool:
    """Whether a file's name matches the words: `csv_importer.py` and "the CSV importer"."""
    own = _stem_words(path)
    return bool(own) and own <= words


@lru_cache(maxsize=2_048)
def words_of(text: str) -> frozenset[str]:
    """The content words of a text, without common endings."""
    found = (word.lower() for word in _WORD.findall(text.replace("_", " ")))
    return frozenset(_stem(word) for word in found if word not in _COMMON)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def recall_of(ctx: Context, work: Work | None, texts: Sequence[str]) -> dict[str, float]:
    """Records found by the task's own words: record -> similarity from 1 down. Opens its own transactions."""
    query = " ".join(texts)[:MOST_QUERY].strip()
    if work is None or not query:
        return {}
    # Imported here: a search needs numpy, which would be a third of the first `resume` of a new store.
    from clew.recall.search import Request, Search

    # Lexical search only: the result is the same on every machine, and does not wait for a model to load.
    request = Request(query, RECALLED, sources=("block", "card"), words_only=True)
    answer = Search(ctx, request).run()
    found = [] if answer.get("doubtful") else answer["results"]
    return {hit["_id"]: 1.0 - place / RECALLED for place, hit in enumerate(found)}


def topic_of(ctx: Context, view: StatusView, recalled: dict[str, float], most: int) -> Topic:
    work, steps, current = view.work, view.subject.steps, view.subject.first_open
    own = nodes(ctx, view.subject.scope.branch, view.subject.scope.graph, limit=most).nodes
    ids = {work.id, *(step.id for step in steps)}
    tagged: dict[str, set[str]] = {}
    for card in own:
        for tag in card.tags:
            tagged.setdefault(tag, set()).add(card.id)
    of_steps = set[str]().union(*(tagged.get(step_tag(step), ()) for step in steps))
    texts = [work.title, work.description or "", *chain.from_iterable(map(_texts_of, steps))]
    files = {*covered_files(view.proofs.values()), *chain.from_iterable(map(paths_in, texts))}
    task = About(
        frozenset(ids), frozenset(neighbours(ctx, sorted(ids)) | of_steps), _bounded(files), words_of(" ".join(texts))
    )
    areas = {tag for tag in tagged if ANCHOR.fullmatch(tag)}.union(work.tags)
    if current is None:
        return Topic(task, areas=frozenset(areas), recalled=recalled)
    step = _step_subject(ctx, view, current, tagged.get(step_tag(current), set()))
    areas |= {f"{parent}/" for path in step.files if (parent := _folder(path))}
    return Topic(task, step, current.path, frozenset(areas), recalled)


def _step_subject(ctx: Context, view: StatusView, step: Step, tagged: set[str]) -> About:
    texts = [line for line in _texts_of(step) if line not in step.tests]
    open_proof = [view.open_proof] if view.open_proof is not None else []
    files = {
        *covered_files(open_proof),
        *changed_since_step_began(ctx, view),
        *(path for text in [*texts, *step.tests] for path in paths_in(text)),
    }
    linked = frozenset(tagged | linked_by_hand(ctx, [step.id]))
    return About(frozenset({step.id}), linked, _bounded(files), words_of(" ".join(texts)))


def _texts_of(step: Step) -> list[str]:
    return [step.title, *step.success_criteria, *step.tests, step.next_action or ""]


def covered_files(proofs: Iterable[Proof]) -> set[str]:
    """The files that proofs cover, without those of proofs that cover everything."""
    found: set[str] = set()
    for proof in proofs:
        files = (proof.receipt.files or {}) if proof.receipt is not None else {}
        found |= set(files) if len(files) <= MOST_COVERED else set()
    return found


def changed_since_step_began(ctx: Context, view: StatusView) -> list[str]:
    """What agents edited since the last step was done, and what differs from the last proof before it."""
    steps = view.subject.steps
    ended = [step.completed_at_ms for step in steps if step.completed_at_ms is not None]
    began = max(ended, default=view.work.created_at_ms)
    edited = [edit.path for edit in edits_since(ctx, began)]
    proofs = [proof for proof in view.proofs.values() if proof.receipt is not None]
    last = max(proofs, key=lambda proof: proof.receipt.number if proof.receipt else 0, default=None)
    changed = last.changed if last is not None and len(last.changed) <= MOST_COVERED else ()
    return list(dict.fromkeys([*edited, *changed]))


def edits_since(ctx: Context, since_ms: int) -> list[FileEdit]:
    """What agents edited since a time; read once per call."""
    if _EDITS not in ctx.memo:
        ctx.memo[_EDITS] = [edit for ask in file_edits.all() for edit in ask(ctx, ctx.now_ms - EDITS_MS)]
    return [edit for edit in ctx.memo[_EDITS] if edit.ts_ms >= since_ms]


_EDITS = "edits of files"
EDITS_MS = 7 * 86_400_000
"""Edits that are older are irrelevant to the current step."""


def _bounded(files: Iterable[str]) -> frozenset[str]:
    """At most MOST_FILES paths."""
    return frozenset(sorted(filter(None, files))[:MOST_FILES])


def _folder(path: str) -> str:
    return path.rstrip("/").rpartition("/")[0]
