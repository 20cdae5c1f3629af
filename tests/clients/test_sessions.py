"""A day of work in each real client: what its model was sent, and what Clew kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.clients.drivers import (
    AFTERWARDS,
    AT_PROMPT,
    AT_START,
    EACH_PROVED,
    FIRST_REQUEST,
    GUARDED,
    KILLED,
    PROVED,
    REMOVED,
    TOGETHER,
    TOOLS,
    Driver,
)
from tests.clients.scene import ASKED, DECISION, NEWER, RUN, Scene, scene
from tests.clients.wire import Request, ToolCall, Turn
from tests.faces.connect.homes import tree
from tests.faces.resident.shims import is_running, residents
from tests.waiting import until

STEPS = [f"parser; test: {RUN}", "docs"]


@pytest.mark.row(FIRST_REQUEST)
def test_the_first_request_names_the_tools(driver: Driver, connected: Scene) -> None:
    named = " ".join(driver.run(connected, []).first.tools)
    assert all(name in named for name in ("resume", "remember", "recall", "start", "close")), named


@pytest.mark.row(TOOLS)
def test_tools_are_called_and_answer(driver: Driver, connected: Scene) -> None:
    calls = [
        driver.tool("resume", {}),
        driver.tool("remember", {"text": "The cache is warm at noon", "kind": "fact"}),
        driver.tool("recall", {"query": "cache noon", "fmt": "json"}),
    ]
    resumed, kept, found = driver.run(connected, calls).results[-3:]
    assert "workspace shop" in resumed and "F-1" in kept and "The cache is warm at noon" in found


@pytest.mark.row(AT_START)
def test_a_session_is_told_where_the_work_stands(driver: Driver, connected: Scene) -> None:
    session = driver.run(connected, [])
    assert "where the work stands" in session.first.text
    assert "Migrations are never edited" in session.first.text
    besides = [request for request in session.stub.seen if not request.tools]
    assert not any("clew-memory" in request.system for request in besides), "titles are made from the prompt"


@pytest.mark.row(AT_PROMPT)
def test_a_prompt_is_told_what_belongs_to_it(driver: Driver, connected: Scene) -> None:
    connected.decide(*NEWER)
    connected.extra["CLEW_HOOK_BUDGET"] = "1200"  # so that the start has no room for the oldest decision
    driver.run(connected, [])
    session = driver.run(connected, [], ASKED)
    assert session.first.text.count(DECISION) == 1 and "the prompt" in session.first.text
    unrelated = driver.run(connected, [], "Translate 'good morning' into French")
    assert DECISION not in unrelated.first.text


@pytest.mark.row(GUARDED)
def test_a_guarded_file_is_not_edited(driver: Driver, connected: Scene) -> None:
    file = connected.project / "migrations" / "001_init.sql"
    edit = driver.edit(file, "create table a (b int);", "create table a (c int);")
    session = driver.run(connected, [edit, driver.shell("sed -i s/int/text/ migrations/001_init.sql")])
    assert file.read_text() == "create table a (b int);\n"
    assert all("Add a new migration instead." in result for result in session.results[-2:]), session.results


@pytest.mark.row(PROVED)
def test_a_run_proves_the_step_that_is_closed_right_after_it(driver: Driver, connected: Scene) -> None:
    session = driver.run(connected, _day(driver, connected))
    assert "s:0 closed 1/2: PROVEN" in session.results[-1], session.results


def _day(driver: Driver, scene: Scene) -> list[ToolCall]:
    return [
        driver.tool("start", {"title": "Fix the parser", "steps": STEPS}),
        driver.shell(RUN),
        driver.edit(scene.project / "parser.py", "timeout = 1", "timeout = 2"),
        driver.shell(RUN),
        driver.tool("close", {"step": "s:0"}),
    ]


@pytest.mark.row(EACH_PROVED)
def test_each_run_is_found_by_the_close_right_after_it(driver: Driver, connected: Scene) -> None:
    (connected.project / "parser.py").write_text("timeout = 2\n")
    steps = [f"part {n}; test: {RUN}" for n in range(RUNS)]
    calls = [driver.tool("start", {"title": "Fix the parser", "steps": steps})]
    for number in range(RUNS):
        calls += [driver.shell(RUN), driver.tool("close", {"step": f"s:{number}"})]
    closed = driver.run(connected, calls).results[2::2]
    found = [f"s:{number} closed {number + 1}/{RUNS}: PROVEN" in result for number, result in enumerate(closed)]
    assert found == [True] * RUNS, closed


RUNS = 50


@pytest.mark.row(AFTERWARDS)
def test_the_next_session_knows_the_task_and_the_dead_end(driver: Driver, connected: Scene) -> None:
    driver.run(connected, _day(driver, connected))
    (connected.project / "parser.py").write_text("timeout = 1\n")
    session = driver.run(connected, [driver.tool("resume", {}), driver.shell(RUN)])
    assert "TASK-001" in session.first.text and "last session" in session.first.text
    assert "s:1 docs" in session.results[0]
    assert "This error was met" in session.last.text, session.results


@pytest.mark.row(TOGETHER)
def test_two_sessions_at_once_keep_apart(driver: Driver, connected: Scene) -> None:
    """A hundred calls of two sessions of one client in one project; none lands in the other's task."""
    first = driver.start(connected, _many(driver, "Alpha"))
    # Cline and Continue keep the model's address in a file, which the second session gets rewritten.
    until(lambda: bool(first.stub.seen) or first.process.poll() is not None, "the model was not asked")
    both = [first, driver.start(connected, _many(driver, "Beta"))]
    answers = [session.done().results for session in both]
    tasks = [_task(results[0]) for results in answers]
    assert tasks[0] != tasks[1]
    for task, results in zip(tasks, answers, strict=True):
        assert len(results) == CALLS and not any("ERROR" in result for result in results), results
        assert all(f"{task} s:{n} closed" in result for n, result in enumerate(results[2:-1:2])), results
        # What the other session does is mentioned, after what this one works on.
        assert all(_task(result) == task for result in results[1::2]), results


