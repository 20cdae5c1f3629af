"""Thoughtbox's own variables: what a user of the original has set goes on to work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clew.app import open_clew
from clew.errors import ClewError
from clew.settings import load_settings
from tests.conftest import ROOT
from tests.faces.mcp.process import environment
from tests.ledger.conftest import Thinker


def test_the_data_directory_and_the_project_are_taken(tmp_path: Path) -> None:
    found = load_settings({}, {"THOUGHTBOX_DATA_DIR": str(tmp_path / "box"), "THOUGHTBOX_PROJECT": "acme"}, tmp_path)
    assert (found.home, found.workspace) == (tmp_path / "box", "acme")
    assert found.origins["workspace"] == "THOUGHTBOX_PROJECT"
    ours = load_settings({}, {"CLEW_HOME": "/a", "THOUGHTBOX_DATA_DIR": "/b"}, tmp_path)
    assert ours.home == Path("/a")


def test_the_seeds_default_project_is_no_choice(tmp_path: Path) -> None:
    found = load_settings({}, {"THOUGHTBOX_PROJECT": "_default"}, tmp_path)
    assert found.origins["workspace"] == "default"


def test_a_store_in_memory_is_gone_with_its_server(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    clew = open_clew(load_settings({"home": kept, "workspace": "ws"}, {"THOUGHTBOX_STORAGE": "memory"}, tmp_path))
    try:
        assert Thinker(clew).think("passing")["thoughtNumber"] == 1
        home = clew.settings.home
        assert (home / "clew.db").is_file()
    finally:
        clew.close()
    assert not home.exists()
    assert not kept.exists()


@pytest.mark.parametrize("name", ["THOUGHTBOX_STORAGE", "THOUGHTBOX_TRANSPORT"])
def test_a_value_that_means_nothing_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ClewError, match="unknown"):
        load_settings({}, {name: "carrier pigeon"}, tmp_path)


def test_the_transport_is_taken_where_no_flag_says_otherwise(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "clew", "serve", "--port", "0", "--json"]
    env = environment(tmp_path, THOUGHTBOX_TRANSPORT="http")
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert b'"mcp":"http://127.0.0.1:' in process.stdout.readline()
        process.send_signal(15)
        assert process.wait(60) is not None
