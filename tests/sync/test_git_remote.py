"""A git remote holds the bundles under a ref of its own, and nothing of it reaches branches or the work tree."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import open_clew
from clew.settings import load_settings
from tests.conftest import TickingClock
from tests.sync.stores import Store


def git(place: Path, *arguments: str) -> str:
    base = ["git", "-C", str(place), "-c", "user.name=mira", "-c", "user.email=mira@example.com"]
    return subprocess.run([*base, *arguments], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def clones(database_flags: dict[str, Any], tmp_path: Path, clock: TickingClock) -> Iterator[list[Store]]:
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    opened = []
    for number in range(2):
        project, home = tmp_path / f"clone-{number}", tmp_path / f"home-{number}"
        subprocess.run(["git", "clone", "-q", str(bare), str(project)], check=True, capture_output=True)
        own = {**database_flags, "home": home, "workspace": f"ws{number}", "workspace_lock": False}
        opened.append(Store(open_clew(load_settings({**own, "embedding_model": "none"}, {}, project), clock)))
    yield opened
    for store in opened:
        store.clew.close()


def test_memory_travels_by_a_ref_of_its_own(clones: list[Store], tmp_path: Path) -> None:
    one, other = clones
    one.remember("Retry with jitter")
    other.remember("Speak AMQP to the relay")
    for store in (one, other, one, other):
        result = store.exchange("git:origin")
        assert result["problems"] == []
    assert sorted(one.statements().values()) == sorted(other.statements().values())
    assert len(one.statements()) == 2
    assert git(tmp_path / "bare.git", "for-each-ref", "--format=%(refname)") == "refs/clew/sync"
    assert git(tmp_path / "clone-0", "status", "--porcelain") == ""
    commits = git(tmp_path / "bare.git", "rev-list", "--count", "refs/clew/sync")
    one.exchange("git:origin")
    assert git(tmp_path / "bare.git", "rev-list", "--count", "refs/clew/sync") == commits


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_unknown_remote_is_refused_in_gits_words(clones: list[Store]) -> None:
    assert clones[0].error("sync", remote="git:nowhere")["code"] == "IO_ERROR"
