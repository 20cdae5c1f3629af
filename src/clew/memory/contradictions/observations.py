"""What two sentences have in common and where they differ, as numbers between 0 and 1 for a learned judgement."""

from __future__ import annotations

from clew.memory.contradictions.amounts import Amount
from clew.memory.contradictions.differences import close, conflicting, seen_beside
from clew.memory.contradictions.meanings import KIN, Alignment, Pairs, scaled
from clew.memory.contradictions.nearness import known, nearest, nearness
from clew.memory.contradictions.sentences import Meaning, Sentence

Beside = list[tuple[Meaning, float]]
"""Words with how well the other sentence has them."""


def _cover(chosen: Beside, empty: float = 0.0) -> float:
    total = near = 0.0
    for token, share in chosen:
        total += token.weight
        near += token.weight * share
    return near / total if total else empty


def _by_role(tokens: tuple[Meaning, ...], best: tuple[float, ...]) -> dict[str, Beside]:
    found: dict[str, Beside] = {"topic": [], "rest": [], "doer": []}
    for token, near in zip(tokens, best, strict=True):
        found[token.role].append((token, near))
    return found


def _own(pairs: Beside) -> int:
    """How many words the other sentence does not have."""
    return sum(near < 0.4 and token.weight == 1.0 for token, near in pairs)


CONTRASTS = ("opposite", "opposite_topic", "rival", "number", "denial", "need_free", "all_only", "name_rest",
             "kin_rest", "only_one", "order", "doer", "number_differs", "period", "slot", "slot_kin", "swap",
             "swap_name", "swap_kin")  # fmt: skip


def features(a: Sentence, b: Sentence, found: Alignment) -> dict[str, float]:
    """All observations by name; what is not there is nought."""
    first, second = _by_role(a.tokens, found.first), _by_role(b.tokens, found.second)
    sides = (first, second)
    cover = sorted(_cover([*side["topic"], *side["rest"], *side["doer"]]) for side in sides)
    topic = sorted(_cover(side["topic"], 0.5) for side in sides)
    rest = sorted(_cover(side["rest"], 0.5) for side in sides)
    marks = sorted(_own(side["topic"]) for side in sides)
    own = sorted(_own(side["topic"]) + _own(side["rest"]) + _own(side["doer"]) for side in sides)
    shared = len(a.means & b.means)
    same = (cover[0] + cover[1]) / 2
    conflicts = conflicting(a, b)
    out = {
        "cover_low": cover[0],
        "cover_high": cover[1],
        "topic_low": topic[0],
        "topic_high": topic[1],
        "rest_low": rest[0],
        "rest_high": rest[1],
        "shared": min(shared, 5) / 5,
        "shared_one": float(shared == 1),
        "marks_both": float(marks[0] > 0),
        "marks_one": float(marks[0] == 0 < marks[1]),
        "own_none": float(own[1] == 0),
        "own_one": float(own[0] == 0 < own[1]),
        "own_high": min(own[1], 8) / 8,
        "excepts": float(a.excepts or b.excepts),
        "adds": float(a.adds or b.adds),
        "past": float(a.past and b.past),
        "past_one": float(a.past != b.past),
    }
    out |= _contrasts(found) | _numbers(a, b, conflicts) | _forces(a, b) | _quantifiers(a, b, marks)
    out["order"] = _turned(a, b)
    out["doer"] = _doers(first, second)
    out |= _slots(a, b) | _heads(a, b, marks) | _swap(a, b, found)
    out["differ"] = max(out[name] for name in CONTRASTS if name != "kin_rest")
    return out | _together(out, same, cover[1]) | seen_beside(a, b, found, conflicts)


def _together(out: dict[str, float], same: float, high: float) -> dict[str, float]:
    """Products of what is seen; those of nought are left out."""
    found: dict[str, float] = {}
    for name, by_same, by_high in _BY_COVER:
        if out[name]:
            found[by_same] = out[name] * same
            found[by_high] = out[name] * high
    for name, alike in _BY_SAME:
        if out[name]:
            found[alike] = out[name] * same
    if out["differ"]:
        for name, by_differ in _BY_DIFFER:
            if out[name]:
                found[by_differ] = out[name] * out["differ"]
    return found


