"""Texts for agents, as Markdown files in this directory: the guides, and a folder of mental models."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def guide(name: str) -> str:
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
