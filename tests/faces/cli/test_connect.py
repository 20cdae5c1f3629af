"""`clew connect` as a person types it: it shows, asks, writes, takes back; and lines to copy for this very Clew."""

import base64
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.faces.cli.conftest import Shell, Writer
from tests.faces.connect import homes

OWN = str(Path(sys.executable).parent / "clew")


def test_all_clients_can_be_printed(clew: Shell) -> None:
    ran = clew("connect", "--print")
    assert ran.code == 0
    for title in ("Claude Code", "Claude Desktop", "Codex", "Cursor", "VS Code", "Copilot", "Gemini", "Goose"):
        assert title in ran.out


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_the_line_starts_this_clew(clew: Shell, client: str) -> None:
    answer = clew("connect", client, "--print", "--json").json
    words = shlex.split(answer["clients"][0]["lines"][0])
    assert words[words.index("--") + 1 :] == answer["command"]
    assert answer["command"][-1] == "serve"


def test_cursor_gets_a_link_and_a_block_that_agree(clew: Shell) -> None:
    link, block = clew("connect", "cursor", "--print", "--json").json["clients"][0]["lines"]
    entry = json.loads(block.partition(":\n")[2])["mcpServers"]["clew"]
    config = parse_qs(urlsplit(link.partition("open ")[2]).query)["config"][0]
    assert json.loads(base64.b64decode(config)) == entry


def test_vscode_gets_one_argument_of_json(clew: Shell) -> None:
    words = shlex.split(clew("connect", "vscode", "--print", "--json").json["clients"][0]["lines"][0])
    assert words[:2] == ["code", "--add-mcp"]
    assert json.loads(words[2])["name"] == "clew"


def test_http_lines_name_the_address_and_never_the_token(clew: Shell) -> None:
    ran = clew("connect", "--print", "--http", env={"CLEW_PORT": "4711", "CLEW_TOKEN": "very-secret"})
    assert len(re.findall(r"http://127\.0\.0\.1:4711/mcp", ran.out)) >= 8
    assert "very-secret" not in ran.out
    assert "CLEW_TOKEN" in ran.out


@pytest.mark.parametrize("variable", ["CLEW_TOKEN", "MIND_MEM_TOKEN"])
def test_http_lines_name_the_variable_that_holds_the_token(clew: Shell, variable: str) -> None:
    ran = clew("connect", "--print", "--http", env={variable: "very-secret"})
    assert f'--header "Authorization: Bearer ${variable}"' in ran.out
    assert f"--bearer-token-env-var {variable}" in ran.out
    assert set(re.findall(r"[A-Z_]+_TOKEN", ran.out)) == {variable}


def test_without_a_person_only_yes_writes(clew: Shell, person: Path) -> None:
    homes.make(person)
    before = homes.tree(person)
    for words in ((), ("--dry-run",), ("--dry-run", "--yes")):
        ran = clew("connect", "cursor", "zed", *words)
        assert ran.code == 0
        assert '+    "clew": {' in ran.out
        assert "Nothing was written" in ran.out
    assert homes.tree(person) == before


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_person_is_asked_and_believed(clew: Shell, person: Path) -> None:
    homes.make(person)
    before = homes.tree(person)
    asked = by_hand(clew, "n", "connect", "zed")
    assert "Write 2 files?" in asked and '+    "clew": {' in asked
    assert homes.tree(person) == before
    by_hand(clew, "y", "connect", "zed")
    assert homes.server_of(person, "zed")["args"] == ["serve"]


def by_hand(clew: Shell, answer: str, *words: str) -> str:
    """Run `clew` on a terminal and answer its question; what it printed."""
    import pty

    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=clew.directory,
        env=clew.environment({"NO_COLOR": "1", "TERM": "dumb"}),
    ) as process:
        os.close(slave)
        printed = ""
        while "[y/N]" not in printed:
            printed += os.read(master, 4096).decode()
        os.write(master, f"{answer}\n".encode())
        process.wait(60)
    os.close(master)
    return printed


