"""What the judgement of contradictions says of one pair."""

from __future__ import annotations

from clew.memory.contradictions.judgement import Clash, judge


def judged(first: str, second: str) -> Clash | None:
    """Why the two contradict each other or may do so."""
    return judge([(first, second)])[0]


def clash(first: str, second: str) -> Clash | None:
    """Why the two contradict each other; None when they do not, and also when there is doubt."""
    found = judged(first, second)
    return found if found is not None and found.sure else None
