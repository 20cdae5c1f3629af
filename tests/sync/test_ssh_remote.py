"""A folder of another machine, over ssh; and what a remote may not be, whoever names it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.records.erase import Erase, erase_for_good
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.registry.credentials import Principal
from clew.sync.bundle_format import unpack
from tests.conftest import TickingClock
from tests.sync.stores import Store, stores

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="what stands for ssh is a shell script")
REMOTE = "ssh:mira@desk:~/my memory"
SSH = """#!/bin/sh
# Stands for ssh: does what it is told in the home directory of the other machine, and says what it was asked.
echo "$*" >> "$DESK/asked"
while [ "$1" != "--" ]; do shift; done
[ "$2" = mira@desk ] || { echo "ssh: Could not resolve hostname $2" >&2; exit 255; }
cd "$DESK" && exec sh -c "$3"
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place, programs = tmp_path / "desk", tmp_path / "bin"
    place.mkdir()
    programs.mkdir()
    (programs / "ssh").write_text(SSH)
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("DESK", str(place))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return place


@pytest.fixture
def three(database_flags: dict[str, Any], tmp_path: Path, clock: TickingClock) -> Iterator[list[Store]]:
    with stores(3, database_flags, tmp_path / "stores", clock) as opened:
        yield opened


def files(desk: Path) -> list[str]:
    return sorted(str(path.relative_to(desk)) for path in desk.rglob("*") if path.is_file() and path.name != "asked")


def test_stores_meet_in_a_folder_of_another_machine(three: list[Store], desk: Path) -> None:
    for number, store in enumerate(three):
        store.remember(f"Decision of store {number}")
    for _ in range(2):
        results = [store.exchange(REMOTE) for store in three]
        assert [result["problems"] for result in results] == [[], [], []]
    assert three[0].exchange(REMOTE)["digest"] == results[1]["digest"] == results[2]["digest"]
    assert len(three[0].statements()) == 3
    held = files(desk)
    assert len(held) == 3 and all(name.startswith("my memory/") and name.endswith(".clew") for name in held)


def test_a_second_exchange_sends_and_fetches_no_file(three: list[Store], desk: Path) -> None:
    three[0].remember("Retry with jitter")
    three[0].exchange(REMOTE)
    before = files(desk)
    (desk / "asked").unlink()
    assert three[0].exchange(REMOTE)["sent"] == 0
    asked = (desk / "asked").read_text()
    assert "find" in asked and "tar" not in asked
    assert files(desk) == before


def test_what_was_erased_leaves_the_other_machine(three: list[Store], desk: Path) -> None:
    one = three[0]
    id = one.remember("The launch code is 4711")
    one.exchange(REMOTE)
    connection = Connection(toolset="full", local=True, person="@ines")
    ctx = Context(one.clew.dispatcher, connection, one.clew.settings.workspace, "@ines")
    erase_for_good(ctx, Erase(id=id, dry_run=False))
    one.exchange(REMOTE)
    held = [desk / name for name in files(desk)]
    assert held and all("4711" not in str(unpack(path.read_bytes()).changes) for path in held)


def test_a_host_that_does_not_answer_is_said_in_sshs_words(three: list[Store], desk: Path) -> None:
    error = three[0].error("sync", remote="ssh:nobody:clew")
    assert error["code"] == "IO_ERROR" and "Could not resolve hostname nobody" in error["message"]
    assert "BatchMode=yes" in (desk / "asked").read_text()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_name_with_tricks_is_no_file(three: list[Store], desk: Path, tmp_path: Path) -> None:
    """What another machine calls its files is not believed."""
    place = desk / "my memory"
    (place / "$(touch x)").mkdir(parents=True)
    for name in ("$(touch x)/1-1-a.clew", "-rf.clew", "a b.clew"):
        (place / name).write_text("no bundle")
    three[0].remember("Retry with jitter")
    assert three[0].exchange(REMOTE)["problems"] == []
    assert not (place / "x").exists() and (place / "-rf.clew").exists()


OPTIONS = [
    "git:--upload-pack=touch {mark}; false",
    "git:-u touch {mark}",
    "git:ext::sh -c touch% {mark}",
    "ssh:-oProxyCommand=touch {mark}:clew",
    "ssh:-oProxyCommand=touch${{IFS}}{mark}:clew",
    "ssh:mira@desk;touch {mark}:clew",
    "ssh:mira@desk:$(touch {mark})",
    "ssh:mira@desk:clew; touch {mark}",
    "ssh:mira@desk:clew\ntouch {mark}",
]


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("address", OPTIONS)
def test_no_address_runs_a_command(three: list[Store], desk: Path, tmp_path: Path, address: str) -> None:
    mark = tmp_path / "mark"
    project = three[0].clew.settings.project_root
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    three[0].remember("Retry with jitter")
    three[0].answer("sync", remote=address.format(mark=mark))
    assert not mark.exists()


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("address", ["git:https://evil.example.com/x", "git:/tmp/x", "git:evil:x", REMOTE])
def test_only_somebody_at_the_shell_names_an_address(three: list[Store], desk: Path, address: str) -> None:
    """What an agent may read it must not send to where it says, least of all from a server."""
    store = three[0]
    subprocess.run(["git", "init", "-q", str(store.clew.settings.project_root)], check=True)
    store.remember("Retry with jitter")
    for session in (Connection(toolset="agent"), Connection(toolset="full", principal=Principal("ci"))):
        store.person = session
        error = store.error("sync", remote=address)
        assert (error["code"], error["details"]["rule"]) == ("NOT_ALLOWED", "remote")
    assert files(desk) == []
