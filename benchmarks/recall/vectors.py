"""A cache of vectors between measurements, by the digest of their text: a second run embeds only new texts."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import numpy as np

from clew.recall.models import Embedder
from clew.recall.recent_vectors import Floats

DIGEST = 16


class KeptVectors:
    """An embedder with a cache file for each model."""

    def __init__(self, model: Embedder, folder: Path) -> None:
        self.id = model.id
        self.dimensions = model.dimensions
        self._model = model
        self._path = folder / f"{model.id}.npz"
        self._known: dict[bytes, Floats] = _read(self._path, model.dimensions)
        self._fresh = 0

    def embed(self, texts: list[str]) -> Floats:
        digests = [_digest(text) for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._known}
        if missing:
            self._known.update(zip(missing, self._model.embed(list(missing.values())), strict=True))
            self._fresh += len(missing)
        return np.stack([self._known[digest] for digest in digests]) if texts else self._model.embed([])

    def embed_query(self, text: str) -> Floats:
        digest = _digest(f"question: {text}")
        if digest not in self._known:
            self._known[digest] = self._model.embed_query(text)
            self._fresh += 1
        return self._known[digest]

    def save(self) -> None:
        """Writes a temporary file and renames it, so that an interrupted run leaves a complete one."""
        if not self._fresh:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part.npz")
        digests = np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, DIGEST)
        np.savez(part, digests=digests, vectors=np.stack(list(self._known.values())))
        part.replace(self._path)
        self._fresh = 0


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST).digest()


def _read(path: Path, dimensions: int) -> dict[bytes, Floats]:
    """The cached vectors; empty if the file is missing, broken or of another shape."""
    try:
        with np.load(path) as stored:
            digests, vectors = stored["digests"], stored["vectors"].astype(np.float32)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return {}
    if vectors.ndim != 2 or vectors.shape != (len(digests), dimensions):
        return {}
    return {digest.tobytes(): vector for digest, vector in zip(digests, vectors, strict=True)}
