"""The guides that agents read: Markdown files beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def guide(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
