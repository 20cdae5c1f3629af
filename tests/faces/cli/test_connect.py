"""`clew connect`: lines that work for this very Clew."""

import base64
import json
import re
import shlex
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.faces.cli.conftest import Shell


def test_all_clients_are_shown(clew: Shell) -> None:
    ran = clew("connect")
    assert ran.code == 0
    for title in ("Claude Code", "Codex", "Cursor", "VS Code"):
        assert title in ran.out


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_the_line_starts_this_clew(clew: Shell, client: str) -> None:
    answer = clew("connect", client, "--json").json
    words = shlex.split(answer["clients"][0]["lines"][0])
    assert words[words.index("--") + 1 :] == answer["command"]
    assert answer["command"][-1] == "serve"


def test_cursor_gets_a_block_and_a_link_that_agree(clew: Shell) -> None:
    block, link = clew("connect", "cursor", "--json").json["clients"][0]["lines"]
    entry = json.loads(block.partition(": ")[2])["mcpServers"]["clew"]
    config = parse_qs(urlsplit(link.partition("open: ")[2]).query)["config"][0]
    assert json.loads(base64.b64decode(config)) == entry


def test_vscode_gets_one_argument_of_json(clew: Shell) -> None:
    words = shlex.split(clew("connect", "vscode", "--json").json["clients"][0]["lines"][0])
    assert words[:2] == ["code", "--add-mcp"]
    assert json.loads(words[2])["name"] == "clew"


def test_http_lines_name_the_address_and_never_the_token(clew: Shell) -> None:
    ran = clew("connect", "--http", env={"CLEW_PORT": "4711", "CLEW_TOKEN": "very-secret"})
    assert len(re.findall(r"http://127\.0\.0\.1:4711/mcp", ran.out)) >= 4
    assert "very-secret" not in ran.out
    assert "CLEW_TOKEN" in ran.out
