"""Parses the output of a failed command: its error line, that line normalized across runs, and the location."""

from __future__ import annotations

import re
from dataclasses import dataclass

LOOKED_AT = 20_000
"""Characters at the end of an output; the error is printed last."""
LONGEST_KEY = 200
MOST_NAMES = 80

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# The most specific first. Of the lines that match a pattern the last one counts: programs print the causes before it.
_TELLING = (
    re.compile(r"^E\s{2,}(?P<said>[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b.*)$", re.M),
    re.compile(r"^(?P<said>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b(?::.*|))$", re.M),
    re.compile(r"^E\s{2,}(?P<said>assert .*)$", re.M),
    re.compile(r"^(?P<said>error(?:\[E\d+\])?: .+)$", re.M | re.I),
    re.compile(r"^\S+?:\d+(?::\d+)?:?\s+(?P<said>(?:fatal )?error:? .+)$", re.M | re.I),
    re.compile(r"^(?P<said>(?:fatal|panic|FATAL|npm ERR!|ERROR)[: ].+)$", re.M),
    re.compile(r"^(?P<said>.*(?:command not found|No such file or directory|Permission denied|cannot find).*)$", re.M),
    re.compile(r"^(?P<said>(?:FAILED|FAIL) .+)$", re.M),
)
_PLACES = (
    re.compile(r"^(?:FAILED|FAIL|ERROR) (?P<place>[\w./-]+\.\w+(?:::[\w:.\[\]-]+)?)", re.M),
    re.compile(r'^\s*File "(?P<place>[^"\n]+)", line \d+', re.M),
    re.compile(r"^(?P<place>[\w./-]+\.\w{1,5}):\d+(?::\d+)?[: ]", re.M),
    re.compile(r"-->\s*(?P<place>[\w./-]+\.\w+):\d+", re.M),
)
# In this order: ids and times before numbers, which would take them apart, and paths before numbers in their names.
_CHANGING = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?"), "<time>"),
    (re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+([\w.@+-]+)"), r"\1"),
    (re.compile(r"\d+(?:\.\d+)?"), "N"),
)
_NAME = re.compile(r"[A-Za-z_][\w-]{2,60}(?:\.[A-Za-z_]\w{0,60})*")
_COMMON_WORDS = """
the and for not with from this that was are has have but you can cannot could should would when then than into line
lines file files error errors failed failure fail failing exception traceback most recent call last exit code status
command test tests passed collected items session starts platform python rootdir plugins cachedir warnings summary info
short assert assertion expected actual got true false none null self return def class import print raise with else elif
while try except finally lambda yield pass break continue global int str list dict set bool float object type value key
name new old run running time seconds src lib usr bin home tmp var site packages py js ts
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Failure:
    line: str
    """The error line as printed."""
    key: str
    """The normalized line, without numbers, addresses, folders and times: used to recognise the failure."""
    place: str | None
    """The innermost file or test in the output."""
    names: tuple[str, ...]
    """Names found in the output; an edit of one of them is attributed to this failure."""

    @property
    def is_distinctive(self) -> bool:
        """Whether the line is specific enough to recognise the failure anywhere: `assert N == N` does not."""
        return len({name for name in _NAME.findall(self.key) if name.lower() not in _COMMON}) >= 2


def read_failure(output: str) -> Failure | None:
    """The failure in an output; None if there is none."""
    text = _ANSI.sub("", output[-LOOKED_AT:]).replace("\r", "")
    line = _distinctive_line(text)
    if not line:
        return None
    return Failure(line[:300], normal(line[:1_000]), _place(text), names_in(text))


def _distinctive_line(text: str) -> str:
    for pattern in _TELLING:
        found = [match["said"].strip() for match in pattern.finditer(text)]
        if found:
            return found[-1]
    said = [line.strip() for line in text.splitlines() if len(line.strip()) > 3]
    return said[-1] if said else ""


def normal(line: str) -> str:
    """Normalize a line: without the parts that differ from run to run."""
    for pattern, instead in _CHANGING:
        line = pattern.sub(instead, line)
    return " ".join(line.split())[:LONGEST_KEY]


def _place(text: str) -> str | None:
    for pattern in _PLACES:
        found = [match["place"] for match in pattern.finditer(text)]
        # A library is where a failure surfaces, hardly ever where it is fixed.
        own = [place for place in found if "site-packages" not in place and "/lib/python" not in place]
        if own:
            # Two parts of the path: enough to distinguish files, and the same in every checkout.
            return "/".join(own[-1].replace("\\", "/").split("/")[-2:])
    return None


def names_in(text: str) -> tuple[str, ...]:
    """Identifiers and file names, the last ones first, each once."""
    found: dict[str, None] = {}
    for name in reversed(_NAME.findall(text)):
        parts = [name, *name.split(".")] if "." in name else [name]
        for part in parts:
            if len(part) >= 3 and part.lower() not in _COMMON:
                found.setdefault(part, None)
        if len(found) >= MOST_NAMES:
            break
    return tuple(found)
