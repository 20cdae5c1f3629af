"""SIGINT and SIGTERM end every command within a second, also where SIGINT was ignored by inheritance."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from tests.faces.cli.conftest import Shell
from tests.faces.cli.test_jobs import seen_until
from tests.waiting import PATIENCE

BACKGROUND = ["bash", "-c", 'trap "" INT; exec "$@"', "bash"]
"""As a background job of a script runs: SIGINT is ignored before Python starts."""
ENDINGS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


def ends(process: "subprocess.Popen[str]", number: int) -> tuple[int, float]:
    begun = time.monotonic()
    process.send_signal(number)
    return process.wait(timeout=PATIENCE), time.monotonic() - begun


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_watching_command_ends_in_the_background(clew: Shell, number: int, code: int) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*BACKGROUND, sys.executable, "-m", "clew", "jobs", "--watch"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=clew.directory,
        env=clew.environment({"TERM": "xterm-256color"}),
        text=True,
    )
    os.close(theirs)
    seen_until(ours, "no jobs wait or run")
    process.send_signal(number)
    seen_until(ours, None)
    assert process.wait(timeout=PATIENCE) in (0, code)
    os.close(ours)


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_command_that_waits_for_a_locked_store_ends_too(clew: Shell, number: int, code: int) -> None:
    """SQLite waits in C, where Python's own handlers do not get to run."""
    assert clew("call", "notes_commit", "content=first").code == 0
    holder = sqlite3.connect(clew.home / "clew.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        process = subprocess.Popen(
            [*BACKGROUND, sys.executable, "-X", "importtime", "-m", "clew", "call", "notes_commit", "content=second"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=clew.directory,
            env=clew.environment(),
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "clew.store.sqlite" in line:
                break  # the next thing it does is to open the store and to wait
        process.stderr.close()
        ended, seconds = ends(process, number)
    finally:
        holder.close()
    assert ended in (code, -number)  # the signal may come while modules are still loaded
    assert seconds < 15, "0.8 s, and room for a busy machine; without care it is the 20 s of the lock"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [("serve",), ("serve", "--http", "--port", "0", "--json")])
def test_a_server_ends_in_the_background(clew: Shell, words: tuple[str, ...], number: int) -> None:
    process = subprocess.Popen(
        [*BACKGROUND, sys.executable, "-m", "clew", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=clew.directory,
        env=clew.environment(),
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    if "--http" not in words:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
        process.stdin.flush()
    process.stdout.readline()
    ends(process, number)
    process.stdin.close()
    process.stdout.close()
