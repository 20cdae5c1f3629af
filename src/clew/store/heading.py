"""Who speaks and when, as the head of a transcript line tells: `[8 May 2023, 13:56] Caroline: Hello`."""

from __future__ import annotations

import re

from clew.store.moments import find_moment

_HEAD = 80
_DATED = re.compile(r"\s*[\[(]([^\])\n]{6,60})[\])]\s*")
_BARE_DATE = re.compile(
    r"\s*((?:19|20)\d\d[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?)[\s,:|-]+"
)
_SPEAKER = re.compile(
    r"(?:\*\*)?([A-Z][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30}){0,2}|user|assistant|human|system)(?:\*\*)?:\s"
)
_TRAILING = re.compile(r"(?:\s*[\[(][^\[\]()]*[\])])+\s*$")
_LABELS = """
answer because context date decision done error evidence example fact fixme goal how http hypothesis next note notes
plan question rationale reason result risk status step summary test title todo update warning what when why
"""
LABELS = frozenset(_LABELS.split())


def read_heading(body: str) -> tuple[str | None, int | None]:
    """The speaker and the moment that the beginning of a text names; None where it names none."""
    head = body[:_HEAD]
    dated = _DATED.match(head) or _BARE_DATE.match(head)
    moment = find_moment(dated.group(1)) if dated else None
    rest = body[dated.end() : dated.end() + _HEAD] if dated and moment is not None else head
    spoken = _SPEAKER.match(rest)
    if spoken is None or spoken.group(1).lower() in LABELS:
        return None, moment
    return spoken.group(1), moment


def asks(body: str) -> bool:
    """Whether a text ends as a question; remarks in brackets at its end do not count."""
    tail = body[-400:].rstrip()
    return tail.endswith(("?", "？")) or _TRAILING.sub("", tail).endswith(("?", "？"))
