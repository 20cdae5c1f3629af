"""How much each view shows when nobody says: the table of the contract."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from clew.tasks.views.material import default_limits


@pytest.mark.parametrize(
    ("view", "budget", "shown"),
    [
        ("full", None, (20, 5, 5, 5, 10, 20, 20, 6, 6)),
        ("full", 900, (20, 5, 5, 5, 10, 20, 20, 6, 6)),
        ("focus_only", None, (12, 3, 3, 3, 3, 8, 40, 6, 2)),
        ("smart", 2000, (6, 3, 3, 3, 4, 10, 18, 5, 2)),
        ("smart", 2001, (10, 4, 4, 4, 8, 16, 26, 6, 2)),
        ("smart", None, (14, 5, 5, 5, 12, 24, 40, 6, 2)),
        ("smart", 12_001, (20, 6, 6, 6, 12, 30, 60, 8, 2)),
        ("explore", 1000, (8, 3, 3, 3, 6, 14, 26, 6, 2)),
        ("explore", 6000, (12, 5, 5, 5, 12, 22, 40, 8, 2)),
        ("explore", None, (16, 6, 6, 6, 16, 34, 70, 8, 2)),
        ("explore", 20_000, (24, 8, 8, 8, 22, 48, 100, 10, 2)),
        ("audit", 2000, (14, 6, 6, 6, 12, 24, 60, 8, 2)),
    ],
)
def test_sections_follow_the_view_and_the_budget(view: str, budget: int | None, shown: tuple[int, ...]) -> None:
    assert astuple(default_limits(view, budget)) == shown
