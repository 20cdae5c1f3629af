"""One folder of Mind-Mem in the hands of several programs: other servers, other stores, editors, Mind-Mem itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.settings import load_settings
from tests.contract.mind_mem import DECISIONS, STATE, decision, make_workspace
from tests.contract.test_mind_mem_wire import MindMem
from tests.contract.wire import serving
from tests.faces.mcp.process import environment

STATE_FILE = "memory/intel-state.json"
BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MindMem]:
    """A workspace in mode enforce whose state was saved by an editor of Windows."""
    root = tmp_path_factory.mktemp("theirs")
    make_workspace(root)
    state = json.dumps({**STATE, "governance_mode": "enforce"}, indent=2)
    (root / STATE_FILE).write_bytes(BOM + state.replace("\n", "\r\n").encode())
    (root / "mind").mkdir()
    (root / "mind/recall.mind").write_bytes(BOM + b"[bm25]\r\nk1 = 1.5\r\n")
    with serving(tmp_path_factory.mktemp("home"), "mind-mem", here=root) as wire:
        found = MindMem(wire, root)
        found("governance", approval="client")
        yield found


def proposed(client: MindMem, statement: str) -> str:
    return str(client("propose_update", block_type="decision", statement=statement)["proposal_id"])


def test_a_byte_order_mark_and_other_line_ends_are_read_and_stay(client: MindMem) -> None:
    checks = client("scan")
    assert checks["checks"]["governance_mode"] == "enforce"
    assert not [item for item in checks["findings"] if item["check"] in ("state", "kernel")]
    assert client("get_mind_kernel", name="recall")["config"] == {"bm25": {"k1": "1.5"}}
    client("governance", per_day=8)
    data = (client.root / STATE_FILE).read_bytes()
    assert data.startswith(BOM)
    assert data.count(b"\r\n") == data.count(b"\n")
    after = json.loads(data.decode("utf-8-sig"))
    assert after["proposal_budget"] == {**STATE["proposal_budget"], "per_day": 8}
    assert {name: after[name] for name in ("kpi", "counters", "rate_limit")} == {
        name: STATE[name] for name in ("kpi", "counters", "rate_limit")
    }


def test_a_broken_state_file_is_mended_with_what_it_said_before(client: MindMem) -> None:
    """Until then nothing is applied; mending it by `governance` loses neither the settings nor the keys of others."""
    client("governance", per_day=9)
    (client.root / STATE_FILE).write_text('{"governance_mode": "enforce", ', encoding="utf-8")
    assert client("scan")["checks"]["governance_mode"] == "detect_only"
    client("governance", mode="enforce")
    after = json.loads((client.root / STATE_FILE).read_bytes().decode("utf-8-sig"))
    assert (after["governance_mode"], after["proposal_budget"]["per_day"]) == ("enforce", 9)
    assert {name: after[name] for name in ("kpi", "counters", "rate_limit")} == {
        name: STATE[name] for name in ("kpi", "counters", "rate_limit")
    }
    assert client("scan")["checks"]["governance_mode"] == "enforce"


def test_enforce_applies_nothing_by_itself_where_the_state_file_says_so(client: MindMem) -> None:
    """Mind-Mem writes auto_apply_low_risk: false into every state file, and its enforce applies nothing by itself."""
    assert STATE["auto_apply_low_risk"] is False
    answer = client("propose_update", block_type="decision", statement="Lynx builds are cached", tags="Perf, CI, perf")
    assert answer["auto_applied"] is False
    assert "auto_apply_low_risk" in answer["auto_apply_refused"]
    assert "Lynx" not in client.read(DECISIONS)
    assert "Tags: Perf, CI\n" in client.read("intelligence/SIGNALS.md"), "tags stay as they were given"
    client("governance", auto_apply_low_risk=True)
    assert client("propose_update", block_type="decision", statement="Lynx builds are signed")["auto_applied"] is True
    client("governance", auto_apply_low_risk=False)


def test_what_mind_mem_rolled_back_stays_rolled_back(client: MindMem) -> None:
    """It puts the old file back and says so at the receipt's end, soon after the apply and with other changes."""
    done = client("approve_apply", proposal_id=proposed(client, "Ocelot jobs run hourly"), dry_run=False)
    later = client("approve_apply", proposal_id=proposed(client, "Tapir jobs run daily"), dry_run=False)
    folder = client.root / "intelligence/applied" / done["receipt_ts"]
    restored = (folder / DECISIONS).read_text(encoding="utf-8")
    (client.root / DECISIONS).write_text(restored + decision("D-20261116-090", "Ibex jobs run weekly"))
    with (folder / "APPLY_RECEIPT.md").open("a", encoding="utf-8") as receipt:
        receipt.write("\nRolledBack: 2026-11-16T19:51:52Z\nResult: rolled_back\n")
    assert client.found("ocelot") == []
    assert client.found("ibex jobs")[0] == "D-20261116-090"
    assert client.found("tapir jobs")[0] == later["blocks"][0], "another apply is not undone with it"
    again = client("rollback_proposal", receipt_ts=done["receipt_ts"])
    assert (again["status"], again["code"]) == ("rollback_failed", "CONFLICT")
    listed = {item["proposal_id"]: item["status"] for item in client("list_proposals", limit=50)["proposals"]}
    assert listed[done["proposal_id"]] == "rolled_back"


