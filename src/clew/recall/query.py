"""Analysis of a question: its words, phrases, names and dates, and its intent (why, when, who, ...)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from clew.index.terms import is_code, stem, terms
from clew.recall.kernel import Kernel
from clew.recall.period import Period, find_period

ORDER = ("WHY", "WHEN", "ENTITY", "WHAT", "HOW", "LIST", "VERIFY", "COMPARE", "TRACE")

# A pattern that points clearly to one intent weighs more; `what` alone says little.
_PATTERNS: dict[str, tuple[tuple[str, float], ...]] = {
    "WHY": (
        (r"\bwhy\b", 3.0),
        (r"\breasons?\b|\brationale\b|\bmotivat\w+", 2.0),
        (r"\bcaus(?:e|es|ed|ing)\b", 2.0),
        (r"\bexplain\w*\b", 1.0),
        (r"\bhow come\b", 4.0),
        (r"\bwhat (?:made|led|drove)\b", 3.0),
    ),
    "WHEN": (
        (r"\bwhen\b", 3.0),
        (r"\b(?:what|which) (?:date|day|time|year|month|week)\b", 3.0),
        (r"\bhow long ago\b|\bsince when\b", 4.0),
        (r"\blast (?:week|month|year|spring|summer|autumn|fall|winter)\b", 1.0),
        (r"\b\d{4}-\d{2}(?:-\d{2})?\b", 1.0),
        (r"\bin (?:19|20)\d\d\b", 1.0),
        (r"\b(?:date|deadline|schedule)\b", 1.0),
    ),
    "ENTITY": (
        (r"\bwho (?:is|was|are|were)\b", 3.0),
        (r"^\s*who\b", 2.5),
        (r"\bwhat is (?:the name of )?[A-Z]", 1.5),
        (r"\bname of\b", 3.0),
        (r"\btell me about\b", 3.0),
        (r"^\s*which\b", 1.2),
    ),
    "WHAT": ((r"\bwhat\b", 1.0), (r"\bdescribe\b", 2.0), (r"\bdefin(?:e|ition)\b", 2.0)),
    "HOW": (
        (r"\bhow (?:do|does|did|can|should|to|is|are|was|were)\b", 2.5),
        (r"\bhow\b(?! come| long| many| much| old| often)", 1.0),
        (r"\bsteps?\b", 1.0),
        (r"\bproce(?:ss|dure)\b", 1.0),
        (r"\b(?:method|instructions?)\b", 1.0),
    ),
    "LIST": (
        (r"\blist\b", 3.0),
        (r"\b(?:all|every)\b(?: \w+){0,2} (?:of|the|that|which)\b", 1.5),
        (r"\bwhich\b.*\ball\b", 2.0),
        (r"\benumerate\b|\bshow me all\b|\bwhat are all\b", 4.0),
        (r"\bhow many\b", 1.5),
        (r"\bwhat (?:\w+ )?(?:activities|things|kinds|types|books|places|ways|options|items|events)\b", 1.5),
    ),
    "VERIFY": (
        (r"\bis it true\b|\btrue that\b|\bcorrect that\b|\bis that right\b", 4.0),
        (r"\b(?:did|has|have|was|is)\b.*\b(?:ever|really|actually)\b", 2.5),
        (r"\bconfirm\w*\b|\bverif\w+\b", 2.5),
        (r"^\s*(?:is|are|was|were|does|did|has|have|can|would)\b", 1.5),
    ),
    "COMPARE": (
        (r"\bcompar\w+\b|\bcontrast\b", 4.0),
        (r"\bdifferen(?:ce|ces|t)\b", 2.0),
        (r"\bvs\.?\b|\bversus\b", 4.0),
        (r"\bbetter\b.*\bor\b|\bwhich\b.*\bor\b", 3.0),
        (r"\bsimilar\b|\bin common\b|\bboth\b.*\band\b", 2.0),
    ),
    "TRACE": (
        (r"\btrace\b|\btimeline\b|\bevolution\b", 4.0),
        (r"\bhistory of\b|\bover time\b|\bsequence\b", 3.5),
        (r"\bhow (?:has|have|did)\b.*\b(?:change|changed|evolve|evolved)\b", 4.0),
        (r"\bprogress\b", 1.5),
    ),
}
_COMPILED = {
    name: tuple(
        (re.compile(pattern, re.IGNORECASE if "[A-Z]" not in pattern else 0), weight) for pattern, weight in rows
    )
    for name, rows in _PATTERNS.items()
}
MOST_TERMS = 32
# Words that say how something is asked, not what it is about.
_FILLER = """
a about after again all also am an and any are as at be because been before being between both but by can could
did do does doing don during each few for from further had has have having he her here hers him his how i if in
into is it its itself just me more most my no nor not of off on once only or other our ours out over own s same
she should so some such t than that the their theirs them then there these they this those through to too under
until up very was we were what when where which while who whom why will with would you your yours
although ever per though unless upon via whether yet
"""
FILLER = frozenset(_FILLER.split()) | frozenset(stem(word) for word in _FILLER.split())
_PHRASE = re.compile(r"\"([^\"]{2,200})\"|“([^”]{2,200})”|`([^`]{2,200})`")
_PERSONS = (
    (re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b"), ("user", "human", "me")),
    (re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE), ("assistant", "ai", "bot")),
)
# A capital letter at the beginning of a sentence does not make a name.
_NAME = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+")
_OPPOSED = re.compile(r"\s+(?:vs\.?|versus|or|and|than|from|with|to)\s+", re.IGNORECASE)


@dataclass(frozen=True)
class Intent:
    name: str
    confidence: float
    others: tuple[str, ...]
    expansion: str
    graph_depth: int
    rerank: str
    patterns: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        params = {
            "expansion": self.expansion,
            "graph_depth": self.graph_depth,
            "rerank": self.rerank,
            "patterns": list(self.patterns),
        }
        return {
            "intent": self.name,
            "confidence": self.confidence,
            "sub_intents": list(self.others),
            "params": params,
        }


def chosen(name: str, kernel: Kernel) -> Intent:
    """The intent that the caller named; it overrides the words."""
    return _intent(name, 1.0, (), (), kernel)


def classify(text: str, kernel: Kernel) -> Intent:
    """The likeliest intent. Its share of all the evidence is the confidence."""
    found = {name: _evidence(name, text) for name in ORDER}
    scores = {name: sum(weight for _, weight in rows) for name, rows in found.items() if rows}
    if not scores:
        return _intent("WHAT", 0.1 if text.strip() else 0.0, (), (), kernel)
    ranked = sorted(scores, key=lambda name: (-scores[name], ORDER.index(name)))
    best = ranked[0]
    # The added 1 keeps the confidence below 1, however clear the words are.
    confidence = round(scores[best] / (sum(scores.values()) + 1.0), 4)
    return _intent(best, confidence, tuple(ranked[1:]), tuple(words for words, _ in found[best]), kernel)


def _evidence(name: str, text: str) -> list[tuple[str, float]]:
    found = []
    for pattern, weight in _COMPILED[name]:
        match = pattern.search(text)
        if match:
            found.append((match.group().strip().lower(), weight))
    return found


def _intent(name: str, confidence: float, others: tuple[str, ...], patterns: tuple[str, ...], kernel: Kernel) -> Intent:
    return Intent(
        name,
        confidence,
        others,
        kernel.word(name, "expansion"),
        kernel.whole(name, "graph_depth"),
        kernel.word(name, "rerank"),
        patterns,
    )


_DOING = re.compile(
    r"^\s*(?:next[,:]?\s+)?(?:(?:i|we)\s*(?:['’](?:m|re|ll|d like to)|am|are|will|want|plan|intend|need|would like)\b"
    r"|(?:i['’]?m |we['’]?re )?(?:going|about|planning|preparing) to\b|next\b(?! (?:to|week|month|year))"
    r"|(?:adding|writing|creating|changing|removing|deleting|moving|renaming|fixing|implementing|building|refactoring"
    r"|upgrading|replacing|rewriting|migrating|deploying|propos(?:e|ing)|add|write|create|change|remove|delete|rename"
    r"|fix|implement|build|refactor|upgrade|replace|rewrite|migrate|deploy)\b)",
    re.IGNORECASE,
)
_HISTORY = re.compile(
    r"\b(?:histor\w+|previous(?:ly)?|former(?:ly)?|originally|used to|back then|at first|earlier (?:version|decision)"
    r"|what was .* before|superseded|retracted|replaced|changed over|in the past|no longer)\b",
    re.IGNORECASE,
)


def says_what_is_planned(text: str) -> bool:
    """Whether the text announces work (`I am going to add retries`): then rules and lessons for it are wanted."""
    return bool(_DOING.search(text)) and not text.rstrip().endswith("?")


def asks_for_history(text: str) -> bool:
    return bool(_HISTORY.search(text))


@dataclass(frozen=True)
class Query:
    text: str
    terms: tuple[str, ...]
    """Stems in the order of the text, without duplicates and fillers (stop words)."""
    phrases: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    """Stems of words that are written like names."""
    codes: tuple[str, ...]
    """Code words and identifiers, which also match by their beginning."""
    period: Period | None
    intent: Intent
    persons: frozenset[str] = frozenset()
    """Stems of the speakers that `I` and `you` refer to in a conversation between a person and a machine."""
    sides: tuple[tuple[str, ...], ...] = field(default=())
    """The two sides of a comparison."""
    doing: bool = False
    """Whether it announces work."""
    history: bool = False
    """Whether it asks for outdated records too."""


def analyse(text: str, kernel: Kernel, now_ms: int, wanted: str | None = None) -> Query:
    """Analyse a question. `wanted` is an intent that the caller names, which wins over the words."""
    intent = chosen(wanted, kernel) if wanted else classify(text, kernel)
    return Query(
        text,
        _content(text),
        _phrases(text),
        frozenset(term for word in _NAME.findall(text) for term in terms(word) if term not in FILLER),
        tuple(dict.fromkeys(word.lower() for word in text.split() if is_code(word)))[:8],
        find_period(text, now_ms),
        intent,
        _persons(text),
        _sides(text) if intent.rerank == "balanced" else (),
        says_what_is_planned(text),
        intent.name == "TRACE" or asks_for_history(text),
    )


def _content(text: str) -> tuple[str, ...]:
    """The terms without fillers (stop words); if the question consists of fillers only, those."""
    found = terms(text)
    telling = [term for term in found if term not in FILLER]
    return tuple(dict.fromkeys(telling or found))[:MOST_TERMS]


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    phrases = (tuple(terms("".join(groups))) for groups in _PHRASE.findall(text))
    return tuple(phrase for phrase in phrases if phrase)


def _persons(text: str) -> frozenset[str]:
    """The speakers that `I` and `you` in a question name."""
    named = [name for said, names in _PERSONS if said.search(text) for name in names]
    return frozenset(term for name in named for term in terms(name))


def _sides(text: str) -> tuple[tuple[str, ...], ...]:
    """The words on either side of the first `vs`, `or` or `and`: the last three before it, the first three after."""
    parts = _OPPOSED.split(text, maxsplit=1)
    sides = [tuple(t for t in terms(part) if t not in FILLER)[-3:] for part in parts[:1]]
    sides += [tuple(t for t in terms(part) if t not in FILLER)[:3] for part in parts[1:]]
    return tuple(side for side in sides if side) if len(sides) > 1 else ()