def test_every_client_found_is_written_and_taken_back(clew: Shell, person: Path) -> None:
    homes.make(person)
    before = homes.tree(person)
    answer = clew("connect", "--yes", "--json").json
    assert answer["written"] is True
    assert answer["clients"] == list(homes.RULES)
    for client, rule in homes.RULES.items():
        entry = homes.server_of(person, client)
        assert rule.check(entry), client
        assert OWN in (entry.get("command"), entry.get("cmd"), (entry.get("command") or [""])[0])
        # The data directory was given by a variable, which a program on a desktop would not have.
        given = entry.get("env") or entry.get("envs") or entry.get("environment")
        assert given == {"CLEW_HOME": str(clew.home)}
    again = clew("connect", "--yes")
    assert "Nothing to change" in again.out
    doctor = clew("doctor", "--json").json
    states = {item["check"]: item for item in doctor["findings"]}
    assert {states[client]["state"] for client in homes.RULES} == {"ok"}
    assert clew("connect", "--remove", "--yes").code == 0
    assert homes.tree(person) == before


def test_taking_out_names_only_the_clients_that_had_it(clew: Shell, person: Path, write: Writer) -> None:
    assert clew("connect", "--remove", "--yes").out == "Nothing to take out: Clew is in none of the clients.\n"
    write(person / ".cursor" / "mcp.json", "{}")
    assert clew("connect", "cursor", "--yes").code == 0
    last = clew("connect", "--remove", "--yes").out.splitlines()[-1]
    assert last.startswith("3 files written: ") or "Cursor." in last
    assert "Zed" not in last and "Claude" not in last


def test_one_broken_file_is_named_and_the_others_are_written(clew: Shell, person: Path, write: Writer) -> None:
    write(person / ".cursor" / "mcp.json", "{broken")
    ran = clew("connect", "cursor", "zed", "--yes")
    assert ran.code == 1
    assert "REFUSED" in ran.out and "line 1" in ran.err
    assert (person / ".cursor" / "mcp.json").read_text() == "{broken"
    assert homes.server_of(person, "zed")


def test_a_client_that_is_not_there_is_named_by_hand(clew: Shell, person: Path) -> None:
    nobody = clew("connect", "--yes", env={"PATH": "/nowhere"})
    assert nobody.code != 0
    assert "clew connect claude" in nobody.err
    unknown = clew("connect", "emacs")
    assert unknown.code == 2
    assert "claude-desktop" in unknown.err
    assert homes.tree(person) == {}


def test_a_client_that_takes_no_address_is_left_out_and_named(clew: Shell, person: Path) -> None:
    homes.make(person)
    ran = clew("connect", "claude-desktop", "zed", "gemini", "--http", "--yes", env={"CLEW_TOKEN": "very-secret"})
    assert ran.code == 0
    assert "Claude Desktop" in ran.err and "Zed" in ran.err
    assert homes.server_of(person, "gemini")["headers"] == {"Authorization": "Bearer ${CLEW_TOKEN}"}
    assert b"very-secret" not in b"".join(data or b"" for data in homes.tree(person).values())


def test_doctor_tells_what_became_of_it(clew: Shell, person: Path) -> None:
    assert clew("connect", "cursor", "codex", "--yes").code == 0
    file = person / ".cursor" / "mcp.json"
    file.write_text(file.read_text().replace(OWN, "/gone/bin/clew"))
    (person / ".agents" / "skills" / "clew" / "SKILL.md").unlink()
    ran = clew("doctor", "--json")
    found = {item["check"]: item for item in ran.json["findings"]}
    assert ran.code == 1
    assert found["cursor"]["state"] == "problem"
    assert "/gone/bin/clew" in found["cursor"]["detail"]
    assert found["cursor"]["mend"] == "clew connect cursor"
    assert found["codex"]["state"] == "note"
    assert "skill" in found["codex"]["detail"]
    assert clew("connect", "cursor", "codex", "--yes").code == 0
    assert clew("doctor", "--json").code == 0
