"""Titles and slugs made from text."""

from __future__ import annotations

import re
import unicodedata

from clew.errors import shorten

TITLE = 80
_SENTENCE = re.compile(r"(.+?[.!?…])(?:\s|$)", re.DOTALL)


def first_sentence(text: str) -> str:
    """The first sentence of the first line that says something."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    found = _SENTENCE.match(line)
    sentence = found.group(1) if found and len(found.group(1)) > 3 else line
    return shorten(sentence.rstrip("."), TITLE)


def slug(text: str, limit: int = 64) -> str:
    """Lower-case letters, digits and hyphens; empty when nothing is left."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-")
