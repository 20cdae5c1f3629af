"""Colour is for eyes: on a terminal, unless NO_COLOR is set; the words stay the same."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.faces.cli.conftest import Shell

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(clew: Shell, *words: str, **env: str) -> str:
    """What a person sees: stdout and stderr are a pseudo terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=clew.directory,
        env=clew.environment({"TERM": "xterm-256color", **env}),
    )
    os.close(theirs)
    seen = b"".join(iter(lambda: read(ours), b""))
    process.wait(timeout=60)
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO when the last writer is gone
        return b""


@pytest.mark.parametrize("words", [("ops", "branch"), ("call", "branch_list"), ("call", "checkout", "ref=gone")])
def test_a_terminal_gets_colour_and_no_color_takes_it_away(clew: Shell, words: tuple[str, ...]) -> None:
    clew("call", "init")
    coloured = on_terminal(clew, *words)
    plain = on_terminal(clew, *words, NO_COLOR="1")
    assert ANSI.search(coloured)
    assert not ANSI.search(plain)


def test_json_is_the_same_document_on_a_terminal(clew: Shell) -> None:
    clew("call", "init")
    piped = clew("call", "branch_list", "--json")
    assert ANSI.sub("", on_terminal(clew, "call", "branch_list", "--json")) == piped.out


HOSTILE = "\x1b]0;gone\x07\x1b[31mred\x9b1m \u202eback"


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}])
def test_a_terminal_does_not_obey_what_is_stored(clew: Shell, colour: dict[str, str]) -> None:
    clew("call", "tasks_create", "kind=plan", f"title=Plan {HOSTILE}")
    clew("call", "tasks_create", "parent=PLAN-001", f"title=Task {HOSTILE}")
    clew("call", "thought", f"thought=Seen {HOSTILE}", "nextThoughtNeeded=true")
    for words in (
        ("tasks",),
        ("sessions",),
        ("call", "tasks_snapshot", "task=TASK-001"),
        ("call", "open", "id=TASK-001"),
    ):
        seen = on_terminal(clew, *words, **colour)
        assert "\\u001b]0;gone" in seen.replace("\n", ""), words
        assert not set("\x07\x9b\u202e") & set(seen), words
        assert "\x1b]" not in seen and "\x1b[31mred" not in seen, words
