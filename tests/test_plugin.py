"""The plugin folder and the packages: made from one source, and valid by the rules of those who read them."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from tools import plugin

import clew
from clew.faces.connect import texts
from clew.faces.hooks.client_events import entries_of
from clew.registry.toolsets import AGENT_TOOLS
from tests import packaging_facts as facts

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / plugin.PLUGIN

MANIFESTS: dict[str, dict[str, Any]] = {
    "server.json": facts.SERVER_JSON,
    ".claude-plugin/marketplace.json": facts.CLAUDE_MARKETPLACE,
    ".agents/plugins/marketplace.json": facts.CODEX_MARKETPLACE,
    ".cursor-plugin/marketplace.json": facts.CURSOR_MARKETPLACE,
    **{
        f"{plugin.PLUGIN}/{name}": schema
        for name, schema in {
            "plugin.json": facts.AGENT_PLUGIN,
            "mcp.json": facts.AGENT_PLUGIN_MCP,
            ".mcp.json": facts.PLAIN_MCP,
            ".claude-plugin/plugin.json": facts.CLAUDE_PLUGIN,
            ".codex-plugin/plugin.json": facts.CODEX_PLUGIN,
            ".cursor-plugin/plugin.json": facts.CURSOR_PLUGIN,
            "hooks/hooks.json": facts.CLAUDE_HOOKS,
            "hooks/codex-hooks.json": facts.CODEX_HOOKS,
            "hooks/cursor-hooks.json": facts.CURSOR_HOOKS,
            "com.github.copilot/hooks/hooks.json": facts.VSCODE_HOOKS,
            "gemini/gemini-extension.json": facts.GEMINI_EXTENSION,
            "gemini/hooks/hooks.json": facts.GEMINI_HOOKS,
        }.items()
    },
}


def errors(value: Any, schema: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(value)]


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_what_its_readers_ask_for(name: str) -> None:
    assert not errors(json.loads((ROOT / name).read_text()), MANIFESTS[name])


@pytest.mark.parametrize("schema", MANIFESTS.values(), ids=MANIFESTS)
def test_the_facts_would_notice(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert errors({}, schema)


def test_every_json_file_of_the_plugin_is_checked() -> None:
    found = {str(file.relative_to(ROOT)) for file in PLUGIN.rglob("*.json")}
    assert found == {name for name in MANIFESTS if name.startswith(plugin.PLUGIN)}


def test_the_folder_is_what_its_source_says() -> None:
    stale = [name for name, text in plugin.files().items() if not _same(ROOT / name, text)]
    assert not stale, f"run `python -m tools.plugin`: {stale}"
    here = {str(file.relative_to(ROOT)) for file in PLUGIN.rglob("*") if file.is_file()}
    assert here - set(plugin.files()) == {f"{plugin.PLUGIN}/README.md"}


def _same(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


def test_one_version_and_one_name_stand_everywhere() -> None:
    for name in (
        "plugin.json",
        ".claude-plugin/plugin.json",
        ".codex-plugin/plugin.json",
        "gemini/gemini-extension.json",
    ):
        manifest = json.loads((PLUGIN / name).read_text())
        assert (manifest["name"], manifest["version"]) == ("clew-memory", clew.__version__)


def test_paths_that_manifests_name_are_there() -> None:
    for name in (".codex-plugin/plugin.json", ".cursor-plugin/plugin.json"):
        for value in json.loads((PLUGIN / name).read_text()).values():
            assert not (isinstance(value, str) and value.startswith("./")) or (PLUGIN / value).exists(), value
    extension = json.loads((PLUGIN / "plugin.json").read_text())["extensions"]["com.openai"]
    assert (PLUGIN / extension["hooks"]).is_file()
    assert not errors(extension["interface"], facts.CODEX_INTERFACE)


HOOK_FILES = {
    "claude": "hooks/hooks.json",
    "codex": "hooks/codex-hooks.json",
    "cursor": "hooks/cursor-hooks.json",
    "vscode": "com.github.copilot/hooks/hooks.json",
    "gemini": "gemini/hooks/hooks.json",
}


@pytest.mark.parametrize("client", HOOK_FILES)
def test_hooks_are_those_of_the_table_and_start_the_launcher(client: str) -> None:
    hooks = json.loads((PLUGIN / HOOK_FILES[client]).read_text())["hooks"]
    assert set(hooks) == {entry.name for entry in entries_of(client)}
    for entry in entries_of(client):
        [item] = hooks[entry.name]
        handler = item["hooks"][0] if "hooks" in item else item
        assert re.fullmatch(rf'"\$\{{\w+\}}/bin/clew-hook" {entry.event} --client {client}', handler["command"])
        assert item.get("matcher") == entry.matcher


def test_the_skill_is_short_and_teaches_every_tool() -> None:
    text = texts.skill()
    assert len(text.splitlines()) < 100
    front = yaml.safe_load(text.split("---")[1])
    assert front["name"] == "clew"
    assert len(front["description"]) <= 1024
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert not [tool for tool in AGENT_TOOLS if f"`{tool}`" not in text]


@pytest.mark.parametrize("name", texts.COMMANDS)
def test_a_slash_command_reads_in_both_formats(name: str) -> None:
    described, prompt = texts.command_parts(name)
    front = yaml.safe_load(texts.command(name).split("---")[1])
    assert front["description"] == described
    assert "$ARGUMENTS" in prompt
    gemini = tomllib.loads((PLUGIN / f"gemini/commands/clew/{name}.toml").read_text())
    assert gemini["description"] == described
    assert gemini["prompt"] == prompt.replace("$ARGUMENTS", "{{args}}")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plugin.bundle(tmp_path_factory.mktemp("bundle"))


def test_the_bundle_describes_itself_and_holds_its_sources(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        names = set(archive.namelist())
    assert not errors(manifest, facts.MCPB)
    assert {manifest["server"]["entry_point"], "pyproject.toml", "src/clew/registry/index.json"} <= names
    assert "packages/clew-memory-model/pyproject.toml" in names, "pyproject.toml says that the model is there"
    assert [tool["name"] for tool in manifest["tools"]] == list(AGENT_TOOLS)
    assert not [name for name in names if "__pycache__" in name or name.startswith(("/", ".."))]
    assert plugin.bundle(tmp_path).read_bytes() == bundle.read_bytes()


@pytest.mark.parametrize("name", ["mcp.json", ".mcp.json", "gemini/gemini-extension.json"])
def test_what_is_installed_without_a_choice_finds_other_words_for_the_same_thing(name: str) -> None:
    servers = json.loads((PLUGIN / name).read_text())["mcpServers"]
    assert servers["clew"]["args"] == ["--from", "clew-memory", "clew", "serve"]
    assert "clew-memory-model>=1,<2" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def test_the_bundle_can_be_opened_and_serves(bundle: Path, tmp_path: Path) -> None:
    """As its host does it, but with this interpreter in the place of `uv run`: the libraries are here already."""
    place = tmp_path / "opened"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(place)
        manifest = json.loads(archive.read("manifest.json"))
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked})
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    more = {"CLEW_HOME": str(tmp_path / "data"), "PYTHONPATH": str(place / "src"), "CLEW_RESIDENT": "off"}
    assert set(manifest["server"]["mcp_config"]["env"]) == {"CLEW_HOME", "CLEW_PLUGIN_ROOT"}
    done = subprocess.run(
        [sys.executable, "-P", str(place / manifest["server"]["entry_point"]), "serve"],
        input=line + "\n",
        env={**kept, **more},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["version"] == manifest["version"], done.stderr


def test_the_reserved_namespace_stands_in_three_places_and_is_the_same() -> None:
    """Whoever publishes puts their own there; RELEASING.md names the places."""
    name = json.loads((ROOT / "server.json").read_text())["name"]
    assert f"mcp-name: {name}" in (ROOT / "README.md").read_text()
    assert f'io.modelcontextprotocol.server.name="{name}"' in (ROOT / "Dockerfile").read_text()
    tracked = subprocess.run(["git", "grep", "-l", name], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert set(tracked) <= {"server.json", "README.md", "Dockerfile", "CONTRIBUTING.md", "RELEASING.md"}


def test_the_compose_file_waits_for_the_database_and_asks_for_its_secrets() -> None:
    found = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert not errors(found, facts.COMPOSE)
    services = found["services"]
    named = {volume.partition(":")[0] for service in services.values() for volume in service["volumes"]}
    assert named == set(found["volumes"]), "every volume is declared"
    assert services["clew"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "pgvector" in services["postgres"]["image"]
    assert "/ready" in " ".join(services["clew"]["healthcheck"]["test"])
    text = (ROOT / "compose.yaml").read_text()
    for secret in ("CLEW_TOKEN", "CLEW_DB_PASSWORD"):
        assert f"${{{secret}:?" in text
        assert not re.search(rf"{secret}: [^$]", text)


def test_the_image_runs_as_nobody_special_and_serves_by_default() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "USER clew" in lines and 'ENTRYPOINT ["clew"]' in lines and 'CMD ["serve"]' in lines
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert copied
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for source in (name for names in copied for name in names):
        assert (ROOT / source).exists() and source in kept, source


def test_the_unit_starts_what_the_command_line_has() -> None:
    unit = (ROOT / "packaging" / "clew.service").read_text()
    assert re.search(r"^ExecStart=%h/\.local/bin/clew serve --http$", unit, re.MULTILINE)
    sections = re.findall(r"^\[(\w+)\]$", unit, re.MULTILINE)
    assert sections == ["Unit", "Service", "Install"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_has_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "clew"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    env = {**os.environ, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    words = ("systemd-analyze", "verify", "--user", "--man=no", str(ROOT / "packaging" / "clew.service"))
    said = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)
    about_us = [line for line in said.stderr.splitlines() if "clew" in line]
    assert not about_us
    if said.returncode:
        pytest.skip(f"systemd cannot look at units here: {said.stderr[:200]}")


@pytest.mark.skipif(os.name == "nt", reason="the POSIX launcher")
class TestLauncher:
    def run(self, tmp_path: Path, *words: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
        env = {"HOME": str(tmp_path), "PATH": path}
        words = ("sh", str(PLUGIN / "bin" / "clew-hook"), *words)
        return subprocess.run(words, input='{"a": 1}', env=env, capture_output=True, text=True, timeout=60)

    def test_without_an_installed_clew_it_says_so_once(self, tmp_path: Path) -> None:
        first = self.run(tmp_path, "session-start", "--client", "claude")
        assert first.returncode == 0
        assert "uv tool install clew-memory" in json.loads(first.stdout)["systemMessage"]
        for event in ("session-start", "prompt"):
            again = self.run(tmp_path, event, "--client", "claude")
            assert (again.returncode, again.stdout, again.stderr) == (0, "", "")

    def test_a_client_that_keeps_the_pipe_open_is_not_waited_for(self, tmp_path: Path) -> None:
        process = subprocess.Popen(
            ["sh", str(PLUGIN / "bin" / "clew-hook"), "session-start", "--client", "claude"],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b'{"a": 1}')
        process.stdin.flush()
        ended = threading.Timer(50, process.kill)
        ended.start()
        said = process.stdout.read()
        ended.cancel()
        assert process.wait(60) == 0 and "clew-memory" in json.loads(said)["systemMessage"]
        process.stdin.close()
        process.stdout.close()

    def test_it_becomes_the_installed_hook(self, tmp_path: Path) -> None:
        hook = tmp_path / ".local" / "bin" / "clew-hook"
        hook.parent.mkdir(parents=True)
        hook.write_text('#!/bin/sh\necho "$@"\ncat\n')
        hook.chmod(0o755)
        ran = self.run(tmp_path, "prompt", "--client", "codex")
        assert ran.stdout == 'prompt --client codex\n{"a": 1}'

    def test_it_never_starts_itself(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, "prompt", path=f"{PLUGIN / 'bin'}:/usr/bin:/bin")
        assert (ran.returncode, ran.stdout) == (0, "")
