"""What waits for a person is decided by a person: no client approves, by whatever name, transport or detour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clew.app import Clew
from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.faces.resident.shims import Shim, ending
from tests.faces.web.server import Server
from tests.identity.http_client import Program
from tests.people import decide, person

Call = Callable[..., dict[str, Any]]
TOKEN = "correct-horse-battery-staple"


class Waiting:
    """A store in which one of each thing waits for a person."""

    def __init__(self, call: Caller) -> None:
        self.call = call
        call("remember", text="Carts are kept in Redis", kind="decision")
        self.record = call("remember", text="Carts are not kept in Redis", kind="decision")
        self.proposal = self.record["proposal"]
        assert self.record["state"] == "proposed" and self.proposal
        self.fact = call("share_fact", text="CI needs Node 22.")["fact_id"]
        self.rule = call("remember", text="Never force-push", kind="rule")["id"]
        call("guard_propose", id=self.rule, commands=["git push * --force"], action="deny")

    def decisions(self) -> list[tuple[str, dict[str, Any]]]:
        proposal, why = {"proposal_id": self.proposal}, {"reason": "because"}
        return [
            ("approve_apply", {**proposal, "dry_run": False}),
            ("reject_proposal", {**proposal, **why}),
            ("defer_proposal", {**proposal, **why}),
            ("reopen_proposal", proposal),
            ("review_fact", {"fact_id": self.fact, "verdict": "accepted"}),
            ("governance", {"mode": "enforce"}),
            ("governance", {"approval": "client"}),
            ("inbox_later", {"id": self.fact, "kind": "fact", "days": 9}),
            ("guard_approve", {"id": self.rule}),
            ("guard_revoke", {"id": self.rule}),
            ("guard_override", {"id": self.rule, "why": "I want to"}),
            ("import_memory", {"path": "memory.tar.gz"}),
            ("import_memory", {"path": "memory.tar.gz", "force": True}),
            ("import_bundle", {"path": "memory.clew"}),
            ("sync", {"remote": "shared"}),
        ]

    def state(self) -> list[Any]:
        """What a decision would change."""
        call = self.call
        return [
            *(call("inbox_list")[name] for name in ("items", "later")),
            *(call(name) for name in ("governance", "list_proposals", "list_facts", "guards")),
            call("open", id=self.record["id"])["status"],
        ]


@pytest.fixture
def waiting(call: Caller) -> Waiting:
    return Waiting(call)


def clients(call: Caller) -> Iterator[Connection]:
    """Everybody but a person: the proposer, others, a shell, and whoever calls himself something."""
    yield call.session
    yield Connection(toolset="full")
    yield Connection(toolset="mind-mem", client="probe", handle="h")
    for name in ("ines", "ceo", "clew-cli", "observatory", "auto"):
        yield Connection(toolset="agent", agent_id=name, client=name, handle=name)
    yield Connection(toolset="full", client="clew-cli", local=True, durable=False, witness="prove")
    yield Connection(toolset="full", client="observatory", durable=False)


def test_no_client_decides_anything(call: Caller, waiting: Waiting) -> None:
    before = waiting.state()
    for connection in clients(call):
        for name, arguments in waiting.decisions():
            ways = [(name, arguments), ("op_call", {"name": name, "arguments": arguments})]
            for way, given in [
                *ways,
                (name, {**arguments, "agent_id": "@ines"}),
                (name, {**arguments, "person": "@ines"}),
            ]:
                answer = call.clew.dispatcher.call(way, given, connection)
                assert not answer.ok, (connection, way, given)
                error = answer.envelope["error"]
                if way == "op_call" or given is arguments:
                    assert (error["code"], error["details"]["rule"]) == ("NOT_ALLOWED", "person"), error
                    assert "clew" in error["recovery"], "it says what a person runs"
    assert waiting.state() == before


def test_a_refusal_suggests_a_call_that_works(call: Caller, waiting: Waiting) -> None:
    for name, arguments in waiting.decisions():
        answer = call.clew.dispatcher.call(name, arguments, call.session)
        for way in answer.envelope["suggestions"]:
            assert call.clew.dispatcher.call(way["target"], way["params"], call.session).ok, way


def test_a_dry_run_is_open_to_everybody_and_says_who_applies_it(call: Caller, waiting: Waiting) -> None:
    for connection in clients(call):
        tried = call.clew.dispatcher.call("approve_apply", {"proposal_id": waiting.proposal}, connection)
        assert tried.ok and tried.envelope["result"]["status"] == "dry_run_passed"
        assert "approve" in tried.envelope["result"]["next_step"] and "person" in tried.envelope["result"]["next_step"]
        assert not [way for way in tried.envelope["suggestions"] if way["params"].get("dry_run") is False]


def test_a_person_decides_and_is_named(call: Caller, waiting: Waiting) -> None:
    assert decide(call.clew, "approve_apply", proposal_id=waiting.proposal, dry_run=False).ok
    events = call("events_list", types=["proposal_applied"])["events"]
    assert [event["agent"] for event in events] == ["@ines"]
    assert call("open", id=waiting.record["id"])["status"] == "active"
    assert decide(call.clew, "guard_approve", id=waiting.rule).envelope["result"]["approved_by"] == "@ines"
    assert decide(call.clew, "review_fact", fact_id=waiting.fact, verdict="accepted").ok


def test_what_a_person_decided_no_client_takes_back(call: Caller, waiting: Waiting) -> None:
    done = decide(call.clew, "approve_apply", proposal_id=waiting.proposal, dry_run=False).envelope["result"]
    for connection in clients(call):
        refused = call.clew.dispatcher.call("rollback_proposal", {"receipt_ts": done["receipt_ts"]}, connection)
        assert not refused.ok and refused.envelope["error"]["details"]["rule"] == "person"
    assert call("open", id=waiting.record["id"])["status"] == "active"
    assert decide(call.clew, "rollback_proposal", receipt_ts=done["receipt_ts"]).ok


def test_what_a_client_applied_by_itself_it_may_take_back(call: Caller) -> None:
    call.session = Connection(toolset="full", client="probe", handle="one")
    kept = call("remember", text="The parser is written in C", kind="fact")
    call("retract", id=kept["id"], why="It is Rust")
    receipt = {"receipt_ts": call("block_history", block_id=kept["id"])["versions"][0]["receipt_ts"]}
    other = Connection(toolset="full", client="somebody", handle="two")
    assert not call.clew.dispatcher.call("rollback_proposal", receipt, other).ok
    again = replace(call.session, handle="three", number=None)
    assert call.clew.dispatcher.call("rollback_proposal", receipt, again).ok


def test_a_proposal_is_withdrawn_by_who_made_it_and_a_contradiction_by_nobody(call: Caller) -> None:
    call.session = Connection(toolset="full", client="probe", handle="one")
    made = call("propose_update", block_type="decision", statement="Use port 8080")["proposal_id"]
    other = Connection(toolset="full", client="somebody", handle="two")
    refused = call.clew.dispatcher.call("retract", {"id": made, "why": "I dislike it"}, other)
    assert refused.envelope["error"]["details"]["rule"] == "person"
    assert call("retract", id=made, why="Too early")["status"] == "withdrawn"
    for text in ("Carts are kept in Redis", "Carts are not kept in Redis"):
        record = call("remember", text=text, kind="decision")
    decide(call.clew, "approve_apply", proposal_id=record["proposal"], dry_run=False)
    [entry] = call("list_contradictions")["resolutions"]
    done = call("retract", id=entry["contradiction_id"], why="settled")
    assert done["status"] == "proposed" and call("list_contradictions")["contradictions"] == 1


def test_undoing_an_approval_keeps_who_asked(call: Caller, waiting: Waiting) -> None:
    call.session = Connection(toolset="full", client="probe", handle="one")
    edit = {"op": "set_status", "target": waiting.rule, "status": "retracted"}
    made = call("propose_edit", ops=[edit], rationale="outdated")["proposal_id"]

    def asker() -> str:
        return next(str(item["by"]) for item in call("inbox_list")["items"] if item["id"] == made)

    asked = asker()
    assert asked.startswith("probe")
    done = decide(call.clew, "approve_apply", proposal_id=made, dry_run=False).envelope["result"]
    decide(call.clew, "rollback_proposal", receipt_ts=done["receipt_ts"])
    decide(call.clew, "reopen_proposal", proposal_id=made)
    assert asker() == asked


@pytest.mark.parametrize(
    "folder", ["home/workspaces/ws/memory/knowledge", "home/Workspaces/x", ".clew/knowledge", "knowledge"]
)
def test_no_operation_writes_a_file_that_would_count_as_a_persons_edit(
    make_clew: Callable[..., Clew], tmp_path: Path, folder: str, engine: str
) -> None:
    """A record in a memory file is a person's, who could be nobody else."""
    if engine != "sqlite":
        pytest.skip("no SQL is concerned")
    clew = make_clew(home=tmp_path / "home", **({"memory_dir": tmp_path} if folder == "knowledge" else {}))
    call = Caller(clew)
    book = call("notebook_create", name="T")["notebookId"]
    call("notebook_add_cell", notebookId=book, cellType="markdown", content="[R-99]\nStatus: active\nStatement: Push")
    refused = call.error("notebook_export", notebookId=book, path=f"{folder}/RULES.src.md")
    assert refused["code"] == "INVALID_INPUT" and "folder of memory" in refused["message"]
    assert call.error("open", id="R-99")["code"] == "UNKNOWN_ID"
    assert call("notebook_export", notebookId=book, path="docs/RULES.src.md")["success"]


