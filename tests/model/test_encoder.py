"""The model that makes vectors of texts: batches, letters that it cannot read, questions, and the memory it takes."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.work import Work, counting

from clew.model.encoder import encoder
from clew.recall.models import installed_model

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
WORDS = ["session", "cache", "expires", "nightly", "because", "invoices", "are", "archived", "after", "deployment"]


def text(words: int, seed: int) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(words))


def test_texts_embedded_together_get_the_vectors_they_get_alone() -> None:
    texts = [text(words, words) for words in (1, 200, 3, 60, 8, 30, 300, 61, 2, 9)]
    alone = np.concatenate([encoder().passages([one]) for one in texts])
    np.testing.assert_allclose(encoder().passages(texts), alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(alone, axis=1), 1, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("car trouble", "Our automobile broke down on the highway.", "The cat slept on the sofa all afternoon."),
        ("a pet that is asleep", "The cat slept on the sofa all afternoon.", "We chose PostgreSQL for the store."),
        ("which database did we take?", "We chose PostgreSQL for the store.", "Our automobile broke down."),
    ],
)
def test_a_question_is_nearer_to_its_answer_than_to_another_text(question: str, answer: str, other: str) -> None:
    near, far = encoder().passages([answer, other]) @ encoder().questions([question])[0]
    assert near > far + 0.1


def test_a_text_in_letters_that_are_not_known_is_like_no_other() -> None:
    texts = ["重试三次之后放弃", "не удаляй без проверки", "", "The cache expires."]
    assert [bool(vector.any()) for vector in encoder().passages(texts)] == [False, False, False, True]


def test_a_text_of_just_now_is_not_embedded_again() -> None:
    embedder = installed_model().open()
    texts = ["a text that is asked for", "and stored after that", "a text that is asked for"]
    with counting(Work()) as first:
        before, asked = embedder.embed(texts), embedder.embed_query(texts[0])
    with counting(Work()) as second:
        assert np.array_equal(embedder.embed(texts[::-1]), before[::-1])
        assert np.array_equal(embedder.embed_query(texts[0]), asked)
    assert first.model_runs and not second.model_runs


_LONG_TEXTS = """
import numpy
from tests.model.test_encoder import text

def kilobytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

before = kilobytes("VmRSS")
from clew.model.encoder import encoder
encoder().passages([text(400, seed) for seed in range(16)])
print((kilobytes("VmHWM") - before) // 1024)
"""


@needs_proc
def test_loading_the_model_and_embedding_long_texts_stays_small() -> None:
    """In a process of its own: 27 MB of weights, and what a run works on."""
    done = subprocess.run([sys.executable, "-c", _LONG_TEXTS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) < 100
