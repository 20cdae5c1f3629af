"""Embedding models as ONNX files, as an alternative to the one that is bundled with Clew.

They need the extra `semantic`: onnxruntime and tokenizers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from clew.canonical import digest
from clew.errors import ClewError
from clew.freed_memory import give_back
from clew.recall.recent_vectors import Floats, RecentVectors

MOST_TOKENS = 256
READ_AT_ONCE = 64
"""Texts that are tokenized together: the result takes 30 kB for each text."""
BATCH_TOKENS = 256
"""Tokens of one run of the model, padding included. More take more memory (16 texts of 256 tokens 400 MB) and more time
for each text, because what a run works on no longer fits into the processor's caches."""


@dataclass(frozen=True)
class OnnxFiles:
    """The files of an ONNX model, and how its output becomes a vector."""

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

    def key(self) -> str:
        return f"{self.onnx}|{self.onnx.stat().st_mtime_ns}|{self.tokenizer}"

    def open(self) -> OnnxEmbedder:
        try:
            return OnnxEmbedder(self)
        except ClewError:
            raise
        except Exception as problem:
            raise ClewError(
                "UNAVAILABLE",
                f"the embedding model {self.onnx} cannot be loaded: {problem}",
                "Choose another with `clew model use PATH`, or set CLEW_EMBEDDING_MODEL=none.",
            ) from problem


@lru_cache(maxsize=16)
def _digest(path: Path, changed_ns: int) -> str:
    return digest(path.read_bytes(), 16)


class OnnxEmbedder:
    def __init__(self, files: OnnxFiles) -> None:
        give_back()  # memory freed after reading the files would otherwise add to the peak of loading
        onnxruntime, tokenizers = _runtime()
        self.id = files.id()
        self._files = files
        self._tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.no_padding()
        self._session = _session(onnxruntime, files.onnx)
        self._run_options = onnxruntime.RunOptions()
        # Else the runtime keeps the most that any batch took, for as long as the server lives.
        self._run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._recent = RecentVectors(self._embedded)
        self.dimensions = int(self.embed(["size"]).shape[1])
        give_back()

    def embed(self, texts: list[str]) -> Floats:
        """Vectors in the order of the texts."""
        return self._recent.of(texts)

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self.embed([self._files.query_prompt + text])[0]
        return vector

    def _embedded(self, texts: list[str]) -> list[Floats]:
        """Texts are sorted by length, so that a batch has little padding."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        parts: dict[int, Floats] = {}
        for start in range(0, len(order), READ_AT_ONCE):
            portion = order[start : start + READ_AT_ONCE]
            read = self._tokenizer.encode_batch([texts[at] for at in portion])
            for batch in batches({at: item.ids for at, item in zip(portion, read, strict=True)}):
                parts.update(zip(batch, self._run(list(batch.values())), strict=True))
        return [parts[at] for at in range(len(texts))]

    def _run(self, tokens: list[list[int]]) -> Floats:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, known in enumerate(tokens):
            ids[row, : len(known)] = known
            mask[row, : len(known)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        fed = {name: value for name, value in given.items() if name in self._inputs}
        output = self._session.run(None, fed, self._run_options)[0]
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


def model_in(folder: Path) -> OnnxFiles:
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
    return OnnxFiles(
        folder.name, chosen, tokenizer, bool(pooling.get("pooling_mode_cls_token")), str(prompts.get("query", ""))
    )


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}
