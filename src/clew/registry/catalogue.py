"""What exists: read from the generated index, so that listing tools imports no domain module."""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from clew import hooks

TIERS = ("core", "daily", "full")
AGENT_TOOLS = (
    "resume",
    "remember",
    "recall",
    "retract",
    "start",
    "close",
    "think",
    "open",
    "op_search",
    "op_read",
    "op_call",
)
"""What the toolset `agent` lists, in this order: one tool for each thing an agent does, and the way to all others."""
DOMAINS = ("index", "registry", "records", "reasoning", "tasks", "ledger", "memory", "recall")
