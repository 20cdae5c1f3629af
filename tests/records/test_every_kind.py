"""Every id that a lived-in workspace holds: it opens, its links are known at both ends, it can be taken back."""

from __future__ import annotations

import re

import pytest

from clew.records.links import kind_of, links_of
from clew.registry.context import Context
from tests.conftest import Caller
from tests.contract.lived_in import HISTORY

MORE = (
    ("tasks_evidence_capture", {"task": "TASK-001", "path": "s:0", "checkpoint": "tests", "checks": ["CMD: make"]}),
    ("thought", {"thought": "S2|C|S1|Make it shorter.", "nextThoughtNeeded": False}),
    ("think_publish", {"card_id": "CARD-D", "target": "TASK-001"}),
)
NAMED = ("PLAN-001", "TASK-001", "JOB-001", "a:core", "NB-001", "RCPT-001")


@pytest.fixture
def ids(call: Caller) -> list[str]:
    """Everything that search finds, and what it does not."""
    for name, arguments in (*HISTORY, *MORE):
        call(name, **arguments)
    proposal = call("list_proposals")["proposals"][0]["proposal_id"]
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as ctx:
        rows = ctx.tx.all("SELECT ref FROM item WHERE workspace = ? ORDER BY ref", "ws")
        session = ctx.tx.value("SELECT id FROM ledger_session WHERE workspace = ?", "ws")
    return list(dict.fromkeys([*(row["ref"] for row in rows), *NAMED, proposal, str(session)]))


def test_there_is_something_of_every_kind(call: Caller, ids: list[str]) -> None:
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as ctx:
        kinds = {kind_of(ctx, id) for id in ids}
    wanted = {"card", "thought", "step", "evidence", "receipt", "entry", "block", "task", "plan", "job", "session"}
    assert wanted <= kinds, (wanted - kinds, ids)


def test_every_id_opens_and_names_itself(call: Caller, ids: list[str]) -> None:
    for id in ids:
        opened = call("open", id=id)
        assert id in (opened.get("id"), opened.get("ref")), id
        assert call("open", id=id, verbosity="compact")["kind"] == opened["kind"]


def test_a_link_is_seen_from_both_of_its_ends(call: Caller, ids: list[str]) -> None:
    """Where the other end is a record too; an edge may lead to something that is not there."""
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as ctx:
        found = {id: links_of(ctx, id, 200) for id in ids}
    for id, links in found.items():
        for link in links.outgoing:
            if link.end in found and link.rel != "mentions":
                assert link in found[link.end].incoming, link
        for link in links.incoming:
            if link.start in found and link.rel != "mentions":
                assert link in found[link.start].outgoing, (id, link)


def test_every_id_can_be_taken_back_and_says_so(call: Caller, ids: list[str]) -> None:
    # Work is taken back last: a step of a canceled task would be another story.
    for id in sorted(ids, key=lambda id: (bool(re.match(r"TASK|PLAN", id)), id)):
        answer = call.answer("retract", id=id, why="It was only a test.")
        assert answer.ok, (id, answer.envelope["error"])
        assert len(answer.text) <= 400, answer.text
        opened = call("open", id=id)
        assert opened["record"]["retraction"]["why"] == "It was only a test.", id
