"""Makes vectors of texts: texts of like meaning get vectors that point in like directions.

Begun from all-MiniLM-L6-v2 and taught on what agents keep and how they ask (`benchmarks/training`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from clew.canonical import digest
from clew.model.files import WeightFile, file_id
from clew.model.transformer import Floats, Text, Transformer, transformer
from clew.model.word_pieces import BEGIN, END, is_readable, pieces
from clew_memory_model import ENCODER, PAIRS

PASSAGE, QUESTION = 0, 2
"""Segments: questions are read in another way than what they are asked of."""


@dataclass(frozen=True, slots=True)
class Encoder:
    transformer: Transformer

    @property
    def dimensions(self) -> int:
        return int(self.transformer.positions.shape[1])

    def passages(self, texts: Sequence[str]) -> Floats:
        return self._embedded(texts, PASSAGE)

    def questions(self, texts: Sequence[str]) -> Floats:
        return self._embedded(texts, QUESTION)

    def _embedded(self, texts: Sequence[str], segment: int) -> Floats:
        """Unit vectors in the order of the texts; zeros for a text in letters that the model cannot read, which else
        would be like every other such text."""
        read = [self._text(text, segment) for text in texts]
        known = self.transformer.words.numbers
        readable = [at for at, text in enumerate(read) if is_readable(text.pieces[1:-1], known)]
        found = np.zeros((len(texts), self.dimensions), np.float32)
        rows = self.transformer.read([read[at] for at in readable])
        found[readable] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return found

    def _text(self, text: str, segment: int) -> Text:
        known = self.transformer.words.numbers
        most = len(self.transformer.positions) - 2
        read = [known[BEGIN], *pieces(text, known)[:most], known[END]]
        return Text(read, [segment] * len(read))


def encoder_id() -> str:
    """It changes whenever the vectors would change, so that those of two models are never compared."""
    return f"clew-memory-model-{digest(file_id(ENCODER) + file_id(PAIRS), 8)}"


@cache
def encoder() -> Encoder:
    return Encoder(transformer(WeightFile(ENCODER)))
