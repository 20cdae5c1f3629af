"""Embedding models: the interface, which model is in use, and loading it once for each process."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

import orjson

from clew.canonical import canonical
from clew.recall.onnx_models import model_in
from clew.recall.recent_vectors import Floats, RecentVectors
from clew.settings import Settings
from clew.store.database import Transaction
from clew.store.workspaces import delete_meta, read_meta, write_meta
from clew.surroundings import placed

NONE, INSTALLED = "none", "installed"
ACTIVE, COMING = "model.active", "model.coming"
_loading = threading.Lock()


class Embedder(Protocol):
    """Turns texts into unit vectors. `id` changes whenever the vectors would change."""

    id: str
    dimensions: int

    def embed(self, texts: list[str]) -> Floats: ...

    def embed_query(self, text: str) -> Floats: ...


class ModelFiles(Protocol):
    """A model that can be opened."""

    def id(self) -> str:
        """The name with a digest of everything that influences the vectors, so that models are never mixed."""

    def key(self) -> str:
        """Cache key under which a process keeps the opened model."""

    def open(self) -> Embedder: ...


class OwnModel:
    """The model that is bundled with Clew."""

    def id(self) -> str:
        from clew.model.encoder import encoder_id

        return encoder_id()

    def key(self) -> str:
        return self.id()

    def open(self) -> Embedder:
        return OwnEmbedder()


class OwnEmbedder:
    def __init__(self) -> None:
        from clew.model.encoder import encoder, encoder_id

        model = encoder()
        self.id = encoder_id()
        self.dimensions = model.dimensions
        self._passages = RecentVectors(model.passages)
        self._questions = RecentVectors(model.questions)

    def embed(self, texts: list[str]) -> Floats:
        """Vectors in the order of the texts."""
        return self._passages.of(texts)

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self._questions.of([text])[0]
        return vector


def installed_model() -> ModelFiles:
    return OwnModel()


_loaded: dict[str, Embedder] = {}


def chosen_files(settings: Settings, tx: Transaction) -> ModelFiles | None:
    """The files of the model in use; None if there is none. The setting wins over the stored choice."""
    if settings.embedding_model:
        return None if settings.embedding_model == NONE else model_in(placed(settings.embedding_model))
    stored = stored_choice(tx, ACTIVE)
    if stored is None:
        return installed_model()
    return None if stored == NONE else model_in(Path(stored))


def stored_choice(tx: Transaction, key: str) -> str | None:
    value = read_meta(tx, key)
    return str(orjson.loads(value)["path"]) if value else None


def store_choice(tx: Transaction, key: str, path: str | None) -> None:
    if path is None:
        delete_meta(tx, key)
        return
    write_meta(tx, key, canonical({"path": path}))


def load(files: ModelFiles) -> Embedder:
    """The loaded model; each is loaded once in a process."""
    key = files.key()
    with _loading:
        if key not in _loaded:
            _loaded[key] = files.open()
        return _loaded[key]
