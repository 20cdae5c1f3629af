"""What a person marks as `<private>` is neither kept nor looked up, wherever Clew reads text of others."""

from __future__ import annotations

import re

PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
"""A part without an end reaches to the end of the text."""


def without_private(text: str) -> str:
    return PRIVATE.sub("", text)
