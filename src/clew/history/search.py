"""Search in earlier sessions: by words, by the file that was edited, by the error that was met.

The database finds candidates by its own text index. They are ranked here, alike on both engines: by how many of the
query's rarer words a turn holds, by the files that the query names, and by the error that it quotes.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clew.history.turn_store import editing_sessions, edits_of, turns_after, turns_by_number, turns_with_error
from clew.history.turns import HistoryTurn
from clew.history.words import matching
from clew.hook_events.failures import read_failure
from clew.index.terms import terms
from clew.registry.context import Context

CANDIDATES = 150
RANKED_CHARACTERS = 4_000
"""Characters of a turn that are ranked; a longer one is a listing."""
SATURATION, LENGTH_WEIGHT = 1.2, 0.6
SAME_ERROR, NAMED_FILE, SESSION_OF_FILE = 6.0, 2.0, 0.5
KIND_WEIGHT = {"prompt": 1.15, "summary": 1.1, "answer": 1.0, "edit": 0.9, "command": 0.85}
"""What was asked says best what a session was about; an output repeats words without meaning."""
OF_OTHERS = 0.15
"""How much the other turns of a session count relative to its best one."""
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z]\w{0,4}\b")
LOOKED_AHEAD = 30


@dataclass(frozen=True)
class Hit:
    turn: HistoryTurn
    score: float
    others: tuple[HistoryTurn, ...] = ()


def search(ctx: Context, query: str, about: str | None, limit: int) -> list[Hit]:
    """The best turn of each session, the best session first, with up to two more of its turns."""
    turns = _candidates(ctx, query, about)
    if not query:
        return _by_session({turn.number: (turn, 1.0) for turn in turns}, limit, newest=True)
    scores = _scores(ctx, query, turns)
    return _by_session({turn.number: (turn, scores[turn.number]) for turn in turns}, limit)


def _candidates(ctx: Context, query: str, about: str | None) -> list[HistoryTurn]:
    numbers: list[int] = []
    failure = read_failure(query) if query else None
    if about is None:
        numbers += turns_with_error(ctx, failure.key, CANDIDATES) if failure else []
        numbers += matching(ctx.tx, ctx.workspace, ctx.ws.number, query, CANDIDATES)
        return list(turns_by_number(ctx, dict.fromkeys(numbers)).values())
    edited = turns_by_number(ctx, edits_of(ctx, about, CANDIDATES))
    sessions = {turn.session for turn in edited.values()}
    if not query:
        return list(edited.values())
    found = turns_by_number(ctx, matching(ctx.tx, ctx.workspace, ctx.ws.number, query, 4 * CANDIDATES))
    return list({**edited, **{n: turn for n, turn in found.items() if turn.session in sessions}}.values())


def _scores(ctx: Context, query: str, turns: Sequence[HistoryTurn]) -> dict[int, float]:
    words = {turn.number: Counter(terms(turn.words[:RANKED_CHARACTERS])) for turn in turns}
    scores = _by_words(dict.fromkeys(terms(query)), words)
    failure = read_failure(query)
    names = sorted({found.rpartition("/")[2] for found in _FILE.findall(query)})
    editing = editing_sessions(ctx, names)
    for turn in turns:
        scores[turn.number] *= KIND_WEIGHT.get(turn.kind, 1.0)
        if failure is not None and turn.error_key == failure.key:
            scores[turn.number] += SAME_ERROR
        if any(file.rpartition("/")[2] in names for file in turn.files):
            scores[turn.number] += NAMED_FILE
        elif turn.session in editing:
            scores[turn.number] += SESSION_OF_FILE
    return scores


def _by_words(query: Iterable[str], words: Mapping[int, Counter[str]]) -> dict[int, float]:
    """BM25 over the candidates."""
    lengths = {number: sum(counts.values()) for number, counts in words.items()}
    average = sum(lengths.values()) / max(len(lengths), 1) or 1.0
    asked = list(query)
    held_by = {word: sum(word in counts for counts in words.values()) for word in asked}
    rarity = {word: math.log(1 + (len(words) - n + 0.5) / (n + 0.5)) for word, n in held_by.items()}
    scores: dict[int, float] = {}
    for number, counts in words.items():
        norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * lengths[number] / average)
        scores[number] = sum(rarity[word] * counts[word] / (counts[word] + norm) for word in asked if counts[word])
    return scores


def _by_session(scored: Mapping[int, tuple[HistoryTurn, float]], limit: int, newest: bool = False) -> list[Hit]:
    sessions: dict[str, list[tuple[HistoryTurn, float]]] = defaultdict(list)
    for turn, score in scored.values():
        if score > 0:
            sessions[turn.session].append((turn, score))
    hits = []
    for found in sessions.values():
        found.sort(key=lambda pair: (-pair[1], -pair[0].number))
        (best, score), others = found[0], found[1:]
        total = score + OF_OTHERS * sum(other for _, other in others[:5])
        hits.append(Hit(best, total, tuple(turn for turn, _ in others[:2])))
    best_first = sorted(hits, key=lambda hit: (-hit.turn.ts_ms if newest else -hit.score, -hit.turn.number))
    return best_first[:limit]


def what_ended(ctx: Context, failure: HistoryTurn) -> str | None:
    """Of a command that failed: the files that were edited before it passed in the same session."""
    command = failure.words.partition("\n")[0]
    edited: dict[str, None] = {}
    for turn in turns_after(ctx, failure.session, failure.number, LOOKED_AHEAD):
        edited.update(dict.fromkeys(turn.files))
        if turn.kind == "command" and turn.exit_code == 0 and turn.words.partition("\n")[0] == command:
            return f"passed after editing {', '.join(list(edited)[:5])}" if edited else "passed when it ran again"
    return None
