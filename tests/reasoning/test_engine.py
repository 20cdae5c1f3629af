"""The engine: each signal with its condition, severity and action; every proposed call runs as it stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.reasoning import engine
from clew.reasoning.graph import Edge, Node
from tests.conftest import Caller, TickingClock
from tests.reasoning.thinking import a_task, codes, kinds, run_engine_calls, think

DAY = 86_400_000


def node(card_id: str, kind: str, seq: int = 1, **more: Any) -> Node:
    fields = {"title": card_id, "text": None, "status": "open", "tags": (), "meta": None, **more}
    return Node(id=card_id, type=kind, deleted=False, last_seq=seq, last_ts_ms=more.pop("ts", seq * 1000), **fields)


def edge(start: str, rel: str, end: str) -> Edge:
    return Edge(start, rel, end, None, False, 1, 1)


def watch(call: Caller, **arguments: Any) -> Any:
    found = call("think_watch", engine_signals_limit=50, engine_actions_limit=50, **arguments)
    return found.get("engine")


def test_silence_is_no_block(call: Caller) -> None:
    think(call, "N", "note")
    assert watch(call) is None
    assert engine.run([], [], []) is None
    assert engine.run([node("H", "hypothesis")], [], [], 0, 0) is None


def test_an_untested_hypothesis_asks_for_a_test_until_it_has_one(call: Caller) -> None:
    think(call, "H")
    block = watch(call)
    assert codes(block) == ["BM4_HYPOTHESIS_NO_TEST"]
    assert block and block["signals"][0]["severity"] == "high"
    assert kinds(block) == ["add_test_stub"]
    assert run_engine_calls(call, block) == 1
    assert "BM4_HYPOTHESIS_NO_TEST" not in codes(watch(call))


@pytest.mark.parametrize(
    ("status", "asked"), [("accepted", True), ("closed", False), ("done", False), ("resolved", False)]
)
def test_only_closing_ends_the_need_for_a_test(call: Caller, status: str, asked: bool) -> None:
    think(call, "H", status=status)
    assert ("BM4_HYPOTHESIS_NO_TEST" in codes(watch(call, view="explore"))) is asked


def test_a_tested_hypothesis_asks_for_evidence_directly_or_through_its_test(call: Caller) -> None:
    think(call, "H")
    think(call, "T", "test", supports=["H"])
    assert "BM4_HYPOTHESIS_NO_EVIDENCE" in codes(watch(call))
    think(call, "STUB", "evidence", supports=["T"], text="CMD: make check\nRESULT: what came out")
    assert "BM4_HYPOTHESIS_NO_EVIDENCE" in codes(watch(call))
    think(call, "E", "evidence", supports=["T"], text="CMD: make check")
    assert "BM4_HYPOTHESIS_NO_EVIDENCE" not in codes(watch(call))


def test_a_contradiction_is_found_and_its_resolution_proposed(call: Caller) -> None:
    think(call, "H")
    think(call, "T", "test", supports=["H"])
    think(call, "C", tags=["counter"], blocks=["H"])
    block = watch(call)
    found = next(signal for signal in block["signals"] if signal["code"] == "BM1_CONTRADICTION_SUPPORTS_BLOCKS")
    assert (found["severity"], found["refs"]) == ("high", ["H", "C", "T"])
    assert "resolve_contradiction" in kinds(block)
    assert run_engine_calls(call, block) >= 3


def test_weak_evidence_counts_only_where_others_build_on_it(call: Caller) -> None:
    think(call, "D", "decision")
    think(call, "E", "evidence", supports=["D"], text="looked fine")
    assert "BM2_EVIDENCE_WEAK" not in codes(watch(call))
    call("think_pin", targets="D")
    assert "BM2_EVIDENCE_WEAK" in codes(watch(call))
    call("think_set_status", targets="E", status="closed")
    think(call, "E2", "evidence", supports=["D"], text="CMD: make bench\nLINK: https://ci/1", meta={"source": "ci"})
    signals = [signal for signal in watch(call)["signals"] if signal["code"] == "BM2_EVIDENCE_WEAK"]
    assert all("E2" not in signal["refs"] for signal in signals)


def test_a_pinned_decision_without_support_is_low_in_confidence(call: Caller) -> None:
    think(call, "D", "decision", tags=["pinned"])
    block = watch(call)
    assert "BM3_DECISION_LOW_CONFIDENCE" in codes(block)
    assert "use_playbook" in kinds(block)
    run_engine_calls(call, block)


def test_a_blocked_hypothesis_is_unlikely_when_no_decision_is_pinned(call: Caller) -> None:
    think(call, "H")
    think(call, "E", "evidence", blocks=["H"], text="CMD: make\nLINK: http://x", meta={"source": "ci"})
    assert "BM3_HYPOTHESIS_LOW_CONFIDENCE" in codes(watch(call))
    think(call, "D", "decision", tags=["pinned"])
    assert "BM3_HYPOTHESIS_LOW_CONFIDENCE" not in codes(watch(call))


def test_a_closed_assumption_that_is_still_used_is_rechecked(call: Caller) -> None:
    think(call, "D", "decision")
    think(call, "A", "note", tags=["assumption", "v:canon"], supports=["D"])
    assert "BM6_ASSUMPTION_NOT_OPEN_BUT_USED" not in codes(watch(call))
    call("think_set_status", targets="A", status="retracted")
    block = watch(call, view="explore")
    assert "BM6_ASSUMPTION_NOT_OPEN_BUT_USED" in codes(block)
    assert "recheck_assumption" in kinds(block)
    run_engine_calls(call, block)


@pytest.mark.parametrize("title", ["SQLite vs files", "A versus B", "The tradeoff", "a trade-off", "run an A/B test"])
def test_two_options_suggest_the_matrix(call: Caller, title: str) -> None:
    think(call, "Q", "question", title=title)
    block = watch(call)
    assert kinds(block) == ["use_playbook"]
    assert block["actions"][0]["calls"][0]["params"]["name"] == "criteria_matrix"
    run_engine_calls(call, block)


@pytest.mark.parametrize(
    "runnable",
    [
        {"meta": {"run": {"cmd": "make t"}}},
        {"meta": {"cmd": "make t"}},
        {"text": "first\nCMD: make t"},
        {"meta": {"meta": {"cmd": "make t"}}},
    ],
)
def test_a_runnable_test_is_run_then_fresh_then_stale(
    call: Caller, clock: TickingClock, runnable: dict[str, Any]
) -> None:
    think(call, "T", "test", **runnable)
    block = watch(call)
    assert (kinds(block), block["actions"][0]["priority"]) == (["run_test"], "high")
    assert "make t" in block["actions"][0]["calls"][0]["params"]["card"]["text"]
    run_engine_calls(call, block)
    assert kinds(watch(call)) == ["run_test"], "a stub that was not filled in is no result"
    think(call, "E", "evidence", supports=["T"], text="CMD: make t\nRESULT: ok")
    assert codes(watch(call)) == ["BM5_RUNNABLE_TESTS_FRESH"]
    clock.now_ms += 31 * DAY
    think(call, "LATER", "evidence")
    block = watch(call)
    assert codes(block) == ["BM8_EVIDENCE_STALE"]
    assert (kinds(block), block["actions"][0]["priority"]) == (["run_test"], "medium")
    run_engine_calls(call, block)


def test_a_test_says_itself_when_its_evidence_is_stale(call: Caller, clock: TickingClock) -> None:
    think(call, "T", "test", text="CMD: make", meta={"stale_after_days": 2})
    think(call, "E", "evidence", supports=["T"], text="CMD: make")
    clock.now_ms += 3 * DAY
    think(call, "LATER", "evidence")
    assert codes(watch(call)) == ["BM8_EVIDENCE_STALE"]


def test_many_cards_without_a_result_are_going_in_circles(call: Caller) -> None:
    for number in range(6):
        think(call, f"Q{number}", "question")
    block = watch(call)
    assert codes(block) == ["BM10_STUCK_NO_EVIDENCE"]
    names = [proposed["params"]["name"] for proposed in block["actions"][0]["calls"]]
    assert names == ["debug", "breakthrough"]
    run_engine_calls(call, block)
    think(call, "E", "evidence", text="CMD: x")
    assert "BM10_STUCK_NO_EVIDENCE" not in codes(watch(call))


def test_a_claim_that_nothing_opposes_asks_for_a_counter_position(call: Caller) -> None:
    think(call, "H")
    think(call, "T", "test", supports=["H"])
    block = watch(call)
    assert "BM10_NO_COUNTER_EDGES" in codes(block)
    run_engine_calls(call, block)
    again = watch(call)
    counters = [signal for signal in again["signals"] if signal["code"] == "BM10_NO_COUNTER_EDGES"]
    assert counters == [], "counter-positions need no counter-position of their own"


def test_a_draft_decision_asks_to_be_published_until_it_is(call: Caller) -> None:
    think(call, "D", "decision", tags=["v:draft"])
    assert watch(call) is None
    block = watch(call, all_lanes=True)
    assert codes(block) == ["BM_LANE_DECISION_NOT_PUBLISHED"]
    assert kinds(block) == ["publish_decision"]
    run_engine_calls(call, block)
    assert "BM_LANE_DECISION_NOT_PUBLISHED" not in codes(watch(call, all_lanes=True))


def test_an_old_draft_decision_is_left_alone_unless_pinned(call: Caller, clock: TickingClock) -> None:
    think(call, "D", "decision", tags=["v:draft"])
    clock.now_ms += 15 * DAY
    think(call, "LATER", "evidence")
    assert "BM_LANE_DECISION_NOT_PUBLISHED" not in codes(watch(call, all_lanes=True))


def test_signals_are_bounded_ranked_and_counted() -> None:
    cards = [node(f"H{number}", "hypothesis", number) for number in range(20)]
    block = engine.run(cards, [], [], 3, 1)
    assert block is not None
    assert (block["signals_total"], block["actions_total"], block["truncated"]) == (12, 12, True)
    assert [signal["refs"] for signal in block["signals"]] == [["H19"], ["H18"], ["H17"]]
    assert len(block["actions"]) == 1


def test_a_step_comes_first_and_its_calls_name_it(call: Caller) -> None:
    a_task(call, "First", "Second")
    think(call, "MINE", step="s:0")
    think(call, "OTHER", step="s:1")
    block = watch(call, step="s:0")
    assert block and block["mode"] == "step_aware"
    proposed = block["actions"][0]["calls"][0]["params"]
    assert f"step:{proposed['step'].lower()}" == block["step_tag"]
    assert run_engine_calls(call, block) == 1
    assert "BM4_HYPOTHESIS_NO_TEST" not in codes(watch(call, step="s:0"))


def test_calls_name_a_workspace_that_is_not_the_default(call: Caller) -> None:
    call("think_card", card={"id": "H", "type": "hypothesis", "title": "T"}, workspace="other")
    block = call("think_watch", workspace="other")["engine"]
    assert block["actions"][0]["calls"][0]["params"]["workspace"] == "other"
    run_engine_calls(call, block)
    assert "BM4_HYPOTHESIS_NO_TEST" not in codes(call("think_watch", workspace="other")["engine"])


def test_a_small_toolset_lists_what_it_proposes_first(clew: Any) -> None:
    call = Caller(clew, "core")
    think(call, "H")
    think(call, "T", "test", supports=["H"])
    block = watch(call)
    hidden = [action for action in block["actions"] if action["calls"][0]["action"] == "call_method"]
    assert hidden and all(action["calls"][0]["params"] == {"toolset": "daily"} for action in hidden)
    run_engine_calls(call, block)


def test_the_capsule_holds_the_first_two_actions(call: Caller) -> None:
    think(call, "H")
    think(call, "T", "test", supports=["H"], text="CMD: make")
    capsule = call("think_pack")["capsule"]
    assert capsule["type"] == "think_pack_capsule"
    assert (capsule["next"]["primary"]["kind"], capsule["next"]["backup"]["kind"]) == (
        "run_test",
        "add_counter_hypothesis",
    )
    for chosen in capsule["next"].values():
        call(chosen["calls"][0]["target"], **chosen["calls"][0]["params"])


texts = st.text(max_size=20) | st.sampled_from(["CMD: ls", "a vs b", "LINK: x", "CMD: <fill", "• CMD: 测试"])
slices = st.lists(
    st.builds(
        node,
        st.sampled_from([f"C{number}" for number in range(6)]),
        st.sampled_from(["hypothesis", "test", "evidence", "decision", "question", "note"]),
        st.integers(1, 50),
        text=texts,
        status=st.sampled_from(["open", "closed", "accepted"]),
        tags=st.sets(st.sampled_from(["pinned", "v:draft", "assumption", "counter"])).map(
            lambda tags: tuple(sorted(tags))
        ),
        meta=st.none()
        | st.dictionaries(st.sampled_from(["cmd", "run", "source", "stale_after_ms"]), texts | st.integers(-1, 5)),
    ),
    max_size=8,
    unique_by=lambda card: card.id,
)
pairs = st.tuples(*[st.sampled_from([f"C{number}" for number in range(7)])] * 2)
links = st.lists(
    st.builds(lambda pair, rel: edge(pair[0], rel, pair[1]), pairs, st.sampled_from(["supports", "blocks"])),
    max_size=12,
)


@given(slices, links, st.randoms())
def test_the_order_of_what_is_given_never_matters(cards: list[Node], edges: list[Edge], order: Any) -> None:
    first = engine.run(cards, edges, [], 50, 50)
    shuffled, turned = list(cards), list(edges)
    order.shuffle(shuffled)
    order.shuffle(turned)
    assert engine.run(shuffled, turned, [], 50, 50) == first


@given(slices, links, st.integers(0, 4), st.integers(0, 4))
def test_limits_cut_the_same_list_shorter(cards: list[Node], edges: list[Edge], signals: int, actions: int) -> None:
    whole, part = engine.run(cards, edges, [], 500, 500), engine.run(cards, edges, [], signals, actions)
    if whole is None or part is None:
        assert whole is None or (signals, actions) == (0, 0)
        return
    assert part["signals"] == whole["signals"][:signals]
    assert part["actions"] == whole["actions"][:actions]
