"""Numbers in a sentence, with what they measure and the range they allow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from clew.index.terms import stem
from clew.memory.contradictions.lexicon import PERIODS, SECONDS, UNITS, WORDS

_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)([a-z%]*)")
_MEASURES = {stem(word): measure for word, measure in UNITS.items()}
_SCALE = {stem(word): size for word, size in SECONDS.items()}
_COUNT = "|".join([r"\d+", *sorted(WORDS, key=len, reverse=True)])
_SPAN = "second|minute|hour|day|week|month|quarter|year"
_EVERY = re.compile(
    rf"\b(?:every|each) (?:(?P<count>{_COUNT}) )?(?P<unit>{_SPAN})s?\b"
    rf"|\b(?P<times>(?:{_COUNT})(?= times)|once|twice)(?: times)? (?:a|an|per|every|each) (?P<each>{_SPAN})\b"
    rf"|\b(?P<alone>one)(?P<thing> [a-z]+) (?:a|per|every|each) (?P<lone>{_SPAN})\b"
    rf"|\b(?P<named>{'|'.join(PERIODS)})\b"
)
_MONTHS = {
    name: place * 31
    for place, name in enumerate(
        "january february march april may june july august september october november december".split()  # noqa: SIM905
    )
}
_MONTH = "|".join(name if name != "may" else r"may(?=[.,;]|$| \d{4})" for name in _MONTHS)
"""`13 may` begins a clause as often as it ends with a date."""
_MONTH_ONLY = re.compile(rf"\b(?:in|of|since|until|by|every|each|from|for) (?P<month>{_MONTH})\b(?! \d)")
_DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\b"
    rf"|\b(?P<named>{_MONTH}) (?P<number>\d{{1,2}})(?:st|nd|rd|th)?\b(?! ?%)"
)
_OF_MONTH = r"of (?:each|every|the|a) month"
_NAMED_DAYS = (
    (
        re.compile(rf"\b(?:the )?(?:first (?:business |working )?day|start|beginning) {_OF_MONTH}\b"),
        "monthday1",
    ),
    (re.compile(rf"\b(?:the )?(?:last (?:business |working )?day|end) {_OF_MONTH}\b"), "monthday31"),
    (re.compile(rf"\b(?:mid-month|(?:the )?middle {_OF_MONTH})\b"), "monthday15"),
)
_MONTH_DAY = re.compile(r"\b(?:the )?(?P<nth>\d{1,2})(?:st|nd|rd|th)(?= (?:of (?:each|every|the) month)|[.,;]|$)")
_HYPHENATED = re.compile(rf"\b({_COUNT})-(?=[a-z])")
_LETTERS = re.compile(r"[a-z]+")
_PERIODIC = frozenset({"every", "each", "times", "once", "twice", "one", *PERIODS})
_DAYTIME = frozenset({"am", "pm", "m", "clock", "noon", "midnight"})
_HOURLY = frozenset({"at", "until", "till"})
_PARTIAL = frozenset({"half", "quarter"})
_ARTICLES = frozenset({"a", "an"})
_SPANS = frozenset(_SPAN.split("|"))
"""A text without any of these words has none of the forms that the patterns below look for, and is not searched."""
_TIMELY = frozenset({"month", "th", "st", "nd", "rd", *_MONTHS, *_PERIODIC, *_HOURLY, *_DAYTIME, *_PARTIAL, *_SPANS})
_PERIOD = "every"
_CLOCK = "clock"
_ON = "date"
_NTH = "monthday"
_HOUR = re.compile(
    r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>am|pm|a\.m\.|p\.m\.|o'clock)(?!\w)"
    r"|\b(?P<h>\d{1,2}):(?P<m>\d\d)\b|\b(?P<named>noon|midnight)\b"
)
_BARE_HOUR = re.compile(
    rf"\b(?P<at>at|until|till) (?P<hour>{_COUNT})"
    r"(?=[.,;]|$| (?:in the|on|and|or|to|every|each|the)\b)(?P<later> in the (?:evening|afternoon))?"
)
"""`closes at ten`: a bare number behind these words is an hour where nothing else follows that it could count."""
_SINGLE = re.compile(
    rf"\b(within|for|after|in|lasts?|takes?|than|least|most|have|has|gets?|of) an? (?:full |whole )?(?=(?:{_SPAN})\b)"
)
_PAST_HOUR = re.compile(
    rf"\b(?P<part>half|quarter) (?P<side>past|to) (?P<hour>{_COUNT})\b(?P<later>(?: in the)? (?:evening|afternoon|pm))?"
)
_PARTS = (
    (re.compile(r"\bhalf a megabyte\b"), "500 kb"),
    (re.compile(r"\bhalf a gigabyte\b"), "500 mb"),
    (re.compile(r"\bhalf a day\b"), "12 hours"),
    (re.compile(r"\bhalf a year\b"), "6 months"),
    (re.compile(r"\b(?:half an|half a|a half) (?=hour)"), "30 minutes "),
    (re.compile(r"\b(?:a )?quarter of an (?=hour)"), "15 minutes "),
    (re.compile(r"(?<=minutes )hours?\b"), ""),
)
_UPPER = {"atmost", "under", "below", "within", "until", "by"}
_LOWER = {"atleast", "above", "minimum", "over", "after", "exceeding", "from"}
_EXACT = {"maximum", "limit"}
_DATED = {"until", "by", "after"}
"""Words that bound a date; beside a span of time (`after 5 seconds`) they say when."""
_ENOUGH = {"ormore", "enough", "suffices", "sufficient"}
_NO_MORE = {"orless"}
_ENDLESS = float("inf")
COUNTED = "of "
"""Begins the measure of what is counted without a unit: `two replicas`."""
LONG = 80 * 86_400
"""Seconds from which a span is counted in months and years."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with what it measures, as the range it allows."""

    measure: str
    low: float
    high: float
    text: str

    def comparable(self, other: Amount) -> bool:
        """Whether both measure the same; a bare number may count whatever the other does."""
        one, two = self.measure, other.measure
        return one == two or (not one and two.startswith(COUNTED)) or (not two and one.startswith(COUNTED))

    def meets(self, other: Amount) -> bool:
        """Whether some value lies in both ranges; a common end does not count."""
        return max(self.low, other.low) < min(self.high, other.high) or (self.low, self.high) == (other.low, other.high)

    def same(self, other: Amount) -> bool:
        if self.measure != "time" or other.measure != "time":
            return (self.low, self.high) == (other.low, other.high)
        return _near(self.low, other.low) and _near(self.high, other.high)

    def apart(self, other: Amount) -> bool:
        """Whether the two exclude each other: ranges without a common value, or two upper (or two lower) bounds that
        differ, because then one of them is not the bound."""
        if not self.comparable(other) or self.same(other):
            return False
        if self.low == other.low == -_ENDLESS:
            return self.high != other.high
        if self.high == other.high == _ENDLESS:
            return self.low != other.low
        return self.high < other.low or other.high < self.low


