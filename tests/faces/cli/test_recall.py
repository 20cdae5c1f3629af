"""`clew recall`: the words that matched are marked on a terminal, and nothing is added in a pipe."""

from __future__ import annotations

import re

import pytest

from tests.faces.cli.conftest import Shell
from tests.faces.cli.test_colour import ANSI, on_terminal

MARKED = re.compile(r"\x1b\[1;33m([^\x1b]*)\x1b\[0m")


@pytest.fixture
def notes(clew: Shell) -> Shell:
    clew("call", "notes_commit", "content=The children went to the lake with pg_dump.", env={"CLEW_WORKSPACE": "ws"})
    return clew


def test_matched_words_are_marked_as_they_are_written(notes: Shell) -> None:
    words = ("recall", "where", "did", "the", "child", "go", "with", "pg_dump")
    seen = on_terminal(notes, *words, CLEW_WORKSPACE="ws", CLEW_EMBEDDING_MODEL="none")
    assert MARKED.findall(seen) == ["children", "went", "pg_dump"]
    assert "The children went to the lake with pg_dump." in ANSI.sub("", seen)


def test_a_hit_says_of_whom_and_when_it_is(clew: Shell) -> None:
    env = {"CLEW_WORKSPACE": "ws", "CLEW_EMBEDDING_MODEL": "none"}
    clew("remember", "-k", "decision", "The file named last wins", env={**env, "CLEW_AGENT_ID": "codex"})
    first = clew("recall", "which", "file", "wins", env=env).out.splitlines()[0]
    assert re.match(r" 1\. D-1  decision · in force · \d{4}-\d\d-\d\d \(today\) · codex · score ", first), first


def test_a_pipe_gets_plain_lines_and_explain_shows_the_parts(notes: Shell) -> None:
    env = {"CLEW_WORKSPACE": "ws", "CLEW_EMBEDDING_MODEL": "none"}
    done = notes("recall", "children", "lake", "--explain", env=env)
    assert done.code == 0, done.err
    assert not ANSI.search(done.out)
    first, excerpt, *parts = done.out.splitlines()
    assert re.match(r" 1\. notes@1  note · \d{4}-\d\d-\d\d \(today\) · clew-cli · score ", first)
    assert excerpt == "    The children went to the lake with pg_dump."
    assert any(re.search(r"\+\d+\.\d{4}  window = ", part) for part in parts)
