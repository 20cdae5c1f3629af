"""A runner's own file: what it may say, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.errors import ClewError
from clew.runner.configuration import load_configuration


def test_without_a_file_the_known_agents_are_tried(tmp_path: Path) -> None:
    assert set(load_configuration(tmp_path).executors) == {"codex", "claude"}


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "runner.toml").write_text("slots = 2\nheartbeat_s = 5\n")
    configuration = load_configuration(tmp_path, None, {"slots": 4, "heartbeat_s": None})
    assert (configuration.slots, configuration.heartbeat_s, configuration.lease_ms) == (4, 5, 15_000)


def test_a_file_that_is_named_and_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClewError) as raised:
        load_configuration(tmp_path, str(tmp_path / "other.toml"))
    assert raised.value.code == "IO_ERROR"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("slotz = 2", "slotz: unknown setting; did you mean slots?"),
        ("slots = 0", "slots"),
        ('[executors.x]\ntype = "shell"', "executors.x.type"),
        ('[executors.x]\ntype = "dry"\ncomand = []', "did you mean command?"),
        ("slots = [", "is not TOML"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "runner.toml").write_text(text)
    with pytest.raises(ClewError, match="runner") as raised:
        load_configuration(tmp_path)
    assert told in raised.value.message
