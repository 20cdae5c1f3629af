"""The anchor that a piece of work suggests by its title."""

from __future__ import annotations

import re
import unicodedata

DEFAULT = "a:core"
MAX_SLUG = 64


def anchor_for(title: str) -> str:
    """The anchor that a title suggests: what stands before its colon, else all of it, as a plain name."""
    head, colon, _ = title.partition(":")
    plain = unicodedata.normalize("NFKD", head if colon else title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")
    return f"a:{slug}" if slug else DEFAULT
