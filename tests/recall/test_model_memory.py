"""What an embedding model takes of memory: weights held once, batches of few tokens, and the same vectors as before."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from clew.recall.model_weights import WEIGHTS, laid_out
from clew.recall.models import BATCH_TOKENS, ModelFiles, batches, installed_model, load

needs_model = pytest.mark.skipif(installed_model() is None, reason="the extra `semantic` is not installed")
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")

WORDS = ["session", "cache", "expires", "nightly", "because", "invoices", "are", "archived", "after", "deployment"]


def text(words: int, seed: int) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(words))


def model() -> ModelFiles:
    files = installed_model()
    assert files is not None
    return files


@pytest.mark.parametrize("seed", range(5))
def test_no_batch_has_more_tokens_than_allowed_and_every_text_is_in_one(seed: int) -> None:
    chance = random.Random(seed)
    tokens = {at: [1] * chance.choice((1, 5, 30, 100, 128, 129, 256)) for at in range(60)}
    found = list(batches(tokens))
    assert {at: known for batch in found for at, known in batch.items()} == tokens
    assert sum(map(len, found)) == len(tokens)
    assert all(len(batch) * max(map(len, batch.values())) <= BATCH_TOKENS for batch in found)
    assert len(found) < len(tokens), "short texts go together"


def test_a_text_longer_than_a_batch_goes_alone() -> None:
    assert [list(batch) for batch in batches({1: [7] * (BATCH_TOKENS + 1), 2: [7], 3: [7] * 2})] == [[2, 3], [1]]


@needs_model
def test_texts_embedded_together_get_the_vectors_they_get_alone() -> None:
    embedder = load(model())
    texts = [text(words, words) for words in (1, 200, 3, 60, 8, 30, 300, 61, 2, 9)]
    alone = np.stack([embedder.embed([one])[0] for one in texts])
    np.testing.assert_allclose(embedder.embed(texts), alone, rtol=0, atol=1e-5)


@needs_model
def test_the_laid_out_model_says_what_the_original_says() -> None:
    import onnxruntime

    ids = np.array([[101, 2003, 1996, 5310, 30521, 0, 102]], np.int64)
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    before = onnxruntime.InferenceSession(str(model().onnx), providers=["CPUExecutionProvider"]).run(None, given)[0]
    with laid_out(model().onnx) as path:
        assert path != model().onnx
        assert (path.parent / WEIGHTS).stat().st_size > 40_000_000
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert not path.exists(), "the runtime keeps what it has mapped, the files go"
    np.testing.assert_allclose(session.run(None, given)[0], before, rtol=0, atol=1e-6)


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x3a\x02\x0a\x00", b"\xff" * 64])
def test_what_is_no_such_model_is_loaded_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with laid_out(path) as chosen:
        assert chosen == path


def test_without_a_directory_for_temporary_files_the_model_is_loaded_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    with laid_out(path) as chosen:
        assert chosen == path


_LONG_TEXTS = """
from clew.recall.models import _runtime, installed_model, load
from tests.recall.test_model_memory import text

def kilobytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

_runtime()
before = kilobytes("VmRSS")
load(installed_model()).embed([text(400, seed) for seed in range(16)])
print((kilobytes("VmHWM") - before) // 1024)
"""


@needs_model
@needs_proc
def test_loading_the_model_and_embedding_long_texts_stays_small() -> None:
    """In a process of its own, 100 MB over what the libraries take; with one batch of all sixteen it was 440."""
    done = subprocess.run([sys.executable, "-c", _LONG_TEXTS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 250
