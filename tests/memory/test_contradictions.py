"""Contradictions: found on the write, listed once, gone when one side goes, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.app import Clew
from clew.memory.contradictions.signatures import conflict, signatures
from clew.registry.connection import Connection
from tests.conftest import ROOT, Caller
from tests.memory.conftest import Memory
from tests.memory.judging import clash, judged

PAIRS = [line.split("\t") for line in (ROOT / "benchmarks" / "statements.tsv").read_text().splitlines()]


def decide(call: Caller, statement: str, **more: Any) -> str:
    """A decision that has been approved; returns its id."""
    proposed = call("propose_update", block_type="decision", statement=statement, rationale="because", **more)
    call("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    block: str = proposed["block_id"]
    return block


def listed(call: Caller) -> list[tuple[str, str]]:
    found = call("list_contradictions")
    return [(item["block_a"], item["block_b"]) for item in found.get("resolutions", [])]


def test_two_decisions_that_clash_are_found_on_the_write(call: Caller, clew: Clew) -> None:
    first = decide(call, "Use PostgreSQL for the billing data.")
    second = decide(call, "The billing data lives in MySQL.")
    found = call("list_contradictions")
    assert (found["status"], found["contradictions"]) == ("contradictions_found", 1)
    entry = found["resolutions"][0]
    assert (entry["block_a"], entry["block_b"]) == (first, second)
    assert entry["strategy"] in {"supersede", "merge", "manual"}
    assert 0 <= entry["confidence"] <= 1
    assert entry["rationale"]
    scanned = call("scan")["checks"]["contradictions"]
    text = clew.dispatcher.read_resource("mind-mem://contradictions", Connection()).text
    assert scanned == 1 == text.count("\n[C-")


def test_a_second_look_adds_nothing(call: Caller) -> None:
    decide(call, "Backups run daily.")
    decide(call, "Backups run weekly.")
    for _ in range(3):
        call("scan")
    assert len(listed(call)) == 1


def test_it_is_gone_when_one_side_is_revoked_and_back_when_it_returns(call: Caller) -> None:
    first = decide(call, "Backups run daily.")
    decide(call, "Backups run weekly.")
    edit = {"op": "set_status", "target": first, "file": "decisions/DECISIONS.md", "status": "revoked"}
    proposal = call("propose_edit", ops=[edit], rationale="settled")["proposal_id"]
    receipt = call("approve_apply", proposal_id=proposal, dry_run=False)["receipt_ts"]
    assert call("list_contradictions") == {
        "status": "clean",
        "contradictions": 0,
        "message": "No contradictions found.",
    }
    assert call("scan")["checks"]["contradictions"] == 0
    call("rollback_proposal", receipt_ts=receipt)
    assert len(listed(call)) == 1


def test_scopes_that_do_not_meet_do_not_clash(call: Caller) -> None:
    decide(call, "Backups run daily.", scope="project:a")
    decide(call, "Backups run weekly.", scope="project:b")
    assert listed(call) == []


def test_a_successor_does_not_contradict_what_it_supersedes(call: Caller) -> None:
    first = decide(call, "Backups run daily.")
    decide(call, "Backups run weekly.", supersedes=first)
    assert listed(call) == []


def test_a_hand_edit_that_clashes_is_found(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    call = Caller(make_clew(memory_dir=tmp_path / "memory"))
    decide(call, "Backups run daily.")
    decide(call, "Orders are kept for good.")
    file = tmp_path / "memory" / "decisions" / "DECISIONS.md"
    file.write_text(file.read_text().replace("Orders are kept for good.", "Backups run weekly."))
    assert len(listed(call)) == 1


SIGNATURE = """\
[D-1]
ConstraintSignatures:
- id: CS-1
  domain: infra
  subject: database
  predicate: engine
  object: {object}
  modality: {modality}
  priority: 9
  scope:
    projects: [{project}]
  axis:
    key: database.engine
