"""Vectors for what has none yet: in batches, from where the last batch ended, whoever did it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from clew.canonical import digest
from clew.errors import ClewError
from clew.index import vectors
from clew.index.item_reads import changed_items, item_before, items_by_id, last_change
from clew.index.vectors import install
from clew.recall.models import ACTIVE, Embedder, stored_choice
from clew.registry.context import Context
from clew.store.database import Companion, Database, Row, Transaction

BATCH = 32
LEAD_CHARS = 400
TEXT_CHARS = 2000
PATIENCE = 30.0
STANDS_ALONE = 800
AT_ONCE, AT_ONCE_CHARS = 8, 4000
"""So much of what waits is embedded by the search that needs it; more than that would keep its caller waiting."""

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
) -> int:
    """Embed what waits; returns how many items are done.

    Ends early after `most` items, when told to stop, or when the vectors of this model are no longer `wanted`.
    """
    install_pgvector(ctx, into_empty=True)
    done = 0
    while (most is None or done < most) and not (stop and stop.is_set()):
        step = _batch(ctx, model, wanted)
        if step is None:
            break
        done += step
        if report is not None:
            with ctx.reading() as bound:
                report(done, done + vectors.lag(bound.tx, bound.workspace, model.id))
    return done


def install_pgvector(ctx: Context, into_empty: bool = False) -> None:
    """Where PostgreSQL has it; else vectors are compared in the process, however many there are."""
    if ctx.database.engine != "postgres":
        return
    with ctx.database.write() as tx:
        problem = install(tx) if not into_empty or vectors.is_empty(tx) else ""
    if problem:
        log.info("vectors are not compared by the database: %s", problem)


def _batch(ctx: Context, model: Embedder, wanted_still: Wanted | None) -> int | None:
    """One batch: read, embed outside of any transaction, write."""
    with ctx.reading() as bound:
        after = vectors.progress(bound.tx, bound.workspace, model.id)
        rows = changed_items(bound.tx, bound.workspace, after, BATCH)
        if not rows:
            return None
        texts = _texts(bound, rows)
        wanted = {id: _digest(text) for id, text in texts.items()}
        have = vectors.digests(bound.tx, model.id, list(wanted))
        wanted = {id: digest for id, digest in wanted.items() if have.get(id) != digest}
        known = vectors.same_text(bound.tx, model.id, sorted(set(wanted.values())))
    fresh = [id for id, digest in wanted.items() if digest not in known]
    made = dict(zip(fresh, model.embed([texts[id] for id in fresh]), strict=True))
    stored = [
        vectors.StoredVector(id, digest, known[digest] if digest in known else vectors.packed(made[id]))
        for id, digest in wanted.items()
    ]
    gone = [row["id"] for row in rows if row["terms"] is None]
    with ctx.writing() as bound:
        if wanted_still is not None and not wanted_still(bound.tx):
            return None
        vectors.keep(bound.tx, bound.workspace, model.id, stored, gone, rows[-1]["change"])
    return len(rows)


def waiting_texts(ctx: Context, model: Embedder) -> dict[int, str]:
    """The newest items that wait for a vector, by id, with what stands for each; no more than a search can embed."""
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
    """Vectors as they will be stored."""
    made = model.embed(list(texts.values()))
    return {id: vectors.packed(vector) for id, vector in zip(texts, made, strict=True)}


def _texts(ctx: Context, rows: list[Row]) -> dict[int, str]:
    items = items_by_id(ctx.tx, [row["id"] for row in rows if row["terms"] is not None])
    return {id: text_of(item, _lead(ctx, item)) for id, item in items.items()}


def text_of(item: Row, lead: str) -> str:
    """What stands for an item: its words after the end of what was said before it."""
    said = " ".join(part for part in (item["title"], item["body"]) if part)[:TEXT_CHARS]
    spoken = f"{item['speaker']}: {said}" if item["speaker"] and not said.startswith(item["speaker"]) else said
    return f"{lead}\n{spoken}" if lead else spoken


def _lead(ctx: Context, item: Row) -> str:
    """The end of what another said before; a long text needs none, and one who speaks alone answers nobody."""
    if not item["speaker"] or item["doc"] is None or len(item["body"] or "") > STANDS_ALONE:
        return ""
    before = item_before(ctx.tx, item)
    answers = before is not None and before["speaker"] and before["speaker"] != item["speaker"]
    return text_of(before, "")[:LEAD_CHARS] if before and answers else ""


def _digest(text: str) -> str:
    return digest(text)


class Filler(Companion):
    """Fills in the background while searches go on: one thread for each database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self, patience: float) -> None:
        """Let the batch at work finish: a runtime that is torn down under a thread takes the process with it."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(max(patience, PATIENCE))

    def wake(self, ctx: Context, model: Embedder) -> None:
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            unbound = Context(ctx.dispatcher, ctx.connection, ctx.workspace, ctx.agent)
            args = (unbound, model, stored_choice(ctx.tx, ACTIVE))
            self._thread = threading.Thread(target=self._run, args=args, name="clew-vectors", daemon=True)
            self._thread.start()

    def _run(self, ctx: Context, model: Embedder, choice: str | None) -> None:
        try:
            # A model that no longer serves must not leave vectors behind, whichever process changed it.
            fill(ctx, model, stop=self._stop, wanted=lambda tx: stored_choice(tx, ACTIVE) == choice)
        except ClewError as problem:
            # What is missing is still counted as lag; the next search tries again.
            log.warning("vectors could not be filled in: %s", problem.message)


def wake_filler(ctx: Context, model: Embedder) -> None:
    ctx.database.companions.of(Filler).wake(ctx, model)
