"""Ranks operations by how well they match a request: by semantic score and by words, against examples of each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import cache
from math import log

import numpy as np
from numpy.typing import NDArray

from clew.index.terms import terms
from clew.kinds.catalogue import by_prefix
from clew.model.encoder import encoder
from clew.model.transformer import Floats
from clew.registry.catalogue import catalogue
from clew.registry.toolsets import AGENT_TOOLS
from clew.registry.wishes import wish_vectors, wishes

FILLERS = """
a an the i me my we our us you your it its this that these those is are was were be been am do did does done to of in on
at by for with from and or as so if than then what which how can could should would will shall may might please
some something any anything someone somebody thing things there here about into one up off new own has have had let
make get give want need use using used go just now not no also only very more already while over away two whole
"""
"""Stop words: they are not specific to any request."""
OBJECTS = """
decision rule preference fact lesson record memory note question task step plan project file source code idea thought
card work user agent session proposal text name list show test tests side
"""
"""Words for the target: most operations act on it, so they are less specific than the word for the action."""
OBJECT_WEIGHT = 0.45

SHARPNESS = 12.0
"""How much more a similar example counts than a less similar one. Many fairly similar ones outweigh a coincidence."""
WORD_WEIGHT = 0.5
"""Weight of the words relative to the semantic score. These three were fitted on half of benchmarks/data/wishes."""
DAILY_BONUS = 0.2
"""Common operations of agents are intended more often than the rest."""
DAILY = frozenset((*AGENT_TOOLS, "undo", "restore", "erase", "inbox_list", "why"))
LEAST_SIMILARITY = 0.35
"""Similarity threshold: an operation without a shared word and without an example above it does not match."""

_RECORD_ID = re.compile(r"\b([A-Z]{1,5})-\d+\b")
_STEP = re.compile(r"\b(?:step )?s:\d+(?:[./]s:\d+)*")
_THOUGHT = re.compile(r"\bS\d+\b")
_FILE = re.compile(r"\S*\w/\S*|\b[\w-]+\.[a-z]{1,4}\b")
_WORK_PREFIXES = {"TASK": "task", "PLAN": "plan", "STEP": "step", "CARD": "card", "JOB": "job"}
_FILLERS = frozenset(terms(FILLERS))
_OBJECTS = frozenset(terms(OBJECTS))


def ranked(wish: str) -> list[str]:
    """The names of the operations that match the request, best first."""
    general = without_names(wish)
    by_words, by_meaning, likest = _by_words(general), *_by_meaning(general)
    names = [entry.name for entry in catalogue().operations]
    scores = {
        name: meaning + WORD_WEIGHT * by_words.get(name, 0.0) + (DAILY_BONUS if name in DAILY else 0.0)
        for name, meaning, similarity in zip(names, by_meaning, likest, strict=True)
        if name in by_words or similarity >= LEAST_SIMILARITY
    }
    return sorted(scores, key=lambda name: (-scores[name], name))


def without_names(wish: str) -> str:
    """The request with ids and file names replaced: `D-3` says no more than `this decision` about the action."""
    wish = _RECORD_ID.sub(lambda match: f"this {_kind_word(match[1])}", wish)
    wish = _THOUGHT.sub("an earlier thought", _STEP.sub("this step", wish))
    return _FILE.sub("this file", wish)


def _kind_word(prefix: str) -> str:
    kind = by_prefix().get(prefix)
    return _WORK_PREFIXES.get(prefix) or (kind.name if kind is not None else "record")


def _by_meaning(wish: str) -> tuple[list[float], list[float]]:
    """For each operation, the similarity of all its examples to the request together, and that of the best one."""
    similarities = wish_vectors() @ encoder().passages([wish])[0]
    together: Floats = np.zeros(len(catalogue().operations), np.float32)
    likest: Floats = np.full(len(together), -1.0, np.float32)
    np.add.at(together, _owners(), np.exp(SHARPNESS * similarities))
    np.maximum.at(likest, _owners(), similarities)
    return np.log(together).tolist(), likest.tolist()


def _by_words(wish: str) -> dict[str, float]:
    """The lexical score of each operation that shares words with the request: how many and how rare they are."""
    asked = set(terms(wish))
    found: dict[str, float] = defaultdict(float)
    for term in asked - _FILLERS or asked:
        for name, weight in _word_index().get(term, {}).items():
            found[name] += weight
    return found


@cache
def _owners() -> NDArray[np.int64]:
    """For each example, the index of its operation."""
    places = {entry.name: place for place, entry in enumerate(catalogue().operations)}
    return np.array([places[wish.operation] for wish in wishes()])


@cache
def _word_index() -> dict[str, dict[str, float]]:
    """For each term the operations whose name or examples contain it, with its weight for them."""
    uses = _uses()
    total = len(catalogue().operations)
    index: dict[str, dict[str, float]] = {}
    for term, by_operation in uses.items():
        rarity = log(1 + total / len(by_operation)) * (OBJECT_WEIGHT if term in _OBJECTS else 1.0)
        # The second example with a word counts less than the first.
        index[term] = {name: rarity * count / (count + 1) for name, count in by_operation.items()}
    return index


def _uses() -> dict[str, Counter[str]]:
    """For each term, the number of examples of each operation that contain it."""
    uses: dict[str, Counter[str]] = defaultdict(Counter)
    named = ((entry.name, entry.name.replace("_", " ")) for entry in catalogue().operations)
    for name, text in (*named, *wishes()):
        for term in set(terms(text)) - _FILLERS:
            uses[term][name] += 1
    return uses