def _near(one: float, other: float) -> bool:
    """Whether two ends in time are one: 36 months are three years, though both are counted in days."""
    long = LONG <= abs(one) < _ENDLESS and LONG <= abs(other) < _ENDLESS
    return one == other or (long and abs(one - other) <= 0.03 * max(abs(one), abs(other)))


@lru_cache(maxsize=16)
def with_periods(text: str) -> str:
    """The text with each period (`every six hours`, `twice a day`, `daily`) as one word, `every` and the seconds; with
    times of the day as one word, and with `half an hour` and `a month` in figures.

    The rules and the sentence ask for the same text one after the other, so the last few are kept."""
    if "-" not in text and ":" not in text and not any(map(_tells_time, text.split())):
        return text
    said = set(_LETTERS.findall(text))
    if "-" in text:
        text = _HYPHENATED.sub(r"\1 ", text)
    if "month" in said:
        for pattern, plain in _NAMED_DAYS:
            text = pattern.sub(plain, text)
    if said & _MONTHS.keys():
        text = _DATE.sub(_date, text)
        text = _MONTH_ONLY.sub(lambda match: f"in {_ON}{_MONTHS[match['month']] + 1}", text)
    if "th" in said or "st" in said or "nd" in said or "rd" in said:
        text = _MONTH_DAY.sub(lambda match: f"{_NTH}{int(match['nth'])}", text)
    if said & _PERIODIC:
        text = _EVERY.sub(_period, text)
    if said & _HOURLY:
        text = _BARE_HOUR.sub(_bare_hour, text)
    if said & _DAYTIME or ":" in text:
        text = _HOUR.sub(_clock, text)
    if said & _PARTIAL:
        text = _PAST_HOUR.sub(_past_hour, text)
        for pattern, plain in _PARTS:
            text = pattern.sub(plain, text)
    return _SINGLE.sub(r"\1 1 ", text) if said & _ARTICLES and said & _SPANS else text


