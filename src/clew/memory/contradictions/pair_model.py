"""A small transformer that reads two statements as one text and tells how likely they contradict each other.

Six layers of 384 numbers, begun from all-MiniLM-L6-v2 and taught on labelled pairs (`benchmarks/fit_pair_model.py`).
It comes with Clew and needs numpy only: a runtime for models takes longer to load than this takes to judge, and where
processes of one store have different extras they must still give one answer. The weights are whole numbers of eight
bits, mapped from the file and widened layer by layer, so a process that never judges pays nothing.
"""

from __future__ import annotations

import itertools
import math
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from clew.memory.contradictions.word_pieces import UNKNOWN, pieces

Floats = NDArray[np.float32]
PLACE = Path(__file__).with_name("pair_model.bin")
MOST_PIECES = 62
"""Of each statement: two of these and three marks make the 128 places that the model knows."""
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
    """One layer of the transformer, as BERT has them: attention, then two products with a bend between them."""

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
    """Each text attends to its own pieces only; the texts stand one behind the other, so none is padded."""
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


@dataclass(frozen=True, slots=True)
class PairModel:
    numbers: dict[str, int]
    """Of each piece of a word that the model knows, its row in `words`."""
    words: NDArray[np.int8]
    word_scales: Floats
    positions: Floats
    segments: Floats
    """One for the first statement, one for the second."""
    embedding_norm: LayerNorm
    layers: tuple[Layer, ...]
    heads: int
    head: Floats
    """A row for each of what two statements can be: contradictory, the same, or apart."""
    head_bias: Floats

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair the logarithm of the odds that the two contradict each other, in the order given."""
        texts = [self._text(one, other) for one, other in pairs]
        odds: dict[int, float] = {}
        for batch in _batches([len(text.pieces) for text in texts]):
            odds.update(zip(batch, self._run([texts[at] for at in batch]), strict=True))
        return [odds[at] for at in range(len(pairs))]

    def can_read(self, text: str) -> bool:
        """Whether the model knows the letters of a text: of more than two in three pieces."""
        found = pieces(text, self.numbers)[:MOST_PIECES]
        return 3 * found.count(self.numbers[UNKNOWN]) < len(found)

    def _text(self, one: str, other: str) -> Text:
        first, second = (pieces(text, self.numbers)[:MOST_PIECES] for text in (one, other))
        begin, end = self.numbers["[CLS]"], self.numbers["[SEP]"]
        return Text([begin, *first, end, *second, end], len(first) + 2)

    def _run(self, batch: list[Text]) -> list[float]:
        texts = _slices([len(text.pieces) for text in batch])
        rows = self._embedded(batch, texts)
        for layer in self.layers:
            rows = layer(rows, texts, self.heads)
        pooled = np.stack([rows[text].mean(axis=0) for text in texts])
        against, same, apart = (pooled @ self.head.T + self.head_bias).T
        odds: list[float] = (against - np.logaddexp(same, apart)).tolist()
        return odds

    def _embedded(self, batch: list[Text], texts: list[slice]) -> Floats:
        numbers = np.array([number for text in batch for number in text.pieces])
        rows: Floats = self.words[numbers] * self.word_scales[numbers][:, None]
        for at, text in zip(texts, batch, strict=True):
            rows[at] += self.positions[: len(text.pieces)]
            rows[at.start : at.start + text.second] += self.segments[0]
            rows[at.start + text.second : at.stop] += self.segments[1]
        return self.embedding_norm(rows)


class Text(NamedTuple):
    """The pieces of both statements with the marks around them, and where the second begins."""

    pieces: list[int]
    second: int


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
    """Where each text stands when they stand one behind the other."""
    ends = list(itertools.accumulate(lengths))
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


class File:
    """The model's file: a line of JSON that says what stands where, then the numbers, mapped."""

    def __init__(self, place: Path) -> None:
        with place.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = self._data.find(b"\n")
        self.facts = orjson.loads(self._data[:end])
        self._start = end + 1

    def array(self, name: str) -> NDArray[Any]:
        place = self.facts["arrays"][name]
        count = math.prod(place["shape"])
        return np.frombuffer(self._data, place["type"], count, self._start + place["at"]).reshape(place["shape"])

    def linear(self, name: str) -> Linear:
        return Linear(*(self.array(f"{name}.{part}") for part in ("weights", "scales", "bias")))

    def norm(self, name: str) -> LayerNorm:
        return LayerNorm(*(self.array(f"{name}.{part}") for part in ("scales", "bias")))

    def layer(self, number: int) -> Layer:
        return Layer(
            self.linear(f"{number}.query_key_value"),
            self.linear(f"{number}.attention_output"),
            self.norm(f"{number}.attention_norm"),
            self.linear(f"{number}.feed_up"),
            self.linear(f"{number}.feed_down"),
            self.norm(f"{number}.output_norm"),
        )


@cache
def pair_model() -> PairModel:
    file = File(PLACE)
    return PairModel(
        {word: number for number, word in enumerate(file.facts["words"])},
        file.array("words"),
        file.array("word_scales"),
        file.array("positions"),
        file.array("segments"),
        file.norm("embedding_norm"),
        tuple(map(file.layer, range(file.facts["layers"]))),
        file.facts["heads"],
        file.array("head"),
        file.array("head_bias"),
    )
