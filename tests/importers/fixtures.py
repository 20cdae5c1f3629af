"""For each source: a place with its documented format, one that is damaged, and what must come out."""

from __future__ import annotations

import io
import json
import re
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw

from clew.importers.port import Roots

Lay = Callable[[Roots], None]
PRIVATE = "the staging password lives in the blue folder"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@dataclass(frozen=True)
class Fixture:
    source: str
    lay: Lay
    """Lays a good place and, in a file or line beside it, a damaged one."""
    expected: frozenset[tuple[str, str]]
    """(kind, text) of candidates that must be among those found."""
    places: frozenset[str]
    """How their provenance begins."""
    malformed: str
    """What the report of the damaged place contains: file, and line where there are lines."""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _instructions(roots: Roots) -> None:
    write(
        roots.project,
        "CLAUDE.md",
        "# Relay\n\nA message relay. Never log a message body.\n\n## Testing\n\n"
        "- Run `pytest -q` before every commit,\n  also for docs\n- Short\n"
        f"<private>- {PRIVATE}</private>\n- The token is {SECRET} for now\n"
        "```\n- not an item of a list\n```\n@docs/style.md\n@missing.md\n",
    )
    write(roots.project, "docs/style.md", "- Name functions after what they return\n@../CLAUDE.md\n")
    write(
        roots.project,
        ".cursor/rules/api.mdc",
        "---\nglobs: src/api/**\n---\n- Handlers validate before they write\n",
    )
    (roots.project / "AGENTS.md").write_bytes(b"- fine\n\xff\xfe broken\n")


def _decision_records(roots: Roots) -> None:
    write(
        roots.project,
        "docs/adr/0001-use-postgresql.md",
        "# 1. Use PostgreSQL for the ledger\n\nStatus: Accepted\n\n## Context\n\nTwo writers at once."
        "\n\n## Decision\n\nOne PostgreSQL, because row locks suffice.\n",
    )
    write(
        roots.project,
        "docs/adr/0002-kafka.md",
        "---\nstatus: rejected\ndate: 2026-03-02\n---\n# Put a Kafka between the services\n\n"
        "## Decision Outcome\n\nNot worth its operation for 40 messages a second.\n",
    )
    write(
        roots.project,
        "docs/adr/0003-old.md",
        "# 3. Keep sessions in memory\n\n## Status\n\nSuperseded by ADR-0001\n",
    )
    write(roots.project, "docs/adr/0004-empty.md", "no heading at all\n")


def git(project: Path, *arguments: str) -> None:
    base = ["git", "-C", str(project), "-c", "user.name=mira", "-c", "user.email=mira@example.com"]
    subprocess.run([*base, *arguments], check=True, capture_output=True)


def lay_git_history(roots: Roots) -> None:
    def commit(name: str, *paragraphs: str) -> None:
        write(roots.project, name, f"{paragraphs[0]}\n")
        git(roots.project, "add", ".")
        git(roots.project, "commit", "-q", *(part for text in paragraphs for part in ("-m", text)))

    git(roots.project, "init", "-q")
    commit("relay.py", "Retry with jitter", "All clients woke at once. Jitter spreads them instead of a fixed delay.")
    commit("queue.py", "fix: close the cursor", "It leaked. We close it in finally because the driver never does.")
    commit("notes.txt", "Add notes")
    commit("many.py", "Bound the queue, sort it; log less", "It grew. Nobody read it because it was long.")
    commit("test_queue.py", "test: cover the queue", "It was not covered. We use fakes because hosts are slow.")
    commit("cache.py", "Cache the answers")
    git(roots.project, "revert", "--no-edit", "HEAD")


def _claude_memory(roots: Roots) -> None:
    folder = (
        roots.home / ".claude" / "projects" / str(roots.project).replace("/", "-").replace("_", "-").replace(".", "-")
    )
    write(folder / "memory", "MEMORY.md", "- [style](style.md)\n")
    write(
        folder / "memory",
        "style.md",
        "---\nname: Answer style\ntype: user\n---\nAnswers come first, reasons after them.\n",
    )
    write(folder / "memory", "empty.md", "---\nname: nothing\ntype: feedback\n---\n")
    write(roots.home / ".claude" / "projects" / "-other-project" / "memory", "x.md", "Another project's fact here.\n")


