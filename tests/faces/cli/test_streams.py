"""Streams that end early, are full or closed, settings that are none: a sentence and an exit code, never a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faces.cli.conftest import Shell

LINES = (["--help"], ["ops"], ["call", "status"], ["status", "--json"])


def run(clew: Shell, words: list[str], redirection: str) -> tuple[int, str]:
    line = ["bash", "-c", f'"$@" {redirection}', "clew", sys.executable, "-m", "clew", *words]
    done = subprocess.run(
        line, cwd=clew.directory, env=clew.environment(), stderr=subprocess.PIPE, text=True, timeout=60
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_a_reader_that_goes_away_is_no_failure(clew: Shell, words: list[str]) -> None:
    code, said = run(clew, words, '| true; exit "${PIPESTATUS[0]}"')
    assert (code, said) == (0, "")


@pytest.mark.parametrize("words", LINES[1:], ids=" ".join)
def test_a_full_disk_is_told(clew: Shell, words: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    code, said = run(clew, words, "> /dev/full")
    assert code == 1
    assert said.startswith("error IO_ERROR: ") and "Traceback" not in said


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stream_is_not_written_to(clew: Shell, closed: str) -> None:
    code, said = run(clew, ["status"], f"{closed} > /dev/null" if closed == "2>&-" else closed)
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    ("name", "value"), [("CLEW_PORT", "abc"), ("CLEW_DATABASE_URL", "nonsense"), ("CLEW_WORKSPACE", "a b")]
)
def test_a_setting_that_is_none_is_named_with_its_origin(clew: Shell, name: str, value: str) -> None:
    ran = clew("status", env={name: value})
    assert ran.code == 2
    assert f"(from {name})" in ran.err


def test_a_wrong_call_shows_a_right_one(clew: Shell) -> None:
    ran = clew("call", "recall")
    assert "example: clew call recall 'query=why PostgreSQL'" in ran.err


def test_a_store_that_cannot_be_used_leads_to_doctor(clew: Shell) -> None:
    clew.home.mkdir(parents=True, exist_ok=True)
    (clew.home / "clew.db").write_bytes(b"no database" * 1_000)
    ran = clew("status")
    assert ran.code == 3
    assert ran.err.endswith("try: clew doctor\n")


@pytest.mark.parametrize("held", ["folder", "noise"])
def test_files_that_cannot_be_read_are_named_once(clew: Shell, held: str) -> None:
    place = clew.directory / held
    place.mkdir() if held == "folder" else place.write_bytes(b"\xff\xfe")
    for words in (["call", "notes_commit", f"@{held}"], ["import", "memory", "--dry-run", held]):
        ran = clew(*words)
        assert ran.code in (1, 2)
        assert ran.err.startswith("error ") and "Errno" not in ran.err
        assert ran.err.splitlines()[0].count(held) == 1
