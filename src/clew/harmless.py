"""Stored text that is put before a model: nothing in it may look like a tag, the end of a fence, or another turn.

What a record says is data, regardless of its author. Generic types such as `List<String>` and the
blanks of our own forms (`<fill: ...>`) are left as they are. Whatever reads as markup, in any spelling, loses its
bracket, and a word that begins a turn of a conversation gets brackets.
"""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_OPEN = "[<\uff1c\u2039\u2329\u27e8\u3008\ufe64\u02c2\u1438\u276e]"
_ROLES = "system|assistant|user|human|developer|tool|instructions?|inst"
_TAG = re.compile(
    rf"{_OPEN}(?=\s*(?:[/!?|\uff0f\u2215\u2044]|<SYS|SYS>|(?:{_ROLES})\b|[A-Za-z]+[-_:\u2010-\u2015][A-Za-z]))"
    rf"|(?<![\w\])<]){_OPEN}(?!fill[:>])(?=[A-Za-z])",
    re.IGNORECASE,
)
_TURN = re.compile(rf"^([\s>#*_\-]*)({_ROLES})(\s*[*_]*\s*)[:\uff1a\ufe55\u02d0]", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(r"\[(/?)(INST|SYS|SYSTEM|ASSISTANT|USER)\]", re.IGNORECASE)


def harmless(text: str) -> str:
    """The text without anything that a model could take for markup or a turn; most texts come back as they are."""
    seen = _INVISIBLE.sub("", text)
    calm = _MARK.sub(r"(\1\2)", _TURN.sub(r"\1(\2)\3:", _TAG.sub("&lt;", seen)))
    # Invisible letters go only where they hid something: some scripts and emoji need them.
    return calm if calm != seen else text
