"""The guide tells the truth: its commands run as they stand, in their order, in an empty workspace."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import orjson

from tests.conftest import ROOT, Caller

GUIDE = ROOT / "docs" / "tasks.md"


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def arguments(words: list[str]) -> dict[str, Any]:
    """`key:=JSON` as JSON; `key=value` as a number where it is one."""
    found: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key.endswith(":"):
            found[key[:-1]] = orjson.loads(value)
        else:
            found[key] = int(value) if value.isdigit() else value
    return found


def test_the_commands_of_the_guide_run_in_their_order(call: Caller) -> None:
    seen = set()
    for line in commands(GUIDE):
        clew, verb, name, *words = shlex.split(line)
        assert (clew, verb) == ("clew", "call")
        call(name, **arguments(words))
        seen.add(name)
    assert len(seen) > 15


def test_the_guide_names_operations_that_exist(call: Caller) -> None:
    from clew.registry.catalogue import catalogue

    named = set(re.findall(r"`(tasks_[a-z_]+)", GUIDE.read_text(encoding="utf-8")))
    assert named
    assert [name for name in sorted(named) if catalogue().find(name) is None] == []