@lru_cache(maxsize=4_000)
def _tells_time(chunk: str) -> bool:
    """Whether what stands between spaces holds a word without which no pattern for times and periods is tried."""
    return not _TIMELY.isdisjoint(_LETTERS.findall(chunk))


def _bare_hour(match: re.Match[str]) -> str:
    hour = int(_number(match["hour"])[0] or 0)
    if not 0 < hour <= 24:
        return match.group()
    later = 12 if match["later"] and hour < 12 else 0
    return f"{match['at']} {_CLOCK}{(hour + later) * 60}"


def _past_hour(match: re.Match[str]) -> str:
    hour = int(_number(match["hour"])[0] or 0) + (12 if match["later"] else 0)
    minutes = {"half": 30, "quarter": 15}[match["part"]] * (1 if match["side"] == "past" else -1)
    return f"{_CLOCK}{hour * 60 + minutes}"


def _clock(match: re.Match[str]) -> str:
    """A time of day as one word: `clock` and the minutes since midnight."""
    if match["named"]:
        return f"{_CLOCK}{720 if match['named'] == 'noon' else 0}"
    hour, minute = int(match["hour"] or match["h"]), int(match["minute"] or match["m"] or 0)
    later = 12 if (match["half"] or "").startswith("p") and hour < 12 else 0
    return f"{_CLOCK}{(hour + later) * 60 + minute}"


def _date(match: re.Match[str]) -> str:
    """A day of the year as one word; months count as 31 days, which keeps their order."""
    month, day = match["month"] or match["named"], int(match["day"] or match["number"])
    return f"{_ON}{_MONTHS[month] + day}"


def _period(match: re.Match[str]) -> str:
    if match["named"]:
        return f"{_PERIOD}{PERIODS[match['named']]}"
    if match["alone"]:
        return f"{match['thing']} {_PERIOD}{_SCALE[stem(match['lone'])]}"
    count, _ = _number(match["count"] or match["times"] or "1")
    span = _SCALE[stem(match["unit"] or match["each"])]
    return f"{_PERIOD}{int(span * (count or 1) if match['unit'] else span / (count or 1))}"


def amounts(words: list[str]) -> tuple[tuple[Amount, ...], set[str]]:
    """The amounts of a sentence, and the words that make them up."""
    if not any(map(_counts, words)):
        return (), set()
    found, used = [], set[str]()
    for at, word in enumerate(words):
        if not _counts(word):
            continue
        if word.startswith(_PERIOD) and word[len(_PERIOD) :].isdigit():
            size = float(word[len(_PERIOD) :])
            found.append(Amount("period", size, size, f"every {_spoken(size)}"))
            used.add(word)
            continue
        if word.startswith(_CLOCK) and word[len(_CLOCK) :].isdigit():
            minutes = int(word[len(_CLOCK) :])
            found.append(Amount(_CLOCK, minutes, minutes, f"{minutes // 60}:{minutes % 60:02d}"))
            used.add(word)
            continue
        date = next((mark for mark in (_ON, _NTH) if word.startswith(mark) and word[len(mark) :].isdigit()), None)
        if date is not None:
            low, high = _range(float(word[len(date) :]), words[max(0, at - 2) : at])
            found.append(Amount(date, low, high, _named_day(word, date)))
            used.add(word)
            continue
        amount, taken = _amount(words, at)
        if amount is not None:
            found.append(amount)
            used |= taken
    return tuple(found), used


