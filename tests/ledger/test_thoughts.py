"""Thoughts: numbers, chains, revisions, links, titles, search, and what other reads make of them."""

from __future__ import annotations

import threading
from typing import Any

from clew.app import Clew
from tests.ledger.conftest import Thinker


def nodes(thinker: Thinker, session: str) -> dict[str, dict[str, Any]]:
    exported = thinker.exported(session)
    return {node["id"].removeprefix(f"{session}:"): node for node in exported["nodes"]}


def test_a_chain_is_linked_both_ways(thinker: Thinker) -> None:
    for n in range(3):
        session = thinker.think(f"step {n}")["sessionId"]
    found = nodes(thinker, session)
    assert [found[n]["prev"] for n in "123"] == [None, f"{session}:1", f"{session}:2"]
    assert [found[n]["next"] for n in "123"] == [[f"{session}:2"], [f"{session}:3"], []]


def test_branches_count_for_themselves_and_follow_their_own_thoughts(thinker: Thinker) -> None:
    for n in range(3):
        session = thinker.think(f"step {n}")["sessionId"]
    told = [thinker.think(f"alt {n}", branchId="alt", branchFromThought=2) for n in range(2)]
    assert [item["thoughtNumber"] for item in told] == [3, 4]
    assert thinker.think("main again")["thoughtNumber"] == 4
    deep = thinker.think("deeper", branchId="deep", branchFromThought=4, branchFromBranch="alt")
    assert deep["thoughtNumber"] == 5
    found = nodes(thinker, session)
    assert found["alt:3"]["prev"] == f"{session}:2"
    assert found["alt:4"]["prev"] == f"{session}:alt:3"
    assert found["alt:4"]["branchOrigin"] == f"{session}:2"
    assert found["deep:5"]["branchOrigin"] == f"{session}:alt:4"
    assert found["2"]["next"] == [f"{session}:3", f"{session}:alt:3"]
    shape = thinker("get_structure")
    assert shape["branches"]["deep"] == {"forks": 4, "fromBranch": "alt", "range": [5, 5], "length": 1}
    assert shape["mainChain"] == {"length": 4, "head": 1, "tail": 4, "newest": 4}


def test_a_branch_has_one_fork_point(thinker: Thinker) -> None:
    thinker.think("one")
    thinker.think("two")
    assert thinker.error("thought", thought="x", nextThoughtNeeded=True, branchId="b")["code"] == "INVALID_INPUT"
    thinker.think("x", branchId="b", branchFromThought=1)
    thinker.think("y", branchId="b")
    wrong = thinker.error("thought", thought="z", nextThoughtNeeded=True, branchId="b", branchFromThought=2)
    assert "starts from thought 1" in wrong["message"]


def test_backward_thinking_keeps_the_order_of_writing(thinker: Thinker) -> None:
    for number in (5, 4, 3, 2, 1):
        session = thinker.think(f"step {number}", thoughtNumber=number, totalThoughts=5)["sessionId"]
    found = nodes(thinker, session)
    assert [found[n]["prev"] for n in "54321"] == [None, *(f"{session}:{n}" for n in (5, 4, 3, 2))]
    assert thinker.think("and then")["thoughtNumber"] == 6


def test_gaps_are_allowed_and_the_total_follows_the_number(thinker: Thinker) -> None:
    told = [thinker.think("x", thoughtNumber=n, totalThoughts=3, verbose=True) for n in (1, 5, 8)]
    assert [item["totalThoughts"] for item in told] == [3, 5, 8]
    assert thinker.think("x")["thoughtNumber"] == 9


def test_a_revision_keeps_its_place_and_points_to_its_target(thinker: Thinker) -> None:
    thinker.think("a")
    session = thinker.think("b")["sessionId"]
    told = thinker.think("not a", isRevision=True, revisesThought=1)
    assert told["parsed"]["links"] == ["revises S1"]
    node = nodes(thinker, session)["3"]
    assert (node["prev"], node["revisesNode"]) == (f"{session}:2", f"{session}:1")
    assert node["revisionMetadata"]["revisionChainId"] == f"chain-{session}-1"
    assert thinker("get_structure")["revisions"] == [[3, 1]]
    for text in ("x", "2^10 is 1024", "S9|R|^S77|of nobody"):
        error = thinker.error("thought", thought=text, nextThoughtNeeded=True, isRevision=True)
        assert (error["code"], error["hints"][0]["field"]) == ("INVALID_INPUT", "revisesThought")
    assert thinker.think("S4|R|^S1|once more", isRevision=True)["parsed"]["links"] == ["revises S1"]


