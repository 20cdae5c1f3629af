"""Verdicts of the pair model are kept: who opens or resumes needs no model, who writes waits for few pairs, and nobody
waits inside a transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from clew.app import Clew
from clew.memory.contradictions.detection import AT_ONCE
from clew.model.pair import PairModel
from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.memory.conftest import Memory
from tests.waiting import until

SAID = "Failed uploads are retried 5 times"
AGAINST = "Failed uploads are retried 10 times"
FAR = "Billing writes to nothing but MySQL"
SIMILAR = [f"Failed uploads of {kind} are {deed}" for kind in ("images", "videos", "texts")
           for deed in ("logged with their size", "shown to the user", "reported to support once a day")]  # fmt: skip


@dataclass
class Reads:
    """The pairs that the model was given, by the thread that gave them."""

    pairs: list[tuple[int, tuple[str, str]]] = field(default_factory=list)

    def here(self) -> set[frozenset[str]]:
        return {frozenset(pair) for thread, pair in self.pairs if thread == threading.get_ident()}

    def anywhere(self) -> set[frozenset[str]]:
        return {frozenset(pair) for _, pair in self.pairs}

    def forget(self) -> None:
        self.pairs.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """The real model, watched."""
    seen, judge = Reads(), PairModel.judge

    def watched(model: PairModel, pairs: Any) -> list[float]:
        seen.pairs += [(threading.get_ident(), pair) for pair in pairs]
        return judge(model, pairs)

    monkeypatch.setattr(PairModel, "judge", watched)
    return seen


def decisions(texts: list[str]) -> str:
    return "\n".join(f"[D-{at}]\nStatus: active\nStatement: {text}\n" for at, text in enumerate(texts, 1))


def test_open_and_resume_make_no_model_call(memory: Memory, make_memory: Callable[[], Memory], reads: Reads) -> None:
    first = memory("remember", text="Sessions live in Redis", kind="fact")["id"]
    kept = memory("remember", text="Sessions live in Redis 7", kind="fact")
    assert [item["id"] for item in kept["may_contradict"]] == [first]
    memory.compared()
    reads.forget()
    another = make_memory()
    for _ in range(2):
        assert [item["id"] for item in another("open", id=kept["id"])["record"]["may_contradict"]] == [first]
        another("resume")
        another("record_view", id=first)
    assert reads.pairs == []


def test_the_first_question_about_a_folder_waits_for_no_comparison(memory: Memory, reads: Reads) -> None:
    """However alike its decisions are: they are compared after the answer (Y12)."""
    alike = [f"Service s{number} keeps its records in PostgreSQL" for number in range(200)]
    memory.edit("decisions/DECISIONS.md", decisions(alike))
    assert memory("recall", query="records of s41")["count"]
    assert reads.here() == set()


def test_remember_reads_the_nearest_in_the_call_and_the_rest_after_it(memory: Memory, reads: Reads) -> None:
    memory.edit("decisions/DECISIONS.md", decisions(SIMILAR))
    memory("list_contradictions")
    reads.forget()
    memory("remember", text="Failed uploads of archives wait for a week", kind="decision")
    assert 0 < len(reads.here()) <= AT_ONCE
    memory.compared()
    assert len(reads.anywhere()) > AT_ONCE


def test_a_pair_is_read_once(memory: Memory, make_memory: Callable[[], Memory], reads: Reads) -> None:
    memory("remember", text=SAID, kind="fact")
    memory("remember", text=AGAINST, kind="fact")
    memory.compared()
    reads.forget()
    again = make_memory()("remember", text=AGAINST, kind="preference")
    assert len(again["contradicts"]) == 1
    assert frozenset((SAID, AGAINST)) not in reads.anywhere()


def warnings(memory: Memory, connection: Connection) -> list[dict[str, str]]:
    found: list[dict[str, str]] = memory.clew.dispatcher.call("status", {}, connection).envelope["warnings"]
    return found


def test_what_comes_out_after_the_answer_is_in_the_next_one_and_in_the_inbox(memory: Memory) -> None:
    # By their words they are nearer than the one that contradicts.
    near = ("once a month", "in German", "in two languages", "without a logo", "by night", "at once", "in grey")
    others = [f"The billing service writes its invoices {how}" for how in near]
    memory.edit("decisions/DECISIONS.md", decisions([*others, FAR]))
    memory("list_contradictions")
    kept, _ = memory.decide("The billing service writes its invoices to PostgreSQL")
    # Whoever approves a record writes it.
    until(lambda: memory.person.notes)
    (note,) = warnings(memory, memory.person)
    assert note["message"].startswith(f"{kept} contradicts D-8: {FAR}")
    assert "replaces=[D-8] or coexists_with=[D-8]" in note["recovery"]
    assert warnings(memory, memory.person) == []
    assert [item["about"] for item in memory("inbox_list", kind="contradiction")["items"]] != []


def test_two_records_in_force_that_contradict_each_other_wait_in_the_inbox(memory: Memory) -> None:
    memory.edit("decisions/DECISIONS.md", decisions([SAID, AGAINST]))
    memory("recall", query="uploads")
    memory.compared()
    (item,) = memory("inbox_list", kind="contradiction")["items"]
    assert {side["id"] for side in item["about"]} == {"D-1", "D-2"}
    memory.edit("decisions/DECISIONS.md", decisions([SAID, SAID]))
    memory("recall", query="uploads")
    memory.compared()
    assert memory("inbox_list", kind="contradiction")["items"] == []


def test_the_model_never_reads_while_a_write_is_open(
    memory: Memory, make_clew: Callable[..., Clew], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes whenever the model reads: it would wait for a transaction that waits for the model."""
    other, judge, wrote = Caller(make_clew()), PairModel.judge, list[int]()

    def writing(model: PairModel, pairs: Any) -> list[float]:
        if pairs:
            other("notes_commit", content=f"note {len(wrote)}")
            wrote.append(len(pairs))
        return judge(model, pairs)

    monkeypatch.setattr(PairModel, "judge", writing)
    memory.edit("decisions/DECISIONS.md", decisions(SIMILAR))
    memory("recall", query="uploads")
    memory.compared()
    by_hand = len(wrote)
    memory("remember", text=SAID, kind="fact")
    proposed = memory.propose("Failed uploads of images are never logged")
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    memory("scan")
    memory.compared()
    assert 0 < by_hand < len(wrote)
