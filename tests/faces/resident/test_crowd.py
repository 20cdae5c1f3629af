"""Many clients at once: one server for all, killed under their calls, and nothing left when they are gone."""

from __future__ import annotations

from pathlib import Path

from benchmarks.crowd import NOTES, play

CLIENTS = 24
"""Enough to be many; `python -m benchmarks crowd` plays a hundred."""


def test_many_clients_share_one_server_that_is_killed_under_their_calls(home: Path) -> None:
    seen = play(home, CLIENTS)
    assert (seen.residents, seen.residents_after) == (1, 1)
    assert (seen.lost, seen.doubled) == (0, 0)
    assert seen.acknowledged + seen.unknown == CLIENTS * NOTES and seen.acknowledged > 0
    assert seen.next_calls == CLIENTS
    assert seen.left == 0
    assert sorted(path.name for path in (home / "resident").iterdir()) == ["lock", "log", "start"]
