"""Which model serves: the setting, else the one a person chose, else the one that is installed, else none."""

from __future__ import annotations

import threading
from pathlib import Path

import orjson

from clew.errors import ClewError
from clew.recall.model import NONE, Embedder, ModelFiles, OnnxEmbedder, installed_model, model_in
from clew.settings import Settings
from clew.store.database import Transaction

ACTIVE, COMING = "model.active", "model.coming"

_loaded: dict[str, Embedder] = {}
_loading = threading.Lock()


def chosen_files(settings: Settings, tx: Transaction) -> ModelFiles | None:
    """The files of the model that serves searches; None when there is none."""
    if settings.embedding_model:
        return None if settings.embedding_model == NONE else model_in(Path(settings.embedding_model).expanduser())
    stored = stored_choice(tx, ACTIVE)
    if stored is None:
        return installed_model()
    return None if stored == NONE else model_in(Path(stored))


def stored_choice(tx: Transaction, key: str) -> str | None:
    value = tx.value("SELECT value FROM meta WHERE key = ?", key)
    return str(orjson.loads(value)["path"]) if value else None


def store_choice(tx: Transaction, key: str, path: str | None) -> None:
    if path is None:
        tx.run("DELETE FROM meta WHERE key = ?", key)
        return
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        orjson.dumps({"path": path}).decode(),
    )


def load(files: ModelFiles) -> Embedder:
    """The model in memory, loaded once in a process."""
    key = f"{files.onnx}|{files.onnx.stat().st_mtime_ns}|{files.tokenizer}"
    with _loading:
        if key not in _loaded:
            try:
                _loaded[key] = OnnxEmbedder(files)
            except ClewError:
                raise
            except Exception as problem:
                raise ClewError(
                    "UNAVAILABLE",
                    f"the embedding model {files.onnx} cannot be loaded: {problem}",
                    "Choose another with `clew model use PATH`, or set CLEW_EMBEDDING_MODEL=none.",
                ) from problem
        return _loaded[key]
