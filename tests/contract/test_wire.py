"""What only a real server shows: its name, its lists, annotations, marks of failure, and questions to the client.

The behaviour behind it is in the suite of each contract, which runs over the same wire.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingCapability,
    SamplingContextCapability,
    TextContent,
)

from clew.contracts.mind_mem import TOOLS
from tests.contract.mind_mem import DECISIONS, STATE, TASKS, decision, issues, make_workspace
from tests.contract.wire import Wire, serving

TASK = {"plan_title": "Import", "task_title": "Importer", "steps": [{"title": "Read", "success_criteria": ["read"]}]}


@pytest.fixture(scope="module")
def branchmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(tmp_path_factory.mktemp("home"), "branchmind") as wire:
        yield wire


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that Mind-Mem made."""
    place = tmp_path_factory.mktemp("theirs")
    make_workspace(place)
    return place


@pytest.fixture(scope="module")
def mind_mem(tmp_path_factory: pytest.TempPathFactory, theirs: Path) -> Iterator[Wire]:
    """Started in that workspace, as a client of Mind-Mem starts its server."""
    with serving(tmp_path_factory.mktemp("home"), "mind-mem", here=theirs) as wire:
        wire.decide("governance", approval="client")
        yield wire


def asked(seen: list[CreateMessageRequestParams]) -> Any:
    async def model(context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        seen.append(params)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="no"), model="m")

    return model


def test_branchmind_is_found_under_its_name_with_its_everyday_list(branchmind: Wire) -> None:
    assert branchmind.server_name() == "branchmind-rust-mcp"
    tools = {tool.name: tool for tool in branchmind.tools().tools}
    assert len(tools) == 13 and {"skill", "tasks_lint", "think_playbook", "workspace_reset"} <= set(tools)
    hints = tools["status"].annotations
    assert hints is not None and hints.read_only_hint is True
    hints = tools["tasks_macro_close_step"].annotations
    assert hints is not None and hints.read_only_hint is False


def test_no_listed_schema_needs_its_references_followed(branchmind: Wire, mind_mem: Wire) -> None:
    for wire in (branchmind, mind_mem):
        for tool in wire.tools().tools:
            assert "$ref" not in json.dumps(tool.input_schema), tool.name
            assert tool.input_schema.get("required") != [], tool.name


def test_portals_answer_in_lines_and_without_a_second_answer(branchmind: Wire) -> None:
    begun = branchmind.send("tasks_macro_start", TASK)
    assert begun.ok and begun.structured is None and "TASK-001" in begun.text
    shown = branchmind.send("tasks_snapshot", {"refs": True})
    assert shown.structured is None and shown.text.startswith("focus TASK-001")
    whole = branchmind.send("tasks_snapshot", {"fmt": "json"})
    assert json.loads(whole.text) == whole.structured


def test_a_refusal_is_marked_and_mended_in_the_text(branchmind: Wire) -> None:
    refused = branchmind.send("tasks_snapshot", {"task": "TASK-999"})
    assert not refused.ok and refused.text.startswith("ERROR: UNKNOWN_ID") and "fix:" in refused.text
    wrong = branchmind.send("think_card", {"card": {"type": "decision"}})
    assert not wrong.ok and wrong.structured is not None
    assert wrong.structured["error"]["details"]["example"]["name"] == "think_card"
    assert json.loads(wrong.text) == wrong.structured


def test_a_close_that_is_refused_repeats_the_corrected_call_as_a_command(branchmind: Wire) -> None:
    branchmind.send("tasks_macro_start", {**TASK, "workspace": "other"})
    proof = {"checks": ["CMD: scan", "LINK: https://x.example"], "checkpoint": "security"}
    refused = branchmind.send("tasks_macro_close_step", {"workspace": "other", "proof": proof})
    assert not refused.ok and refused.text.startswith("ERROR: CHECKPOINTS_NOT_CONFIRMED")
    assert refused.text.splitlines()[1].startswith("tasks_macro_close_step checkpoints=")
    wrong = branchmind.send("tasks_macro_close_step", {"workspace": "other", "checkpoints": "bogus"})
    assert "a minimal call is: tasks_macro_close_step" in wrong.text and "details" not in wrong.text


def test_a_mark_that_somebody_chose_binds_a_server_that_was_started_without_it(tmp_path: Path) -> None:
    plan = {"workspace": "guarded", "kind": "plan", "title": "P", "fmt": "json"}
    with serving(tmp_path, "full", "--project-guard", "guard-a") as marked:
        assert marked.send("tasks_create", plan).ok
    with serving(tmp_path, "full") as other:
        refused = other.send("tasks_create", plan)
    assert not refused.ok and refused.envelope["error"]["code"] == "PROJECT_GUARD_MISMATCH"


