"""What a session's shape says, over all of its branches, and what it teaches."""

from __future__ import annotations

import pytest

from tests.conftest import TickingClock
from tests.ledger.conftest import Thinker


@pytest.fixture
def worked(thinker: Thinker) -> str:
    """A session with a confirmed and a rejected hypothesis, a revision that held and a branch."""
    for text in (
        "S1|O|search takes 2 s",
        "S2|H|S1|the index is gone",
        "S3|X|S2|the index exists",
        "S4|H|S1|users.email is not covered",
        "S5|R|^S4|statistics are stale",
        "S6|E|S5|ANALYZE brings it to 0.2 s",
        "S7|C|S5,S6|turn autovacuum on",
        "S8|H|S1|and the cache is cold",
        "S9|E|S8|hit rate is 3 %",
    ):
        session = str(thinker.think(text)["sessionId"])
    thinker.think("S9|Q|is it the network?", branchId="net", branchFromThought=8)
    thinker.think("S10|C|S8,S9|warm the cache", nextThoughtNeeded=False)
    return session


def test_figures_count_all_branches(thinker: Thinker, clock: TickingClock, worked: str) -> None:
    found = thinker("session_analyze", sessionId=worked)
    assert found["metadata"]["thoughtCount"] == 11
    assert (found["metadata"]["branchCount"], found["metadata"]["revisionCount"]) == (1, 1)
    assert found["structure"]["linearityScore"] == found["linearity"] == 0.82
    assert found["structure"]["revisionRate"] == 0.09
    assert found["structure"]["maxDepth"] == found["branchCount"] == 1
    assert found["quality"] == {"critiqueRequests": 0, "hasConvergence": True, "isComplete": True}
    assert found["completion"] == 1.0
    assert found["content"]["types"] == {"C": 2, "E": 2, "H": 3, "O": 1, "Q": 1, "R": 1, "X": 1}
    assert found["content"]["openHypotheses"] == []
    assert found["density"] > 0
    figures = {*found["metadata"], *found["structure"], *found["quality"], *found["content"]}
    assert figures - set(found["explained"]) == {"title", "tags", "createdAt", "lastUpdatedAt"}


def test_an_empty_session_has_figures_too(thinker: Thinker) -> None:
    found = thinker("session_analyze", sessionId=thinker.do("get_state")["sessionId"])
    assert found["linearity"] == 1.0
    assert (found["density"], found["completion"], found["quality"]["isComplete"]) == (0.0, 0.0, False)


def test_backward_thinking_is_complete_when_the_newest_thought_says_so(thinker: Thinker) -> None:
    thinker.think("goal", thoughtNumber=3)
    session = thinker.think("start", thoughtNumber=1, nextThoughtNeeded=False)["closedSessionId"]
    assert thinker("session_analyze", sessionId=session)["quality"]["isComplete"]


def test_learnings_come_from_structure_and_kinds(thinker: Thinker, worked: str) -> None:
    found = thinker("session_extract_learnings", sessionId=worked)["learnings"]
    told = {item["id"]: item["metadata"]["sourceThoughts"] for item in found}
    assert told == {"pattern:S8": [8, 9, 10], "pattern:S5": [5, 4, 6, 7], "anti-pattern:S2": [2, 3], "signal": []}
    first = found[0]
    assert first["targetPath"] == "patterns/general/and-the-cache-is-cold.md"
    assert first["metadata"]["behaviorCharacteristics"]["maturity"] == 3
    only = thinker("session_extract_learnings", sessionId=worked, targetTypes=["signal"])
    assert only["extractedCount"] == 1
    assert '"signal":"success"' in only["learnings"][0]["content"]


def test_the_callers_key_moments_win(thinker: Thinker, worked: str) -> None:
    moments = [{"thoughtNumber": 8, "type": "decision"}, {"thoughtNumber": 5, "type": "revision"}]
    found = thinker("session_extract_learnings", sessionId=worked, keyMoments=moments)["learnings"]
    assert [item["id"] for item in found] == ["pattern:S8", "anti-pattern:S5", "anti-pattern:S2", "signal"]
    assert "Decision: and the cache is cold" in found[0]["content"]


def test_prose_alone_teaches_nothing_and_says_so(thinker: Thinker) -> None:
    session = thinker.think("hm")["sessionId"]
    found = thinker("session_extract_learnings", sessionId=session)
    assert [item["type"] for item in found["learnings"]] == ["signal"]
    assert "keyMoments" in found["note"]


def test_a_learning_becomes_a_pattern_in_one_call(thinker: Thinker, worked: str) -> None:
    answer = thinker.answer("session_extract_learnings", sessionId=worked)
    (way,) = answer.envelope["suggestions"]
    kept = thinker(way["target"], **way["params"])["pattern"]
    assert kept["id"] == "and-the-cache-is-cold"
    assert kept["derivedFromSessions"] == [worked]
    assert kept["tags"] == ["pattern", "general"]
    assert thinker("knowledge_list_patterns", search="cache")["patterns"][0]["id"] == kept["id"]
    again = thinker("knowledge_create_pattern", fromLearning={"sessionId": worked, "id": "pattern:S1"})["pattern"]
    assert again["title"] == "search takes 2 s"


def test_the_deep_look_has_patterns_load_and_decisions(thinker: Thinker, worked: str) -> None:
    found = thinker("deep_analysis", sessionId=worked, options={"includeTimeline": True, "compareWith": [worked]})
    assert found["patterns"]["branchCount"] == 1
    assert found["cognitiveLoad"]["breadthIndicator"] == 2
    assert [item["type"] for item in found["decisionPoints"]] == ["revision", "conclusion", "branch", "conclusion"]
    assert found["timeline"]["durationMs"] > 0
    assert found["comparison"][0]["linearityScore"] == 0.82
    assert "patterns" not in thinker("deep_analysis", sessionId=worked, analysisType="decision_points")
