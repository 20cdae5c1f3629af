"""Resources, prompts and completions of the ledger."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from clew.errors import ClewError
from tests.ledger.conftest import Thinker

GUIDES = ("init", "architecture", "cipher", "patterns-cookbook", "session-analysis-guide")


def read(thinker: Thinker, uri: str) -> str:
    return thinker.clew.dispatcher.read_resource(uri, thinker.session).text


def query(thinker: Thinker, uri: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(read(thinker, uri))
    return found


@pytest.fixture
def session(thinker: Thinker) -> str:
    for text in ("S1|O|slow", "S2|H|S1|cache", "S3|R|^S2|disk", "S4|R|^S3|network", "see [S2]"):
        key = str(thinker.think(text)["sessionId"])
    thinker.think("S3|E|S2|cold", branchId="alt", branchFromThought=2)
    return key


@pytest.mark.parametrize("name", GUIDES)
def test_the_seeds_guides_are_there(thinker: Thinker, name: str) -> None:
    text = read(thinker, f"thoughtbox://{name}")
    assert text.startswith("# ")
    assert len(text.split()) > 100


def test_thoughts_by_type_range_references_and_revisions(thinker: Thinker, session: str) -> None:
    by_type = query(thinker, f"thoughtbox://thoughts/{session}/R")
    assert (by_type["query"], [t["thoughtNumber"] for t in by_type["thoughts"]]) == ("type:R", [3, 4])
    in_range = query(thinker, f"thoughtbox://thoughts/{session}/range/2-3")
    assert [(t["thoughtNumber"], t["branchId"]) for t in in_range["thoughts"]] == [(2, None), (3, None), (3, "alt")]
    pointing = query(thinker, f"thoughtbox://references/{session}/2")
    assert [(t["thoughtNumber"], t["branchId"]) for t in pointing["thoughts"]] == [(3, None), (5, None), (3, "alt")]
    revised = query(thinker, f"thoughtbox://revisions/{session}/2")
    assert [t["thoughtNumber"] for t in revised["thoughts"]] == [3, 4]
    assert query(thinker, f"thoughtbox://references/{session}/alt:S3")["count"] == 0


def test_sessions_and_patterns_by_address(thinker: Thinker, session: str) -> None:
    assert query(thinker, "thoughtbox://sessions")["total"] == 1
    shown = query(thinker, f"thoughtbox://session/{session}")
    assert shown["branches"]["alt"]["length"] == 1
    assert "### Thought 3/3 [R2]" in read(thinker, f"thoughtbox://session/{session}/markdown")
    thinker("knowledge_create_pattern", title="Warm it", description="d", content="c")
    assert "# Warm it" in read(thinker, "thoughtbox://knowledge/patterns/warm-it")
    assert query(thinker, "thoughtbox://knowledge/stats")["patterns"] == 1


@pytest.mark.parametrize(
    "uri",
    [
        "thoughtbox://thoughts/{session}/Z",
        "thoughtbox://thoughts/{session}/range/a-b",
        "thoughtbox://references/{session}/99",
        "thoughtbox://revisions/nobody/1",
        "thoughtbox://session/nobody",
        "thoughtbox://nothing",
    ],
)
def test_an_address_that_leads_nowhere_is_an_error(thinker: Thinker, session: str, uri: str) -> None:
    with pytest.raises(ClewError):
        read(thinker, uri.format(session=session))


def test_ids_and_kinds_are_completed(thinker: Thinker, session: str) -> None:
    complete = thinker.clew.dispatcher.complete
    template = "thoughtbox://thoughts/{sessionId}/{type}"
    assert complete("resource", template, "sessionId", session[:5], thinker.session) == [session]
    assert complete("resource", template, "sessionId", "slow sea", thinker.session) == [session]
    assert complete("resource", template, "type", "hyp", thinker.session) == ["H"]
    assert len(complete("resource", template, "type", "", thinker.session)) == 9
    thinker("session_update", sessionId=session, tags=["project:acme", "perf"])
    assert complete("resource", "thoughtbox://sessions/{tag}", "tag", "pro", thinker.session) == ["project:acme"]
    assert query(thinker, "thoughtbox://sessions/project:acme")["total"] == 1
    assert query(thinker, "thoughtbox://sessions/other")["total"] == 0
    assert complete("prompt", "evolution-check", "sessionId", "", thinker.session) == [session]


def test_the_four_prompts_are_written_for_the_case(thinker: Thinker, session: str) -> None:
    def prompt(name: str, **arguments: str) -> str:
        return thinker.clew.dispatcher.get_prompt(name, arguments, thinker.session).messages[0][1]

    assert "thoughtbox://cipher" in prompt("list_mcp_assets")
    assert "Fix login" in prompt("interleaved-thinking", task="Fix login", thoughts_limit="7")
    assert "Read the logs" in prompt("subagent-summarize", request="Read the logs")
    checked = prompt("evolution-check", newThought="it is DNS", sessionId=session)
    assert "alt:S3: S3|E|S2|cold" in checked
    with pytest.raises(ClewError):
        prompt("interleaved-thinking")
    with pytest.raises(ClewError):
        prompt("interleaved-thinking", task="x", thoughts_limit="many")
