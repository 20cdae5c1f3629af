"""Embedding models as ONNX files: batches of few tokens, and vectors that do not depend on them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from clew.errors import ClewError
from clew.recall.models import load
from clew.recall.onnx_models import BATCH_TOKENS, OnnxFiles, batches, model_in
from tests.recall.small_onnx import small_onnx


@pytest.fixture
def files(tmp_path: Path) -> OnnxFiles:
    return model_in(small_onnx(tmp_path / "small"))


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


def test_texts_embedded_together_get_the_vectors_they_get_alone(files: OnnxFiles) -> None:
    texts = ["abc " * count for count in (1, 200, 3, 60, 8, 300, 2)]
    alone = np.stack([files.open().embed([text])[0] for text in texts])
    np.testing.assert_allclose(files.open().embed(texts), alone, rtol=0, atol=1e-5)


def test_a_model_is_told_from_another_by_its_files_and_its_pooling(tmp_path: Path, files: OnnxFiles) -> None:
    pooled_otherwise = model_in(small_onnx(tmp_path / "other" / "small", first_token=True))
    assert files.id() != pooled_otherwise.id()
    assert files.id() == model_in(small_onnx(tmp_path / "same" / "small")).id()


def test_what_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model at all")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ClewError) as refused:
        load(model_in(tmp_path))
    assert refused.value.code == "UNAVAILABLE" and "model.onnx" in refused.value.message
