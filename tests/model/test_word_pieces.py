"""Texts are cut into pieces of words as the library does with which the model's ancestor was taught."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.transformer import words
from clew.model.word_pieces import UNKNOWN, pieces

MARKS = ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
"""The library reads these words as its own marks; to Clew a text that has them is text."""
TEXTS = st.text(string.printable + "éüñçÅ–—“”…重试кэш", max_size=120).filter(
    lambda text: not any(mark in text for mark in MARKS)
)


@pytest.fixture(scope="module")
def reference() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    model = models.WordPiece(dict(words().numbers), unk_token=UNKNOWN, max_input_chars_per_word=100)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


@settings(max_examples=300)
@given(TEXTS)
def test_texts_are_cut_as_the_library_cuts_them(reference: Any, text: str) -> None:
    assert pieces(text, words().numbers) == reference.encode(text, add_special_tokens=False).ids


def test_a_word_without_end_is_one_unknown_piece() -> None:
    known = words().numbers
    assert pieces("a" * 5_000, known) == [known[UNKNOWN]]
