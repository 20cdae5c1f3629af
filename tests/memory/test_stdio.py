"""The loop over stdio by a client that knows the seed and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.people import decide_beside
from tests.waiting import PATIENCE

DECISIONS = "decisions/DECISIONS.md"


class Client:
    """Sends JSON lines and reads the text block of each answer as JSON, as the seed's examples do."""

    def __init__(self, root: Path, home: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "MIND_MEM_"))}
        environ = {**kept, "CLEW_HOME": str(home), "CLEW_RESIDENT": "off", "MIND_MEM_WORKSPACE": str(root)}
        # The default toolset answers agents in lines; the seed's clients read JSON.
        command = [sys.executable, "-m", "clew", "serve", "--toolset", "daily"]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environ, cwd=home.parent, text=True, **pipes)
        # The seed's own flow: in its store a client approves, once a person has said so.
        decide_beside(environ, home.parent, "governance", approval="client")
        self.number = 0
        about = {"name": "seed-client", "version": "1"}
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            assert line, "the server ended"
            message = json.loads(line)
            if message.get("id") == self.number:
                assert "error" not in message, message
                return dict(message["result"])

    def call(self, name: str, /, **arguments: Any) -> Any:
        result = self.request("tools/call", name=name, arguments=arguments)
        return json.loads(result["content"][0]["text"])

    def read(self, uri: str) -> str:
        return str(self.request("resources/read", uri=uri)["contents"][0]["text"])

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "memory"


@pytest.fixture
def client(root: Path, tmp_path: Path) -> Iterator[Client]:
    found = Client(root, tmp_path / "home")
    yield found
    found.close()


