"""A session's shape without its texts, page by page; with openings, and with a search in the whole texts."""

from __future__ import annotations

from tests.conftest import Caller


def think(call: Caller, session: str, thought: str, **more: object) -> None:
    call("thought", thought=thought, nextThoughtNeeded=True, sessionId=session, **more)


def some_session(call: Caller) -> str:
    session: str = call("start_new", title="Shape")["sessionId"]
    think(call, session, "S1|H|| The lock is held too long")
    think(call, session, "S2|R|^[S1]| Rendering holds it", isRevision=True, revisesThought=1)
    think(call, session, "two files", branchId="alt", branchFromThought=2)
    think(call, session, "back on it", branchId="deep", branchFromThought=3, branchFromBranch="alt")
    return session


def test_an_outline_tells_the_shape_and_no_text(call: Caller) -> None:
    session = some_session(call)
    found = call("session_outline", sessionId=session)
    first, second, branch, deep = found["thoughts"]
    assert (first["thoughtNumber"], first["type"]) == (1, "H")
    assert (second["isRevision"], second["revisesThought"]) == (True, 1)
    assert (branch["branchId"], branch["branchFromThought"], "branchFromBranch" in branch) == ("alt", 2, False)
    assert (deep["branchFromBranch"], deep["branchFromThought"]) == ("alt", 3)
    assert not any("thought" in item or "length" in item for item in found["thoughts"])
    assert found["session"]["thoughtCount"] == 4


def test_pages_join_without_gap_or_overlap(call: Caller) -> None:
    session = some_session(call)
    for number in range(20):
        think(call, session, f"more {number}")
    whole = call("session_outline", sessionId=session)["thoughts"]
    joined, cursor = [], 0
    while cursor is not None:
        page = call("session_outline", sessionId=session, cursor=cursor, limit=7)
        joined += page["thoughts"]
        cursor = page["pagination"]["next_cursor"]
    assert joined == whole
    assert [item["seq"] for item in joined] == sorted({item["seq"] for item in joined})


def test_openings_are_cut_and_say_how_long_the_text_is(call: Caller) -> None:
    session = call("start_new", title="Long")["sessionId"]
    think(call, session, "a" * 5000)
    think(call, session, "short")
    long, short = call("session_outline", sessionId=session, chars=10)["thoughts"]
    assert (long["thought"], long["length"]) == ("a" * 10, 5000)
    assert (short["thought"], short["length"]) == ("short", 5)


def test_find_looks_into_whole_texts_and_takes_every_sign_as_it_is(call: Caller) -> None:
    session = call("start_new", title="Find")["sessionId"]
    texts = ("x" * 3000 + " NEEDLE", "100% sure_of!it", "Äpfel", "nothing")
    for text in texts:
        think(call, session, text)

    def hits(words: str) -> list[int]:
        return [item["thoughtNumber"] for item in call("session_outline", sessionId=session, find=words)["thoughts"]]

    assert hits("needle") == [1]
    assert hits("100% SURE_of!it") == [2]
    assert hits("Äpfel") == [3]
    assert hits("%") == [2]
    assert hits("_o") == [2]
    assert hits("no such words") == []


def test_a_critique_is_named_by_how_it_went(call: Caller) -> None:
    session = call("start_new", title="Critic")["sessionId"]
    think(call, session, "weak", critique=True)
    assert call("session_outline", sessionId=session)["thoughts"][0]["critique"] == "unavailable"


def test_what_does_not_exist_has_no_outline(call: Caller) -> None:
    assert call.error("session_outline", sessionId="nope")["code"] == "SESSION_NOT_FOUND"