@lru_cache(maxsize=20_000)
def _counts(word: str) -> bool:
    """Whether a word is a number, a period, a time or a date by itself."""
    return _is_moment(word) or _number(word)[0] is not None


def _is_moment(word: str) -> bool:
    return word.startswith((_PERIOD, _CLOCK, _ON, _NTH)) and word[-1].isdigit()


def _named_day(word: str, mark: str) -> str:
    day = int(word[len(mark) :])
    if mark == _NTH:
        return f"day {day} of the month"
    return f"{(day - 1) % 31 + 1} {list(_MONTHS)[(day - 1) // 31]}"


def _spoken(seconds: float) -> str:
    """Seconds in the largest unit that divides them."""
    unit = max((unit for unit in ("second", "minute", "hour", "day", "week") if seconds % SECONDS[unit] == 0),
               key=lambda unit: SECONDS[unit])  # fmt: skip
    return f"{seconds / SECONDS[unit]:g} {unit}"


def _amount(words: list[str], at: int) -> tuple[Amount | None, set[str]]:
    number, glued = _number(words[at])
    if number is None:
        return None, set()
    after = words[at + 1] if at + 1 < len(words) else ""
    unit = stem(glued or after)
    further = stem(words[at + 2]) if at + 2 < len(words) and after.isalpha() and after not in _NO_NOUN else ""
    if unit not in _MEASURES and further in _MEASURES:
        unit, after = further, words[at + 2]  # `five failed attempts`, `30 calendar days`
    named = _MEASURES.get(unit) or _MEASURES.get(stem(words[at - 1]) if at else "")
    measure = named or ("version" if words[at].startswith("v") or "." in words[at] else _counted(words, at))
    before, behind = words[max(0, at - 3) : at], set(words[at + 1 : at + 7])
    if behind & (_ENOUGH | _NO_MORE):
        before = ["atleast" if behind & _ENOUGH else "atmost"]
    elif not _DATED.isdisjoint(before):
        before = [word for word in before if word not in _DATED]
    low, high = _range(number * _SCALE.get(unit, 1), before)
    used = {words[at], *([after] if not glued and after and unit in _MEASURES else [])}
    return Amount(measure, low, high, f"{words[at]} {'' if glued else after}".strip()), used


def _counted(words: list[str], at: int) -> str:
    """What a number without a unit counts: the last of up to two words behind it."""
    run = []
    for word in words[at + 1 : at + 3]:
        if not word.isalpha() or word in _NO_NOUN:
            break
        run.append(word)
    return f"{COUNTED}{stem(run[-1])}" if run else ""


_NO_NOUN = frozenset(
    """
    a an the of in on at to by for from with is are be must may can should will and or but if when than per each every
    within until before after under over not no only as that which who has have was were via then so because while
    """.split()  # noqa: SIM905
)
"""Words that end what a number can count."""


def is_period(word: str) -> bool:
    return word.startswith(_PERIOD) and word[-1].isdigit()


@lru_cache(maxsize=20_000)
def is_measure(word: str) -> bool:
    """Whether a word is a number or a unit: it says how much, not of what."""
    return _counts(word) or stem(word) in _MEASURES


def _range(size: float, before: list[str]) -> tuple[float, float]:
    said = set(before)
    if said & _EXACT:
        return size, size
    if said & _LOWER:
        return size, _ENDLESS
    return (-_ENDLESS, size) if said & _UPPER else (size, size)


def _number(word: str) -> tuple[float | None, str]:
    if word in WORDS:
        return float(WORDS[word]), ""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None, ""
    digits = match.group(1)
    parts = digits.split(".")
    value = float(digits) if len(parts) <= 2 else sum(int(part) * 1000.0**-place for place, part in enumerate(parts))
    return value, match.group(2)
