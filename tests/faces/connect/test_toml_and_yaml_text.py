"""One table of TOML and one entry of YAML, put in and taken out as text."""

import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.faces.connect.config_formats import TOML, YAML
from clew.faces.connect.jsonc import Path, Unreadable

SERVER: Path = ("mcp_servers", "clew")
EXTENSION: Path = ("extensions", "clew")
ENTRY = {"command": "C:\\clew\\clew.exe", "args": ["serve"], "env": {"CLEW_HOME": '/a "b"', "x.y": "ü"}}

TOML_LINES = st.sampled_from(
    [
        "# a comment",
        "",
        'model = "gpt" # why',
        "[mcp_servers.other]",
        'command = "x"',
        "[[items]]",
        'text = """\n[mcp_servers.clew]\n"quoted\\""""',
        "raw = '''\ncommand = \"no\"\n'''",
        'list = [\n  "a", # note ]\n  "b",\n]',
        "when = 1979-05-27 07:32:00",
        'table = { a = { b = "}" }, c = [1, 2] }',
        '[projects."/home/me/a.b"]',
        "a.'b c'.d = 1",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TOML_LINES, max_size=8), st.booleans())
def test_a_toml_table_comes_and_goes(lines: list[str], windows: bool) -> None:
    text = "".join(f"{line}\n" for line in lines)
    text = text.replace("\n", "\r\n") if windows else text
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(Unreadable):
            TOML.put(text, SERVER, ENTRY)
        return
    put = TOML.put(text, SERVER, ENTRY)
    assert put.startswith(text)
    assert tomllib.loads(put)["mcp_servers"]["clew"] == ENTRY
    after = tomllib.loads(put)
    after["mcp_servers"].pop("clew")
    assert {key: value for key, value in after.items() if value != {}} == before
    if text.strip():
        assert TOML.drop(put, SERVER) == text


def test_keys_of_a_toml_table_change_in_their_place() -> None:
    text = '[mcp_servers.clew] # mine\ncommand = "old" # keep\nargs = [\n "a",\n]\nenabled = true\n\n[z]\n'
    for key, value in (("command", "new"), ("args", ["serve"]), ("env", {"A": "b"})):
        text = TOML.put(text, (*SERVER, key), value)
    lines = ["[mcp_servers.clew] # mine", 'command = "new" # keep', 'args = ["serve"]', "enabled = true"]
    assert text.splitlines() == [*lines, 'env = { A = "b" }', "", "[z]"]


def test_sub_tables_and_inline_tables_go_too() -> None:
    text = '[mcp_servers.clew]\ncommand = "x"\n[mcp_servers.clew.env]\nA = "b"\n\n[mcp_servers.other]\ncommand = "y"\n'
    assert tomllib.loads(TOML.drop(text, SERVER)) == {"mcp_servers": {"other": {"command": "y"}}}
    inline = '[mcp_servers]\nclew = { command = "x" }\nother = { command = "y" }\n'
    assert TOML.drop(inline, SERVER) == '[mcp_servers]\nother = { command = "y" }\n'
    assert "serve" in TOML.put(inline, SERVER, {"command": "x", "args": ["serve"]})


def test_what_cannot_be_changed_safely_is_refused() -> None:
    with pytest.raises(Unreadable):
        TOML.put('mcp_servers = { other = { command = "y" } }\n', SERVER, ENTRY)


YAML_TEXTS = [
    "",
    "# only a comment\n",
    "GOOSE_MODEL: x\n",
    "GOOSE_MODEL: x",
    "extensions:\n",
    "extensions:  # mine\n",
    "extensions: {}  # none yet\nb: 1\n",
    "extensions: ~\n",
    "extensions: # c\n  dev:\n    enabled: true # x\n    args:\n    - a\n# tail\nz: 1\n",
    "extensions: {dev: {enabled: true}}\n",
    "a: |\n  text\n  more\n\n",
    "extensions:\n    dev:\n        cmd: x",
    "extensions:\r\n  dev:\r\n    cmd: x\r\nb: 1\r\n",
    "b: 1\nextensions:\n  dev:\n    description: >-\n      folded\n      text\n    envs: {}\n",
    "---\nx: &a [1]\nextensions:\n  dev: {cmd: 'it''s'}\n",
]


@pytest.mark.parametrize("text", YAML_TEXTS)
def test_a_yaml_entry_comes_and_goes(text: str) -> None:
    hollows = YAML.hollows(text, EXTENSION)
    put = YAML.put(text, EXTENSION, ENTRY)
    read: Any = yaml.safe_load(put)
    assert read["extensions"].pop("clew") == ENTRY
    before = yaml.safe_load(text) or {}
    assert {key: value or None for key, value in read.items()} == {"extensions": None, **before} | {
        key: value or None for key, value in before.items()
    }
    assert YAML.put(put, EXTENSION, ENTRY) == put
    left = YAML.drop(put, EXTENSION)
    for hollow in hollows:
        left = YAML.refill(left, hollow)
    assert left == text


def test_one_key_of_a_yaml_entry_changes() -> None:
    text = "extensions:\n  clew:\n    cmd: old\n    timeout: 5\n  dev:\n    cmd: x # keep\n"
    changed = YAML.put(text, (*EXTENSION, "cmd"), "/new/clew")
    assert yaml.safe_load(changed)["extensions"] == {"clew": {"cmd": "/new/clew", "timeout": 5}, "dev": {"cmd": "x"}}
    assert "# keep" in changed


@pytest.mark.parametrize("text", ["a: [1", "- 1\n- 2\n", "a: 1\n---\nb: 2\n", "extensions: [a]\n", "\tx: 1\n"])
def test_yaml_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        YAML.put(text, EXTENSION, ENTRY)
