"""How each real client is run headless against a stub of its model, and what it calls its tools."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.programs import PROGRAMS, Program, install
from tests.clients.scene import Played, Scene, Session, Step, start_session
from tests.clients.stub import Stub
from tests.clients.wire import ToolCall

FIRST_REQUEST = "tools in the first request, on a cold start"
TOOLS = "tool calls work"
AT_START = "where the work stands is said at the start, also cold"
AT_PROMPT = "what fits a prompt is said with it, and nothing else"
GUARDED = "a guard refuses an edit, also cold"
PROVED = "a run proves the step for the `close` right after it"
EACH_PROVED = "50 of 50 runs are found by the `close` right after them"
AFTERWARDS = "the next session goes on, and a failure that was ended before is told"
TOGETHER = "two sessions at once keep apart"
KILLED = "after kill -9 its `clew serve` ends and the server stays"
COLD = "cold sessions that are told it and guarded (`python -m tests.clients.cold NAME 20`)"
REMOVED = "`clew connect --remove` leaves every file as it was"
ROWS = (
    FIRST_REQUEST,
    TOOLS,
    AT_START,
    AT_PROMPT,
    GUARDED,
    COLD,
    PROVED,
    EACH_PROVED,
    AFTERWARDS,
    TOGETHER,
    KILLED,
    REMOVED,
)
"""The rows of docs/clients.md, in their order."""
FAST_CLIENTS = ("gemini",)
"""Run by a plain `make test` too: the smallest download of those with hooks."""
FAST_ROWS = frozenset({FIRST_REQUEST, TOOLS, AT_START, GUARDED, PROVED})
"""What of them: one session each, and together what a release must not break."""


@dataclass(frozen=True)
class Driver:
    program: Program
    words: Callable[[Scene, str, str], list[str]]
    """The arguments of a headless session, from the scene, the stub's address and the prompt."""
    env: Callable[[str], dict[str, str]]
    settle: Callable[[Scene, str], None]
    """Writes what the client must know before its first session; called before `clew connect`."""
    tool: Callable[[str, dict[str, Any]], ToolCall]
    """A call of one of Clew's tools."""
    shell: Callable[[str], ToolCall]
    edit: Callable[[Path, str, str], ToolCall]
    """Replaces one line of a file."""
    limits: Mapping[str, str] = field(default_factory=dict)
    """Rows of docs/clients.md that this client cannot fulfil, each with its own limit."""

    @property
    def name(self) -> str:
        return self.program.name

    def connect(self, scene: Scene) -> None:
        self.settle(scene, "http://127.0.0.1:9")
        scene.clew("connect", self.name, "--yes")

    def start(self, scene: Scene, steps: Sequence[Step], prompt: str = "Go on with the work") -> Session:
        script = Played(steps)
        stub = Stub(script).open()
        command = [str(install(self.program)), *self.words(scene, stub.address, prompt)]
        outside = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), stub.address)
        here = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        return start_session(scene, command, {**outside, **here, **self.env(stub.address)}, stub, script)

    def run(self, scene: Scene, steps: Sequence[Step], prompt: str = "Go on with the work") -> Session:
        return self.start(scene, steps, prompt).done()


def _nothing(scene: Scene, address: str) -> None:
    pass


def _merge(file: Path, more: dict[str, Any]) -> None:
    known = json.loads(file.read_text()) if file.exists() else {}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**known, **more}, indent=2))


NO_HOOKS = dict.fromkeys(
    (AT_START, AT_PROMPT, GUARDED, COLD, PROVED, EACH_PROVED, AFTERWARDS), "Clew writes no hooks for it"
)

# Claude Code


def _claude_settle(scene: Scene, address: str) -> None:
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {"hasCompletedOnboarding": True, "projects": {str(scene.project): project}}
    _merge(scene.home / ".claude.json", state)


CLAUDE = Driver(
    PROGRAMS["claude"],
    lambda scene, address, prompt: ["-p", prompt, "--allowedTools", "mcp__clew,Bash,Edit,Write,Read,ToolSearch"],
    lambda address: {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "sk-ant-stub",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    },
    _claude_settle,
    lambda name, given: ToolCall(f"mcp__clew__{name}", given),
    lambda command: ToolCall("Bash", {"command": command, "description": "run"}),
    lambda path, old, new: ToolCall("Write", {"file_path": str(path), "content": f"{new}\n"}),
)


# Codex


_CODEX = """\
model = "gpt-5.1"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
memories = false

[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0

[projects."{project}"]
trust_level = "trusted"
"""


def _codex_settle(scene: Scene, address: str) -> None:
    file = scene.home / ".codex" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(_CODEX.format(project=scene.project))


def _codex_words(scene: Scene, address: str, prompt: str) -> list[str]:
    base = f'model_providers.stub.base_url="{address}/v1"'
    return ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-c", base, prompt]


def _codex_edit(path: Path, old: str, new: str) -> ToolCall:
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"
    # The way of models without a patch tool; Codex takes it apart and tells its hooks of `apply_patch`.
    return ToolCall("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"})


CODEX = Driver(
    PROGRAMS["codex"],
    _codex_words,
    lambda address: {"STUB_KEY": "stub", "CODEX_DISABLE_TELEMETRY": "1"},
    _codex_settle,
    lambda name, given: ToolCall(name, given, namespace="mcp__clew"),
    lambda command: ToolCall("exec_command", {"cmd": command}),
    _codex_edit,
)

# Gemini CLI


