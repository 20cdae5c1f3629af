"""`clew init`: memory in the repository, and what a second clone needs."""

import subprocess
from pathlib import Path

from tests.faces.cli.conftest import Shell
from tests.identity.test_sign_in import Terminal


def git(folder: Path, *words: str) -> str:
    base = ["git", "-C", str(folder), "-c", "user.name=mira", "-c", "user.email=mira@example.com"]
    return subprocess.run([*base, *words], check=True, capture_output=True, text=True).stdout


def test_memory_moves_into_the_repository_and_a_clone_asks_before_it_follows_it(clew: Shell, tmp_path: Path) -> None:
    git(clew.directory, "init", "-q")
    assert clew("remember", "-k", "decision", "Retries carry jitter").code == 0
    ran = clew("init", "--in-repo")
    assert ran.code == 0, ran.err
    assert "Retries carry jitter" in (clew.directory / ".clew" / "knowledge" / "DECISIONS.md").read_text()
    assert "merge-memory %O %A %B" in git(clew.directory, "config", "merge.clew.driver")
    assert clew("init").code == 0
    git(clew.directory, "add", "clew.toml", ".clew")
    git(clew.directory, "commit", "-q", "-m", "memory")

    place = tmp_path / "other" / "clone"
    git(tmp_path, "clone", "-q", str(clew.directory), str(place))
    other = Shell(place, tmp_path / "other" / "home")
    refused = other("init")
    assert refused.code == 1 and "needs a person at a terminal" in refused.err
    terminal = Terminal(other, "init")
    terminal.type("y\n")
    assert "is in" in terminal.said()
    (hit,) = other("recall", "jitter", "--json").json["result"]["results"]
    assert "Retries carry jitter" in str(hit)


def test_a_clone_with_other_records_under_the_same_ids_is_left_as_it_is(clew: Shell, tmp_path: Path) -> None:
    git(clew.directory, "init", "-q")
    clew("remember", "-k", "decision", "Retries carry jitter")
    folder = clew.directory / ".clew" / "knowledge"
    folder.mkdir(parents=True)
    (folder / "DECISIONS.md").write_text("[D-1]\nDate: 2026-11-01\nStatus: active\nStatement: Leases last a minute\n")
    ran = clew("init", "--in-repo")
    assert ran.code == 1 and "D-1 of .clew are other records" in ran.err
    assert not (clew.directory / "clew.toml").exists()


def test_outside_of_a_repository_nothing_is_set_up(clew: Shell) -> None:
    ran = clew("init", "--in-repo")
    assert ran.code == 1 and "no git repository" in ran.err


def test_an_unreadable_merge_is_left_to_git(clew: Shell) -> None:
    twice = "[F-1]\nStatement: a\n\n[F-1]\nStatement: b\n"
    for name, text in (("base", twice), ("ours", twice + "\nours\n"), ("theirs", twice + "\ntheirs\n")):
        (clew.directory / name).write_text(text)
    assert clew("merge-memory", "base", "ours", "theirs").code == 1
    assert "<<<<<<<" in (clew.directory / "ours").read_text()
