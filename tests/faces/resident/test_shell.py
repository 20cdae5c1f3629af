"""Everyday shell commands through the resident server: the same answers, and hardly anything imported."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clew.shim import one_call
from clew.shim.one_call import Unanswered, call_resident
from tests.faces.resident.shims import address, resident, settings

HEAVY = {"anyio", "apsw", "mcp", "numpy", "psycopg", "rich", "starlette", "uvicorn", "yaml"}
HEAVY_OF_CLEW = ("app", "index", "memory", "reasoning", "recall", "records", "registry", "store", "tasks")
LINES = (
    ("start", "Parse files", "-s", "reader; test: true", "-s", "writer"),
    ("remember", "-k", "decision", "The file named last wins", "--why", "Shells do it so"),
    ("remember", "-k", "fact", "Lines end with a line feed"),
    ("recall", "which file wins"),
    ("resume",),
    ("prove", "--", sys.executable, "-c", "print('seen')"),
    ("close", "s:0", "--unproven", "by hand"),
    ("close", "s:9", "--unproven", "there is none"),
    ("inbox",),
    ("status",),
    ("open", "D-1"),
    ("resume", "--json"),
)


def clew(home: Path, directory: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clew", *words]
    env = settings(home, CLEW_EMBEDDING_MODEL="none", **more)
    return subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, timeout=120)


def told(done: subprocess.CompletedProcess[str], home: Path) -> tuple[int, str, str]:
    """What a command says, without what differs from one run to the next."""

    def plain(text: str) -> str:
        text = text.replace(str(home), "HOME")
        text = re.sub(
            r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+\.\d+ s\b|\b\d{13}\b|\b\d+ \w+ ago\b|[0-9A-F]{8}\b|[0-9a-f]{64}", "~", text
        )
        return re.sub(r"score [\d.]+|\"score\": [\d.]+|\"age\": \"[^\"]*\"|just now", "~", text)

    return done.returncode, plain(done.stdout), plain(done.stderr)


def test_commands_say_through_the_server_what_they_say_in_their_own_process(home: Path, tmp_path: Path) -> None:
    project, alone = tmp_path / "project", tmp_path / "alone"
    project.mkdir()
    for words in LINES:
        through = told(clew(home, project, *words), home)
        assert through == told(clew(alone, project, *words, CLEW_RESIDENT="off"), alone), words
    assert address(home), "the first command has started the server"
    assert not (alone / "resident").exists()


def test_a_command_imports_what_it_needs_to_ask_and_nothing_of_what_answers(home: Path, tmp_path: Path) -> None:
    clew(home, tmp_path, "start", "Parse files", "-s", "reader")
    closing = ("close", "s:0", "--unproven", "by hand")
    for words in (("resume",), ("recall", "files"), ("remember", "A note"), ("inbox",), ("status",), closing):
        command = [sys.executable, "-X", "importtime", "-m", "clew", *words]
        done = subprocess.run(command, cwd=tmp_path, env=settings(home), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-500:]
        imported = re.findall(r"^import time:[^|]*\|[^|]*\|\s*(\S+)$", done.stderr, re.MULTILINE)
        assert not HEAVY & {name.split(".")[0] for name in imported}, words
        own = [name for name in imported if name.startswith("clew")]
        heavy = [name for name in own if name.count(".") and name.split(".")[1] in HEAVY_OF_CLEW]
        assert not heavy and len(own) <= 30, (words, heavy, len(own))


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop a process")
def test_a_server_that_hangs_is_named_and_not_waited_for(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clew(home, tmp_path, "status")
    os.kill(resident(home), signal.SIGSTOP)
    try:
        monkeypatch.setattr(one_call, "_SILENCE", 0.2)
        monkeypatch.setattr(one_call, "_TO_ANSWER", 0.2)
        monkeypatch.setenv("CLEW_HOME", str(home))
        with pytest.raises(Unanswered):
            call_resident("status", {}, {}, client="clew-cli", toolset="full", local=True, witness=None)
    finally:
        os.kill(resident(home), signal.SIGCONT)
