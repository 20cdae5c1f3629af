"""Changing the embedding model: fetch it by name, embed everything with it while the old one is in use, then
switch."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.canonical import canonical
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
    store_choice,
)
from clew.recall.onnx_models import model_in
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
    """A model that can be fetched from the hub."""

    summary: str
    repository: str
    onnx: str = "onnx/model_quantized.onnx"
    pins: dict[str, str] = field(default_factory=dict)
    """SHA-256 of its files by path. A file without one is pinned by the caller's `digest`, or by the first download."""


OFFERS = {
    "arctic-s": Offer("snowflake-arctic-embed-s, 34 MB, ranks clearly better.", "Snowflake/snowflake-arctic-embed-s"),
    "arctic-xs": Offer("snowflake-arctic-embed-xs, 23 MB.", "Snowflake/snowflake-arctic-embed-xs"),
    "bge-small": Offer("bge-small-en-v1.5, 34 MB.", "Xenova/bge-small-en-v1.5"),
}


PINS = "digests.json"
"""File next to a fetched model with the SHA-256 of each of its files at the first download."""


def pull(name: str, home: Path, report: Received | None = None, digest: str | None = None) -> str:
    """Fetch a model and check its files against their pins; returns the path that `use_model` takes."""
    offer = OFFERS.get(name)
    if offer is None:
        known = ", ".join(OFFERS)
        raise ClewError("INVALID_INPUT", f"no model is called {name!r}", f"Choose one of {known}, or give a directory.")
    folder = home / "models" / name
    pins = {**_first_pins(folder), **offer.pins, **({offer.onnx: digest.removeprefix("sha256:")} if digest else {})}
    brought = {
        path: _fetch(offer, path, folder / target, pins.get(path), report)
        for path, target in ((offer.onnx, "model.onnx"), ("tokenizer.json", "tokenizer.json"))
    }
    for path in SIDE_FILES:
        try:
            brought[path] = _fetch(offer, path, folder / path, pins.get(path), report)
        except ClewError as problem:
            if problem.code != "UNAVAILABLE" or path in pins:
                raise
            continue  # not every model has them; the defaults are mean pooling and no prompt
    (folder / PINS).write_text(canonical(brought))
    return str(folder)


def _first_pins(folder: Path) -> dict[str, str]:
    """The digests of an earlier download; empty if there was none or its file is unreadable."""
    try:
        found = orjson.loads((folder / PINS).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return {str(path): str(pin) for path, pin in found.items()} if isinstance(found, dict) else {}


def _fetch(offer: Offer, path: str, target: Path, pin: str | None, report: Received | None) -> str:
    """Download one file and return its digest. It replaces the target only when it is complete and matches its pin."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(target.suffix + ".part")
    address = f"{HUB}/{offer.repository}/resolve/main/{path}"
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(address, timeout=60) as source, part.open("wb") as sink:
            size = 0
            while block := source.read(CHUNK):
                sink.write(block)
                digest.update(block)
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
    if pin is not None and digest.hexdigest() != pin.lower():
        part.unlink(missing_ok=True)
        raise ClewError(
            "CONFLICT",
            f"{path} has the digest sha256:{digest.hexdigest()}, not sha256:{pin.lower()}; what was there is kept",
            f"Find out why it changed; if it is right, remove {target.parent / PINS} or give the new digest.",
        )
    part.replace(target)
    return digest.hexdigest()


def use_model(dispatcher: Dispatcher, path: str, report: Report | None = None) -> dict[str, Any]:
    """Embed every workspace with the model at `path`, then switch to it.

    The old model stays in use until the last vector is computed. If the process is killed, the choice and the
    vectors made so far are stored, and calling this again continues from there.
    """
    if path == NONE:
        return _switch(dispatcher, NONE, None)
    files = _files(path)
    model = load(files)
    where = "" if path == INSTALLED else str(placed(path))
    with dispatcher.database.write() as tx:
        store_choice(tx, COMING, where or INSTALLED)
    done = 0
    # The second round embeds what was written during the first one.
    for _ in range(2):
        for workspace in _workspaces(dispatcher):
            ctx = Context(dispatcher, Connection(), workspace, None)
            done += fill(ctx, model, _reporter(report, workspace))
    return {**_switch(dispatcher, where, model.id), "embedded": done}


def _reporter(report: Report | None, workspace: str) -> Callable[[int, int], None] | None:
    if report is None:
        return None
    return lambda made, total: report(workspace, made, total)


def _files(path: str) -> ModelFiles:
    return installed_model() if path == INSTALLED else model_in(placed(path))


def _switch(dispatcher: Dispatcher, where: str, model: str | None) -> dict[str, Any]:
    # One transaction: no search can see the new choice together with vectors of the old model.
    with dispatcher.database.write() as tx:
        store_choice(tx, ACTIVE, where or None)
        store_choice(tx, COMING, None)
        vectors.forget_other_models(tx, model or NONE)
    return {"model": model, "path": where or INSTALLED}


def _workspaces(dispatcher: Dispatcher) -> list[str]:
    with dispatcher.database.read() as tx:
        return workspace_names(tx)


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
    digest: Annotated[
        str | None,
        Field(pattern=r"^(sha256:)?[0-9a-fA-F]{64}$", description="SHA-256 that the model's file must have."),
    ] = None


@operation("model_pull", writes=True, mode="own", idempotent=True, example={"name": "arctic-s"})
def model_pull(ctx: Context, args: ModelPull) -> dict[str, Any]:
    """Fetch an embedding model by name, then use it."""
    only_here(ctx, "model_pull")
    path = pull(args.name, ctx.settings.home, lambda file, size: ctx.progress(size, None, file), args.digest)
    return use_model(ctx.dispatcher, path, lambda workspace, made, total: ctx.progress(made, total, workspace))
