"""Capture: what people write becomes signals, once, without secrets and without echoes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.memory.signals import in_log, in_talk, spoken, tags_of
from clew.secrets import screened
from tests.memory.conftest import Memory

LOG = """# Monday
- We decided to keep PostgreSQL for billing
- Let's go with Caddy for the proxy
- Someday a dark theme
- D-20260101-001 says: from now on we use Rust
- The weather was fine
- TODO: rotate the certificates
- @ada joined from https://github.com/acme/api
"""


def test_a_log_gives_typed_signals_with_their_lines() -> None:
    found = [(notice.line, notice.kind, notice.confidence) for notice in in_log(LOG)]
    assert found == [
        (2, "decision", "high"),
        (3, "decision", "medium"),
        (4, "task", "low"),
        (7, "task", "medium"),
        (8, "entity", "low"),
    ]


def test_a_conversation_gives_corrections_conventions_and_insights() -> None:
    said = ("never use tabs here please", "our convention is snake_case", "the root cause was a stale lock", "ok")
    talk = "\n".join([*said, "hello there friend"])
    assert [(notice.kind, notice.confidence) for notice in in_talk(talk)] == [
        ("correction", "high"),
        ("convention", "high"),
        ("insight", "high"),
    ]


def test_tool_results_in_a_transcript_are_not_speech() -> None:
    entries = [
        {"type": "user", "message": {"role": "user", "content": "always use the staging bucket"}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "never use the old bucket"}]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Understood."}]}},
        {"type": "system", "content": "never do this"},
    ]
    assert (
        spoken("\n".join(map(json.dumps, [*entries, 7])) + "\nnot json") == "always use the staging bucket\nUnderstood."
    )


def test_tags_need_whole_words() -> None:
    assert tags_of("we decided") == []
    assert tags_of("the CI deploys the API") == ["api", "deployment"]


def test_captured_lines_wait_once_and_can_be_promoted(memory: Memory) -> None:
    first = memory("capture", text=LOG, source="standup.md")
    assert first["captured"] == 5
    assert memory("capture", text=LOG, source="standup.md")["skipped"] == {"known": 5}
    signal = first["signals"][0]["signal_id"]
    assert "Source: standup.md:2" in memory.read("intelligence/SIGNALS.md")
    promoted = memory("promote_signal", signal_id=signal)
    assert memory("approve_apply", proposal_id=promoted["proposal_id"], dry_run=False)["success"]
    assert "We decided to keep PostgreSQL for billing" in memory.read("decisions/DECISIONS.md")
    assert memory.error("promote_signal", signal_id=signal)["code"] == "CONFLICT"
    memory.agree()


def test_echoes_and_rejected_values_are_dropped(memory: Memory) -> None:
    memory.decide("All uploads from customers are scanned with ClamAV and kept for ninety days")
    echo = "As noted we will keep: all uploads from customers are scanned with ClamAV and kept for ninety days"
    assert memory("capture", text=echo.removeprefix("As noted we will keep: "), format="talk")["captured"] == 0
    assert memory("capture", text="we will scan: customers uploads are scanned with ClamAV, kept ninety days")[
        "skipped"
    ]
    proposed = memory.propose("We will use MongoDB for analytics")
    memory("reject_proposal", proposal_id=proposed["proposal_id"], reason="No")
    assert memory("capture", text="we will use mongodb for the analytics")["captured"] == 0


def test_the_daily_logs_of_the_workspace_are_read(memory: Memory) -> None:
    memory.edit("memory/2023-11-14.md", "- we agreed on trunk based development\n")
    memory.edit("memory/2023-11-10.md", "- we agreed on code review in pairs\n")
    assert memory("capture")["captured"] == 1
    assert memory("capture", days=7)["captured"] == 1


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a1B2" * 9,
        "password: hunter2!x",
        "postgres://app:s3cr3tpw@db/x",
        "Bearer abcdefgh12345678",
        "api_key = 9f8e7d6c5b4a",
        "kJ8dfG3hT5nMq7WzXc9vBn2LpQ4rS6tY",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_of_many_shapes_are_masked(secret: str) -> None:
    masked, count = screened(f"we decided to use {secret} here")
    assert count == 1
    for part in secret.replace("password: ", "").replace("api_key = ", "").removeprefix("Bearer ").split("\n"):
        assert part not in masked or part == secret.split("//")[0]


@pytest.mark.parametrize(
    "text",
    [
        "the token is stored in Redis",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed it",
        "see src/clew/memory/some_rather_long_module_name.py",
        "use internationalization-and-localization-guidelines",
        "id 123e4567-e89b-12d3-a456-426614174000",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert screened(text) == (text, 0)


def test_the_command_and_the_hook_capture(memory: Memory, tmp_path: Path, engine: str) -> None:
    if engine != "sqlite":
        pytest.skip("the command is the same on either engine")
    transcript = tmp_path / "session.jsonl"
    entry = {"type": "user", "message": {"role": "user", "content": "never use the old queue for billing"}}
    transcript.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    (tmp_path / "notes.md").write_text("we decided to drop Windows builds\n", encoding="utf-8")
    environ = {
        **os.environ,
        "CLEW_HOME": str(tmp_path / "home"),
        "CLEW_MEMORY_DIR": str(memory.root),
        "CLEW_WORKSPACE": "ws",
    }
    command = [sys.executable, "-m", "clew", "capture"]
    done = subprocess.run([*command, "notes.md"], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    hook = subprocess.run(
        [*command, "--hook"],
        env=environ,
        cwd=tmp_path,
        input=json.dumps({"transcript_path": str(transcript)}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (hook.returncode, hook.stdout) == (0, "")
    text = memory.read("intelligence/SIGNALS.md")
    assert "drop Windows builds" in text
    assert "Type: auto-capture-correction" in text