def test_a_configuration_of_branchmind_starts_with_only_its_command_changed(tmp_path: Path) -> None:
    """Its options for processes that are not there do no harm; `--no-dx` is heard, whatever the variable says."""
    words = [
        "--shared",
        "--socket",
        "/tmp/bm.sock",
        "--no-viewer",
        "--viewer-port=7331",
        "--response-verbosity",
        "compact",
    ]
    known = {"BRANCHMIND_DX": "1"}
    with serving(tmp_path, "branchmind", *words, "--no-dx", "--hot-reload", environ=known) as wire:
        assert len(wire.tools().tools) == 13
        wire.send("tasks_macro_start", TASK)
        wire.send("tasks_snapshot", {})
        wire.send("think_card", {"card": {"type": "decision", "title": "Read twice", "text": "It is short."}})
        assert "REFERENCE:" not in wire.send("tasks_snapshot", {}).text


def test_mind_mem_is_found_under_its_name_with_its_sixteen(mind_mem: Wire) -> None:
    assert mind_mem.server_name() == "mind-mem"
    assert [tool.name for tool in mind_mem.tools().tools] == list(TOOLS)
    assert len(mind_mem.resources()) > 0 and all(uri.startswith("mind-mem://") for uri in mind_mem.resources())
    assert mind_mem.prompts() == [], "they would speak of tools that are not listed"


def test_a_workspace_of_mind_mem_is_used_and_handed_back(mind_mem: Wire, theirs: Path) -> None:
    """Searched, scanned, a staged proposal applied and taken back: its validator finds nothing in it."""
    before = {path: (theirs / path).read_text() for path in (DECISIONS, TASKS)}
    hits = json.loads(mind_mem.send("recall", {"query": "invoices Mondays"}).text)
    assert hits[0]["_id"] == "D-20260801-002" and hits[0]["file"] == DECISIONS
    assert json.loads(mind_mem.send("scan", {}).text)["checks"]["governance_mode"] == "propose"
    tried = json.loads(mind_mem.send("approve_apply", {"proposal_id": "P-20261115-102"}).text)
    assert tried["status"] == "dry_run_passed"
    done = json.loads(mind_mem.send("approve_apply", {"proposal_id": "P-20261115-102", "dry_run": "false"}).text)
    assert done["status"] == "applied" and issues(theirs) == []
    assert (theirs / DECISIONS).read_text() != before[DECISIONS]
    back = json.loads(mind_mem.send("rollback_proposal", {"receipt_ts": done["receipt_ts"]}).text)
    assert back["status"] == "rolled_back"
    assert {path: (theirs / path).read_text() for path in before} == before
    assert issues(theirs) == []
    made = json.loads(mind_mem.send("propose_update", {"block_type": "task", "statement": "Warm the cache"}).text)
    applied = {"proposal_id": made["proposal_id"], "dry_run": False}
    assert json.loads(mind_mem.send("approve_apply", applied).text)["status"] == "applied"
    by_hand = decision("D-20260901-001", "Logs are kept for 90 days")
    (theirs / DECISIONS).write_text(f"{(theirs / DECISIONS).read_text()}\n{by_hand}\n\n---\n")
    assert json.loads(mind_mem.send("recall", {"query": "logs kept 90 days"}).text)[0]["_id"] == "D-20260901-001"
    state = json.loads((theirs / "memory/intel-state.json").read_text())
    known = {name: value for name, value in STATE.items() if name != "last_apply_ts"}
    assert {name: state[name] for name in known} == known, "nothing that only Mind-Mem knows is lost"
    assert state["last_apply_ts"] > STATE["last_apply_ts"], "two proposals were applied since"
    assert issues(theirs) == []


def test_refusals_of_mind_mem_keep_the_fields_of_its_tables(mind_mem: Wire) -> None:
    heard = mind_mem.send("approve_apply", {"proposal_id": "P-20260101-001", "dry_run": False})
    told = json.loads(heard.text)
    assert not heard.ok and told == heard.structured
    assert (told["status"], told["success"]) == ("failed", False) and told["message"] and told["next_step"] is None


def test_blank_questions_and_numbers_as_text_are_taken(mind_mem: Wire, theirs: Path) -> None:
    assert json.loads(mind_mem.send("recall", {"query": ""}).text) == []
    assert len(json.loads(mind_mem.send("recall", {"query": "invoices", "limit": "1"}).text)) == 1
    assert decision("D-20260801-002", "Invoices go out on Mondays") in (theirs / DECISIONS).read_text()


@pytest.mark.parametrize(("declared", "sent"), [(True, "thisServer"), (False, None)])
def test_a_critique_asks_for_the_context_of_this_server(tmp_path: Path, declared: bool, sent: str | None) -> None:
    """A client that declares that it adds context is asked to; one that does not is not."""
    seen: list[CreateMessageRequestParams] = []
    context = SamplingContextCapability() if declared else None
    more = {"sampling_callback": asked(seen), "sampling_capabilities": SamplingCapability(context=context)}
    with serving(tmp_path / "home", "thoughtbox", **more) as wire:
        wire.send("thoughtbox_gateway", {"operation": "start_new", "args": {"cipher": True}})
        thought = {"thought": "It is the lock", "nextThoughtNeeded": True, "critique": True, "verbose": True}
        told = json.loads(wire.send("thoughtbox_gateway", {"operation": "thought", "args": thought}).text)
    assert told["critique"]["status"] == "ok" and [item.include_context for item in seen] == [sent]