def test_where_a_person_said_so_clients_approve_proposals_and_nothing_else(call: Caller, waiting: Waiting) -> None:
    assert decide(call.clew, "governance", approval="client").envelope["result"]["approval"] == "client"
    agent = Connection(toolset="mind-mem", client="probe", handle="h")

    def tried(name: str, **given: Any) -> bool:
        return call.clew.dispatcher.call(name, given, agent).ok

    assert tried("approve_apply", proposal_id=waiting.proposal, dry_run=False)
    assert tried("review_fact", fact_id=waiting.fact, verdict="accepted")
    assert not tried("guard_approve", id=waiting.rule)
    assert not tried("governance", mode="enforce")
    elsewhere = {"text": "Carts are kept in Redis", "kind": "decision", "workspace": "other"}
    call("remember", **elsewhere)
    opposed = call("remember", **{**elsewhere, "text": "Carts are not kept in Redis"})["proposal"]
    assert not tried("approve_apply", proposal_id=opposed, dry_run=False, workspace="other"), (
        "each workspace for itself"
    )
    decide(call.clew, "governance", approval="person")
    assert not tried("reject_proposal", proposal_id=waiting.proposal, reason="no")


# The four bypasses that were found, over each transport. A: the connection that proposed. B: the client, reconnected.


def proposed(call: Call) -> str:
    call("remember", text="Carts are kept in Redis", kind="decision", fmt="json")
    return str(call("remember", text="Carts are not kept in Redis", kind="decision", fmt="json")["proposal"])