def test_a_revision_on_a_branch_may_take_back_what_came_before_the_fork(thinker: Thinker) -> None:
    thinker.think("a")
    session = thinker.think("b")["sessionId"]
    thinker.think("c", branchId="alt", branchFromThought=2)
    thinker.think("not a", branchId="alt", revisesThought=1)
    assert nodes(thinker, session)["alt:4"]["revisesNode"] == f"{session}:1"


def test_the_cipher_makes_types_links_and_revisions(thinker: Thinker) -> None:
    told = [
        thinker.think(text)["parsed"]
        for text in (
            "S1|O|pages are slow",
            "S2|H|S1|the index is gone (~)",
            "S3|E|S2|full scan in the plan",
            "S4|R|^S2|statistics are stale",
            "S5|C|[S1-S3],[H1]|run ANALYZE ⊖[S9]",
            "S6|X|H1|the index exists",
        )
    ]
    assert [item["type"] for item in told] == ["O", "H", "E", "R", "C", "X"]
    assert told[1]["links"] == ["derives S1"]
    assert told[2]["links"] == ["supports S2"]
    assert told[3]["links"] == ["revises S2"]
    assert told[4]["links"] == ["derives S1", "derives S2", "derives S3"]
    assert told[4]["unresolved"] == ["⊖[S9]"]
    assert told[5]["links"] == ["contradicts S2"]


def test_a_thought_never_refers_to_itself(thinker: Thinker) -> None:
    told = thinker.think("S1|H|S1|I think [H1] therefore I am")
    assert told["parsed"]["unresolved"] == ["S1", "[H1]"]


def test_the_number_in_the_text_is_taken_when_it_is_free(thinker: Thinker) -> None:
    assert thinker.think("S7|O|from elsewhere")["thoughtNumber"] == 7
    answer = thinker.answer("thought", thought="S7|O|again", nextThoughtNeeded=True)
    assert answer.envelope["result"]["thoughtNumber"] == 8
    assert [item["code"] for item in answer.envelope["warnings"]] == ["NUMBER_DIFFERS"]


def test_a_kind_may_be_given_in_words(thinker: Thinker) -> None:
    assert thinker.think("It is the cache", type="hypothesis")["parsed"] == {"type": "H"}
    assert thinker("read_thoughts", type="H")["count"] == 1


def test_the_first_thought_starts_and_names_a_session(clew: Clew) -> None:
    caller = Thinker(clew)
    told = caller.think("S1|O|Search got slow on Monday. Nobody knows why.", sessionTags=["ops"])
    session = caller("session_get", sessionId=told["sessionId"])["session"]
    assert session["title"] == "Search got slow on Monday"
    assert session["tags"] == ["ops"]
    assert caller.think("next")["sessionId"] == told["sessionId"]


def test_the_last_thought_completes_and_a_later_one_reopens(thinker: Thinker) -> None:
    thinker.think("one")
    told = thinker.think("two", nextThoughtNeeded=False)
    assert told["sessionClosed"]
    session = told["closedSessionId"]
    assert thinker("session_get", sessionId=session)["session"]["status"] == "completed"
    again = thinker.think("three")
    assert again == {"thoughtNumber": 3, "sessionId": session, "reopened": True}
    assert thinker("session_get", sessionId=session)["session"]["status"] == "active"
    thinker("session_complete", sessionId=session)
    assert thinker("load_context", sessionId=session)["reopened"]


def test_thoughts_are_found_by_their_words(thinker: Thinker) -> None:
    session = thinker.think("the planner ignores the index")["sessionId"]
    thinker.think("autovacuum is off", branchId="alt", branchFromThought=1)
    found = thinker("session_search", query="autovacuum")["sessions"]
    assert [item["id"] for item in found] == [session]
    assert found[0]["matches"][0] == {"thoughtNumber": 2, "branchId": "alt", "snippet": "autovacuum is off"}
    assert thinker("session_search", query="slow SEARCH")["sessions"][0]["id"] == session
    assert thinker("session_search", query="zebra")["count"] == 0


def test_pages_lead_through_all_thoughts_once(thinker: Thinker) -> None:
    thinker.think("start")
    for n in range(12):
        session = thinker.think(f"step {n}", branchId=["a", "b"][n % 2], branchFromThought=1)["sessionId"]
    seen, cursor = [], 0
    while cursor is not None:
        found = thinker("session_get", sessionId=session, limit=5, cursor=cursor)
        seen += [item["thought"] for item in found["thoughts"]]
        cursor = found["pagination"]["next_cursor"]
    assert seen == ["start", *(f"step {n}" for n in range(12))]


