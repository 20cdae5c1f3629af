"""Computes missing vectors in batches, continuing where the last batch of any process ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from clew.canonical import digest
from clew.errors import ClewError
from clew.index import vectors
from clew.index.item_reads import IndexedItem, changed_items, item_before, items_by_id, last_change
from clew.index.vectors import install
from clew.recall.models import ACTIVE, Embedder, stored_choice
from clew.recall.recent_vectors import Floats
from clew.registry.context import Context
from clew.registry.quiet import Pause, at_once, quiet
from clew.store.database import Database, DatabaseResource, Row, Transaction, committed

# BATCH: items of one transaction. LEAD_CHARS, TEXT_CHARS: characters of the turn before and of the item itself that are
# embedded; models read some 256 tokens. STANDS_ALONE: a longer text is understood without the turn before it.
BATCH = 32
PORTION = 8
"""Items of a batch that are embedded at once, some 130 ms of one processor, before a waiting call goes first."""
LEAD_CHARS = 400
TEXT_CHARS = 2000
PATIENCE = 30.0
STANDS_ALONE = 800
AT_ONCE, AT_ONCE_CHARS = 8, 4000
"""Items and characters that a search embeds itself; more would keep its caller waiting, so the filler makes them."""

log = logging.getLogger("clew.recall")

Report = Callable[[int, int], None]
Wanted = Callable[[Transaction], bool]


def fill(
    ctx: Context,
    model: Embedder,
    report: Report | None = None,
    most: int | None = None,
    stop: threading.Event | None = None,
    wanted: Wanted | None = None,
    pause: Pause = at_once,
) -> int:
    """Embed the items that have no vector; returns their number.

    Ends early after `most` items, when `stop` is set, or when `wanted` returns that this model is no longer in use.
    `pause` comes before each portion.
    """
    install_pgvector(ctx, into_empty=True)
    done = 0
    while (most is None or done < most) and not (stop and stop.is_set()):
        step = _batch(ctx, model, wanted, pause)
        if step is None:
            break
        done += step
        if report is not None:
            with ctx.reading() as bound:
                report(done, done + vectors.lag(bound.tx, bound.workspace, model.id))
    return done


def install_pgvector(ctx: Context, into_empty: bool = False) -> None:
    """Install pgvector if PostgreSQL offers it; without it, vectors are compared in this process."""
    if ctx.database.engine != "postgres":
        return
    if into_empty:
        with ctx.database.read() as tx:
            if not vectors.is_empty(tx):
                return
    with ctx.database.write() as tx:
        problem = install(tx)
    if problem:
        log.info("vectors are not compared by the database: %s", problem)


def _batch(ctx: Context, model: Embedder, wanted_still: Wanted | None, pause: Pause) -> int | None:
    """Do one batch; None when nothing is left. The model runs outside of any transaction, so no writer waits for it."""
    with ctx.reading() as bound:
        after = vectors.progress(bound.tx, bound.workspace, model.id)
        rows = changed_items(bound.tx, bound.workspace, after, BATCH)
        if not rows:
            return None
        texts = _texts(bound, rows)
        wanted = {id: _digest(text) for id, text in texts.items()}
        have = vectors.digests(bound.tx, bound.workspace, model.id, list(wanted))
        wanted = {id: digest for id, digest in wanted.items() if have.get(id) != digest}
        # The same text has the same vector, so it is not embedded twice.
        known = vectors.same_text(bound.tx, model.id, sorted(set(wanted.values())))
    fresh = [id for id, digest in wanted.items() if digest not in known]
    made = _in_portions(model, {id: texts[id] for id in fresh}, pause)
    stored = [
        vectors.StoredVector(id, digest, known[digest] if digest in known else vectors.packed(made[id]))
        for id, digest in wanted.items()
    ]
    gone = [row.id for row in rows if row.terms is None]
    with ctx.writing() as bound:
        # Asked inside the writing transaction: between reading and writing the model may have been switched.
        if wanted_still is not None and not wanted_still(bound.tx):
            return None
        vectors.keep(bound.tx, bound.workspace, model.id, stored, gone, rows[-1].change)
    return len(rows)


def _in_portions(model: Embedder, texts: dict[int, str], pause: Pause) -> dict[int, Floats]:
    made: dict[int, Floats] = {}
    ids = list(texts)
    for start in range(0, len(ids), PORTION):
        pause()
        portion = ids[start : start + PORTION]
        made.update(zip(portion, model.embed([texts[id] for id in portion]), strict=True))
    return made


def waiting_texts(ctx: Context, model: Embedder) -> dict[int, str]:
    """The newest items without a vector, by id, with their texts; no more than a search embeds itself."""
    done, newest = vectors.progress(ctx.tx, ctx.workspace, model.id), last_change(ctx.tx, ctx.workspace)
    if done >= newest:
        return {}
    texts = _texts(ctx, changed_items(ctx.tx, ctx.workspace, max(done, newest - AT_ONCE), AT_ONCE))
    found: dict[int, str] = {}
    for id, text in sorted(texts.items(), reverse=True):
        if sum(map(len, found.values())) + len(text) <= AT_ONCE_CHARS:
            found[id] = text
    return found


def embedded(model: Embedder, texts: dict[int, str]) -> dict[int, vectors.Packed]:
    """Vectors of these texts, packed as they will be stored."""
    made = model.embed(list(texts.values()))
    return {id: vectors.packed(vector) for id, vector in zip(texts, made, strict=True)}


def _texts(ctx: Context, rows: list[IndexedItem]) -> dict[int, str]:
    items = items_by_id(ctx.tx, ctx.workspace, [row.id for row in rows if row.terms is not None])
    return {id: text_of(item, _lead(ctx, item)) for id, item in items.items()}


def text_of(item: Row, lead: str) -> str:
    """The text that is embedded for an item: the end of the turn before it (`lead`), then speaker and words."""
    words = " ".join(part for part in (item["title"], item["body"]) if part)[:TEXT_CHARS]
    spoken = f"{item['speaker']}: {words}" if item["speaker"] and not words.startswith(item["speaker"]) else words
    return f"{lead}\n{spoken}" if lead else spoken


def _lead(ctx: Context, item: Row) -> str:
    """The text of another speaker right before a short turn; empty for long texts and for a speaker who continues."""
    if not item["speaker"] or item["doc"] is None or len(item["body"] or "") > STANDS_ALONE:
        return ""
    before = item_before(ctx.tx, item)
    answers = before is not None and before["speaker"] and before["speaker"] != item["speaker"]
    return text_of(before, "")[:LEAD_CHARS] if before and answers else ""


def _digest(text: str) -> str:
    return digest(text)


class _Work(NamedTuple):
    ctx: Context
    model: Embedder
    choice: str | None
    """Which model was chosen in the store."""


class Filler(DatabaseResource):
    """Makes missing vectors in the background, in one thread for each database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._asked: dict[str, _Work] = {}
        """By workspace: the state after the last semantic search."""

    def close(self, patience: float) -> None:
        """Wait for the current batch. Unloading a model's runtime while a thread uses it would crash the process."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(max(patience, PATIENCE))

    def wake(self, ctx: Context, model: Embedder) -> None:
        # The caller's transaction ends before the thread does, so the thread gets a context without one.
        unbound = Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent)
        self._start(_Work(unbound, model, stored_choice(ctx.tx, ACTIVE)))

    def wrote(self, workspace: str) -> None:
        """If semantic search is in use, new items get their vectors before the next search has to wait for them."""
        if workspace in self._asked:
            self._start(self._asked[workspace])

    def _start(self, work: _Work) -> None:
        with self._lock:
            self._asked[work.ctx.workspace] = work
            if not self._stop.is_set() and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, args=work, name="clew-vectors", daemon=True)
                self._thread.start()

    def _run(self, ctx: Context, model: Embedder, choice: str | None) -> None:
        quiet.pause()  # the call that woke us has not returned yet
        try:
            # No vectors for a model that is no longer in use, whichever process switched it.
            fill(ctx, model, stop=self._stop, wanted=lambda tx: stored_choice(tx, ACTIVE) == choice, pause=quiet.pause)
        except ClewError as problem:
            # Missing vectors still count as lag, so the next search wakes the filler again.
            log.warning("vectors could not be filled in: %s", problem.message)


def wake_filler(ctx: Context, model: Embedder) -> None:
    ctx.database.resources.of(Filler).wake(ctx, model)


@committed()
def wrote(database: Database, workspace: str, before: int, after: int) -> None:
    database.resources.of(Filler).wrote(workspace)
