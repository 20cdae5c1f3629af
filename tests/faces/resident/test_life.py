"""The resident server is started on demand, is the only one, is private, and ends when nobody needs it."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from pathlib import Path
from typing import Any

import psutil

from clew.shim.start import start_behind
from tests.faces.resident.shims import Shim, address, ending, resident, residents
from tests.waiting import until


def test_its_folder_and_files_are_for_its_user_alone(home: Path) -> None:
    with Shim(home) as shim:
        shim.open()
        folder = home / "resident"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
        assert folder.joinpath("socket").is_socket()


def test_two_data_directories_have_two(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with ending(other), Shim(home) as one, Shim(other) as two:
        one.open().call("notes_commit", content="here")
        two.open()
        assert resident(home) != resident(other)
        assert two.call("show", doc="notes")["entries"] == []


def test_a_path_too_long_for_a_socket_is_served(tmp_path: Path) -> None:
    home = tmp_path / ("long-" * 20) / ("longer-" * 10)
    with ending(home), Shim(home) as shim:
        shim.open().call("notes_commit", content="far away")
        found = address(home)
        assert found is not None and len(found["socket"]) < 104
        assert stat.S_IMODE(Path(found["socket"]).parent.stat().st_mode) == 0o700
        os.kill(resident(home), signal.SIGTERM)
        until(lambda: not Path(found["socket"]).parent.exists())


def test_it_ends_when_its_data_directory_is_deleted(home: Path) -> None:
    with Shim(home) as shim:
        shim.open()
        process = psutil.Process(resident(home))
        assert shim.close() == 0
    shutil.rmtree(home)
    process.wait(60)
    assert not home.exists()


def test_newer_code_takes_over_and_connected_clients_go_on(home: Path, tmp_path: Path) -> None:
    package = tmp_path / "copy" / "clew"
    shutil.copytree(Path(__file__).parents[3] / "src" / "clew", package)
    with Shim(home, PYTHONPATH=str(package.parent)) as old:
        before = old.open().call("notes_commit", content="by the old one")
        first = resident(home)
        os.utime(package / "__init__.py")
        with Shim(home, PYTHONPATH=str(package.parent)) as new:
            new.open().call("notes_commit", content="by the new one")
            second = resident(home)
            assert second != first
            after = old.call("notes_commit", content="by the old one again")
            assert after["entry"]["seq"] > before["entry"]["seq"]
            assert residents(home) == [second]


def test_it_is_turned_off_by_an_option_a_variable_and_a_file(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "clew.toml").write_text("resident = false\n")
    for shim in (
        Shim(home, "--no-resident"),
        Shim(home, CLEW_RESIDENT="off"),
        Shim(home, cwd=project, CLEW_RESIDENT=""),
    ):
        with shim:
            shim.open().call("notes_commit", content="alone")
    assert not (home / "resident").exists()


def test_a_client_waits_for_the_server_that_a_hook_has_just_started(home: Path) -> None:
    assert start_behind(str(home))
    with Shim(home) as shim:
        shim.open()
        assert len(residents(home)) == 1
    assert "another resident server runs" not in (home / "resident" / "log").read_text()


def test_it_is_nobodys_child(home: Path) -> None:
    """Copilot CLI ends everything below it when it exits; the server is for all clients."""
    with Shim(home) as shim:
        shim.open()
        below = psutil.Process(shim.process.pid).children(recursive=True)
        assert resident(home) not in {process.pid for process in below}


def test_one_that_is_stuck_holds_nobody_up(home: Path) -> None:
    """Connected clients and new ones go on in a process of their own, and the connection stays what it was."""
    free: dict[str, Any] = {"CLEW_WORKSPACE_LOCK": "false"}
    with Shim(home, **free) as connected, Shim(home, **free) as new:
        connected.open().call("notes_commit", content="a workspace", workspace="shop")
        connected.call("workspace_use", workspace="shop")
        connected.call("notes_commit", content="before")
        stuck = psutil.Process(resident(home))
        stuck.suspend()
        try:
            new.open().call("notes_commit", content="by the new one", workspace="shop")
            told = str(connected.call("show", doc_kind="notes"))
            assert "before" in told and "by the new one" in told
            connected.call("notes_commit", content="after")
            assert "after" in str(new.call("show", doc_kind="notes", workspace="shop"))
        finally:
            stuck.resume()
        assert residents(home) == [stuck.pid]
