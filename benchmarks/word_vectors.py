"""Makes the table of word vectors that contradictions are found with: `python -m benchmarks.word_vectors`.

Each whole word of the installed embedding model's vocabulary, each word of `vocabulary.txt` and of `more_words.txt`
(words of work and business that the model only knows in pieces) is embedded alone; the vectors are turned to their 64
main axes, averaged over the forms of a stem, and kept as bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.index.terms import stem
from clew.memory.contradictions import nearness, word_groups
from clew.recall.models import ModelFiles, installed_model, load

DIMENSIONS = 64
COMMON = 12_000
"""The model's vocabulary begins with the common words; the middle and the axes are theirs."""
MORE = Path(__file__).parent / "data" / "contradictions" / "more_words.txt"
_WORD = re.compile(r"[a-z]{2,}")


def words(files: ModelFiles) -> list[str]:
    import tokenizers

    whole = tokenizers.Tokenizer.from_file(str(files.tokenizer)).get_vocab()
    known = [word for word, _ in sorted(whole.items(), key=lambda item: item[1]) if _WORD.fullmatch(word)]
    lines = [line for line in word_groups.PLACE.read_text().splitlines() if not line.startswith(("#", "["))]
    more = {*_WORD.findall(" ".join(lines)), *MORE.read_text().split()}
    return known + sorted(more - set(known))


def reduced(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The vectors on their main axes, each of length one."""
    moved = vectors.astype(np.float64) - vectors[:COMMON].mean(axis=0)
    _, _, axes = np.linalg.svd(moved[:COMMON], full_matrices=False)
    turned: NDArray[np.float64] = moved @ axes[:DIMENSIONS].T
    return np.asarray(turned / np.linalg.norm(turned, axis=1, keepdims=True), np.float64)


def main() -> None:
    files = installed_model()
    if files is None:
        print("word_vectors: no embedding model is installed")
        return
    said = words(files)
    forms: dict[str, list[NDArray[np.float64]]] = {}
    for word, vector in zip(said, reduced(load(files).embed(said)), strict=True):
        forms.setdefault(stem(word), []).append(vector)
    table = np.stack([np.mean(vectors, axis=0) for vectors in forms.values()])
    held = np.round(table / np.abs(table).max(axis=1, keepdims=True) * 127).astype(np.int8)
    head = "\n".join((str(DIMENSIONS), *forms))
    nearness.PLACE.write_bytes(head.encode() + b"\n\n" + held.tobytes())
    print(f"{len(forms)} stems of {len(said)} words")


if __name__ == "__main__":
    main()
