"""Parses review dates as people write them: `2027-01-05`, `next friday`, `in 2 weeks`."""

from __future__ import annotations

import re
from calendar import month_name, monthrange
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from clew.canonical import Json
from clew.errors import invalid, shorten, suggest

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SPAN = re.compile(
    r"(?:in |after )?(a|an|one|two|three|four|six|\d{1,3}) (day|week|fortnight|month|year)s?(?: from now)?"
)
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "six": 6}
_NEXT = re.compile(r"next (week|month|quarter|year)")
_UNITS = {"day": (1, 0), "week": (7, 0), "fortnight": (14, 0), "month": (0, 1), "quarter": (0, 3), "year": (0, 12)}
"""Days and months of each."""


def review_date(given: str, now_ms: int, without: Json) -> str:
    """The date as YYYY-MM-DD. Input without a date is refused: a date that cannot be compared is never due.

    `without` are the arguments of the call without it.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    found = _read(" ".join(given.lower().replace(",", " ").split()), today)
    if found is None:
        raise invalid(
            "review_by",
            f"{shorten(given, 40)!r} names no day",
            f"Write a date such as {today + timedelta(days=90)}, or such as next friday, in 2 weeks, next month.",
            [suggest("remember", "The same without a date.", "high", **without)],
        )
    return found.isoformat()


def _read(text: str, today: date) -> date | None:
    if text in ("today", "tomorrow"):
        return today + timedelta(days=int(text == "tomorrow"))
    name = text.removeprefix("next ").removeprefix("on ").removeprefix("this ")
    if name in DAYS:
        return today + timedelta(days=(DAYS.index(name) - today.weekday() - 1) % 7 + 1)
    if match := _SPAN.fullmatch(text):
        return _later(today, int(_NUMBERS.get(match[1]) or match[1]), match[2])
    if match := _NEXT.fullmatch(text):
        return _later(today, 1, match[1])
    if text in ("end of month", "end of the month", "end of year", "end of the year"):
        month = today.month if "month" in text else 12
        return date(today.year, month, monthrange(today.year, month)[1])
    return _iso(text) or _written_out(text) or _month(text, today)


_FORMATS = ("%d.%m.%Y", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")


def _written_out(text: str) -> date | None:
    for form in _FORMATS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date()
    return None


def _month(text: str, today: date) -> date | None:
    """`in march` is the first of the next March."""
    name = text.removeprefix("in ").removeprefix("next ")
    months = [month for month in range(1, 13) if month_name[month].lower() == name]
    return date(today.year + (months[0] <= today.month), months[0], 1) if months else None


def _later(today: date, count: int, unit: str) -> date:
    days, months = _UNITS[unit]
    at = today.year * 12 + today.month - 1 + months * count
    year, month = at // 12, at % 12 + 1
    day = min(today.day, monthrange(year, month)[1])
    return date(year, month, day) + timedelta(days=days * count)


def _iso(text: str) -> date | None:
    try:
        return datetime.fromisoformat(text.upper()).date()
    except ValueError:
        return None
