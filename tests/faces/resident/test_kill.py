"""A resident server that is killed loses nothing acknowledged, and its clients go on."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from clew.shim.pipe import UNKNOWN
from tests.faces.resident.shims import Shim, is_running, resident, residents
from tests.waiting import until


@pytest.fixture
def shim(home: Path) -> Iterator[Shim]:
    # Without a model: what it reads in the background may reach into a directory while the test removes it.
    with Shim(home, CLEW_TOOLSET="full", CLEW_WORKSPACE_LOCK="false", CLEW_EMBEDDING_MODEL="none") as found:
        yield found.open()


def note(shim: Shim, id: int, **more: Any) -> None:
    arguments = {"content": f"note {id}", "fmt": "json", **more}
    shim.send("tools/call", {"name": "notes_commit", "arguments": arguments}, id)


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_killed_in_the_middle_of_calls(home: Path, shim: Shim) -> None:
    """Each write is there, or was answered with "outcome unknown"; none is there twice, and the next call works."""
    kept: list[dict[str, Any]] = []
    unknown: list[dict[str, Any]] = []
    id = 100
    for _ in range(4):
        before = resident(home)
        for _ in range(8):
            id += 1
            note(shim, id)
        first = shim.receive()
        os.kill(before, signal.SIGKILL)
        for answer in (first, *(shim.receive() for _ in range(7))):
            (unknown if text_of(answer) == UNKNOWN else kept).append(answer)
        assert shim.call("status")["workspace"] == "probe"
        until(lambda: residents(home) == [resident(home)])
    assert len(kept) + len(unknown) == 32 and len(kept) >= 4
    assert all(answer["result"]["isError"] for answer in unknown)
    stored = [entry["content"] for entry in shim.call("show", doc_kind="notes", limit=100)["entries"]]
    assert len(stored) == len(set(stored))
    assert {f"note {answer['id']}" for answer in kept} <= set(stored)


def test_calls_with_a_request_id_and_reads_are_asked_again(home: Path, shim: Shim) -> None:
    shim.call("status")
    os.kill(resident(home), signal.SIGSTOP)
    for id in (101, 102):
        note(shim, id, request_id=f"once-{id}")
    shim.send("tools/call", {"name": "show", "arguments": {"doc_kind": "notes", "fmt": "json"}}, 103)
    os.kill(resident(home), signal.SIGKILL)
    answers = {answer["id"]: answer for answer in (shim.receive() for _ in range(3))}
    assert sorted(answers) == [101, 102, 103]
    assert not any(answer["result"]["isError"] for answer in answers.values())
    stored = [entry["content"] for entry in shim.call("show", doc_kind="notes")["entries"]]
    assert sorted(stored) == ["note 101", "note 102"]


def test_the_connection_stays_itself(home: Path, shim: Shim) -> None:
    task = shim.call("start", title="Find the leak", steps=["look", "mend"])
    with Shim(home) as other:
        other.open().call("start", title="Something else", steps=["look"])
    shim.call("workspace_use", workspace="elsewhere")
    os.kill(resident(home), signal.SIGKILL)
    assert shim.call("status")["workspace"] == "elsewhere"
    shim.call("workspace_use", workspace="probe")
    closed = shim.call("close", step="s:0", unproven="I only looked")
    assert closed["task"] == task["task"], "a step of the caller's own focus"


def test_a_server_that_cannot_be_started_again_is_replaced_by_one_of_the_shims_own(home: Path, shim: Shim) -> None:
    task = shim.call("start", title="Find the leak", steps=["look", "mend"])
    shim.call("workspace_use", workspace="elsewhere")
    os.kill(resident(home), signal.SIGKILL)
    until(lambda: not residents(home))
    (home / "resident").chmod(0o755)  # others could have written into it, so nothing in it is trusted
    assert shim.call("status")["workspace"] == "elsewhere"
    shim.call("workspace_use", workspace="probe")
    assert shim.call("close", step="s:0", unproven="I only looked")["task"] == task["task"]
    [child] = psutil.Process(shim.process.pid).children()
    assert "--no-resident" in child.cmdline() and residents(home) == []
    assert shim.close() == 0
    assert not child.is_running(), "it ends with the shim"


def test_a_subscriber_still_hears_of_changes(home: Path, shim: Shim) -> None:
    shim.call("status")
    assert "result" in shim.ask("resources/subscribe", uri="thoughtbox://sessions")
    before = resident(home)
    os.kill(before, signal.SIGKILL)
    # One at once, for what may have changed meanwhile, and one for what changes later.
    assert shim.receive()["params"] == {"uri": "thoughtbox://sessions"}
    assert resident(home) != before
    shim.call("status")
    shim.send("tools/call", {"name": "think", "arguments": {"text": "It leaks."}}, 300)
    heard = [shim.receive(), shim.receive()]
    assert {str(message.get("method", message.get("id"))) for message in heard} == {
        "300",
        "notifications/resources/updated",
    }


def test_the_end_of_input_is_still_the_end(home: Path, shim: Shim) -> None:
    os.kill(resident(home), signal.SIGKILL)
    assert shim.close() == 0


def test_a_client_is_told_when_the_whole_data_directory_was_removed(home: Path, shim: Shim) -> None:
    """The server ends with its directory, and the next one, in an empty store, knows what the client had."""
    shim.call("remember", kind="note", text="kept before")
    before = resident(home)
    for path in home.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    until(lambda: not is_running(before))
    shim.send("tools/call", {"name": "resume", "arguments": {"fmt": "json"}}, 900)
    assert "STORE_REPLACED" in text_of(shim.receive())
