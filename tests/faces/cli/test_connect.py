"""`clew connect` as a person types it: it shows, asks, writes, takes back; and lines to copy for this very Clew."""

import base64
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import clew as clew_package
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


def trusted(file: Path) -> str:
    """What Codex 0.169.0 writes into its configuration when its user trusts every hook of a file."""
    events = json.loads(file.read_text())["hooks"]
    names = [re.sub("(?<!^)([A-Z])", r"_\1", event).lower() for event in events]
    return "".join(f'\n[hooks.state."{file}:{name}:0:0"]\ntrusted_hash = "sha256:0"\n' for name in names)


def checks_of(clew: Shell) -> dict[str, dict[str, str]]:
    return {item["check"]: item for item in clew("doctor", "--json").json["findings"]}


def test_hooks_that_codex_has_not_been_told_to_trust_are_named(clew: Shell, person: Path) -> None:
    hooks, config = person / ".codex" / "hooks.json", person / ".codex" / "config.toml"
    said = clew("connect", "codex", "--yes").out
    assert "7 of 7 hooks" in said and "Trust all" in said
    found = checks_of(clew)
    assert found["codex"]["state"] == "ok" and "Trust all" in found["codex hooks"]["mend"]
    config.write_text(config.read_text() + trusted(hooks))
    assert "trust" not in clew("connect", "codex", "--yes").out
    assert "codex hooks" not in checks_of(clew)


SWITCHED_OFF = [
    ("gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled is false"),
    ("gemini", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["clew-memory-prompt"]}}', "clew-memory-prompt"),
    ("claude", ".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks is set"),
    ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks is false"),
]


@pytest.mark.parametrize(("client", "file", "text", "detail"), SWITCHED_OFF)
def test_hooks_that_a_client_does_not_run_are_named(
    clew: Shell, person: Path, write: Writer, client: str, file: str, text: str, detail: str
) -> None:
    write(person / file, text)
    assert clew("connect", client, "--yes").code == 0
    found = checks_of(clew)[f"{client} hooks"]
    assert detail in found["detail"] and found["state"] == "note"


def test_a_file_that_gemini_itself_refuses_is_left_alone_and_named(clew: Shell, person: Path, write: Writer) -> None:
    text = '{\n  "mcpServers": {},\n}\n'
    write(person / ".gemini" / "settings.json", text)
    ran = clew("connect", "gemini", "--yes")
    assert ran.code == 1 and "a comma before }, which this client refuses" in ran.err
    assert (person / ".gemini" / "settings.json").read_text() == text
    found = checks_of(clew)["gemini"]
    assert found["state"] == "note" and "a comma before }" in found["detail"]


def test_clients_that_ask_before_each_call_are_named_until_they_let_it_through(clew: Shell, person: Path) -> None:
    command = "`clew connect claude --allow`"
    assert command in clew("connect", "claude", "cursor", "--yes").out
    said = clew("connect", "claude", "--allow", "--yes").out
    assert command not in said and '"mcp__clew"' in said
    assert command not in clew("connect", "claude", "--yes").out
    assert clew("connect", "--remove", "--yes").code == 0
    assert homes.tree(person) == {}


PLUGINS = [
    ("claude", ".claude/settings.json", '{"enabledPlugins": {"clew-memory@clew": true}}'),
    ("copilot", ".copilot/settings.json", '{"enabledPlugins": {"clew-memory@clew": true}}'),
    ("codex", ".codex/config.toml", '[plugins."clew-memory@clew"]\nenabled = true\n'),
]


@pytest.mark.parametrize(("client", "file", "text"), PLUGINS)
def test_clew_as_a_plugin_is_known_and_one_way_is_enough(
    clew: Shell, person: Path, write: Writer, client: str, file: str, text: str
) -> None:
    write(person / file, text)
    found = checks_of(clew)[client]
    assert found["state"] == "ok" and "as a plugin" in found["detail"]
    assert clew("connect", client, "--yes").code == 0
    found = checks_of(clew)[client]
    assert found["state"] == "note" and "knows Clew twice" in found["detail"]


def test_an_address_where_nobody_answers_is_named_with_the_way_to_another(clew: Shell, person: Path) -> None:
    said = clew("connect", "claude", "--http", "--yes", env={"CLEW_PORT": "1"}).out
    assert "no Clew answers at http://127.0.0.1:1/mcp" in said and "CLEW_PORT=" in said
    assert "127.0.0.1:1/mcp" in (person / ".claude.json").read_text()


def test_why_hooks_are_not_written_is_said_by_its_cause(clew: Shell, person: Path, tmp_path: Path) -> None:
    assert "hooks are not written" not in clew("connect", "claude", "--no-hooks", "--dry-run").out
    cached = tmp_path / "archive-v0" / "bin"  # as uvx keeps what it runs
    cached.mkdir(parents=True)
    (cached / "python").symlink_to(sys.executable)
    for name in ("clew", "clew-hook"):
        (cached / name).touch()
    packages = os.pathsep.join([str(Path(clew_package.__file__).parents[1]), sysconfig.get_path("purelib")])
    said = subprocess.run(
        [str(cached / "python"), "-m", "clew", "connect", "claude", "--dry-run"],
        env={**clew.environment(), "PYTHONPATH": packages},
        cwd=clew.directory,
        capture_output=True,
        text=True,
    )
    assert "hooks are not written: this Clew runs from the cache of uvx" in said.stdout, said.stderr


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
