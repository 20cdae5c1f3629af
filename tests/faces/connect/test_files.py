"""What `clew connect` does to the files of a home: added in each client's words, and taken back to the byte."""

import json
import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.faces.connect.clients import CLIENTS, Client, ClientPlan, hook_start
from clew.faces.connect.config_formats import JSONC
from clew.faces.connect.file_changes import FileChange, apply, connection, removal
from clew.faces.connect.servers import Target, is_cached
from clew.faces.connect.undo_journal import Journal
from clew.faces.connect.user_folders import Places
from clew.faces.hooks.client_events import entries_of
from tests.faces.connect import homes

HOOK = "/opt/clew/bin/clew-hook"
ALL = list(CLIENTS.values())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return homes.make(tmp_path / "person")


def plan_of(home: Path, **env: str) -> ClientPlan:
    return ClientPlan(Places(home, env, "linux"), Target(("/opt/clew/bin/clew",)), HOOK)


def write(home: Path, clients: list[Client] = ALL, plan: ClientPlan | None = None) -> list[FileChange]:
    journal = Journal.open(home / ".clew")
    return _done(apply(connection(clients, plan or plan_of(home), journal), journal))


def take(home: Path, clients: list[Client] = ALL, plan: ClientPlan | None = None) -> list[FileChange]:
    journal = Journal.open(home / ".clew")
    return _done(apply(removal(clients, plan or plan_of(home), journal), journal))


def _done(changes: list[FileChange]) -> list[FileChange]:
    assert not [change.refusal for change in changes if change.refusal]
    return changes


def plain(file: Path) -> Any:
    return json.loads(file.read_text())


def test_every_client_is_found_by_what_it_leaves_behind(home: Path, tmp_path: Path) -> None:
    assert [client.name for client in ALL if client.is_installed(plan_of(home).places)] == list(CLIENTS)
    empty = Places(tmp_path / "nobody", {"PATH": ""}, "linux")
    assert not [client.name for client in ALL if client.is_installed(empty)]


@pytest.mark.parametrize("client", list(CLIENTS))
def test_a_client_reads_its_entry_by_its_own_rules(home: Path, client: str) -> None:
    write(home, [CLIENTS[client]])
    assert homes.RULES[client].check(homes.server_of(home, client))


def test_clients_that_hide_tools_are_asked_to_show_them_at_once(home: Path) -> None:
    write(home, [CLIENTS["claude"], CLIENTS["codex"]])
    assert homes.server_of(home, "claude")["alwaysLoad"] is True
    assert homes.server_of(home, "codex")["required"] is True


def test_all_of_it_comes_and_goes_to_the_byte(home: Path) -> None:
    before = homes.tree(home)
    written = write(home)
    after = homes.tree(home)
    assert len(written) > len(CLIENTS)
    assert not write(home), "a second run changes nothing"
    assert homes.tree(home) == after
    for name, text in homes.FILES.items():
        assert homes.notes(name, text) == homes.notes(name, (after[name] or b"").decode()), name
    take(home)
    assert homes.tree(home) == before


@pytest.mark.parametrize("client", list(CLIENTS))
def test_a_home_without_files_is_empty_again(tmp_path: Path, client: str) -> None:
    write(tmp_path, [CLIENTS[client]])
    assert homes.tree(tmp_path)
    take(tmp_path, [CLIENTS[client]])
    assert homes.tree(tmp_path) == {}


def test_what_the_user_writes_in_between_stays(home: Path) -> None:
    """The former bytes cannot come back then; what is left is what the user would have without us."""
    write(home)
    for name in homes.FILES:
        file = home / name
        text = file.read_bytes().decode()
        if file.suffix in (".toml", ".yaml"):
            file.write_bytes((text + "# added later\n").encode())
        else:
            file.write_bytes(JSONC.put(text.removeprefix("\ufeff"), ("later",), 1).encode())
    take(home)
    left = homes.tree(home)
    for name, text in homes.FILES.items():
        now = (left[name] or b"").decode()
        assert "clew" not in now, (name, now)
        if name.endswith((".toml", ".yaml")):
            assert now == text + "# added later\n"
        elif text:
            assert homes.lenient(now) == {**homes.lenient(text), "later": 1}
        else:
            assert homes.lenient(now) == {"later": 1}