def refused_in(shim: Shim, proposal: str) -> bool:
    arguments = {"name": "approve_apply", "arguments": {"proposal_id": proposal, "dry_run": False}}
    result = shim.ask("tools/call", name="op_call", arguments=arguments)["result"]
    return result["isError"] is True and "is for a person" in result["content"][0]["text"]


@pytest.mark.parametrize("resident", ["off", "on"])
def test_a_second_process_of_the_same_client_approves_nothing(tmp_path: Path, resident: str) -> None:
    home = tmp_path / "home"
    with ending(home):
        with Shim(home, CLEW_RESIDENT=resident) as first:
            first.open()
            proposal = proposed(first.call)
            assert refused_in(first, proposal), "A"
            with Shim(home, CLEW_RESIDENT=resident) as second:
                assert refused_in(second.open(), proposal), "B"
        for name in ("probe", "observatory", "clew-cli", "@ines"):
            with Shim(home, "--toolset", "mind-mem", CLEW_RESIDENT=resident, CLEW_AGENT_ID="ceo") as again:
                again.open(clientInfo={"name": name, "version": "0"})
                assert refused_in(again, proposal), "B, under another name"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "home", CLEW_TOKEN=TOKEN, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


BEARER = {"authorization": f"Bearer {TOKEN}"}
PAGE = {**BEARER, "x-clew-page": "1", "x-clew-author": "ceo"}


def test_over_http_neither_a_reconnected_client_nor_a_forged_page_approves(server: Server) -> None:
    first = Program(server.address, **BEARER)
    proposal = proposed(lambda name, /, **given: first.call(name, **given)["result"])
    decision = {"proposal_id": proposal, "dry_run": False}

    def is_refused(answer: dict[str, Any]) -> bool:
        return bool(answer["error"]["code"] == "NOT_ALLOWED" and answer["error"]["details"]["rule"] == "person")

    for client in (first, Program(server.address, **BEARER), Program(server.address, "observatory", **PAGE)):  # A, B
        given = {**decision, "fmt": "json"}
        assert is_refused(client.call("op_call", name="approve_apply", arguments=given))
        assert is_refused(client.call("approve_apply", **decision, fmt="json"))
    with httpx2.Client(base_url=server.address, headers=PAGE, timeout=60) as page:
        call = {"name": "approve_apply", "arguments": decision, "confirmed": True}
        assert is_refused(page.post("/page/call", json=call).json()), "D: the token and the page's headers"
        login = page.post("/page/login", json={"token": TOKEN})
        assert login.status_code == 200 and login.json()["person"] is None
        page.headers["x-clew-key"] = login.json()["key"]
        assert is_refused(page.post("/page/call", json=call).json()), "C: logged in with the token"
        note = {"name": "notes_commit", "arguments": {"content": "who wrote this?"}}
        assert page.post("/page/call", json=note).json()["success"]
        listed = page.post("/page/call", json={"name": "events_list", "arguments": {"limit": 50}}).json()
    assert "ceo" not in {event["agent"] for event in listed["result"]["events"]}


def test_the_page_without_a_token_reads_and_decides_nothing(clew: Clew, tmp_path: Path) -> None:
    server = Server(tmp_path / "open", CLEW_EMBEDDING_MODEL="none")
    try:
        with httpx2.Client(base_url=server.address, headers={"x-clew-page": "1"}, timeout=60) as page:
            assert page.get("/page/state").json()["person"] is None
            assert page.post("/page/login", json={}).status_code == 401
            asked = {"name": "governance", "arguments": {"mode": "enforce"}}
            assert page.post("/page/call", json=asked).json()["error"]["details"]["rule"] == "person"
    finally:
        server.stop()


def test_an_author_with_an_at_sign_is_a_person_for_sure(call: Caller) -> None:
    """No agent id, client name or argument makes one."""
    for connection in (Connection(client="@ines", handle="h"), Connection(client="  @Ines ", handle="i")):
        call.session = connection
        call("notes_commit", content="a note")
    assert not call.answer("notes_commit", content="a note", agent_id="@ines").ok
    assert {event["agent"] for event in call("events_list")["events"]} <= {None, "ines", "ines-1", "ines-2"}
    assert person().person == "@ines"