def _serena(roots: Roots) -> None:
    write(
        roots.project, ".serena/memories/build.md", "# Build\n\n- The wheel is built by hatch\n- Always pin the lock\n"
    )
    broken = roots.project / ".serena" / "memories" / "broken.md"
    broken.write_bytes(b"\xff\xfe\x00")


def _memory_server(roots: Roots) -> None:
    lines = [
        json.dumps({"type": "entity", "name": "Relay", "entityType": "service", "observations": ["runs on port 8080"]}),
        "{broken",
        json.dumps({"type": "relation", "from": "Relay", "to": "Queue", "relationType": "reads"}),
        '{"type": "entity", "name": "torn',
    ]
    write(roots.project, "memory.jsonl", "\n".join(lines))


def _spec_tasks(roots: Roots) -> None:
    write(
        roots.project,
        "openspec/changes/add-jitter/tasks.md",
        "## 1. Retry\n\n- [x] 1.1 Measure\n- [ ] 1.2 Spread the retries\n",
    )
    write(
        roots.project,
        "specs/001-bounded-queue/tasks.md",
        "- [ ] T001 [P] [US1] Refuse the 1,001st message\n- [X] T002 Measure\n",
    )
    write(roots.project, "openspec/changes/archive/2026-01-01-old/tasks.md", "- [ ] 1.1 Something archived\n")
    write(roots.project, "openspec/changes/empty/tasks.md", "Nothing is planned.\n")


def _task_master(roots: Roots) -> None:
    tasks = [
        {
            "id": 1,
            "title": "Bound the queue",
            "status": "pending",
            "details": f"The token is {SECRET} for now",
            "subtasks": [
                {"id": 1, "title": "Measure", "status": "done"},
                {"id": 2, "title": "Refuse more", "status": "pending", "testStrategy": "Send 1,001 messages"},
            ],
        },
        {"id": 2, "title": "A task that is done", "status": "done"},
        {"id": 3, "status": "pending"},
    ]
    write(roots.project, ".taskmaster/tasks/tasks.json", json.dumps({"master": {"tasks": tasks, "metadata": {}}}))


def _backlog_md(roots: Roots) -> None:
    write(
        roots.project,
        "backlog/tasks/back-7 - Bound-the-queue.md",
        "---\nid: BACK-7\ntitle: Bound the queue\nstatus: To Do\n---\n## Description\n\n"
        "<!-- SECTION:DESCRIPTION:BEGIN -->\nIt grows.\n<!-- SECTION:DESCRIPTION:END -->\n\n"
        "## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [ ] #1 The 1,001st is refused\n"
        "- [x] #2 Measured\n<!-- AC:END -->\n",
    )
    write(roots.project, "backlog/tasks/back-8 - Done.md", "---\nid: BACK-8\ntitle: Measured\nstatus: Done\n---\n")
    write(roots.project, "backlog/tasks/back-9.md", "no front matter\n")


def _codex_memory(roots: Roots) -> None:
    folder = roots.home / ".codex" / "memories"
    threads = [
        ("t1", f"cwd: {roots.project}", "Always pin the lock"),
        ("t2", "cwd: /elsewhere", "Another project's note"),
    ]
    parts = [f"## Thread `{id}`\nupdated_at: 2026-04-02T09:00:00Z\n{cwd}\n\n- {text}\n" for id, cwd, text in threads]
    write(
        folder,
        "raw_memories.md",
        "# Raw Memories\n\n" + "\n".join(parts) + "\n## Thread `t3`\n\n- No directory at all\n",
    )


def _obsidian(roots: Roots) -> None:
    (roots.project / "vault" / ".obsidian").mkdir(parents=True)
    (roots.project / "vault" / ".trash").mkdir()
    write(
        roots.project,
        "vault/Relay.md",
        "---\ntags: [relay]\n---\n# Relay\n\n- Retry with jitter, see [[Herd|the herd]] #decision ^jitter\n"
        "lesson:: The driver never closes a cursor\n> [!rule] Validate before you write\n- An idea of a walk\n\n"
        f"## Facts\n\n- The relay speaks AMQP %%since March%%\n<private>- {PRIVATE}</private>\n",
    )
    write(roots.project, "vault/.trash/old.md", "- Thrown away long ago #decision\n")
    (roots.project / "vault" / "broken.md").write_bytes(b"\xff\xfe\x00")