@pytest.mark.parametrize("empty", ["{}", "{ }", "{\n}\n", "// none\n{\n  // yet\n}\n"])
def test_an_empty_object_is_empty_again_though_the_user_wrote_beside_it(home: Path, empty: str) -> None:
    files = [home / ".cursor/hooks.json", home / ".config/opencode/opencode.jsonc", home / ".gemini/settings.json"]
    for file in files:
        file.write_text(empty)
    write(home)
    for file in files:
        file.write_text(file.read_text() + "\n")
    take(home)
    assert [file.read_text() for file in files] == [empty + "\n"] * 3


def test_without_a_record_the_pieces_are_found_by_what_they_are(home: Path) -> None:
    write(home)
    for file in (home / ".clew").rglob("*.*"):
        file.unlink()
    take(home)
    left = homes.tree(home)
    assert not [name for name, data in left.items() if data and b"clew" in data.lower()]
    assert "context_servers" not in homes.lenient((left[".config/zed/settings.json"] or b"").decode())
    assert not [name for name in left if name.endswith("SKILL.md")]


def test_without_a_record_nothing_empty_stays(tmp_path: Path) -> None:
    """The data directory was deleted before Clew was taken out of the clients."""
    write(tmp_path)
    shutil.rmtree(tmp_path / ".clew")
    take(tmp_path)
    left = homes.tree(tmp_path)
    assert [name for name, data in left.items() if data is not None] == [".gemini/settings.json"]
    assert not [name for name in left if Path(name).name in ("clew", "clew-memory", "skills", "commands", "plugins")]


def test_an_older_entry_is_adopted_wherever_it_leads(home: Path) -> None:
    old = {"command": "/old/venv/bin/clew", "args": ["serve", "--toolset", "full"], "env": {"A": "b"}, "disabled": True}
    (home / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": {"memory": old, "z": {"command": "z"}}}, indent=2))
    (home / ".codex/config.toml").write_text(
        '[mcp_servers.clew]\ncommand = "uvx" # old\nargs = ["clew-memory", "serve"]\nstartup_timeout_sec = 30\n'
    )
    write(home)
    servers = plain(home / ".cursor/mcp.json")["mcpServers"]
    assert servers["memory"] == {**old, "command": "/opt/clew/bin/clew", "args": ["serve"]}
    assert list(servers) == ["memory", "z"]
    assert homes.server_of(home, "codex") == {
        "command": "/opt/clew/bin/clew",
        "args": ["serve"],
        "startup_timeout_sec": 30,
        "required": True,
    }
    assert "# old" in (home / ".codex/config.toml").read_text()
    take(home)
    assert plain(home / ".cursor/mcp.json") == {"mcpServers": {"z": {"command": "z"}}}
    assert "clew" not in (home / ".codex/config.toml").read_text()


def test_a_newer_command_replaces_the_old_one_and_goes_back_to_before(home: Path) -> None:
    before = homes.tree(home)
    write(home)
    newer = replace(plan_of(home), target=Target(("/new/clew",)), hook="/new/clew-hook")
    write(home, plan=newer)
    for client in CLIENTS:
        entry = homes.server_of(home, client)
        assert "/new/clew" in (entry.get("command"), entry.get("cmd"), (entry.get("command") or [""])[0])
    assert b"/opt/clew" not in b"".join(data or b"" for data in homes.tree(home).values())
    take(home, plan=newer)
    assert homes.tree(home) == before


def test_from_a_process_to_an_address_and_back(home: Path) -> None:
    before = homes.tree(home)
    write(home)
    address = replace(plan_of(home), target=Target(("/opt/clew/bin/clew",), "http://127.0.0.1:1731/mcp", "CLEW_TOKEN"))
    write(home, [CLIENTS[name] for name in CLIENTS if CLIENTS[name].reaches(address.target)], address)
    for client, key in (("claude", "url"), ("gemini", "httpUrl"), ("windsurf", "serverUrl"), ("goose", "uri")):
        entry = homes.server_of(home, client)
        assert entry[key] == "http://127.0.0.1:1731/mcp"
        assert not {"command", "args", "cmd"} & set(entry)
    assert homes.server_of(home, "codex")["bearer_token_env_var"] == "CLEW_TOKEN"
    take(home)
    assert homes.tree(home) == before


@pytest.mark.parametrize("client", list(CLIENTS))
def test_a_malformed_file_is_refused_untouched(home: Path, client: str) -> None:
    rule = homes.RULES[client]
    broken = b'{"mcpServers": {' if not rule.file.endswith((".toml", ".yaml")) else b"a: [1\nb = [\n"
    (home / rule.file).write_bytes(broken)
    journal = Journal.open(home / ".clew")
    for changes in (
        connection([CLIENTS[client]], plan_of(home), journal),
        removal([CLIENTS[client]], plan_of(home), journal),
    ):
        own = next(change for change in changes if change.file == home / rule.file)
        assert own.action == "refused"
        assert own.refusal
        apply(changes, journal)
        assert (home / rule.file).read_bytes() == broken


ODD = {
    "a list": b"[]",
    "a table that is none": b'{"mcpServers": [1]}',
    "no text": b"\xff\xfe\x00",
    "a stranger of our name": b'{"mcpServers": {"clew": {"command": "npx", "args": ["yarn-thing"]}}}',
}


@pytest.mark.parametrize("data", ODD.values(), ids=ODD)
def test_what_cannot_hold_us_is_refused_untouched(home: Path, data: bytes) -> None:
    file = home / ".cursor/mcp.json"
    file.write_bytes(data)
    journal = Journal.open(home / ".clew")
    changes = connection([CLIENTS["cursor"]], plan_of(home), journal)
    apply(changes, journal)
    assert next(change.refusal for change in changes if change.file == file)
    assert file.read_bytes() == data


def test_a_file_of_somebody_else_is_not_overwritten(home: Path) -> None:
    skill = home / ".agents/skills/clew/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: clew\n---\nA skill about sails.\n")
    changes = connection([CLIENTS["zed"]], plan_of(home), Journal.open(home / ".clew"))
    assert next(change for change in changes if change.file == skill).action == "refused"


