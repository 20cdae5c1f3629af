"""The kinds of records that an agent chooses from, in four families, and their synonyms."""

from __future__ import annotations

from collections.abc import Sequence

from clew.canonical import Json
from clew.errors import ClewError, invalid, shorten, suggest
from clew.kinds import builtin
from clew.kinds.catalogue import names, remembered_kinds, words
from clew.kinds.kind import KindFamily
from clew.registry.arguments import nearest

DURABLE = names(KindFamily.DURABLE)
"""Records in force until they are withdrawn or replaced: blocks of the governed memory."""
OPEN = names(KindFamily.OPEN)
"""Records that wait for an answer: cards."""
THOUGHT = builtin.THOUGHT.name
WORK = (*names(KindFamily.WORK), "todo")
KINDS = remembered_kinds()
_KIND_OF = {word: kind.name for word, kind in words().items() if kind.is_remembered}


def read_kind(given: str, text: str, call: Json | None = None) -> str:
    """The kind that a word names. Work is not remembered but started: then the suggestion says so.

    `call` has all arguments, which the corrected call keeps.
    """
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
    raise _unknown(given, {"text": text} if call is None else call)


def sought_kinds(given: Sequence[str], call: Json) -> tuple[str, ...]:
    """The kinds that a search is filtered by, including work. `call` has all its arguments."""
    return tuple(dict.fromkeys(_sought(word, given, call) for word in given))


def _sought(given: str, all_of: Sequence[str], call: Json) -> str:
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
        [suggest("recall", "The same question for the nearest kind.", "high", **{**call, "kinds": meant})],
        kind="choice",
        expected=", ".join((*KINDS, *WORK)),
    )


def _unknown(given: str, call: Json) -> ClewError:
    near = _KIND_OF.get(nearest(given, list(_KIND_OF)) or "", "note")
    return invalid(
        "kind",
        f"{shorten(given, 40)!r} is none of {', '.join(KINDS)}",
        f"Choose one; {near} is nearest.",
        [suggest("remember", "The same record under the nearest kind.", "high", **{**call, "kind": near})],
        kind="choice",
        expected=", ".join(KINDS),
    )