def _chat_exports(roots: Roots) -> None:
    def node(parent: str | None, role: str, text: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text, {"asset_pointer": "a picture"}]}
        return {"parent": parent, "message": {"author": {"role": role}, "create_time": 1.7e9, "content": content}}

    chat = {
        "title": "Relay",
        "conversation_id": "c1",
        "current_node": "n3",
        "mapping": {
            "n1": {"parent": None, "message": None},
            "n2": node("n1", "user", "From now on, answer in metric units."),
            "edited": node("n1", "user", "Always answer in feet."),
            "n3": node("n2", "assistant", "I will always do so."),
        },
    }
    write(roots.project, "conversations.json", json.dumps([chat, {"title": "neither"}]))
    said = [
        {"sender": "human", "text": "I prefer short answers, always.", "created_at": "2026-05-01T08:00:00Z"},
        {"sender": "assistant", "text": "Always a pleasure."},
    ]
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("conversations.json", json.dumps([{"uuid": "u1", "chat_messages": said}]))
    memories = [
        {"conversations_memory": "Mira works on a message relay.", "project_memories": {"p": "Another project."}}
    ]
    with zipfile.ZipFile(roots.project / "claude-export-2026.zip", "w") as archive:
        archive.writestr("conversations-000.zip", inner.getvalue())
        archive.writestr("memories.json", json.dumps(memories))


def _mem0(roots: Roots) -> None:
    write(
        roots.project,
        "mem0-export-relay-2026-02-01.md",
        "---\nid: m3\ncreated_at: 2026-02-01T10:00:00Z\ntype: decision\nfiles: relay.py, queue.py\n---\n"
        "Retry with jitter, not at once\n\n---\nid: m4\n---\n\n",
    )
    results = [
        {"id": "m1", "memory": "The team deploys on Tuesdays", "created_at": "2026-02-01T10:00:00Z"},
        {"id": "m2"},
    ]
    write(roots.project, "mem0.json", json.dumps({"results": results}))


def _basic_memory(roots: Roots) -> None:
    write(
        roots.project,
        "basic-memory/relay.md",
        "---\ntitle: Relay\npermalink: notes/relay\n---\n- [decision] Retry with jitter #queue (thundering herd)\n"
        "- [x] a task\n- [fact] The relay speaks AMQP #protocol\n- plain item\n",
    )
    (roots.project / "basic-memory" / "broken.md").write_bytes(b"\xff\xfe\x00")


def _specifications(roots: Roots) -> None:
    write(
        roots.project,
        "openspec/specs/relay/spec.md",
        "# Relay\n\n## Requirements\n\n### Requirement: Bounded queue\n"
        "The queue SHALL hold at most 1,000 messages.\n\n#### Scenario: full\n- **WHEN** it is full\n",
    )
    write(
        roots.project,
        ".specify/memory/constitution.md",
        "# [PROJECT_NAME] Constitution\n\n## Tests\n\nEvery feature must begin with a failing test."
        " [PRINCIPLE_2] must be filled in.\n",
    )
    write(
        roots.project,
        "specs/001-bounded-queue/spec.md",
        "# Feature\n\n### Functional Requirements\n\n- **FR-001**: System MUST refuse the 1,001st message.\n"
        "- **FR-002**: System MUST log [NEEDS CLARIFICATION: what?]\n",
    )
    folder = roots.project / "openspec" / "specs" / "broken"
    folder.mkdir()
    (folder / "spec.md").write_bytes(b"\xff\xfe\x00")


