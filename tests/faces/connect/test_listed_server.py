"""Servers that a client keeps in a YAML list: an item goes in and out as lines, and nothing else moves."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.listed_server import ListedServer

OURS = ListedServer(Path("config.yaml"), {"name": "clew", "command": "/opt/clew", "args": ["serve"]})
OTHERS = """\
name: mine
mcpServers:
- name: browser # first
  command: npx

# what follows
- name: docs
  command: docs
rules: []
"""


@pytest.mark.parametrize("text", [OTHERS, OTHERS.replace("\n", "\r\n"), "name: mine\nmodels: []", "# mine\n"])
def test_an_item_goes_in_and_out_and_nothing_else_moves(text: str) -> None:
    written = OURS.written(text)
    assert OURS.entry in yaml.safe_load(written)["mcpServers"] and OURS.state(written) == "current"
    assert all(line in written for line in text.split())
    assert OURS.written(written) == written
    assert OURS.names(OURS.taken(written)) == []
    if "mcpServers" in text:
        assert OURS.taken(written) == text


def test_an_older_entry_is_brought_up_to_date_where_it_stands() -> None:
    older = OTHERS.replace("- name: docs\n  command: docs", "- name: memory\n  command: /old/clew\n  args: [serve]")
    assert OURS.state(older) == "stale"
    items = yaml.safe_load(OURS.written(older))["mcpServers"]
    assert [item["command"] for item in items] == ["npx", "/opt/clew"]


@pytest.mark.parametrize(
    "text",
    [
        "mcpServers: [{name: browser, command: npx}]\n",
        "mcpServers: {browser: {command: npx}}\n",
        "mcpServers:\n- name: clew\n  command: other\n",
        "- a\n",
        "a: b: c\n",
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        OURS.written(text)
