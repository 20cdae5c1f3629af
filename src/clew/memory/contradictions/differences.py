"""Each way in which two sentences differ, with how alike they are beside it.

A difference counts the more, the more the rest of the two sentences says the same: `logs are kept for 90 days` and `we
keep logs for seven years` differ in nothing but the number. So the words that make a difference are left out, and the
others are looked for in the other sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from clew.memory.contradictions.amounts import Amount
from clew.memory.contradictions.meanings import Alignment
from clew.memory.contradictions.nearness import nearest, nearness
from clew.memory.contradictions.sentences import Sentence, apart_on

Names = frozenset[str]
_NOTHING: Names = frozenset()
Difference = tuple[str, Names, Names]
"""Its kind, and the meanings that make it in the first and in the second sentence."""


def differences(a: Sentence, b: Sentence, found: Alignment, conflicts: list[tuple[Amount, Amount]]) -> list[Difference]:
    """All differences of a pair; of a kind there may be several."""
    out: list[Difference] = []
    for kind, pairs in (("opposite", found.opposites), ("rival", found.rivals), ("name", found.names)):
        out += [(kind, frozenset({x.mean}), frozenset({y.mean})) for x, y in pairs]
    out += [("kin", frozenset({x.mean}), frozenset({y.mean})) for x, y, _ in found.kin]
    if conflicts:
        out.append(("number", _NOTHING, _NOTHING))
    out += _by_scale(a, b) + _by_denial(a, b) + _by_quantity(a, b) + _by_doer(a, b) + _by_slot(a, b)
    return out


def _by_scale(a: Sentence, b: Sentence) -> list[Difference]:
    """Scales at whose different ends the two stand."""
    return [
        ("scale", _NOTHING.union(*a.scales[scale].values()), _NOTHING.union(*b.scales[scale].values()))
        for scale in apart_on(a.scales, b.scales)
    ]


def _agreed(a: Sentence, b: Sentence) -> int:
    """Scales on which the two stand at the same end."""
    return sum(not a.scales[scale].keys().isdisjoint(b.scales[scale]) for scale in a.scales.keys() & b.scales.keys())


def _by_denial(a: Sentence, b: Sentence) -> list[Difference]:
    forces = {a.force, b.force}
    out: list[Difference] = []
    if bool(a.denials) != bool(b.denials):
        out.append(("denial", _NOTHING, _NOTHING))
    if "free" in forces and forces != {"free"}:
        out.append(("free", _NOTHING, _NOTHING))
    return out


def _by_quantity(a: Sentence, b: Sentence) -> list[Difference]:
    if a.only != b.only:
        return [("only_all" if a.universal or b.universal else "only", _NOTHING, _NOTHING)]
    return []


def _by_doer(a: Sentence, b: Sentence) -> list[Difference]:
    one, other = (frozenset(token.mean for token in side.tokens if token.role == "doer") for side in (a, b))
    if not one or not other or one & other:
        return []
    return [("doer", one, other)]


def _by_slot(a: Sentence, b: Sentence) -> list[Difference]:
    out: list[Difference] = []
    for name in sorted(a.slots.keys() & b.slots.keys()):
        one, other = a.slots[name], b.slots[name]
        if set(one).isdisjoint(other) and max(nearest(word, other) for word in one) < 0.75:
            out.append(("slot", frozenset(one), frozenset(other)))
    return out


def conflicting(a: Sentence, b: Sentence) -> list[tuple[Amount, Amount]]:
    """The amounts of one measure that exclude each other."""
    pairs = [(x, y) for x in a.amounts for y in b.amounts if x.comparable(y)]
    equal = [(x, y) for x, y in pairs if x.same(y)]
    one, other = {id(x) for x, _ in equal}, {id(y) for _, y in equal}
    return [(x, y) for x, y in pairs if id(x) not in one and id(y) not in other and x.apart(y) and not close(x, y)]


def close(x: Amount, y: Amount) -> bool:
    """Whether two amounts name the same number, as a bound or by itself."""
    return x.same(y) or any(end in (y.low, y.high) for end in (x.low, x.high) if abs(end) != float("inf"))


def replaced(a: Sentence, b: Sentence) -> tuple[str, str]:
    """What each has in the first place where they are worded differently; empty where one has nothing there."""
    for kind, start, end, start_other, end_other in _changes(a.plain, b.plain):
        if kind == "replace":
            return " ".join(a.plain[start:end]), " ".join(b.plain[start_other:end_other])
    return "", ""


def opposed(a: Sentence, b: Sentence) -> tuple[str, str] | None:
    """The words by which the two stand at different ends of a scale."""
    for scale in apart_on(a.scales, b.scales):
        return _stand(a, scale), _stand(b, scale)
    return None


def _stand(side: Sentence, scale: int) -> str:
    return next(" ".join(side.words[stand.start : stand.end]) for stand in side.stands if stand.scale == scale)


def beside(a: Sentence, b: Sentence, found: Alignment, one: Names, other: Names) -> tuple[float, float]:
    """Of each sentence the share of the other words that the other has too, the smaller share first."""
    first = _share(a, found.first, one)
    second = _share(b, found.second, other)
    return (first, second) if first < second else (second, first)


def _share(side: Sentence, best: Iterable[float], left_out: Names) -> float:
    total = shared = 0.0
    for token, weight, near in zip(side.tokens, side.weights, best, strict=True):
        if token.mean not in left_out:
            total += weight
            shared += weight * near
    return shared / total if total else 0.0


def seen_beside(a: Sentence, b: Sentence, found: Alignment, conflicts: list[tuple[Amount, Amount]]) -> dict[str, float]:
    """For each kind of difference how much the sentences have in common beside it, by name."""
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    seen = differences(a, b, found, conflicts)
    kinds = Counter(kind for kind, _, _ in seen)
    for kind, one, other in seen:
        less, more = beside(a, b, found, one, other)
        if less + more > low.get(kind, 0.0) + high.get(kind, -1.0):
            low[kind], high[kind] = less, more
    out = {f"{kind}_low": share for kind, share in low.items()}
    out |= {f"{kind}_high": share for kind, share in high.items()}
    strict = [share for kind, share in low.items() if kind != "kin"]
    out["beside_low"] = max(strict, default=0.0)
    out["beside_high"] = max((share for kind, share in high.items() if kind != "kin"), default=0.0)
    clashes = kinds["scale"]
    out |= {"scales": min(clashes, 3) / 3, "scales_one": float(clashes > 0), "scales_agree": min(_agreed(a, b), 3) / 3}
    out |= _marks(a, b, found) | _frame(a, b)
    out["apart_any"] = float(bool(found.apart))
    out["noun_marks_both*low"] = out["noun_marks_both"] * out["beside_low"]
    out["noun_marks_both*high"] = out["noun_marks_both"] * out["beside_high"]
    out["apart_any*high"] = out["apart_any"] * out["beside_high"]
    return out | _agreeing(a, b, found, kinds)


def _agreeing(a: Sentence, b: Sentence, found: Alignment, kinds: Counter[str]) -> dict[str, float]:
    """Signs that a difference is none: one denies what excludes the other, both name what is possible among others, one
    speaks of what the other excepts, or they speak of different acts."""
    scaled, counted = kinds["scale"] > 0, kinds["number"] > 0
    contrast = bool(found.opposites or found.rivals or scaled)
    denied = bool(a.denials) != bool(b.denials)
    limited = a.only != b.only
    needs = "must" in (a.force, b.force) and limited and not (a.universal or b.universal)
    acts = bool(a.verb) and bool(b.verb) and a.verb != b.verb and nearness(a.verb, b.verb) < 0.5
    adding = _ADDING.intersection(a.words) and _ADDING.intersection(b.words) and not (a.only or b.only)
    return {
        "denied_contrast": float(contrast and denied),
        "denied_number": float(counted and denied),
        "denied_doer": float(denied and kinds["doer"] > 0),
        "only_needed": float(needs and not counted and not scaled),
        "only_acts": float(limited and acts),
        "default_may": float(_may_change(a, b) or _may_change(b, a)),
        "planned": float(_planned(a, b) or _planned(b, a)),
        "excepted": float(bool(a.excepted & b.means or b.excepted & a.means)),
        "adding": float(bool(adding)),
        "adding_contrast": float(bool(adding) and contrast),
    }


def _may_change(a: Sentence, b: Sentence) -> bool:
    """Whether one names what holds by default, and the other what is possible."""
    return "default" in a.words and b.force == "may" and "default" not in b.words


def _planned(a: Sentence, b: Sentence) -> bool:
    """Whether one tells what is planned, and the other what came of it."""
    return not _PLANNING.isdisjoint(a.words) and b.past and not a.past


_PLANNING = frozenset({"plan", "plans", "planned", "intend", "intends", "want", "wants", "going"})
_ADDING = frozenset({"accept", "accepts", "accepted", "support", "supports", "supported", "offer", "offers", "include",
                     "includes", "speak", "speaks", "have", "has", "also"})  # fmt: skip


def _frame(a: Sentence, b: Sentence) -> dict[str, float]:
    """Whether the two say the same in the same words but for some places, how many those are, and where."""
    common = 2 * len(set(a.plain).intersection(b.plain))
    if common < LEAST_FRAME * (len(a.plain) + len(b.plain)):
        return {}
    same, first, later, added = places(a, b)
    if same < LEAST_FRAME:
        return {}
    replaced = first + later
    return {
        "frame": same * float(replaced == 1),
        "frame_first": same * float(first == 1 and not later),
        "frame_many": same * float(replaced > 1 and not first),
        "frame_both": same * float(first > 0 and later > 0),
        "frame_adds": same * float(added > 0 and not replaced),
        "frame_adds_too": same * float(added > 0 and replaced > 0),
    }


LEAST_FRAME = 0.45
"""Share of common words from which two sentences are worded alike."""


def _changes(one: list[str], other: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """What makes the one of the other. The module is loaded here, because most processes compare nothing."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def places(a: Sentence, b: Sentence) -> tuple[float, int, int, int]:
    """Of the words, in their order, the share that both have; then in how many places before the verb and behind it
    they have other words, and where one has words more."""
    one, other = a.plain, b.plain
    verb = min(a.verb_at or 0, b.verb_at or 0)
    same = first = later = added = 0
    for kind, start, end, start_other, _ in _changes(one, other):
        if kind == "equal":
            same += end - start
        elif kind != "replace":
            added += 1
        elif min(start, start_other) < verb:
            first += 1
        else:
            later += 1
    return 2 * same / max(1, len(one) + len(other)), first, later, added


def _marks(a: Sentence, b: Sentence, found: Alignment) -> dict[str, float]:
    """Whether a noun that both have stands beside other words in each: `basic plan`, `enterprise plan`."""
    have_a = {token.mean for token, near in zip(a.tokens, found.first, strict=True) if near >= 0.5}
    have_b = {token.mean for token, near in zip(b.tokens, found.second, strict=True) if near >= 0.5}
    both = one = 0
    for noun in a.marks.keys() & b.marks.keys():
        own, others = a.marks[noun] - have_a, b.marks[noun] - have_b
        both += bool(own) and bool(others)
        one += bool(own) != bool(others)
    return {"noun_marks_both": float(both > 0), "noun_marks_one": float(one > 0)}