"""


def signature(object: str = "postgres", modality: str = "must", project: str = "a") -> Any:
    return signatures(SIGNATURE.format(object=object, modality=modality, project=project))[0]


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ({"modality": "must"}, {"modality": "must_not"}, "critical"),
        ({"modality": "should"}, {"modality": "must_not"}, "medium"),
        ({"modality": "may"}, {"modality": "must_not"}, "low"),
        ({"object": "mysql"}, {}, "critical"),
        ({"object": "mysql", "modality": "should"}, {"modality": "should"}, "low"),
        ({}, {}, None),
        ({"modality": "must"}, {"modality": "must_not", "project": "b"}, None),
    ],
)
def test_signatures_clash_by_their_algebra(one: dict[str, str], other: dict[str, str], severity: str | None) -> None:
    found = conflict(signature(**one), signature(**other))
    assert (found.severity if found else None) == severity


def test_plain_statements_are_told_apart_well_enough() -> None:
    """On the half of the labelled pairs that nothing was tuned on."""
    held = [row[1:] for row in PAIRS if row[0] == "held"]
    said = [(label == "C", clash(one, other) is not None) for label, one, other in held]
    hits = sum(real and found for real, found in said)
    assert hits / sum(found for _, found in said) >= 0.9
    assert hits / sum(real for real, _ in said) >= 0.6


AGAINST = [
    ("Secrets live in Vault.", "Secrets live in environment files."),
    ("The primary region is Frankfurt.", "The primary region is Dublin."),
    ("Ada owns the billing service.", "Grace owns the billing service."),
    ("Use Fluentd for log shipping.", "Use Vector for log shipping."),
    ("Prefer composition over inheritance.", "Prefer inheritance over composition."),
    ("Only support can delete an account.", "Users can delete their account."),
    ("Only the lawyers may sign leases.", "Site managers sign leases with owners."),
    ("The pump weighs 12 kg.", "The pump weighs 15 kilograms."),
    ("The gate opens until 4 May.", "The gate opens until 9 June."),
    ("No claims are paid after 30 June.", "Claims are paid until 10 July."),
    ("The depot turns away crates over 30 kg.", "Crates of up to 50 kg are accepted at the depot."),
    ("Night flights are banned; noise comes first.", "Night flights leave every hour."),
    ("The crew of boat number 3 eats at 12:00.", "The crew of boat number 3 eats at 13:00."),
    ("Health checks run every 10 seconds.", "Health checks run once a minute."),
    ("TLS ends at the load balancer.", "TLS ends inside the pods, not at the load balancer."),
    ("Tabs are forbidden.", "Indent with tabs."),
]
BESIDE = [
    ("Ada owns the billing service.", "Ada owns the ledger service."),
    ("Use Fluentd for log shipping.", "Use Fluentd for audit trails."),
    ("Users may sign in with Google.", "Users may sign in with GitHub."),
    ("The meeting is held on Monday.", "The meeting is held in room four."),
    ("File a form for trips of 50 km or more.", "Trips under 50 km don't need a form."),
    ("Boat number 3 leaks at the stern.", "Boat number 4 leaks at the stern."),
    ("Room 12 has two projectors.", "Room 14 has three projectors."),
    ("Health checks run every 60 seconds.", "Health checks run once a minute."),
    ("Free accounts get 5 GB.", "Paid accounts get 100 GB."),
]


def test_what_differs_decides() -> None:
    """Another value in the same place is a contradiction; another place is not. No model is right about each."""
    assert sum(judged(*pair) is not None for pair in AGAINST) >= len(AGAINST) - 1
    assert sum(clash(*pair) is not None for pair in BESIDE) <= 1


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_two_texts_can_be_compared_in_either_order(one: str, other: str) -> None:
    first, second = clash(one, other), clash(other, one)
    assert (first is None) == (second is None)
    assert clash(one, one) is None


def test_duties_names_and_quantifiers_are_found_among_other_decisions(memory: Memory) -> None:
    """Through the index of words: what is not looked up is never compared."""
    pairs = [
        ("Maria approves schema changes", "Tomas approves schema changes"),
        ("The default branch is called main", "The default branch is called trunk"),
        ("Previews are shown to every customer", "Previews are shown only to beta customers"),
        ("Audit logs are kept for 90 days", "Audit logs are kept for 7 years"),
    ]
    said = [text for pair in pairs for text in pair] + [f"Component number {number} is blue" for number in range(5)]
    blocks = [f"[D-{number}]\nStatus: active\nStatement: {text}\n" for number, text in enumerate(said, 1)]
    memory.edit("decisions/DECISIONS.md", "\n".join(blocks))
    found = memory("list_contradictions")["resolutions"]
    assert {(item["block_a"], item["block_b"]) for item in found} == {(f"D-{n}", f"D-{n + 1}") for n in (1, 3, 5, 7)}