def test_a_skill_that_clients_share_stays_until_the_last_leaves(home: Path) -> None:
    skill = home / ".agents/skills/clew/SKILL.md"
    write(home, [CLIENTS["codex"]])
    write(home, [CLIENTS["zed"]])
    take(home, [CLIENTS["codex"]])
    assert skill.is_file()
    take(home, [CLIENTS["zed"]])
    assert not (home / ".agents").exists()


def test_removing_makes_no_file(home: Path) -> None:
    before = homes.tree(home, but=())
    assert not take(home)
    assert homes.tree(home, but=()) == before


def test_links_and_rights_stay(home: Path) -> None:
    file, real = home / ".codex/config.toml", home / "dotfiles/config.toml"
    real.parent.mkdir()
    file.replace(real)
    file.symlink_to(real)
    real.chmod(0o600)
    write(home, [CLIENTS["codex"]])
    assert file.is_symlink()
    assert b"clew" in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    copies = [copy for copy in (home / ".clew/connect").iterdir() if "config.toml" in copy.name]
    assert copies[0].read_text() == homes.FILES[".codex/config.toml"]
    assert stat.S_IMODE(copies[0].stat().st_mode) == 0o600


def test_a_link_that_leads_to_itself_is_named_and_left_alone(home: Path) -> None:
    file = home / ".codex/config.toml"
    file.unlink()
    file.symlink_to(file)
    journal = Journal.open(home / ".clew")
    changes = connection([CLIENTS["codex"]], plan_of(home), journal)
    refused = {change.file.name: change.refusal for change in changes if change.refusal}
    assert refused == {"config.toml": "it is a link that leads to itself"}
    apply(changes, journal)
    assert file.is_symlink()


def test_a_file_that_changed_meanwhile_is_left_alone(home: Path) -> None:
    journal = Journal.open(home / ".clew")
    changes = connection([CLIENTS["claude-desktop"]], plan_of(home), journal)
    changes[0].file.write_text("{}")
    apply(changes, journal)
    assert "changed while" in (changes[0].refusal or "")
    assert changes[0].file.read_text() == "{}"


def test_clients_are_found_where_their_variables_say(tmp_path: Path) -> None:
    names = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG")
    env = {name: str(tmp_path / "moved" / name) for name in names}
    write(tmp_path / "person", plan=plan_of(tmp_path / "person", **env))
    moved = homes.tree(tmp_path / "moved")
    for name in (
        "CLAUDE_CONFIG_DIR/.claude.json",
        "CLAUDE_CONFIG_DIR/settings.json",
        "CODEX_HOME/config.toml",
        "COPILOT_HOME/mcp-config.json",
        "XDG_CONFIG_HOME/zed/settings.json",
        "XDG_CONFIG_HOME/goose/config.yaml",
        "GEMINI_CLI_HOME/.gemini/settings.json",
        "OPENCODE_CONFIG",
    ):
        assert b"clew" in (moved[name] or b""), name


