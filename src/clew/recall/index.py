"""index_stats and reindex: the contents of the search index, missing vectors, and rebuilding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError
from clew.index import vectors
from clew.index.item_reads import count_by_source, index_gaps, items_after, last_change
from clew.index.items import disagreements, recut
from clew.index.vectors import schema_of
from clew.memory.blocks import count_by_folder
from clew.memory.categories import renew_files
from clew.memory.files.directory import shown_root
from clew.memory.files.repair import file_disagreements, kept_copies
from clew.memory.files.sync import sync
from clew.memory.kernels import names as kernel_names
from clew.recall.filler import fill, install_pgvector
from clew.recall.kernel import kernel_of
from clew.recall.models import COMING, INSTALLED, chosen_files, installed_model, load, stored_choice
from clew.recall.onnx_models import model_in
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, operation
from clew.store.workspaces import declare_events

BATCH = 500

declare_events({"index_rebuilt": "The search index of a workspace was built anew."})


class IndexStats(Input):
    check_files: Annotated[
        bool, Field(description="Also compare every memory file with what the store says of it; reads all of them.")
    ] = False


@operation("index_stats", mode="own", view=BARE)
def index_stats(ctx: Context, args: IndexStats) -> dict[str, Any]:
    """Say what the search index holds: items by source, words, vectors and what still waits for one."""
    sync(ctx)
    found = _stats(ctx)
    if not args.check_files:
        return found
    return {**found, "file_disagreements": file_disagreements(ctx), "kept_copies": kept_copies(ctx)}


def _stats(ctx: Context) -> dict[str, Any]:
    with ctx.reading() as bound:
        counts, folders = count_by_source(bound.tx, bound.workspace), count_by_folder(bound)
        return {
            "workspace": shown_root(bound),
            "decisions_blocks": folders.get("decisions", 0),
            "tasks_blocks": folders.get("tasks", 0),
            "entities_blocks": folders.get("entities", 0),
            "fts_index_exists": True,
            "mind_kernels": kernel_names(bound),
            "mind_kernel_compiled": False,
            "mind_kernel_protected": False,
            "items": sum(counts.values()),
            "items_by_source": counts,
            "change": last_change(bound.tx, bound.workspace),
            "lag": index_gaps(bound.tx, bound.workspace),
            "disagreements": disagreements(bound.tx, bound.workspace),
            "vectors": vector_stats(bound),
        }


def vector_stats(ctx: Context) -> dict[str, Any]:
    """The model in use with its numbers of vectors and waiting items; and the model that is being prepared, if any."""
    found: dict[str, Any] = {"available": False, "model": None, "count": 0, "lag": 0}
    found |= _coming(ctx)
    try:
        files = chosen_files(ctx.settings, ctx.tx)
    except ClewError as problem:
        return {**found, "reason": problem.message}
    if files is None:
        return {**found, "reason": "no embedding model is installed"}
    model = files.id()
    counted = vectors.count(ctx.tx, ctx.workspace, model)
    return {
        **found,
        "available": True,
        "model": model,
        "count": counted,
        "lag": vectors.lag(ctx.tx, ctx.workspace, model),
        "compared_by": _compared_by(ctx, counted),
        **_pgvector(ctx),
    }


def _compared_by(ctx: Context, counted: int) -> str:
    many = counted > kernel_of(ctx).whole("vector", "in_process")
    return "pgvector" if many and schema_of(ctx.tx) else "this process"


def _pgvector(ctx: Context) -> dict[str, str]:
    """Whether the PostgreSQL server has pgvector, and whether this database uses it."""
    if ctx.tx.engine != "postgres":
        return {}
    if schema_of(ctx.tx):
        return {"pgvector": "installed"}
    is_offered = ctx.tx.value("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
    return {"pgvector": "available, not installed" if is_offered else "not available on the server"}


def _coming(ctx: Context) -> dict[str, Any]:
    """The model that is being prepared (or was, when a process was killed), and how far that is."""
    path = stored_choice(ctx.tx, COMING)
    if path is None:
        return {}
    try:
        files = installed_model() if path == INSTALLED else model_in(Path(path))
    except ClewError as problem:
        return {"coming": path, "coming_reason": problem.message}
    made = vectors.count(ctx.tx, ctx.workspace, files.id())
    return {"coming": path, "coming_count": made, "coming_lag": vectors.lag(ctx.tx, ctx.workspace, files.id())}


class Reindex(Input):
    include_vectors: Annotated[bool, Field(description="Also make vectors for everything that has none.")] = False


@operation("reindex", writes=True, mode="own", idempotent=True, view=BARE)
def reindex(ctx: Context, args: Reindex) -> dict[str, Any]:
    """Build the search index anew while searches go on."""
    sync(ctx)
    items = _recut_all(ctx)
    result: dict[str, Any] = {"fts": True, "items": items, "vectors": False, "categories": 0}
    result |= renew_files(ctx)
    if args.include_vectors:
        result |= embed_all(ctx)
    with ctx.writing() as bound:
        bound.ws.next_seq()
        bound.emit("memory", "index_rebuilt", None, {"items": items, "vectors": result["vectors"]})
        return {"workspace": shown_root(bound), **result}


def _recut_all(ctx: Context) -> int:
    """Rebuild the words of all items, in short transactions, so that writers and searches do not wait."""
    after, done = 0, 0
    with ctx.reading() as bound:
        total = sum(count_by_source(bound.tx, bound.workspace).values())
    while True:
        with ctx.writing() as bound:
            rows = items_after(bound.tx, bound.workspace, after, BATCH)
            recut(bound.tx, bound.workspace, rows)
        if not rows:
            return done
        after, done = rows[-1]["id"], done + len(rows)
        ctx.progress(done, max(total, done), "words")


def embed_all(ctx: Context) -> dict[str, Any]:
    """Make every missing vector of a workspace, with progress."""
    with ctx.reading() as bound:
        files = chosen_files(bound.settings, bound.tx)
    if files is None:
        reason = "recall works by words alone here; `clew model use installed` brings the model back"
        return {"vectors": False, "vectors_error": reason}
    model = load(files)
    install_pgvector(ctx)
    done = fill(ctx, model, lambda made, total: ctx.progress(made, total, "vectors"))
    return {"vectors": True, "vectors_made": done, "model": model.id}
