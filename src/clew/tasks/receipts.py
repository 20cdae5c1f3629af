"""Receipts: what people paste as proof, in one form. `CMD: what was run`, `LINK: where it can be seen`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKER = re.compile(r"\s*(?:[-*+•>]\s+|\d{1,4}[.)]\s+|>+\s*)")
_TAGGED = re.compile(r"(CMD|LINK)\b\s*:?\s*(.*)", re.IGNORECASE | re.DOTALL)
_STRICT_TAGGED = re.compile(r"(CMD|LINK)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"(?:https?|file)://\S+", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"<\s*fill", re.IGNORECASE)


def is_placeholder(text: str) -> bool:
    """A form that nobody has filled in, or nothing at all."""
    return not text.strip() or _PLACEHOLDER.search(text) is not None


def plain_line(line: str) -> str:
    """Without list markers and quote signs."""
    while match := _MARKER.match(line):
        line = line[match.end() :]
    return line.strip()


def tag_of(check: str) -> str | None:
    """CMD or LINK when a check carries one of these tags."""
    match = _TAGGED.match(plain_line(check))
    return match.group(1).upper() if match else None


def command_of(check: str) -> str | None:
    """What a CMD receipt says was run."""
    match = _TAGGED.match(plain_line(check))
    return match.group(2).strip() or None if match and match.group(1).upper() == "CMD" else None


def is_real(check: str) -> bool:
    """Whether a check says anything: a tag with nothing behind it does not."""
    line = plain_line(check)
    match = _STRICT_TAGGED.match(line)
    return not is_placeholder(match.group(2) if match else line) and line.upper() not in {"CMD", "LINK"}


def tagged(line: str) -> str:
    """A line as a receipt: an address becomes a LINK, anything else a CMD."""
    line = plain_line(line)
    match = _TAGGED.match(line)
    if match:
        return f"{match.group(1).upper()}: {match.group(2).strip()}".rstrip()
    bare = line.removeprefix("<").removesuffix(">")
    return f"LINK: {bare}" if _URL.fullmatch(bare) else f"CMD: {line}"


def receipts(lines: str | Iterable[str]) -> list[str]:
    """Receipts from pasted text, one for each line; blank lines are dropped, placeholders are kept for the caller."""
    given = lines.splitlines() if isinstance(lines, str) else [part for text in lines for part in text.splitlines()]
    return [tagged(line) for line in given if plain_line(line)]


def salvaged(note: str) -> list[str]:
    """The receipts that stand on lines of their own in a note; prose is left alone."""
    found = []
    for raw in note.splitlines():
        line = plain_line(raw)
        bare = line.removeprefix("<").removesuffix(">")
        if (_STRICT_TAGGED.match(line) or _URL.fullmatch(bare)) and is_real(line):
            found.append(tagged(line))
    return found


def is_url(text: str) -> bool:
    return _URL.match(text.strip().removeprefix("<")) is not None


def weak(checks: Sequence[str], attachments: Sequence[str]) -> list[str]:
    """Which of CMD and LINK are missing beside the other; empty when nothing is tagged at all."""
    tags = {tag_of(check) for check in checks if is_real(check)} - {None}
    mentioned = any(tag_of(check) for check in checks)
    if any(is_url(item) for item in attachments):
        tags.add("LINK")
    return [tag for tag in ("CMD", "LINK") if tag not in tags] if mentioned else []