def test_reads_choose_by_number_branch_range_and_end(thinker: Thinker) -> None:
    for n in range(1, 8):
        thinker.think(f"m{n}")
    thinker.think("b3", branchId="alt", branchFromThought=2)

    def texts(**choice: Any) -> list[str]:
        return [item["thought"] for item in thinker("read_thoughts", **choice)["thoughts"]]

    assert texts() == ["m3", "m4", "m5", "m6", "m7"]
    assert texts(thoughtNumber=3) == ["m3"]
    assert texts(thoughtNumber=3, branchId="alt") == ["b3"]
    assert texts(branchId="alt") == ["b3"]
    assert texts(last=2) == ["m6", "m7"]
    assert texts(range=[2, 4]) == ["m2", "m3", "m4"]


def test_a_session_is_a_branch_and_a_thought_an_entry_of_its_trace(thinker: Thinker) -> None:
    session = thinker.think("S1|O|seen")["sessionId"]
    thinker.think("other", branchId="alt", branchFromThought=1)
    entries = thinker("show", branch=f"session/{session}", doc_kind="trace")["entries"]
    assert [entry["content"] for entry in entries] == ["S1|O|seen", "other"]
    assert {entry["format"] for entry in entries} == {"trace_sequential_step"}
    assert entries[1]["meta"]["branchFromThought"] == 1


def test_a_deleted_session_is_gone_from_every_view(thinker: Thinker) -> None:
    session = thinker.think("unforgettable zebra")["sessionId"]
    thinker("session_delete", sessionId=session)
    assert thinker.error("session_get", sessionId=session)["code"] == "SESSION_NOT_FOUND"
    assert thinker("session_search", query="zebra")["count"] == 0
    assert thinker("session_list")["count"] == 0
    assert thinker.think("on we go")["sessionId"] != session


def test_sessions_are_renamed_and_retagged(thinker: Thinker) -> None:
    session = thinker.do("get_state")["sessionId"]
    thinker("session_update", sessionId=session, title="Faster search", addTags=["Perf", "ops"])
    changed = thinker("session_update", sessionId=session, removeTags=["OPS"])["session"]
    assert (changed["title"], changed["tags"]) == ("Faster search", ["Perf"])
    assert thinker("session_list", tags=["perf"])["count"] == 1
    assert thinker("session_list", tags=["perf", "ops"])["count"] == 0
    assert thinker("session_list", search="faster")["count"] == 1
    assert thinker("session_list", search="100%_")["count"] == 0


def test_the_first_thought_may_still_name_its_session_and_later_ones_may_not(clew: Clew) -> None:
    caller = Thinker(clew)
    caller.do("start_new", project="acme", cipher=True)
    session = caller.think("one", sessionTitle="Login", sessionTags=["auth"])["sessionId"]
    caller.think("two", sessionTitle="Other", sessionTags=["more"])
    found = caller("session_get", sessionId=session)["session"]
    assert (found["title"], found["tags"]) == ("Login", ["project:acme", "auth"])


def test_a_session_deleted_elsewhere_is_told_and_left(clew: Clew, thinker: Thinker) -> None:
    session = thinker.think("one")["sessionId"]
    Thinker(clew)("session_delete", sessionId=session)
    assert thinker.do("get_state")["sessionId"] is None
    assert thinker.refused("thought", thought="two", nextThoughtNeeded=True)["code"] == "SESSION_NOT_FOUND"
    thinker.do("start_new")
    assert thinker.think("three")["thoughtNumber"] == 1


def test_twenty_calls_at_once_on_a_new_connection_share_one_session(clew: Clew) -> None:
    caller = Thinker(clew)
    told: list[dict[str, Any]] = []
    threads = [threading.Thread(target=lambda n=n: told.append(caller.think(f"t{n}"))) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(item["thoughtNumber"] for item in told) == list(range(1, 21))
    assert len({item["sessionId"] for item in told}) == 1


def test_a_loaded_session_is_bounded_whatever_was_thought(thinker: Thinker) -> None:
    for _ in range(3):
        session = thinker.think("long " * 150_000)["sessionId"]
    answer = thinker.answer("load_context", sessionId=session)
    assert answer.ok
    assert len(answer.text) < 1_100_000
    assert len(thinker.gate("load_context", sessionId=session).text) < 10_000
