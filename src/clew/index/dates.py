"""Dates as people write them: `8 May 2023`, `May 8, 2023`, `2023-05-08 13:56`, `2023/05/20`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
DAY_MS = 86_400_000

_MONTH = r"(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS)
_MONTH = _MONTH.replace("sep(?:tember)?", "sept?(?:ember)?") + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)[-/](?P<month>\d{1,2})(?:[-/](?P<day>\d{1,2}))?\b")
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH}(?: {_DAY}\b(?!:))?(?:,? {_YEAR})?", re.IGNORECASE)
_ONLY_YEAR = re.compile(rf"(?<![\w-]){_YEAR}(?![\w-])")
_CLOCK = re.compile(r"\b(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\s*(?P<half>[ap]m)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Date:
    """A date parsed from a text; missing parts are None."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int

    def span(self) -> tuple[int, int] | None:
        """First and last millisecond, when the year is known."""
        if self.year is None:
            return None
        low = _utc_ms(self.year, self.month or 1, self.day or 1)
        if self.day is not None:
            return low, low + DAY_MS - 1
        if self.month is None or self.month == 12:
            return low, _utc_ms(self.year + 1, 1, 1) - 1
        return low, _utc_ms(self.year, self.month + 1, 1) - 1


def find_date(text: str) -> Date | None:
    """The first date in a text, parsed with the most exact pattern that matches."""
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _ONLY_YEAR):
        for match in pattern.finditer(text):
            date = _read(match)
            if date is not None:
                return date
    return None


def find_moment(text: str) -> int | None:
    """A full date (with the time next to it, if any) in UTC milliseconds."""
    date = find_date(text)
    span = date.span() if date and date.day is not None else None
    if span is None:
        return None
    clock = _CLOCK.search(text)
    return span[0] + (_clock_ms(clock) if clock else 0)


def _read(match: re.Match[str]) -> Date | None:
    parts = match.groupdict()
    month = _month(parts.get("month"))
    day = int(parts["day"]) if parts.get("day") else None
    year = int(parts["year"]) if parts.get("year") else None
    if match.re is _MONTH_FIRST and day is None and year is None and not _surely_month(match):
        return None
    date = Date(year, month, day, match.start(), match.end())
    try:
        datetime(year or 2024, month or 1, day or 1)
    except ValueError:
        return None
    return date


def _surely_month(match: re.Match[str]) -> bool:
    """`may` and `march` are also words: a month follows `in` and the like, or starts with a capital."""
    word = match.group("month")
    led = re.search(r"\b(?:in|of|since|during|until|by|last|this|next|early|late|mid|from|around)[ -]$", _lead(match))
    return bool(led) or (word[0].isupper() and len(word) > 3 and match.start() > 0)


def _lead(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - 10) : match.start()].lower()


def _month(text: str | None) -> int | None:
    if not text:
        return None
    if text.isdigit():
        return int(text)
    return next(at for at, name in enumerate(MONTHS, 1) if name.startswith(text.lower()[:3]))


def _clock_ms(match: re.Match[str]) -> int:
    hour, minute = int(match.group("hour")), int(match.group("minute"))
    if match.group("half"):
        hour = hour % 12 + (12 if match.group("half").lower() == "pm" else 0)
    return (hour * 60 + minute) * 60_000 if hour < 24 and minute < 60 else 0


def _utc_ms(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1000