def _gemini_settle(scene: Scene, address: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        # After thirty turns it asks the model, without tools, whether it goes around in circles: our script does.
        "model": {"disableLoopDetection": True},
    }
    _merge(scene.home / ".gemini" / "settings.json", settings)


GEMINI = Driver(
    PROGRAMS["gemini"],
    lambda scene, address, prompt: ["--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-pro", "-p", prompt],
    lambda address: {"GEMINI_API_KEY": "stub", "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_CLI_NO_RELAUNCH": "true"},
    _gemini_settle,
    lambda name, given: ToolCall(f"mcp_clew_{name}", given),
    lambda command: ToolCall("run_shell_command", {"command": command}),
    lambda path, old, new: ToolCall("write_file", {"file_path": str(path), "content": f"{new}\n"}),
)

# opencode


def _opencode_env(address: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": {"baseURL": f"{address}/v1", "apiKey": "stub"},
        "models": {"stub": {"name": "stub", "tool_call": True, "limit": {"context": 200000, "output": 8000}}},
    }
    config = {
        "provider": {"stub": provider},
        "model": "stub/stub",
        "small_model": "stub/stub",
        "share": "disabled",
        "autoupdate": False,
        "permission": {"*": "allow"},
    }
    disabled = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        **{f"OPENCODE_DISABLE_{name}": "1" for name in disabled},
        "npm_config_fetch_retries": "0",
    }


OPENCODE = Driver(
    PROGRAMS["opencode"],
    lambda scene, address, prompt: ["run", "-m", "stub/stub", prompt],
    _opencode_env,
    _nothing,
    lambda name, given: ToolCall(f"clew_{name}", given),
    lambda command: ToolCall("bash", {"command": command, "description": "run"}),
    lambda path, old, new: ToolCall("write", {"filePath": str(path), "content": f"{new}\n"}),
)

# Copilot CLI


COPILOT = Driver(
    PROGRAMS["copilot"],
    lambda scene, address, prompt: ["-p", prompt, "--allow-all-tools", "--allow-all-paths", "--no-auto-update"],
    lambda address: {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
        "COPILOT_PROVIDER_API_KEY": "stub",
        "COPILOT_MODEL": "stub",
        "COPILOT_AUTO_UPDATE": "false",
    },
    _nothing,
    lambda name, given: ToolCall(f"clew-{name}", given),
    lambda command: ToolCall("bash", {"command": command, "description": "run"}),
    lambda path, old, new: ToolCall("edit", {"path": str(path), "old_str": old, "new_str": new}),
)

# Qwen Code


def _qwen_settle(scene: Scene, address: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "model": {"skipLoopDetection": True},
    }
    _merge(scene.home / ".qwen" / "settings.json", settings)


QWEN = Driver(
    PROGRAMS["qwen"],
    lambda scene, address, prompt: ["--approval-mode", "yolo", "-p", prompt],
    lambda address: {"OPENAI_API_KEY": "stub", "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_MODEL": "stub"},
    _qwen_settle,
    lambda name, given: ToolCall(f"mcp__clew__{name}", given),
    lambda command: ToolCall("run_shell_command", {"command": command, "is_background": False}),
    lambda path, old, new: ToolCall("write_file", {"file_path": str(path), "content": f"{new}\n"}),
    {FIRST_REQUEST: "it offers tools of servers through its own `tool_search` only", **NO_HOOKS},
)

# Cline


def _cline_words(scene: Scene, address: str, prompt: str) -> list[str]:
    auth = [str(install(PROGRAMS["cline"])), "auth", "-p", "openai-compatible", "-k", "stub", "-m", "stub"]
    subprocess.run([*auth, "-b", f"{address}/v1"], env=scene.environ, check=True, capture_output=True, timeout=30)
    return ["--auto-approve", "true", prompt]


CLINE = Driver(
    PROGRAMS["cline"],
    _cline_words,
    lambda address: {"OPENAI_API_KEY": "stub", "OPENAI_BASE_URL": f"{address}/v1", "CLINE_TELEMETRY_DISABLED": "1"},
    _nothing,
    lambda name, given: ToolCall(f"clew__{name}", given),
    lambda command: ToolCall("run_commands", {"commands": [command]}),
    lambda path, old, new: ToolCall("editor", {"path": str(path), "old_text": old, "new_text": new}),
    NO_HOOKS,
)

# Continue


_CONTINUE = """\
name: stub
version: 1.0.0
schema: v1
models:
  - name: stub
    provider: openai
    model: stub
    apiKey: stub
    apiBase: {address}/v1
    roles: [chat]
    capabilities: [tool_use]
"""


def _continue_words(scene: Scene, address: str, prompt: str) -> list[str]:
    # The file names the model's address, which is another one in each session.
    file = scene.home / ".continue" / "config.yaml"
    file.write_text(re.sub(r"apiBase: \S+", f"apiBase: {address}/v1", file.read_text()))
    return ["--auto", "-p", prompt]


def _continue_settle(scene: Scene, address: str) -> None:
    file = scene.home / ".continue" / "config.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_CONTINUE.format(address=address))


CONTINUE = Driver(
    PROGRAMS["continue"],
    _continue_words,
    lambda address: {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_CLI_AUTO_UPDATED": "1"},
    _continue_settle,
    lambda name, given: ToolCall(name, given),
    lambda command: ToolCall("Bash", {"command": command}),
    lambda path, old, new: ToolCall("Write", {"filepath": str(path), "content": f"{new}\n"}),
    NO_HOOKS,
)

DRIVERS = {driver.name: driver for driver in (CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT, QWEN, CLINE, CONTINUE)}