@pytest.mark.parametrize(
    ("system", "folder"), [("darwin", "Library/Application Support"), ("win32", "AppData/Roaming")]
)
def test_other_systems_keep_files_elsewhere(tmp_path: Path, system: str, folder: str) -> None:
    plan = replace(plan_of(tmp_path), places=Places(tmp_path, {}, system))
    write(tmp_path, [CLIENTS["claude-desktop"], CLIENTS["vscode"]], plan)
    assert "clew" in plain(tmp_path / folder / "Claude/claude_desktop_config.json")["mcpServers"]
    assert "clew" in plain(tmp_path / folder / "Code/User/mcp.json")["servers"]


def test_hooks_stand_beside_those_of_others(home: Path) -> None:
    write(home, [CLIENTS["claude"], CLIENTS["codex"], CLIENTS["cursor"]])
    hooks = plain(home / ".claude/settings.json")["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "say done"
    for entry in entries_of("claude"):
        ours = hooks[entry.name][-1]
        assert ours["hooks"][0]["command"] == f"{HOOK} {entry.event} --client claude"
        assert ours.get("matcher") == entry.matcher
    assert set(plain(home / ".codex/hooks.json")) == {"hooks"}  # other keys are refused there
    cursor = plain(home / ".cursor/hooks.json")
    assert cursor["version"] == 1
    assert {entry.name for entry in entries_of("cursor")} == set(cursor["hooks"])


def test_what_a_client_ran_is_kept_before_its_next_call(home: Path) -> None:
    """A hook in the background would come after a `close` that asks for the run."""
    write(home, [CLIENTS["claude"]])
    groups = plain(home / ".claude/settings.json")["hooks"]["PostToolUse"]
    assert groups and not any(hook.get("async") for group in groups for hook in group["hooks"])


def test_older_hooks_are_brought_up_to_date_in_their_place(home: Path) -> None:
    old = {"hooks": [{"type": "command", "command": "/old/clew-hook stop --client claude", "timeout": 99}]}
    mixed = {"hooks": [{"type": "command", "command": "mine"}, {"type": "command", "command": "clew-hook gone"}]}
    settings = home / ".claude/settings.json"
    settings.write_text(json.dumps({"hooks": {"Stop": [old, mixed], "Gone": [old]}}, indent=2))
    write(home, [CLIENTS["claude"]])
    hooks = plain(settings)["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == f"{HOOK} stop --client claude"
    assert hooks["Stop"][1] == {"hooks": [{"type": "command", "command": "mine"}]}
    assert "Gone" not in hooks
    take(home, [CLIENTS["claude"]])
    assert plain(settings)["hooks"] == {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}


def test_geminis_hooks_come_in_an_extension_and_in_milliseconds(home: Path) -> None:
    write(home, [CLIENTS["gemini"]])
    extension = home / ".gemini/extensions/clew-memory"
    hooks = plain(extension / "hooks/hooks.json")["hooks"]
    for entry in entries_of("gemini"):
        assert hooks[entry.name][0]["hooks"][0]["timeout"] == entry.seconds * 1000
    assert plain(extension / "gemini-extension.json")["name"] == "clew-memory"
    assert homes.lenient((home / ".gemini/settings.json").read_text("utf-8"))["hooksConfig"] == {"enabled": True}


def test_hooks_of_clients_with_shapes_of_their_own(home: Path) -> None:
    write(home, [CLIENTS["antigravity"], CLIENTS["windsurf"], CLIENTS["opencode"]])
    named = plain(home / ".gemini/config/plugins/clew-memory/hooks.json")
    start = f"{HOOK} session-start --client antigravity"
    assert named == {"clew": {"PreInvocation": [{"type": "command", "command": start, "timeout": 5}]}}
    windsurf = plain(home / ".codeium/windsurf/hooks.json")["hooks"]
    assert set(windsurf) == {entry.name for entry in entries_of("windsurf")}
    assert windsurf["pre_run_command"] == [{"command": f"{HOOK} pre-tool --client windsurf", "show_output": False}]
    plugin = (home / ".config/opencode/plugins/clew-memory.js").read_text()
    assert f'const HOOK = "{HOOK}";' in plugin
    assert all(f'"{entry.name}"' in plugin for entry in entries_of("opencode"))


def test_a_user_who_turned_hooks_off_is_believed(home: Path) -> None:
    (home / ".gemini/settings.json").write_text('{"hooksConfig": {"enabled": false}}')
    write(home, [CLIENTS["gemini"]])
    assert plain(home / ".gemini/settings.json")["hooksConfig"] == {"enabled": False}


def test_calls_are_let_through_where_a_client_asks_for_each(home: Path) -> None:
    before = homes.tree(home)
    allowing = replace(plan_of(home), allow=True)
    write(home, plan=allowing)
    assert plain(home / ".claude/settings.json")["permissions"]["allow"] == ["Bash(git *)", "mcp__clew"]
    assert homes.server_of(home, "gemini")["trust"] is homes.server_of(home, "qwen")["trust"] is True
    assert homes.server_of(home, "codex")["default_tools_approval_mode"] == "approve"
    assert not write(home), "what was allowed stays"
    take(home, plan=allowing)
    assert homes.tree(home) == before


def test_a_rule_to_ask_that_the_user_wrote_stays(home: Path) -> None:
    file = home / ".gemini/settings.json"
    file.write_text('{"mcpServers": {"clew": {"command": "clew", "args": ["serve"], "trust": false}}}')
    write(home, [CLIENTS["gemini"]], replace(plan_of(home), allow=True))
    assert homes.server_of(home, "gemini")["trust"] is False


def test_a_path_with_a_blank_is_quoted_for_the_shell(tmp_path: Path) -> None:
    plan = replace(plan_of(tmp_path), hook=hook_start("/my tools/clew-hook", {}))
    write(tmp_path, [CLIENTS["codex"]], plan)
    command = plain(tmp_path / ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command == '"/my tools/clew-hook" stop --client codex'


def test_a_difference_hides_the_keys_that_stand_beside(home: Path) -> None:
    (home / ".cursor/mcp.json").write_text('{"mcpServers": {"x": {"env": {"API_KEY": "very-secret-123"}}}}')
    changes = connection([CLIENTS["cursor"]], plan_of(home), Journal.open(home / ".clew"))
    shown = "\n".join(change.diff() for change in changes)
    assert "/opt/clew/bin/clew" in shown
    assert "very-secret-123" not in shown


def test_of_a_file_in_one_line_only_the_change_is_shown(home: Path) -> None:
    state = {"history": ["x" * 100_000], "mcpServers": {}, "last": ["y" * 100_000]}
    (home / ".claude.json").write_text(json.dumps(state))
    changes = connection([CLIENTS["claude"]], plan_of(home), Journal.open(home / ".clew"))
    shown = next(change.diff() for change in changes if change.file.name == ".claude.json")
    assert '"clew": {"type": "stdio"' in shown
    assert len(shown) < 600


def test_a_hook_learns_the_data_directory_that_was_given(tmp_path: Path) -> None:
    start = hook_start("/opt/clew-hook", {"CLEW_HOME": "/my data"})
    assert start == "CLEW_HOME='/my data' /opt/clew-hook"
    write(tmp_path, [CLIENTS["codex"]], replace(plan_of(tmp_path), hook=start))
    command = plain(tmp_path / ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command == "CLEW_HOME='/my data' /opt/clew-hook stop --client codex"


def test_a_copy_that_uvx_keeps_for_a_while_is_not_named() -> None:
    assert is_cached(Path("/home/me/.cache/uv/archive-v0/3kX/bin/clew"))
    assert not is_cached(Path("/home/me/.local/share/uv/tools/clew-memory/bin/clew"))


@pytest.mark.skipif(os.name == "nt", reason="rights of folders differ there")
def test_a_file_that_cannot_be_written_says_so(home: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (home / ".cursor").chmod(0o500)
    journal = Journal.open(home / ".clew")
    changes = apply(connection([CLIENTS["cursor"]], plan_of(home), journal), journal)
    (home / ".cursor").chmod(0o700)
    assert all("cannot be written" in (change.refusal or "") for change in changes)