def test_propose_try_apply_recall_edit_and_roll_back(client: Client, root: Path) -> None:
    proposed = client.call(
        "propose_update",
        block_type="decision",
        statement="Use Redis for session caching instead of in-memory stores",
        rationale="In-memory sessions are lost on restart",
        tags="infrastructure, caching, redis",
        confidence="high",
    )
    assert (proposed["status"], proposed["written"]) == ("proposed", 1)
    assert proposed["signal_id"] in [hit["_id"] for hit in client.call("recall", query="redis")]
    tried = client.call("approve_apply", proposal_id=proposed["proposal_id"])
    assert tried["status"] == "dry_run_passed"
    assert tried["next_step"]
    assert proposed["block_id"] not in (root / DECISIONS).read_text(encoding="utf-8")
    applied = client.call("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert (applied["status"], applied["success"], applied["next_step"]) == ("applied", True, None)
    hits = client.call("recall", query="session caching", active_only=True)
    assert [hit["_id"] for hit in hits] == [proposed["block_id"]]
    lines = (root / DECISIONS).read_text(encoding="utf-8").split("\n")
    assert hits[0]["file"] == DECISIONS
    assert lines[hits[0]["line"] - 1] == f"[{proposed['block_id']}]"
    (root / DECISIONS).write_text("\n".join(lines).replace("Use Redis", "Use Valkey"), encoding="utf-8")
    assert "Use Valkey" in client.call("recall", query="valkey")[0]["excerpt"]
    shown = json.loads(client.read("mind-mem://decisions"))
    assert shown[0]["Statement"].startswith("Use Valkey")
    refused = client.call("rollback_proposal", receipt_ts=applied["receipt_ts"])
    assert refused["status"] == "rollback_failed"
    (root / DECISIONS).write_text("\n".join(lines), encoding="utf-8")
    undone = client.call("rollback_proposal", receipt_ts=applied["receipt_ts"])
    assert undone["status"] == "rolled_back", "the block reads again as it was applied"
    assert client.call("scan")["checks"]["decisions"] == {"total": 0, "active": 0}


def test_what_is_applied_can_be_taken_back_and_is_gone_at_once(client: Client, root: Path) -> None:
    proposed = client.call("propose_update", block_type="task", statement="Rotate the signing keys")
    applied = client.call("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert [task["_id"] for task in json.loads(client.read("mind-mem://tasks"))] == [proposed["block_id"]]
    undone = client.call("rollback_proposal", receipt_ts=applied["receipt_ts"])
    assert undone["status"] == "rolled_back"
    assert client.call("recall", query="signing keys") == []
    assert proposed["block_id"] not in (root / "tasks/TASKS.md").read_text(encoding="utf-8")


def test_every_resource_answers(client: Client) -> None:
    client.call("propose_update", block_type="decision", statement="Use Redis")
    assert json.loads(client.read("mind-mem://decisions")) == []
    assert json.loads(client.read("mind-mem://tasks")) == []
    assert client.read("mind-mem://entities/people").startswith("# People")
    assert "Unknown entity type: foo. Use: incidents, people, projects, tools" in client.read("mind-mem://entities/foo")
    assert "Use Redis" in client.read("mind-mem://signals")
    assert client.read("mind-mem://contradictions").startswith("# Contradictions")
    assert json.loads(client.read("mind-mem://health"))["files"]["signals"] == {"total": 1, "active": 1}
    assert json.loads(client.read("mind-mem://recall/redis"))[0]["type"] == "signal"
    assert client.read("mind-mem://ledger") == "File not found: shared/intelligence/LEDGER.md"


def decide(client: Client, statement: str) -> tuple[str, str]:
    proposed = client.call("propose_update", block_type="decision", statement=statement)
    applied = client.call("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    return proposed["block_id"], applied["receipt_ts"]


def test_a_contradiction_is_listed_resolved_by_a_proposal_and_back_after_a_rollback(client: Client, root: Path) -> None:
    first, _ = decide(client, "Use Redis for session caching")
    second, _ = decide(client, "Do not use Redis for session caching")
    listed = client.call("list_contradictions")
    assert [(item["block_a"], item["block_b"]) for item in listed["resolutions"]] == [(first, second)]
    assert client.call("scan")["checks"]["contradictions"] == listed["contradictions"] == 1
    before = {path: path.read_bytes() for path in sorted(root.rglob("*.md"))}
    assert client.call("scan")["checks"]["contradictions"] == 1
    assert {path: path.read_bytes() for path in sorted(root.rglob("*.md"))} == before, "a second scan adds nothing"
    ops = [{"op": "set_status", "target": first, "status": "revoked"}]
    proposed = client.call("propose_edit", ops=ops, rationale="The second one is right")
    resolved = client.call("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert client.call("list_contradictions")["status"] == "clean"
    assert client.call("scan")["checks"]["contradictions"] == 0
    client.call("rollback_proposal", receipt_ts=resolved["receipt_ts"])
    assert client.call("list_contradictions")["contradictions"] == 1


HIT = {"_id", "type", "score", "excerpt", "speaker", "tags", "file", "line", "status", "DiaID"}


def test_each_answer_has_the_fields_bounds_and_defaults_of_the_seed(client: Client, root: Path) -> None:
    one, _ = decide(client, "All caching layers must have a time to live")
    two, _ = decide(client, "Use Redis for session caching")
    for name, arguments in (("recall", {"query": "caching"}), ("hybrid_search", {"query": "caching"})):
        hits = client.call(name, **arguments)
        assert {hit["_id"] for hit in hits} == {one, two} and all(set(hit) >= HIT for hit in hits)
        assert all(hit["score"] == round(hit["score"], 4) for hit in hits)
        assert len(client.call(name, **arguments, limit=0)) == 1, "limits are clamped, never refused"
        assert len(client.call(name, **arguments, limit=10_000, active_only=True)) == 2
    fetched = client.call("prefetch", signals="Redis, caching", limit=0)
    assert len(fetched) == 1 and set(fetched[0]) >= HIT
    assert client.call("prefetch", signals="")["error"] == "No signals provided. Pass comma-separated keywords."
    similar = client.call("find_similar", block_id=one, limit=-3)
    assert (similar["source"], similar["similar"], "co-occurrence" in similar["method"]) == (one, [two], True)
    unknown = client.call("find_similar", block_id="D-20200101-001")
    assert unknown["block_id"] == "D-20200101-001" and unknown["error"]
    use = client.call("memory_evolution", block_id=one)
    assert 0.8 <= use["importance"] <= 1.5 and use["co_occurring_blocks"] == [two]
    again = client.call("memory_evolution", block_id=one, action="update")
    assert (again["block_id"], again["action"]) == (one, "updated") and 0.8 <= again["importance"] <= 1.5
    intent = client.call("intent_classify", query="Why did we switch from MySQL to PostgreSQL?")
    assert (intent["intent"], intent["params"]["expansion"], intent["params"]["graph_depth"]) == ("WHY", "rm3", 2)
    assert set(intent) == {"query", "intent", "confidence", "sub_intents", "params"}
    assert set(intent["params"]) == {"expansion", "graph_depth", "rerank", "patterns"}
    stats = client.call("index_stats")
    assert stats == {**stats, **STATS, "workspace": str(root)}
    done = client.call("reindex")
    assert done == {**done, "workspace": str(root), "fts": True, "vectors": False} and done["categories"] > 0
    kernels = {kernel["name"]: kernel for kernel in client.call("list_mind_kernels")}
    assert set(kernels) >= {"recall", "rm3", "rerank", "temporal", "adversarial", "hybrid"}
    kernel = client.call("get_mind_kernel", name="recall")
    assert kernel["path"] == kernels["recall"]["path"] and sorted(kernel["config"]) == sorted(
        kernels["recall"]["sections"]
    )
    assert all(isinstance(value, str) for section in kernel["config"].values() for value in section.values())
    assert client.call("get_mind_kernel", name="nonexistent")["error"] == "Kernel 'nonexistent' not found"
    summary = client.call("category_summary", topic="caching", limit=0)
    assert summary["topic"] == "caching" and len(summary["matched_categories"]) == 1
    assert summary["content"].startswith(f"## {summary['matched_categories'][0]}\n\nBlock ")
    nothing = client.call("category_summary", topic="quantum computing")
    assert (nothing["topic"], nothing["status"]) == ("quantum computing", "no_categories") and nothing["hint"]
    client.call("scan")
    assert set(json.loads(client.read("mind-mem://health"))["metrics"]) >= {"last_scan", "coverage"}


STATS = {
    "decisions_blocks": 2,
    "tasks_blocks": 0,
    "entities_blocks": 0,
    "fts_index_exists": True,
    "mind_kernel_compiled": False,
    "mind_kernel_protected": False,
}