@pytest.mark.parametrize("resident", ["off", "on"])
def test_a_server_that_finds_no_workspace_says_so_where_a_client_looks(tmp_path: Path, resident: str) -> None:
    """At its start, in its instructions, and in the first answer that has room for it."""
    here = tmp_path / "nothing"
    here.mkdir()
    known = {"CLEW_WORKSPACE": "", "CLEW_RESIDENT": resident, "CLEW_RESIDENT_IDLE": "1"}
    with serving(tmp_path / "home", "mind-mem", here=here, environ=known) as wire:
        client = MindMem(wire, here)
        told = wire.client.session.initialize_result
        assert told is not None and "Workspace not found" in str(told.instructions)
        assert client("recall", query="anything") == [], "an array has no room"
        (warning,) = client("scan")["warnings"]
        assert "MIND_MEM_WORKSPACE is not set" in warning and str(tmp_path / "home") in warning
        assert "warnings" not in client("propose_update", block_type="task", statement="Count the crates")
    command = [sys.executable, "-m", "clew", "serve", "--toolset", "mind-mem"]
    env = environment(tmp_path / "home", **known)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=here, env=env) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        server.kill()
    assert said.startswith("clew: Workspace not found")
    assert list(here.iterdir()) == []


def test_a_server_with_a_workspace_warns_of_nothing(client: MindMem) -> None:
    told = client.wire.client.session.initialize_result
    assert told is not None and "not found" not in str(told.instructions)
    assert "warnings" not in client("scan")


def test_a_flag_beats_the_variable_of_the_token(tmp_path: Path) -> None:
    typed = {"toolset": "mind-mem", "token": "typed", "home": tmp_path}
    known = {"MIND_MEM_TOKEN": "theirs"}
    assert load_settings(typed, known, tmp_path).token == "typed"
    assert load_settings({**typed, "token": None}, known, tmp_path).token == "theirs"
    assert load_settings({**typed, "token": None}, {**known, "CLEW_TOKEN": "ours"}, tmp_path).token == "ours"


def test_an_array_is_structured_content_too(client: MindMem) -> None:
    """As the framework of the original sends it; in the other toolsets an array is text alone."""
    for name, arguments in (
        ("recall", {"query": "sessions Redis"}),
        ("list_mind_kernels", {}),
        ("recall", {"query": ""}),
    ):
        heard = client.wire.send(name, arguments)
        assert heard.structured == {"result": json.loads(heard.text)}
    heard = client.wire.send("scan", {})
    assert heard.structured == json.loads(heard.text), "an object is the same object"


def test_drift_that_only_mind_mem_sees_is_not_counted(client: MindMem) -> None:
    """It counts tasks as not aligned that name their decision in another field than AlignsWith."""
    client.add(
        "intelligence/DRIFT.md",
        "\n[DREF-20261116-900]\nDate: 2026-11-16\nStatus: open\nEvidence:\n- T-20260801-001\nMetrics:\n- see snapshot\n"
        "Severity: low\nSignal: tasks_not_aligned\nSummary: 1 active task\nSources:\n- maintenance/intel-report.txt\n",
    )
    checks = client("scan")["checks"]
    assert checks["drift_items"] == sum(checks["drift"].values())


def test_a_folder_is_one_memory_wherever_a_server_for_it_is_started(tmp_path: Path) -> None:
    """From two projects with one data directory, and from another data directory that has never seen the folder."""
    root, projects = tmp_path / "theirs", [tmp_path / "one", tmp_path / "two"]
    make_workspace(root)
    for project in projects:
        project.mkdir()
    known = {"MIND_MEM_WORKSPACE": str(root)}
    with serving(tmp_path / "home", "mind-mem", here=projects[0], environ=known) as wire:
        made = MindMem(wire, root)
        counted = made("scan")["checks"]["decisions"]
        proposed(made, "Lemur caches expire")
        waiting = made("list_proposals", limit=50)["proposals"]
    with (
        serving(tmp_path / "home", "mind-mem", here=projects[1], environ=known) as wire,
        serving(tmp_path / "other", "mind-mem", here=projects[1], environ=known) as another,
    ):
        same, other = MindMem(wire, root), MindMem(another, root)
        assert same("scan")["checks"]["decisions"] == counted
        assert same("list_proposals", limit=50)["proposals"] == waiting
        assert other.found("sessions Redis")[0] == "D-20260801-003"
        assert other("scan")["checks"]["decisions"] == counted
        for store in (same, other):
            store("governance", approval="client")
        _write_at_once(same, other)


def _write_at_once(*clients: MindMem) -> None:
    """Two stores take turns at the files and never give one id to two blocks."""

    def work(number: int) -> list[str]:
        made = []
        for item in range(4):
            id = proposed(clients[number], f"Lamp {number}{item} is painted")
            made += clients[number]("approve_apply", proposal_id=id, dry_run=False)["blocks"]
        return made

    with ThreadPoolExecutor(len(clients)) as pool:
        made = [id for ids in pool.map(work, range(len(clients))) for id in ids]
    assert len(set(made)) == 4 * len(clients)
    for client in clients:
        client("scan")
    text = clients[0].read(DECISIONS)
    assert all(f"Statement: Lamp {number}{item} is painted" in text for number in range(2) for item in range(4))
