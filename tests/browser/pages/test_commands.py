"""Every command that the page shows does what it says, in whatever directory it is pasted."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from clew.app import open_clew
from clew.settings import load_settings
from tests.browser.pages.conftest import Reader
from tests.conftest import Caller
from tests.faces.web.server import Server

COPIED = "window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text) }"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Caller]]:
    """A store of its own in which nothing has happened, and an agent of it."""
    home = tmp_path_factory.mktemp("commands") / "a home"
    server = Server(home, CLEW_EMBEDDING_MODEL="none")
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "embedding_model": "none"}, {}, home))
    yield server, Caller(clew)
    clew.close()
    server.stop()


def shown(page: Reader, place: str, part: str) -> list[str]:
    """The commands of a part, copied by pressing each of their buttons."""
    page.open(place)
    page.find(f"{part} .command button")
    page.settled()
    page.js(COPIED)
    for number in range(len(page.all(f"{part} .command"))):
        page.js(
            "document.querySelectorAll(arguments[0])[arguments[1]].id = 'wanted'", f"{part} .command button", number
        )
        page.js("document.querySelector('#wanted').scrollIntoView({block: 'center'})")
        page.press_on("#wanted")
        page.until("window.copied.length === arguments[0]", number + 1)
        page.js("document.querySelector('#wanted').removeAttribute('id')")
    found: list[str] = page.js("return window.copied")
    return found


def decoded(line: str) -> str:
    """What the link of a client that takes links holds."""
    found = re.search(r"config=([\w+/=]+)", line)
    return b64decode(found[1]).decode() if found else ""


def run(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """As in another terminal: elsewhere, with nothing of this server in its environment."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    env = {**clean, "HOME": str(directory), "CLEW_EMBEDDING_MODEL": "none"}
    return subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, cwd=directory, env=env, timeout=120
    )


def test_copied_commands_reach_this_store_from_any_directory(
    driver: Any, empty: tuple[Server, Caller], tmp_path: Path
) -> None:
    server, agent = empty
    page = Reader(driver, server.address)
    connect, *_ = shown(page, "ws/home", "#first-run")
    assert f"{server.address}/mcp" in connect, "the agent meets the server that is looked at"
    task = agent("start", title="The first task", steps=["look; test: ls"])["task"]
    page.open(f"ws/now/board/{task}")
    page.says("#next h2", "look")
    page.settled()
    page.press_on("#next summary")
    proving = page.text("#next .command code")
    done = run(proving, tmp_path)
    assert done.returncode == 0, done.stderr
    assert agent("tasks_proofs", task=task)["evidence"], "in this store and this workspace"
    assert not (tmp_path / ".clew").exists(), "and in no other"
    page.leave()


def test_the_connect_lines_name_this_address_and_jobs_their_runner(
    driver: Any, empty: tuple[Server, Caller], tmp_path: Path
) -> None:
    server, agent = empty
    page = Reader(driver, server.address)
    *lines, everything = shown(page, "ws/settings", "#connect-card")
    links = page.each('#connect-card [data-client="Cursor"] a', "e.href")
    assert f"{server.address}/mcp" in decoded(links[0]), "a link where the client takes one"
    assert len(lines) > 2 and all(f"{server.address}/mcp" in line + decoded(line) for line in lines), lines
    assert str(server.home) in shlex.split(everything), everything
    agent("tasks_jobs_create", title="Sweep", prompt="Sweep the pier")
    (runner, *_) = shown(page, "ws/now/job", "main")
    assert {str(server.home), "ws", "runner"} <= set(shlex.split(runner)), runner
    backup, export = shown(page, "ws/settings", "#export-card")
    done = run(backup, tmp_path)
    assert done.returncode == 0 and (tmp_path / "clew-backup.db").exists(), done.stderr
    done = run(export, tmp_path)
    assert done.returncode == 0 and (tmp_path / "memory.tar.gz").exists(), done.stderr
    page.leave()


def test_the_command_of_the_inbox_proves_the_step_it_stands_at(
    driver: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Claimed with a command, claimed for tests that the step names, and closed without a word of how."""
    project = tmp_path_factory.mktemp("project")
    (project / "hull.py").write_text("tight = True\n")
    (project / "check.py").write_text("import hull\nassert hull.tight\nprint('1 passed')\n")
    server = Server(tmp_path_factory.mktemp("proofs") / "home", directory=project, CLEW_EMBEDDING_MODEL="none")
    flags = {"home": server.home, "workspace": "ws", "embedding_model": "none"}
    clew = open_clew(load_settings(flags, {}, project))
    agent, page = Caller(clew), Reader(driver, server.address)
    try:
        check = f"{sys.executable} check.py"
        steps = [
            {"title": "Caulk", "success_criteria": ["tight"]},
            {"title": "Tar", "success_criteria": ["black"], "tests": [f"`{check}`"]},
            {"title": "Float", "success_criteria": ["it floats"]},
        ]
        task = agent("tasks_macro_start", plan_title="Hull", task_title="Make it tight", steps=steps)["task_id"]
        agent("close", task=task, step="s:0", proof={"command": check, "exit_code": 0})
        agent("close", task=task, step="s:1", unproven="No time")
        agent("close", task=task, step="s:2", unproven="It looks so")
        waiting = [one for one in agent("inbox_list")["items"] if one["kind"] == "proof"]
        assert [one["facts"]["path"] for one in waiting] == ["s:0", "s:1", "s:2"]
        for one in waiting:
            command = copied_at(page, one["id"], check)
            done = run(command, tmp_path_factory.mktemp("elsewhere"))
            assert done.returncode == 0, done.stderr
            left = [item["id"] for item in agent("inbox_list")["items"] if item["kind"] == "proof"]
            assert one["id"] not in left, f"{one['title']} is proven by {command}"
            page.until("document.querySelector(arguments[0])?.matches('.gone')", f'[data-matter="{one["id"]}"]')
    finally:
        page.leave()
        clew.close()
        server.stop()


def copied_at(page: Reader, id: str, command: str) -> str:
    """What `a` copies at a matter; a step of which nobody said how it is proven asks for the command."""
    page.open(f"ws/inbox/{id}")
    page.until("document.querySelector('.matter[aria-selected=true]')?.dataset.matter === arguments[0]", id)
    page.settled()
    page.until("document.querySelector('#ways button') && !document.querySelector('#ways [aria-disabled]')")
    page.js(COPIED)
    page.keys("a")
    page.until("window.copied.length || document.querySelector('#ask-command')")
    if page.all("#ask-command"):
        page.keys(*command)
        page.chord(Keys.CONTROL, Keys.ENTER)
    return str(page.until("window.copied[0]"))
