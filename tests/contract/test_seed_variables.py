"""Environment variables, ports and names of the seeds work as they say; where a default was unsafe, ours differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.registry.toolsets import toolset_named
from clew.settings import load_settings

VARIABLES: tuple[tuple[str, str, str, Any], ...] = (
    ("BRANCHMIND_AGENT_ID", "bob", "agent_id", "bob"),
    ("BRANCHMIND_DX", "1", "dx", True),
    ("BRANCHMIND_PROJECT_GUARD", "mine", "project_guard", "mine"),
    ("BRANCHMIND_TOOLSET", "core", "toolset", "core"),
    ("BRANCHMIND_WORKSPACE", "acme/api", "workspace", "acme/api"),
    ("BRANCHMIND_WORKSPACE_ALLOWLIST", "acme/api,acme/web", "workspace_allowlist", ("acme/api", "acme/web")),
    ("BRANCHMIND_WORKSPACE_LOCK", "true", "workspace_lock", True),
    ("MIND_MEM_TOKEN", "secret", "token", "secret"),
    ("THOUGHTBOX_OBSERVATORY_CORS", "https://a.example", "observatory_cors", ("https://a.example",)),
    ("THOUGHTBOX_OBSERVATORY_ENABLED", "true", "observatory_enabled", True),
    ("THOUGHTBOX_OBSERVATORY_HTTP_API", "true", "observatory_http_api", True),
    ("THOUGHTBOX_OBSERVATORY_MAX_CONNECTIONS", "7", "observatory_max_connections", 7),
    ("THOUGHTBOX_OBSERVATORY_PORT", "1873", "observatory_port", 1873),
    ("THOUGHTBOX_PROJECT", "proj", "workspace", "proj"),
    ("THOUGHTBOX_STORAGE", "memory", "storage", "memory"),
    ("THOUGHTBOX_TRANSPORT", "http", "transport", "http"),
    ("PORT", "4000", "port", 4000),
    ("HOST", "127.0.0.2", "host", "127.0.0.2"),
)


@pytest.mark.parametrize(("variable", "text", "name", "value"), VARIABLES, ids=[item[0] for item in VARIABLES])
def test_a_variable_of_a_seed_sets_what_the_seed_says(
    tmp_path: Path, variable: str, text: str, name: str, value: Any
) -> None:
    settings = load_settings({"home": tmp_path}, {variable: text}, tmp_path)
    assert getattr(settings, name) == value
    assert settings.origins[name] == variable


def test_directories_of_the_seeds_are_found(tmp_path: Path) -> None:
    assert load_settings({}, {"THOUGHTBOX_DATA_DIR": str(tmp_path / "box")}, tmp_path).home == tmp_path / "box"
    chosen = load_settings({"home": tmp_path}, {"MIND_MEM_WORKSPACE": str(tmp_path)}, tmp_path)
    assert chosen.memory_dir == tmp_path


def test_a_name_of_our_own_wins(tmp_path: Path) -> None:
    both = {"BRANCHMIND_WORKSPACE": "theirs", "CLEW_WORKSPACE": "ours"}
    assert load_settings({"home": tmp_path}, both, tmp_path).workspace == "ours"


def test_defaults_are_those_of_the_seeds_but_for_the_unsafe_ones(tmp_path: Path) -> None:
    settings = load_settings({"home": tmp_path}, {}, tmp_path)
    assert (settings.port, settings.observatory_port, settings.observatory_max_connections) == (1731, 1729, 100)
    assert (settings.observatory_enabled, settings.observatory_http_api) == (False, False)
    # The seed listens on all interfaces, lets every origin in and speaks HTTP to whoever started it.
    assert (settings.host, settings.observatory_cors, settings.transport) == ("127.0.0.1", (), "stdio")
    assert load_settings({"home": tmp_path, "toolset": "mind-mem"}, {}, tmp_path).port == 8765


def test_servers_are_called_as_their_clients_expect() -> None:
    names = {name: toolset_named(name).server for name in ("branchmind", "thoughtbox", "mind-mem", "agent")}
    assert names == {
        "branchmind": "branchmind-rust-mcp",
        "thoughtbox": "thoughtbox-server",
        "mind-mem": "mind-mem",
        "agent": "clew",
    }
