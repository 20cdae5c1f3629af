"""The texts that agents read, as Markdown beside this module: guides, and mental models in a folder of theirs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def guide(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
