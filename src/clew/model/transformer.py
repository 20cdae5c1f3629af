"""A transformer as BERT has it, in numpy: texts as numbers of word pieces in, the mean over their pieces out.

The weights are whole numbers of eight bits, mapped from the file and made floats layer by layer: that costs a tenth of
the time of a short text, and held as floats they would take 42 MB. Texts that are read together follow one another in
one matrix, so none is padded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.blas import use_one_thread
from clew.model.files import WeightFile
from clew_memory_model import PAIRS

Floats = NDArray[np.float32]
AT_ONCE = 1_024
"""Pieces that are read together: more do not fit into the processor's caches."""
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Linear:
    """Weights of eight bits with a scale for each of their columns, and a bias."""

    weights: NDArray[np.int8]
    scales: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        product = rows @ self.weights.astype(np.float32)
        product *= self.scales
        product += self.bias
        return product


@dataclass(frozen=True, slots=True)
class LayerNorm:
    scales: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        centred: Floats = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + TINY)
        centred *= self.scales / spread
        centred += self.bias
        return centred


@dataclass(frozen=True, slots=True)
class Layer:
    """Attention, then two products with a bend between them."""

    query_key_value: Linear
    """The three of attention, one behind the other; the query is divided by the root of its size already."""
    attention_output: Linear
    attention_norm: LayerNorm
    feed_up: Linear
    feed_down: Linear
    output_norm: LayerNorm

    def __call__(self, rows: Floats, texts: Sequence[slice], heads: int) -> Floats:
        attended = self.attention_output(_attention(self.query_key_value(rows), texts, heads))
        attended += rows
        attended = self.attention_norm(attended)
        fed = self.feed_down(_gelu(self.feed_up(attended)))
        fed += attended
        return self.output_norm(fed)


def _attention(query_key_value: Floats, texts: Sequence[slice], heads: int) -> Floats:
    """Each text attends to its own pieces only."""
    size = query_key_value.shape[1] // 3
    found = np.empty((len(query_key_value), size), np.float32)
    for text in texts:
        query, key, value = (
            part.reshape(-1, heads, size // heads).transpose(1, 0, 2)
            for part in np.split(query_key_value[text], 3, axis=1)
        )
        weights = query @ key.transpose(0, 2, 1)
        weights -= weights.max(axis=2, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=2, keepdims=True)
        found[text] = (weights @ value).transpose(1, 0, 2).reshape(-1, size)
    return found


def _gelu(rows: Floats) -> Floats:
    """By its usual approximation with tanh, in place: the widest rows of the model are made here."""
    bent = np.square(rows)
    bent *= np.float32(0.044715)
    bent += 1
    bent *= rows
    bent *= np.float32(0.7978845608)
    np.tanh(bent, out=bent)
    bent += 1
    bent *= rows
    bent *= np.float32(0.5)
    return bent


class Text(NamedTuple):
    """The pieces of a text with the marks around them, and to which segment each belongs."""

    pieces: list[int]
    segments: list[int]


@dataclass(frozen=True, slots=True)
class Words:
    """The word table, which every network here shares."""

    numbers: Mapping[str, int]
    """Of each piece of a word that is known, its row."""
    rows: NDArray[np.int8]
    scales: Floats


@dataclass(frozen=True, slots=True)
class Transformer:
    words: Words
    positions: Floats
    segments: Floats
    embedding_norm: LayerNorm
    layers: tuple[Layer, ...]
    heads: int

    def read(self, texts: Sequence[Text]) -> Floats:
        """A row for each text, in the order given: the mean of what the last layer makes of its pieces."""
        found = np.empty((len(texts), self.positions.shape[1]), np.float32)
        for batch in _batches([len(text.pieces) for text in texts]):
            found[batch] = self._run([texts[at] for at in batch])
        return found

    def _run(self, batch: list[Text]) -> Floats:
        texts = _slices([len(text.pieces) for text in batch])
        rows = self._embedded(batch)
        for layer in self.layers:
            rows = layer(rows, texts, self.heads)
        return np.stack([rows[text].mean(axis=0) for text in texts])

    def _embedded(self, batch: list[Text]) -> Floats:
        numbers = [number for text in batch for number in text.pieces]
        rows: Floats = self.words.rows[numbers] * self.words.scales[numbers][:, None]
        rows += self.positions[[place for text in batch for place in range(len(text.pieces))]]
        rows += self.segments[[segment for text in batch for segment in text.segments]]
        return self.embedding_norm(rows)


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Which texts are read together, the shortest first."""
    batch: list[int] = []
    total = 0
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and total + lengths[at] > AT_ONCE:
            yield batch
            batch, total = [], 0
        batch.append(at)
        total += lengths[at]
    if batch:
        yield batch


def _slices(lengths: list[int]) -> list[slice]:
    """The rows of each text, when the texts follow one another."""
    ends = list(itertools.accumulate(lengths))
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def transformer(file: WeightFile) -> Transformer:
    use_one_thread()
    return Transformer(
        words(),
        file.array("positions"),
        file.array("segments"),
        _norm(file, "embedding_norm"),
        tuple(_layer(file, number) for number in range(file.facts["layers"])),
        file.facts["heads"],
    )


@cache
def pairs_file() -> WeightFile:
    return WeightFile(PAIRS)


@cache
def words() -> Words:
    file = pairs_file()
    numbers = {word: number for number, word in enumerate(file.facts["words"])}
    return Words(numbers, file.array("words"), file.array("word_scales"))


def _layer(file: WeightFile, number: int) -> Layer:
    return Layer(
        _linear(file, f"{number}.query_key_value"),
        _linear(file, f"{number}.attention_output"),
        _norm(file, f"{number}.attention_norm"),
        _linear(file, f"{number}.feed_up"),
        _linear(file, f"{number}.feed_down"),
        _norm(file, f"{number}.output_norm"),
    )


def _linear(file: WeightFile, name: str) -> Linear:
    return Linear(*(file.array(f"{name}.{part}") for part in ("weights", "scales", "bias")))


def _norm(file: WeightFile, name: str) -> LayerNorm:
    return LayerNorm(*(file.array(f"{name}.{part}") for part in ("scales", "bias")))
