"""The time that a question names: `in May 2025`, `last spring`, `yesterday`, `before the migration`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.index.dates import DAY_MS, MONTHS, Date, find_date
from clew.index.terms import terms

# Days of half a year. The months of a longer span would match nearly every dated text.
LONGEST_NAMED = 184
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_LAST = re.compile(r"\b(last|past|previous|this) (week|month|year|quarter|spring|summer|autumn|fall|winter)\b", re.I)
_AGO = re.compile(r"\b(\d{1,3}|a|an|one|two|three|four|five|six) (day|week|month|year)s? ago\b", re.I)
_RECENT = re.compile(r"\b(yesterday|today|recently|lately|latest|newest)\b", re.I)
_RELATIVE = re.compile(r"\b(before|after|since|until|prior to) (?:the |our |we |that |a )?([^,.?;]{3,80})", re.I)
_AS_OF = re.compile(r"\b(?:it is|it['’]s|today is|as of)\s+(?=[\dA-Z])", re.I)
_BETWEEN = re.compile(
    r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: (?P<month>[A-Z][a-z]{2,8}))?\s*(?:and|to|till|until|through|[-–])\s*"
    r"(?=\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z])"
)
_ISO_BETWEEN = re.compile(r"\b(\d{4}-\d\d-\d\d)\s*(?:and|to|till|until|through|–)\s*(\d{4}-\d\d-\d\d)\b")
_PART = re.compile(r"\b(first|last|early|mid|late)[ -](?:(week|days|half) (?:of|in) )?$", re.I)
_WEEK_OF = re.compile(r"\bweek (?:of|from|starting|beginning)(?: the)? $", re.I)
_PART_DAYS = {"week": 7, "half": 15, "days": 5}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}


@dataclass(frozen=True)
class Period:
    """From `low` to `high`; or a month (and day) of any year; or before or after an event that is searched first."""

    low: int | None = None
    high: int | None = None
    month: int | None = None
    day: int | None = None
    side: str | None = None
    anchor: tuple[str, ...] = ()
    spared: int | None = None
    """The slot of that event, which is neither before nor after itself."""

    def closeness(self, when: NDArray[np.int64], near_days: float) -> NDArray[np.float32]:
        """1 inside. Outside of a single day it falls to 0 within `near_days`; outside of a longer span it is 0."""
        if self.month is not None:
            return self._yearly(when, near_days)
        distance = np.zeros(len(when))
        if self.low is not None:
            distance = np.maximum(distance, self.low - when)
        if self.high is not None:
            distance = np.maximum(distance, when - self.high)
        one_day = self.low is not None and self.high is not None and self.high - self.low <= DAY_MS
        reach = max(near_days * DAY_MS, 1.0) if one_day else 1.0
        return np.asarray(np.clip(1 - distance / reach, 0, 1), np.float32)

    def names(self) -> tuple[str, ...]:
        """The months and years of a span as texts write them; empty for spans longer than half a year."""
        if self.low is None or self.high is None or self.high - self.low > LONGEST_NAMED * DAY_MS:
            return ()
        first, last = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (self.low, self.high))
        count = (last.year - first.year) * 12 + last.month - first.month + 1
        months = [MONTHS[(first.month - 1 + at) % 12] for at in range(count)]
        return (*months, *dict.fromkeys((str(first.year), str(last.year))))

    def _yearly(self, when: NDArray[np.int64], near_days: float) -> NDArray[np.float32]:
        days: Any = when.astype("datetime64[ms]").astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        if self.day is None:
            return np.asarray((months.astype(np.int64) % 12 + 1) == self.month, np.float32)
        years = days.astype("datetime64[Y]")
        start = years.astype("datetime64[M]") + np.timedelta64((self.month or 1) - 1, "M")
        target = start.astype("datetime64[D]") + np.timedelta64(self.day - 1, "D")
        distance = np.abs((days - target).astype(np.int64))
        return np.asarray(np.clip(1 - distance / max(near_days, 1e-6), 0, 1), np.float32)


def find_period(text: str, now_ms: int) -> Period | None:
    today = _named_today(text)
    if today is not None:
        # This date says when the question is asked, so it becomes "now" for the rest of the text.
        return find_period(text[: today.start] + text[today.end :], (today.span() or (now_ms, 0))[0])
    between = _between(text)
    return between or _dated(text, now_ms)


def _named_today(text: str) -> Date | None:
    """The date of `It is 10 March 2025; what moved last week?`, with its position in the text."""
    lead = _AS_OF.search(text)
    date = find_date(text[lead.end() :]) if lead else None
    if lead is None or date is None or date.start > 0 or date.day is None or date.year is None:
        return None
    return Date(date.year, date.month, date.day, lead.start(), lead.end() + date.end)


def _between(text: str) -> Period | None:
    """A span of two days: `17 to 21 February 2025`, `30 April and 2 May 2025`, or two ISO dates."""
    spans = [date.span() for date in _two_days(text) if date is not None and date.day is not None]
    known = [span for span in spans if span is not None]
    return Period(known[0][0], known[1][1]) if len(known) == 2 and known[0][0] < known[1][1] else None


def _two_days(text: str) -> tuple[Date | None, ...]:
    iso = _ISO_BETWEEN.search(text)
    if iso:
        return tuple(find_date(day) for day in iso.groups())
    said = _BETWEEN.search(text)
    last = find_date(text[said.end() :]) if said else None
    if said is None or last is None or last.year is None:
        return ()
    month = said.group("month") or MONTHS[(last.month or 1) - 1]
    return find_date(f"{said.group('day')} {month} {last.year}"), last


def _dated(text: str, now_ms: int) -> Period | None:
    relative = _RELATIVE.search(text)
    date = find_date(text)
    if date is not None:
        span = date.span()
        if span is None:
            return Period(month=date.month, day=date.day)
        part = _part(text[: date.start], date, span)
        if part is not None:
            return part
        side = relative.group(1).lower() if relative and relative.start(2) <= date.start else None
        return _sided(span, side)
    spoken = _spoken(text, now_ms)
    if spoken is not None:
        return spoken
    if relative is not None and len(terms(relative.group(2))) >= 1:
        side = "after" if relative.group(1).lower() in {"after", "since"} else "before"
        return Period(side=side, anchor=tuple(terms(relative.group(2))))
    return None


def _part(lead: str, date: Date, span: tuple[int, int]) -> Period | None:
    """`the week of 3 March 2025`, `the first week of March 2025`, `late March 2025`."""
    if date.day is not None:
        if not _WEEK_OF.search(lead):
            return None
        monday = span[0] - datetime.fromtimestamp(span[0] / 1000, UTC).weekday() * DAY_MS
        return Period(monday, monday + 7 * DAY_MS - 1)
    said = _PART.search(lead) if date.month is not None else None
    if said is None:
        return None
    which, days = said.group(1).lower(), _PART_DAYS.get((said.group(2) or "").lower(), 10)
    if which == "mid":
        return Period(span[0] + 10 * DAY_MS, span[0] + 20 * DAY_MS - 1)
    if which in {"first", "early"}:
        return Period(span[0], span[0] + days * DAY_MS - 1)
    return Period(span[1] + 1 - days * DAY_MS, span[1])


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_AGO = {"now": 0, "today": 0, "yesterday": 1, "last week": 7, "last month": 30, "last year": 365}


def day_said(text: str, now_ms: int) -> int | None:
    """The end of a past day that is named in words, such as `yesterday`, `last tuesday` or `3 days ago`."""
    said = " ".join(text.lower().split())
    day = said.removeprefix("last ").removeprefix("on ")
    ago = _AGO.fullmatch(said)
    if ago is not None:
        back = (_NUMBERS.get(ago[1]) or int(ago[1])) * _DAYS[ago[2]]
    elif day in _WEEKDAYS:
        today = datetime.fromtimestamp(now_ms / 1000, UTC).weekday()
        back = (today - _WEEKDAYS.index(day) - 1) % 7 + 1
    elif said in _DAYS_AGO:
        back = _DAYS_AGO[said]
    else:
        return None
    return (now_ms // DAY_MS - back + 1) * DAY_MS - 1


def asks_for_newest(text: str) -> bool:
    return bool(_RECENT.search(text))


def _sided(span: tuple[int, int], side: str | None) -> Period:
    if side in {"before", "until", "prior to"}:
        return Period(high=span[0] - 1 if side != "until" else span[1])
    if side in {"after", "since"}:
        return Period(low=span[1] + 1 if side == "after" else span[0])
    return Period(*span)


def _spoken(text: str, now_ms: int) -> Period | None:
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    recent = re.search(r"\b(yesterday|today)\b", text, re.I)
    if recent:
        low = today - timedelta(days=1 if recent.group(1).lower() == "yesterday" else 0)
        return Period(_ms(low), _ms(low) + DAY_MS - 1)
    ago = _AGO.search(text)
    if ago:
        count = int(_NUMBERS.get(ago.group(1).lower(), 0) or ago.group(1))
        return _around(now_ms - count * _DAYS[ago.group(2).lower()] * DAY_MS, _DAYS[ago.group(2).lower()])
    last = _LAST.search(text)
    return _calendar_period(last.group(1).lower(), last.group(2).lower(), today) if last else None


def _around(moment: int, unit_days: int) -> Period:
    half = unit_days * DAY_MS // 2
    return Period(moment - half, moment + half)


def _calendar_period(which: str, unit: str, today: datetime) -> Period:
    if unit in SEASONS:
        return _season(which, SEASONS[unit], today)
    days = _DAYS[unit]
    if which == "this":
        return Period(_ms(today - timedelta(days=days)), _ms(today) + DAY_MS - 1)
    # `last week` may mean the seven days before today or the calendar week before; both readings lie inside.
    return Period(_ms(today - timedelta(days=2 * days)), _ms(today) + DAY_MS - 1)


def _season(which: str, month: int, today: datetime) -> Period:
    year = today.year if (today.month >= month or which == "this") else today.year - 1
    if which != "this" and _season_end(year, month) > today:
        year -= 1
    low = datetime(year, month, 1, tzinfo=UTC)
    return Period(_ms(low), _ms(_season_end(year, month)) - 1)


def _season_end(year: int, month: int) -> datetime:
    return datetime(year + (1 if month + 3 > 12 else 0), (month + 2) % 12 + 1, 1, tzinfo=UTC)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