_BY_COVER = [(name, f"{name}*same", f"{name}*high") for name in (*CONTRASTS, "differ")]
_SCOPES = ("apart_topic", "marks_both", "past", "rival_topic", "siblings", "opposite_topic", "verb_same",
           "verb_far", "marks_one", "head_same", "past_one")  # fmt: skip
_BY_SAME = tuple((name, f"{name}*alike") for name in ("marks_both", "siblings", "part", "marks_one", "rival_topic",
                                                     "opposite_topic", "apart_topic", "kin_topic"))  # fmt: skip
_BY_DIFFER = [(name, f"{name}*differ") for name in _SCOPES]


def _contrasts(found: Alignment) -> dict[str, float]:
    def in_topic(pairs: Pairs) -> float:
        return float(any(x.role == "topic" and y.role == "topic" for x, y in pairs))

    def elsewhere(pairs: Pairs) -> float:
        return float(any(x.role != "topic" or y.role != "topic" for x, y in pairs))

    return {
        "opposite": elsewhere(found.opposites),
        "opposite_topic": in_topic(found.opposites),
        "rival": elsewhere(found.rivals),
        "rival_topic": in_topic(found.rivals),
        "apart": elsewhere(found.apart),
        "apart_topic": in_topic(found.apart),
        "name_rest": elsewhere(found.names),
        "kin_rest": max((near for x, y, near in found.kin if x.role == y.role == "rest"), default=0.0),
        "kin_topic": max((near for x, y, near in found.kin if x.role == y.role == "topic"), default=0.0),
    }


def _numbers(a: Sentence, b: Sentence, conflicts: list[tuple[Amount, Amount]]) -> dict[str, float]:
    pairs = [(x, y) for x in a.amounts for y in b.amounts if x.comparable(y)]
    equal = any(close(x, y) for x, y in pairs)
    differs = [(x, y) for x, y in pairs if not close(x, y)]
    return {
        "number": float(bool(conflicts)),
        "number_named": float(any(x.measure for x, _ in conflicts)),
        "number_differs": float(bool(differs) and not conflicts),
        "number_equal": float(equal and not conflicts),
        "number_both": float(equal and bool(conflicts)),
        "number_ranges": float(any(_touch(x, y) for x, y in pairs)),
        "number_topic": float(bool(a.topic_amounts) and bool(b.topic_amounts) and bool(conflicts)),
        "number_one": float(bool(a.amounts) != bool(b.amounts)),
        "number_free": float(
            ("unlimited" in a.words and bool(b.amounts)) or ("unlimited" in b.words and bool(a.amounts))
        ),
        "number_other": float(bool(a.amounts) and bool(b.amounts) and not pairs),
        "period": float(any(x.measure == "period" for x, _ in conflicts)),
    }


def _touch(x: Amount, y: Amount) -> bool:
    """Whether two ranges share an end and nothing else: up to 2 kg, from 2 kg on."""
    return (x.low, x.high) != (y.low, y.high) and (x.high == y.low or y.high == x.low)


def _forces(a: Sentence, b: Sentence) -> dict[str, float]:
    both = {a.force, b.force}
    denial = max(_denied(a, b), _denied(b, a))
    return {
        "denial": denial,
        "may_forbid": float(both in ({"may", "forbid"}, {"may", "not"})) * denial,
        "must_forbid": float(both in ({"must", "forbid"}, {"must", "not"})) * denial,
        "plain_not": float(both in ({"plain", "not"}, {"plain", "forbid"})) * denial,
        "need_free": float(both in ({"must", "free"}, {"plain", "free"})),
        "must_may": float(both == {"must", "may"}),
        "both_deny": float(bool(a.denials) and bool(b.denials)),
        "denial_one": float(bool(a.denials) != bool(b.denials)),
    }


def _denied(a: Sentence, b: Sentence) -> float:
    """How much of what one denies the other says without denying it."""
    best = 0.0
    said, denied = {t.mean for t in b.tokens}, frozenset().union(*b.denials)
    for scope in a.denials:
        near = [1.0 if word in said else scaled(nearest(word, said)) for word in sorted(scope)]
        share = sum(near) / len(near)
        kept = 1 - len(scope & denied) / len(scope)
        best = max(best, share * kept)
    return best


