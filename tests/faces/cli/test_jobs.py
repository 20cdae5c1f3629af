"""Jobs for people: a table, one that stays, answers, another attempt, and the runner itself."""

import os
import pty
import signal
import subprocess
import sys

from tests.faces.cli.conftest import Shell


def test_jobs_and_runners_in_one_table_with_the_way_to_start_one(clew: Shell) -> None:
    clew("call", "tasks_jobs_create", "title=Measure the importer", "prompt=Time it")
    shown = clew("jobs")
    assert shown.code == 0
    assert "JOB-001  QUEUED  Measure the importer" in shown.out
    assert "no runner" in shown.out and " runner" in shown.out.splitlines()[-1]
    assert clew("jobs", "--json").json["result"]["jobs"][0]["job_id"] == "JOB-001"
    assert "no jobs wait or run" in clew("jobs", "--status", "DONE").out


def test_a_dry_run_takes_a_job_through_its_life_and_requeue_brings_it_back(clew: Shell) -> None:
    clew("call", "tasks_jobs_create", "title=Measure", "prompt=Time it")
    assert clew("runner", "--once", "--dry-run", "--json").json["worked"] == 1
    opened = clew("jobs", "open", "JOB-001")
    assert "job JOB-001 (DONE) Measure" in opened.out and "prompt: Time it" in opened.out
    assert clew("jobs", "requeue", "JOB-001", "--reason", "again").out == "JOB-001 is queued again\n"
    assert clew("jobs", "requeue", "JOB-001").code == 1
    assert "message posted" in clew("jobs", "reply", "JOB-001", "see CARD-3", "--ref", "notes@1").out
    assert clew("jobs", "reply", "JOB-404", "hello").code == 1


def test_a_runner_that_can_run_nothing_says_so(clew: Shell) -> None:
    ended = clew("runner", "--once", env={"PATH": "/nowhere"})
    assert ended.code == 1
    assert "none of the executors can be used here" in ended.err and "--dry-run" in ended.err
    assert clew("runner", "--config", "missing.toml").code != 0


def test_the_live_table_follows_what_others_write_until_it_is_stopped(clew: Shell) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", "jobs", "--watch"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=clew.directory,
        env=clew.environment({"TERM": "xterm-256color"}),
    )
    os.close(theirs)
    assert "no jobs wait or run" in seen_until(ours, "no jobs wait or run")
    clew("call", "tasks_jobs_create", "title=Brand new", "prompt=Time it")
    assert "Brand new" in seen_until(ours, "Brand new")
    process.send_signal(signal.SIGINT)
    seen_until(ours, None)
    assert process.wait(timeout=60) in (0, 130)
    os.close(ours)


def seen_until(terminal: int, words: str | None) -> str:
    """What appears on the terminal up to these words, or up to its end."""
    seen = b""
    while words is None or words.encode() not in seen:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    return seen.decode(errors="replace")
