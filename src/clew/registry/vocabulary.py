"""The kinds of records that an agent chooses from, in four families, and other words for them."""

from __future__ import annotations

from collections.abc import Sequence

from clew.errors import ClewError, invalid, shorten, suggest
from clew.registry.arguments import nearest

STANDING = ("rule", "preference", "decision", "rejected", "fact", "lesson")
"""What holds until it is retracted or replaced: blocks of the governed memory."""
OPEN = ("question", "hypothesis")
"""What waits for an answer: cards."""
HAPPENED = ("test", "evidence", "note")
"""What was seen or done: cards."""
THOUGHT = "thought"
WORK = ("plan", "task", "step", "job", "todo")
KINDS = (*STANDING, *OPEN, *HAPPENED, THOUGHT)

OTHER_WORDS = {
    "rule": ("constraint", "policy", "invariant", "convention", "style", "guideline", "requirement", "must"),
    "preference": ("pref", "wish", "taste", "likes", "user_preference"),
    "decision": ("choice", "decided", "adr", "resolution"),
    "rejected": ("rejection", "rejected_alternative", "alternative", "dead_end", "dont", "do_not", "anti_pattern"),
    "fact": ("knowledge", "info", "information", "observation", "context", "truth", "reference"),
    "lesson": ("learning", "learned", "gotcha", "pitfall", "insight", "warning", "tip"),
    "question": ("open_question", "unknown", "issue"),
    "hypothesis": ("idea", "guess", "assumption", "theory", "suspicion"),
    "test": ("experiment", "check", "trial"),
    "evidence": ("finding", "result", "measurement", "proof", "log", "output"),
    "note": ("memo", "comment", "remark", "update", "progress", "summary", "misc", "other"),
    THOUGHT: ("reasoning", "reflection"),
}
_KIND_OF = {word: kind for kind, words in OTHER_WORDS.items() for word in (kind, f"{kind}s", *words)}


def read_kind(given: str, text: str) -> str:
    """The kind that a word means. Work is not remembered but started: then the suggestion says so."""
    word = given.strip().lower().replace("-", "_").replace(" ", "_").replace("'", "")
    if word in _KIND_OF:
        return _KIND_OF[word]
    if word in WORK or word.rstrip("s") in WORK:
        title = shorten(" ".join(text.split()), 120)
        raise invalid(
            "kind",
            f"{shorten(given, 40)!r} is work, which is started rather than remembered",
            "Use start.",
            [suggest("start", "Starts it as a task.", "high", title=title)],
            kind="choice",
            expected=", ".join(KINDS),
        )
    raise _unknown(given, text)


def sought_kinds(given: Sequence[str], query: str) -> tuple[str, ...]:
    """The kinds that a search is narrowed to; work counts among them."""
    return tuple(dict.fromkeys(_sought(word, given, query) for word in given))


def _sought(given: str, all_of: Sequence[str], query: str) -> str:
    word = given.strip().lower().replace("-", "_").replace(" ", "_")
    bare = word.rstrip("s") if word.rstrip("s") in WORK else word
    if bare in WORK:
        return bare
    if word in _KIND_OF:
        return _KIND_OF[word]
    known = {**_KIND_OF, **{kind: kind for kind in WORK}}
    near = known.get(nearest(word, list(known)) or "", "note")
    meant = [near if one == given else one for one in all_of]
    raise invalid(
        "kinds",
        f"{shorten(given, 40)!r} is none of {', '.join((*KINDS, *WORK))}",
        f"Choose among them; {near} is nearest.",
        [suggest("recall", "The same question for the nearest kind.", "high", query=query, kinds=meant)],
        kind="choice",
        expected=", ".join((*KINDS, *WORK)),
    )


def _unknown(given: str, text: str) -> ClewError:
    near = _KIND_OF.get(nearest(given, list(_KIND_OF)) or "", "note")
    return invalid(
        "kind",
        f"{shorten(given, 40)!r} is none of {', '.join(KINDS)}",
        f"Choose one; {near} is nearest.",
        [suggest("remember", "The same record under the nearest kind.", "high", text=text, kind=near)],
        kind="choice",
        expected=", ".join(KINDS),
    )