def _quantifiers(a: Sentence, b: Sentence, marks: list[int]) -> dict[str, float]:
    all_only = (a.universal and b.only and not a.only) or (b.universal and a.only and not b.only)
    return {
        "all_only": float(all_only),
        "only_one": float(a.only != b.only),
        "universal_one": float(a.universal != b.universal),
        "universal_part": float(a.universal != b.universal and marks[0] == 0 < marks[1]),
    }


def _turned(a: Sentence, b: Sentence) -> float:
    if a.ranked is None or b.ranked is None:
        return 0.0
    straight = len(a.ranked[0] & b.ranked[0]) + len(a.ranked[1] & b.ranked[1])
    crossed = len(a.ranked[0] & b.ranked[1]) + len(a.ranked[1] & b.ranked[0])
    return 1.0 if crossed > straight else 0.0


def _swap(a: Sentence, b: Sentence, found: Alignment) -> dict[str, float]:
    """Whether the sentences agree but for a word or two on each side that stand outside of the topic, and of what kind
    these are: names, or words of one kind."""
    first, second = ([t for t, near in zip(tokens, best, strict=True) if near < 0.4 and t.weight == 1.0]
                     for tokens, best in ((a.tokens, found.first), (b.tokens, found.second)))  # fmt: skip
    few = 0 < len(first) <= 3 and 0 < len(second) <= 3
    if not few or any(t.role == "topic" for t in (*first, *second)):
        return {"swap": 0.0, "swap_name": 0.0, "swap_kin": 0.0}
    near = max(nearest(t.mean, [other.mean for other in second]) for t in first)
    named = any(t.name or not known(t.mean) for t in first) and any(t.name or not known(t.mean) for t in second)
    return {"swap": 1.0, "swap_name": float(named), "swap_kin": float(near >= 0.25)}


def _heads(a: Sentence, b: Sentence, marks: list[int]) -> dict[str, float]:
    """Whether the topics have one noun (then words of their own tell two things apart), and one verb."""
    head = bool(a.head) and a.head == b.head
    verb = _word_near(a.verb, b.verb)
    return {
        "head_same": float(head),
        "siblings": float(head and marks[0] > 0),
        "part": float(head and marks[0] == 0 < marks[1]),
        "verb_same": float(verb >= 0.5),
        "verb_far": float(bool(a.verb) and bool(b.verb) and verb < 0.2),
    }


def _word_near(one: str, other: str) -> float:
    if not one or not other:
        return 0.0
    return 1.0 if one == other else nearness(one, other)


def _slots(a: Sentence, b: Sentence) -> dict[str, float]:
    """How alike two sentences are beside a slot that they fill differently, and how much of a kind the fillers are."""
    best, kin = 0.0, 0.0
    for name in sorted(a.slots.keys() & b.slots.keys()):
        one, other = a.slots[name], b.slots[name]
        if set(one) & set(other):
            continue
        near = max(nearest(word, other) for word in one)
        rest = _beside(a, b, set(one), set(other))
        if near < 0.75:
            best = max(best, rest)
            kin = max(kin, rest * float(near >= KIN))
    return {"slot": best, "slot_kin": kin}


def slot_fillers(a: Sentence, b: Sentence) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The first slot that two sentences fill differently."""
    for name in sorted(a.slots.keys() & b.slots.keys()):
        if not set(a.slots[name]) & set(b.slots[name]):
            return a.slots[name], b.slots[name]
    return None


def _beside(a: Sentence, b: Sentence, one: set[str], other: set[str]) -> float:
    """Share of the other words that both have."""
    first, second = a.means - one, b.means - other
    if not first or not second:
        return 0.0
    return len(first & second) / max(len(first), len(second))


def _doers(first: dict[str, Beside], second: dict[str, Beside]) -> float:
    """How alike the rest is of two sentences that name different doers."""
    if not first["doer"] or not second["doer"] or max(_cover(first["doer"]), _cover(second["doer"])) > 0.6:
        return 0.0
    return min(_cover([*side["topic"], *side["rest"]]) for side in (first, second))
