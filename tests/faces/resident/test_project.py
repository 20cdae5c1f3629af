"""A client that starts plugins in their own folder still gets the memory of its project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.settings import derived_workspace, project_root
from tests.faces.resident.shims import OPENING, Shim

TURN = "x-codex-turn-metadata"
"""What Codex says of each call."""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The folder of an installed plugin."""
    folder = tmp_path / "plugins" / "cache" / "clew" / "clew-memory" / "0.1.0"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project, asked for from one of its folders."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    return tmp_path / "shop"


def started(home: Path, folder: Path, *words: str, **more: str) -> Shim:
    return Shim(home, *words, cwd=folder, CLEW_WORKSPACE="", **more)


def workspace(shim: Shim, **meta: Any) -> str:
    answer = shim.ask("tools/call", name="status", arguments={"fmt": "json"}, _meta=meta)
    found: str = answer["result"]["structuredContent"]["result"]["workspace"]
    return found


@pytest.mark.parametrize("words", [(), ("--no-resident",)])
@pytest.mark.parametrize("variable", ["PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "CLEW_PLUGIN_ROOT"])
def test_a_server_started_in_a_plugin_goes_where_its_client_runs(
    home: Path, plugin: Path, words: tuple[str, ...], variable: str
) -> None:
    with started(home, plugin, *words, **{variable: str(plugin)}) as shim:
        assert workspace(shim.open()) == derived_workspace(project_root(Path.cwd()))


def test_the_project_that_codex_names_counts_and_the_conversation_goes_on(home: Path, plugin: Path, shop: Path) -> None:
    with started(home, plugin, PLUGIN_ROOT=str(plugin)) as shim:
        before = workspace(shim.open())
        named = {TURN: {"session_id": "s-1", "workspaces": {str(shop): {"has_changes": False}}}}
        assert workspace(shim, **named) == "shop" != before
        shim.ask("tools/call", name="notes_commit", arguments={"content": "in the shop"}, _meta=named)
    with started(home, shop / "src") as shim:
        assert "in the shop" in str(shim.open().call("show", doc_kind="notes"))


def test_the_root_that_a_client_names_counts(home: Path, plugin: Path, shop: Path) -> None:
    with started(home, plugin, PLUGIN_ROOT=str(plugin)) as shim:
        shim.ask("initialize", **{**OPENING, "capabilities": {"roots": {}}})
        shim.send("notifications/initialized")
        asked = shim.receive()
        assert asked["method"] == "roots/list"
        shim.reply(asked["id"], {"roots": [{"uri": (shop / "src").as_uri()}]})
        assert workspace(shim) == "shop"


def test_a_server_started_in_a_project_stays_there(home: Path, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with started(home, shop, PLUGIN_ROOT=str(tmp_path / "other")) as shim:
        assert workspace(shim.open(), **{TURN: {"workspaces": {str(tmp_path / "other"): {}}}}) == "shop"


def test_metadata_that_is_not_understood_changes_nothing(home: Path, plugin: Path) -> None:
    with started(home, plugin, PLUGIN_ROOT=str(plugin)) as shim:
        before = workspace(shim.open())
        workspaces: list[Any] = [[], {"/nowhere/at/all": {}}, {"": 1}]
        odd: list[Any] = [None, [], "x", *({"workspaces": it} for it in workspaces)]
        assert {workspace(shim, **{TURN: it}) for it in odd} == {before}