CALLS, CLOSED = 50, 24


def _many(driver: Driver, title: str) -> list[ToolCall]:
    calls = [driver.tool("start", {"title": f"{title} work", "steps": [f"{title} {n}" for n in range(CLOSED + 1)]})]
    for number in range(CLOSED):
        calls.append(driver.tool("resume", {}))
        calls.append(driver.tool("close", {"step": f"s:{number}", "unproven": "only a try"}))
    return [*calls, driver.tool("resume", {})]


def _task(result: str) -> str:
    return result[result.index("TASK-") :][:8]


@pytest.mark.row(KILLED)
def test_after_a_kill_nothing_of_the_session_is_left_but_the_server(driver: Driver, connected: Scene) -> None:
    held: list[int] = []

    def kill(request: Request) -> Turn:
        family = psutil.Process(session.process.pid)
        held.extend(child.pid for child in family.children(recursive=True) if "serve" in " ".join(child.cmdline()))
        os.killpg(session.process.pid, signal.SIGKILL)
        return Turn(text="too late")

    session = driver.start(connected, [driver.tool("resume", {}), kill])
    session.finish()
    assert held
    until(lambda: not any(map(is_running, held)), "clew serve stays")
    assert len(residents(connected.store)) == 1
    assert "workspace shop" in driver.run(connected, [driver.tool("resume", {})]).results[0]


@pytest.mark.row(REMOVED)
def test_removal_leaves_every_file_as_it_was(driver: Driver, tmp_path: Path) -> None:
    with scene(tmp_path / "home") as fresh:
        driver.settle(fresh, "http://127.0.0.1:9")
        before = tree(fresh.home)
        fresh.clew("connect", driver.name, "--yes")
        assert tree(fresh.home) != before
        fresh.clew("connect", driver.name, "--remove", "--yes")
        assert tree(fresh.home) == before
