"""Budgets of the card reads: never exceeded, never less for more, the same bytes for the same state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.registry.budget import size
from clew.settings import load_settings
from tests.conftest import Caller, TickingClock
from tests.reasoning.thinking import think

READS = (
    "think_query",
    "think_context",
    "think_frontier",
    "think_next",
    "think_pins",
    "think_pack",
    "think_watch",
    "context_pack",
    "think_lint",
    "anchors_list",
    "anchor_snapshot",
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One store with some of everything; budgets do not depend on the engine below them."""
    home = tmp_path_factory.mktemp("budgets")
    clew: Clew = open_clew(load_settings({"home": home, "workspace": "ws"}, {}, Path(home)), TickingClock())
    call = Caller(clew)
    for number in range(12):
        think(call, f"H{number}", text="words " * (number * 30), tags=["a:core"])
        think(call, f"T{number}", "test", supports=[f"H{number}", "GONE"], text="CMD: make ü")
        think(call, f"Q{number}", "question")
        think(call, f"D{number}", "decision", tags=["a:core", "v:draft"] if number % 2 else ["a:core", "pinned"])
        call("notes_commit", content=f"note {number} " * 40)
    yield call
    clew.close()


def items(value: Any) -> int:
    """How many list items and fields an answer holds, at any depth."""
    if isinstance(value, dict):
        return sum(1 + items(item) for item in value.values())
    if isinstance(value, list):
        return sum(1 + items(item) for item in value)
    return 0


def shown(call: Caller, name: str, limit: int) -> dict[str, Any]:
    more = {"anchor": "a:core"} if name == "anchor_snapshot" else {}
    return call(
        name, max_chars=limit, **more, **({"all_lanes": True} if name.startswith(("think_w", "context")) else {})
    )


@pytest.mark.parametrize("name", READS)
@settings(max_examples=15, deadline=None)
@given(low=st.integers(0, 30_000), more=st.integers(0, 20_000))
def test_a_budget_is_kept_and_more_never_shows_less(filled: Caller, name: str, low: int, more: int) -> None:
    small, large = shown(filled, name, low), shown(filled, name, low + more)
    for result, limit in ((small, low), (large, low + more)):
        budget = result.pop("budget")
        assert budget["used_chars"] == size(result)
        assert budget["used_chars"] <= budget["max_chars"] == max(limit, 2)
        result.pop("truncated", None)
    assert items(small) <= items(large)
    assert shown(filled, name, low) == shown(filled, name, low)
