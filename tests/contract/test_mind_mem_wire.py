"""Mind-Mem's contract at the wire: a server started in a workspace that Mind-Mem made, and a client of its tools.

One server and one workspace serve all tests, so each test is about blocks of its own. The rules behind the answers are
tested on both engines in `test_mind_mem_calls` and `test_mind_mem_files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clew.memory.kernel_defaults import DEFAULTS
from tests.contract.mind_mem import DECISIONS, RECEIPT, STATE, TASKS, decision, make_workspace
from tests.contract.wire import Wire, serving

FACT = "[FACT-001]\nDate: 2026-01-02\nStatus: active\nStatement: The quokka sleeps\nTags: FACT, Caroline\nDiaID: D1:4"
PAIR = "Objects:\n- D-20260801-001\n- D-20260801-004\n"
ENTRY = "\n[C-{date}-001]\nDate: 2026-09-01\nSeverity: high\nStatement: {said}\n{objects}Status: open\n\n---\n"


class MindMem:
    """A client that reads nothing but the text of an answer."""

    def __init__(self, wire: Wire, root: Path) -> None:
        self.wire = wire
        self.root = root

    def __call__(self, name: str, /, **arguments: Any) -> Any:
        if name == "governance":
            return self.wire.decide(name, **arguments)
        return json.loads(self.wire.send(name, arguments).text)

    def found(self, query: str, **more: Any) -> list[str]:
        return [hit["_id"] for hit in self("recall", query=query, **more)]

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def add(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text((self.read(path) if file.exists() else "") + text, encoding="utf-8")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MindMem]:
    root = tmp_path_factory.mktemp("theirs")
    make_workspace(root)
    with serving(tmp_path_factory.mktemp("home"), "mind-mem", here=root) as wire:
        found = MindMem(wire, root)
        found.add(DECISIONS, f"\n{FACT}\n\n---\n")
        found.add("agents/bot1/decisions/DECISIONS.md", decision("D-20250102-001", "The bot feeds the aardvark"))
        found.add("decisions/DECISIONS_ARCHIVE.md", decision("D-20200101-001", "Heron queues were used"))
        found.add("mind/recall.mind", "[fields]\nStatement = 3\n[retrieval]\nwide_k = 200\n")
        found.add("mind/own.mind", "[alpha]\nx = 1\n")
        found("governance", approval="client")
        yield found


def test_its_mode_counts_and_its_keys_stay(client: MindMem) -> None:
    assert client("scan")["checks"]["governance_mode"] == "propose"
    client("governance", mode="propose", per_day=9)
    after = json.loads(client.read("memory/intel-state.json"))
    # The time of the last apply is written by those of other tests.
    same = STATE.keys() - {"proposal_budget", "last_apply_ts"}
    assert {name: after[name] for name in same} == {name: STATE[name] for name in same}
    assert after["proposal_budget"] == {**STATE["proposal_budget"], "per_day": 9}


@pytest.mark.parametrize("number", range(102, 108))
def test_what_it_staged_can_be_applied(client: MindMem, number: int) -> None:
    assert client("approve_apply", proposal_id=f"P-20261115-{number}")["status"] == "dry_run_passed"


def test_an_apply_keeps_the_files_as_they_were_and_is_taken_back(client: MindMem) -> None:
    before = client.read(TASKS)
    done = client("approve_apply", proposal_id="P-20261115-103", dry_run="false")
    state = json.loads(client.read("memory/intel-state.json"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", state["last_apply_ts"])
    assert state["last_apply_ts"] != STATE["last_apply_ts"] and state.keys() >= STATE.keys()
    assert "\n- 2026-11-15: finished\n" in client.read(TASKS), "quotes around a value are no part of it"
    snapshot = client.root / "intelligence/applied" / done["receipt_ts"] / TASKS
    assert snapshot.read_text(encoding="utf-8") == before
    assert client("rollback_proposal", receipt_ts=done["receipt_ts"])["status"] == "rolled_back"
    assert client.read(TASKS) == before


def test_its_own_receipt_is_rolled_back(client: MindMem) -> None:
    back = client("rollback_proposal", receipt_ts=RECEIPT)
    assert back["status"] == "rolled_back"
    assert "D-20261115-001" not in client.read(DECISIONS)


def test_private_and_archived_files_are_neither_searched_nor_counted(client: MindMem) -> None:
    assert client.found("aardvark") == client.found("heron queues") == []
    shown = {block["_id"] for block in json.loads(client.wire.read("mind-mem://decisions"))}
    assert "D-20260801-001" in shown
    assert shown.isdisjoint({"D-20250102-001", "D-20200101-001"})
    assert client("scan")["checks"]["decisions"]["active"] == len([id for id in shown if id.startswith("D-")])
    assert json.loads(client.wire.read("mind-mem://health"))["files"]["decisions"]["active"] == len(shown)


def test_the_resources_show_their_file_in_its_order_and_health_counts_it(client: MindMem) -> None:
    """A fact among the decisions belongs to them; what stands in another file does not."""
    client.add("shared/decisions/DECISIONS.md", decision("D-20200303-001", "The numbat is shared"))
    client.add(DECISIONS, f"\n{decision('D-20200101-007', 'The dingo was first')}\n\n---\n")
    shown = json.loads(client.wire.read("mind-mem://decisions"))
    lines = client.read(DECISIONS).split("\n")
    assert [lines[block["_line"] - 1] for block in shown] == [f"[{block['_id']}]" for block in shown]
    ids = [block["_id"] for block in shown]
    assert [block["_line"] for block in shown] == sorted(block["_line"] for block in shown)
    assert {"FACT-001", "D-20200101-007"} <= set(ids) and "D-20200303-001" not in ids
    counted = json.loads(client.wire.read("mind-mem://health"))["files"]["decisions"]
    assert counted == {"total": client.read(DECISIONS).count("\n["), "active": len(ids)}
    assert client.found("numbat") == ["D-20200303-001"], "what the agents share is searched"


def test_a_fact_has_its_speaker_and_its_turn(client: MindMem) -> None:
    (hit,) = client("recall", query="quokka")
    assert (hit["_id"], hit["speaker"], hit["DiaID"]) == ("FACT-001", "Caroline", "D1:4")
    assert hit["excerpt"] == "The quokka sleeps"


def test_kernels_are_read_as_written_and_no_others_are_laid_down(client: MindMem) -> None:
    shown = client("get_mind_kernel", name="recall")
    assert shown["config"] == {"fields": {"Statement": "3"}, "retrieval": {"wide_k": "200"}}
    assert shown["unused"] == ["retrieval.wide_k"]
    assert client("get_mind_kernel", name="own")["config"] == {"alpha": {"x": "1"}}
    client("propose_update", block_type="task", statement="Tune the kernels")
    listed = {kernel["name"]: kernel for kernel in client("list_mind_kernels")}
    assert listed.keys() == {*DEFAULTS, "own"}
    written = {name for name, kernel in listed.items() if Path(kernel["path"]).is_file()}
    assert written == {"own", "recall"}, "beside others Mind-Mem would rank otherwise"
    assert {name for name, kernel in listed.items() if kernel.get("exists") is False} == listed.keys() - written


def test_one_entry_stands_for_one_pair_however_it_was_written(client: MindMem) -> None:
    """Twice by the scanner, once by hand without a list of objects."""
    client.add("intelligence/CONTRADICTIONS.md", ENTRY.format(date="20260901", said="says the scanner", objects=PAIR))
    client.add("intelligence/CONTRADICTIONS.md", ENTRY.format(date="20260902", said="says it again", objects=PAIR))
    by_hand = "D-20260801-002 and D-20260801-003 cannot both hold"
    client.add("intelligence/CONTRADICTIONS.md", ENTRY.format(date="20260903", said=by_hand, objects=""))
    assert client("scan")["checks"]["contradictions"] == 2
    listed = client("list_contradictions")["resolutions"]
    assert {item["contradiction_id"] for item in listed} == {"C-20260901-001", "C-20260903-001"}


def test_only_active_blocks_where_they_are_asked_for(client: MindMem) -> None:
    assert "T-20260801-001" in client.found("migrate billing tables")
    for name in ("recall", "hybrid_search"):
        found = client(name, query="migrate billing tables", active_only="true", limit="5")
        assert {hit["status"] for hit in found} == {"active"}


def test_a_block_named_by_its_id_comes_first_with_a_score(client: MindMem) -> None:
    for id in ("D-20260801-001", "T-20260801-001"):
        first = client("recall", query=id)[0]
        assert first["_id"] == id
        assert first["score"] > 50
    assert "T-20260801-001" not in client.found("T-20260801-001", active_only=True), "it is no active block"


def test_an_empty_question_finds_nothing(client: MindMem) -> None:
    assert client("recall", query="") == client("hybrid_search", query=" ") == client("recall", query="?!") == []
    assert client("category_summary", topic="")["status"] == "no_categories"


@pytest.mark.parametrize("limit", ["1", 1.0])
def test_a_number_may_come_as_text_or_with_a_point(client: MindMem, limit: Any) -> None:
    assert len(client("recall", query="billing", limit=limit)) == 1


def test_refusals_have_the_fields_of_the_tables(client: MindMem) -> None:
    failed = client("approve_apply", proposal_id="P-20200101-001", dry_run="false")
    assert (failed["status"], failed["success"], failed["dry_run"]) == ("failed", False, False)
    assert failed["message"] and failed["log"] and failed["recovery"]
    assert failed["next_step"] is None, "it is there after a dry run that passed, and then only"
    back = client("rollback_proposal", receipt_ts="20200101-000000")
    assert (back["status"], back["success"]) == ("rollback_failed", False)
    assert "20200101-000000" in back["log"]


def test_both_searches_give_one_ranking(client: MindMem) -> None:
    one, other = client("recall", query="sessions Redis"), client("hybrid_search", query="sessions Redis")
    assert [(hit["_id"], hit["score"]) for hit in one] == [(hit["_id"], hit["score"]) for hit in other] != []


def test_only_the_files_are_searched_unless_more_is_asked_for(client: MindMem) -> None:
    """Its clients open the file and line of every hit, so cards and tasks of the store are none."""
    client.wire.send("think_card", {"card": {"type": "decision", "title": "Walruses are counted at noon"}})
    assert client.found("walruses counted at noon") == client.found("CARD-1") == []
    assert client.found("walruses counted at noon", sources=["all"]) == ["CARD-1"]


def test_answers_are_short_and_silence_is_an_empty_list(client: MindMem) -> None:
    assert client.found("kangaroo hydraulics") == []
    assert len(client.found("billing", limit=2)) <= 2
    hit = client("recall", query="invoices Mondays")[0]
    assert hit["excerpt"].startswith("Invoices go out on Mondays")


def test_the_figures_of_a_scan_agree_and_no_resolution_outlives_its_contradiction(client: MindMem) -> None:
    for number, store in enumerate(("memcached", "PostgreSQL", "Redis"), 1):
        client.add(DECISIONS, f"\n{decision(f'D-2026090{number}-001', f'Carts are kept in {store}')}\n\n---\n")

    def staged() -> dict[str, str]:
        listed = client("list_proposals", limit=100)["proposals"]
        return {item["proposal_id"]: item["target"] for item in listed if item["status"] == "staged"}

    checks = client("scan")["checks"]
    first = checks["proposed_resolutions"][0]
    loser = staged()[first]
    assert set(checks["proposed_resolutions"]) <= staged().keys()
    assert checks["staged_proposals"] == len(staged())
    assert client("approve_apply", proposal_id=first, dry_run=False)["status"] == "applied"
    assert client("scan")["checks"]["staged_proposals"] == len(staged())
    assert loser not in staged().values(), "nothing else makes it yield once it has"


def test_a_dry_run_works_in_every_mode(client: MindMem) -> None:
    client("governance", mode="detect_only")
    assert client("approve_apply", proposal_id="P-20261115-107")["status"] == "dry_run_passed"
    refused = client("approve_apply", proposal_id="P-20261115-107", dry_run=False)
    assert (refused["status"], refused["rule"]) == ("failed", "detect_only")
    client("governance", mode="propose")


@pytest.mark.parametrize("wrong", [{"statement": " "}, {"confidence": "sure"}, {"tags": "a|b"}, {"block_type": "note"}])
def test_what_cannot_be_proposed_is_refused(client: MindMem, wrong: dict[str, str]) -> None:
    before = client.read("intelligence/SIGNALS.md")
    answer = client("propose_update", **{"block_type": "decision", "statement": "Gnus are counted", **wrong})
    assert (answer["code"], "status" in answer) == ("INVALID_INPUT", False)
    assert client.read("intelligence/SIGNALS.md") == before


def test_what_is_active_already_is_not_proposed_again(client: MindMem) -> None:
    again = client("propose_update", block_type="decision", statement="Use PostgreSQL for billing")
    assert (again["status"], again["written"], again["proposal_id"]) == ("proposed", 0, None)
    assert again["duplicate_of"] == "D-20260801-001"
    assert again["safety"] == "Nothing was written."


def test_similar_blocks_are_found_by_what_they_say_too(client: MindMem) -> None:
    client("recall", query="PostgreSQL billing")  # which brings the two up together
    found = client("find_similar", block_id="D-20260801-001")
    assert found["source"] == "D-20260801-001"
    assert "T-20260801-001" in found["similar"]
    assert found["method"] == "content and co-occurrence"
    unknown = client("find_similar", block_id="D-20990101-001")
    assert (unknown["code"], unknown["block_id"]) == ("UNKNOWN_ID", "D-20990101-001")


def test_half_an_id_finds_the_blocks_of_that_day_first(client: MindMem) -> None:
    found = client.found("D-20260801")
    assert found[:3] == ["D-20260801-001", "D-20260801-002", "D-20260801-003"]


def test_a_receipt_never_takes_a_folder_that_is_there(client: MindMem) -> None:
    """Mind-Mem may have applied something in the same second, and puts its receipt into the folder of that second."""
    applied = client.root / "intelligence/applied"
    known = {path.name for path in applied.iterdir()}
    taken = {(datetime.now(UTC) + timedelta(seconds=ahead)).strftime("%Y%m%d-%H%M%S") for ahead in range(60)} - known
    for name in taken:
        (applied / name).mkdir(parents=True)
    staged = client("propose_update", block_type="decision", statement="Receipts keep their folders")
    client.wire.decide("approve_apply", proposal_id=staged["proposal_id"], dry_run=False)
    (made,) = {path.parent.name for path in applied.glob("*/APPLY_RECEIPT.md")} - known
    assert made not in taken
    for name in taken:
        (applied / name).rmdir()


def test_a_rollback_takes_the_reason_that_version_5_asks_for(client: MindMem) -> None:
    failed = client("rollback_proposal", receipt_ts="20200101-000000", reason="measured again")
    assert failed["status"] == "rollback_failed" and "20200101-000000" in failed["error"]


@pytest.mark.parametrize(
    ("name", "field", "most"),
    [("recall", "query", 4_000), ("intent_classify", "query", 4_000), ("propose_update", "statement", 20_000)],
)
def test_what_is_longer_than_any_question_or_statement_is_refused(
    client: MindMem, name: str, field: str, most: int
) -> None:
    more = {"block_type": "decision"} if name == "propose_update" else {}
    refused = client(name, **{field: "word " * (most // 5 + 1)}, **more)
    assert refused["code"] == "INVALID_INPUT" and str(most) in refused["error"]
    assert client("recall", query="a\x00b")["code"] == "INVALID_INPUT"