def _beads(roots: Roots) -> None:
    lines = [
        {"id": "bd-a1", "title": "Retry with jitter, not at once", "issue_type": "decision", "design": "Herds."},
        {"id": "bd-a2", "title": "A bug of today", "issue_type": "bug"},
        {"_type": "memory", "key": "deploy", "value": "Deploys happen on Tuesdays"},
        {"id": "bd-a3", "issue_type": "decision"},
        {
            "id": "bd-a4",
            "title": "Bound the queue",
            "issue_type": "task",
            "status": "open",
            "acceptance_criteria": "AC",
        },
        {"id": "bd-a5", "title": "A task that is done", "issue_type": "task", "status": "closed"},
    ]
    write(roots.project, ".beads/issues.jsonl", "\n".join(map(json.dumps, lines)) + "\n")


def _claude_mem(roots: Roots) -> None:
    path = roots.home / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir(parents=True)
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, project TEXT, type TEXT, title TEXT, narrative TEXT,"
        " created_at TEXT)"
    )
    name = roots.project.name
    rows = [
        (1, name, "decision", "Retry with jitter, not at once", "The herd woke together.", "2026-01-05T09:00:00Z"),
        (2, name, "change", "Renamed a file", "", ""),
        (3, name, "discovery", None, "", ""),
        (4, "another", "decision", "A decision of another project", "", ""),
    ]
    connection.executemany("INSERT INTO observations VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.close()


def _session_prompts(roots: Roots) -> None:
    folder = roots.home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(roots.project))
    prompts = [
        f"Fix the parser. From now on, run the linter before you commit. <private>Always {PRIVATE}</private>",
        "I never want force pushes to main. Why does it always fail?",
        "Read `lease.py`.",
    ]
    lines = [
        {"type": "user", "uuid": f"u{n}", "cwd": str(roots.project), "message": {"content": prompt}}
        for n, prompt in enumerate(prompts)
    ]
    write(folder, "4d1f3a52.jsonl", "\n".join(map(json.dumps, lines)) + "\n{torn\n")
    other = {"type": "user", "cwd": "/elsewhere", "message": {"content": "Always think of another project."}}
    write(folder, "5e2f3a52.jsonl", json.dumps(other) + "\n")


