"""`clew review`, `clew log`, `clew watch`: the Inbox and the events of a workspace at a terminal."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from itertools import count

from tests.faces.cli.conftest import Shell
from tests.faces.cli.test_guards import answered
from tests.faces.cli.test_inbox import proposed, rule, status
from tests.waiting import until


def test_what_waits_is_answered_with_one_key_each(clew: Shell) -> None:
    first = proposed(clew, "Ring the bell every ten minutes in fog", rule(clew, "Ring the bell every hour in fog"))
    second = proposed(clew, "Paint the tower green in May", rule(clew, "Paint the tower in autumn"))
    assert len(json.loads(clew("review", "--json").out)) == 2
    assert answered(clew, "review", answer="a\nr\nthe paint is red\n") == 0
    assert (status(clew, first["record"]), status(clew, second["record"])) == ("active", "rejected")
    assert "the paint is red" in json.dumps(clew("open", second["proposal"], "--json").json)


def test_an_agent_cannot_answer_and_skipping_decides_nothing(clew: Shell) -> None:
    waiting = proposed(clew, "Ring the bell every ten minutes in fog", rule(clew, "Ring the bell every hour in fog"))
    refused = clew("review", stdin="a\n")
    assert refused.code != 0 and "person at a terminal" in refused.err
    assert answered(clew, "review", answer="s\n") == 0
    assert status(clew, waiting["record"]) == "proposed"


def test_the_log_names_who_did_what(clew: Shell) -> None:
    kept = rule(clew, "Ring the bell every hour in fog")
    assert f"block written  {kept}" in clew("log").out


def test_watch_prints_what_others_do(clew: Shell) -> None:
    rule(clew, "Ring the bell every hour in fog")
    watching = subprocess.Popen(
        [sys.executable, "-m", "clew", "watch", "--json"],
        cwd=clew.directory,
        env=clew.environment({"PYTHONUNBUFFERED": "1"}),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        # Until it has begun to watch, nothing tells; so somebody writes until it says so.
        told, numbers = watching.stdout, count()
        assert told is not None

        def says() -> bool:
            rule(clew, f"Sweep stair {next(numbers)} of the tower before noon")
            return bool(select.select([told], [], [], 0.1)[0])

        until(says)
        seen = told.readline()
        assert json.loads(seen)["type"]
    finally:
        watching.kill()
        watching.wait()