FIXTURES = (
    Fixture(
        "instructions",
        _instructions,
        frozenset(
            {
                ("rule", "Never log a message body."),
                ("rule", "Run `pytest -q` before every commit, also for docs"),
                ("rule", "Name functions after what they return"),
                ("rule", "Handlers validate before they write"),
            }
        ),
        frozenset({"CLAUDE.md:3", "CLAUDE.md:7", "docs/style.md:1", ".cursor/rules/api.mdc:4"}),
        "AGENTS.md: is not UTF-8",
    ),
    Fixture(
        "decision_records",
        _decision_records,
        frozenset({("decision", "Use PostgreSQL for the ledger"), ("rejected", "Put a Kafka between the services")}),
        frozenset({"docs/adr/0001-use-postgresql.md:9 (ADR 1)", "docs/adr/0002-kafka.md:7 (ADR 2)"}),
        "docs/adr/0004-empty.md:1: has no heading",
    ),
    Fixture(
        "specifications",
        _specifications,
        frozenset(
            {
                ("rule", "The queue SHALL hold at most 1,000 messages."),
                ("rule", "Every feature must begin with a failing test."),
                ("rule", "System MUST refuse the 1,001st message."),
            }
        ),
        frozenset({"openspec/specs/relay/spec.md:6", "specs/001-bounded-queue/spec.md:5 (FR-001)"}),
        "openspec/specs/broken/spec.md: is not UTF-8",
    ),
    Fixture(
        "spec_tasks",
        _spec_tasks,
        frozenset({("task", "Add jitter"), ("task", "Bounded queue")}),
        frozenset({"openspec/changes/add-jitter/tasks.md:3", "specs/001-bounded-queue/tasks.md:1"}),
        "openspec/changes/empty/tasks.md:1: has no task",
    ),
    Fixture(
        "task_master",
        _task_master,
        frozenset({("task", "Bound the queue")}),
        frozenset({".taskmaster/tasks/tasks.json (master 1)"}),
        "task 3 of master has no title",
    ),
    Fixture(
        "backlog_md",
        _backlog_md,
        frozenset({("task", "Bound the queue")}),
        frozenset({"backlog/tasks/back-7 - Bound-the-queue.md:6 (BACK-7)"}),
        "backlog/tasks/back-9.md:1: has no title",
    ),
    Fixture(
        "git_history",
        lay_git_history,
        frozenset(
            {
                ("decision", "Retry with jitter"),
                ("lesson", "close the cursor"),
                ("rejected", "Cache the answers"),
            }
        ),
        frozenset({"git ("}),
        "",
    ),
    Fixture(
        "claude_memory",
        _claude_memory,
        frozenset({("preference", "Answers come first, reasons after them.")}),
        frozenset({"~/.claude/projects/"}),
        "has no text",
    ),
    Fixture(
        "codex_memory",
        _codex_memory,
        frozenset({("rule", "Always pin the lock")}),
        frozenset({"~/.codex/memories/raw_memories.md:7 (thread t1)"}),
        "raw_memories.md:15: thread t3 names no cwd",
    ),
    Fixture(
        "serena",
        _serena,
        frozenset({("fact", "The wheel is built by hatch"), ("rule", "Always pin the lock")}),
        frozenset({".serena/memories/build.md:3", ".serena/memories/build.md:4"}),
        ".serena/memories/broken.md: is not UTF-8",
    ),
    Fixture(
        "memory_server",
        _memory_server,
        frozenset({("fact", "Relay: runs on port 8080")}),
        frozenset({"memory.jsonl:1 (Relay)"}),
        "memory.jsonl:2: is not JSON",
    ),
    Fixture(
        "mem0",
        _mem0,
        frozenset({("fact", "The team deploys on Tuesdays"), ("decision", "Retry with jitter, not at once")}),
        frozenset({"mem0.json (m1)", "mem0-export-relay-2026-02-01.md:1 (m3)"}),
        "mem0.json: result 2",
    ),
    Fixture(
        "basic_memory",
        _basic_memory,
        frozenset({("decision", "Retry with jitter"), ("fact", "The relay speaks AMQP")}),
        frozenset({"basic-memory/relay.md:5 (notes/relay)", "basic-memory/relay.md:7 (notes/relay)"}),
        "basic-memory/broken.md: is not UTF-8",
    ),
    Fixture(
        "obsidian",
        _obsidian,
        frozenset(
            {
                ("decision", "Retry with jitter, see the herd"),
                ("lesson", "The driver never closes a cursor"),
                ("rule", "Validate before you write"),
                ("fact", "The relay speaks AMQP"),
            }
        ),
        frozenset({"vault/Relay.md:6 (^jitter)", "vault/Relay.md:13"}),
        "vault/broken.md: is not UTF-8",
    ),
    Fixture(
        "claude_mem",
        _claude_mem,
        frozenset({("decision", "Retry with jitter, not at once")}),
        frozenset({"~/.claude-mem/claude-mem.db (observation 1)"}),
        "observation 3 has no title",
    ),
    Fixture(
        "beads",
        _beads,
        frozenset(
            {
                ("decision", "Retry with jitter, not at once"),
                ("fact", "Deploys happen on Tuesdays"),
                ("task", "Bound the queue"),
            }
        ),
        frozenset({".beads/issues.jsonl:1 (bd-a1)", ".beads/issues.jsonl:5 (bd-a4)", ".beads/issues.jsonl:3 (deploy)"}),
        ".beads/issues.jsonl:4: is a decision without a title",
    ),
    Fixture(
        "chat_exports",
        _chat_exports,
        frozenset(
            {
                ("rule", "From now on, answer in metric units."),
                ("preference", "I prefer short answers, always."),
                ("fact", "Mira works on a message relay."),
            }
        ),
        frozenset({"conversations.json (chat c1)", "claude-export-2026.zip!conversations-000.zip!conversations.json"}),
        "conversation 2 has neither",
    ),
    Fixture(
        "session_prompts",
        _session_prompts,
        frozenset(
            {
                ("rule", "From now on, run the linter before you commit."),
                ("preference", "I never want force pushes to main."),
            }
        ),
        frozenset({"~/.claude/projects/"}),
        "is no JSON object",
    ),
)
