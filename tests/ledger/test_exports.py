"""Exports: three formats, each of which makes the same session again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew
from tests.ledger.conftest import Thinker, fresh_thinker
from tests.suggestions import run_suggestions


def exported(thinker: Thinker, session: str, workspace: str = "ws") -> dict[str, Any]:
    found: dict[str, Any] = thinker.exported(session, workspace=workspace)
    return {name: value for name, value in found.items() if name not in {"exportedAt", "crossReferences"}}


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60).filter(
    str.strip
) | st.sampled_from(
    [
        "S1|O|seen",
        "S9|R|^S2|no",
        "a\n<!-- /thought -->\nb",
        "\\<!-- /thought -->",
        "[1/2] [B:x<S1]: y",
        "a\\n\r\nb",
        "x\n",
    ]
)
thoughts = st.fixed_dictionaries(
    {"thought": texts},
    optional={
        "branchId": st.sampled_from(["a", "b", "c-1"]),
        "branchFromThought": st.integers(1, 6),
        "branchFromBranch": st.sampled_from(["a", "b"]),
        "revisesThought": st.integers(1, 6),
        "thoughtNumber": st.integers(1, 12),
        "totalThoughts": st.integers(1, 20),
        "nextThoughtNeeded": st.booleans(),
        "needsMoreThoughts": st.booleans(),
        "type": st.sampled_from(["H", "question"]),
        "agentId": st.sampled_from(["ann", "bob"]),
    },
)


@settings(max_examples=30, deadline=None)
@given(
    history=st.lists(thoughts, min_size=1, max_size=12),
    tags=st.lists(st.sampled_from(["a", "b,c", "100%", "%2C", "project:x y", "N: 3", "é"]), max_size=3),
)
def test_an_export_imports_to_itself(clew: Clew, history: list[dict[str, Any]], tags: list[str]) -> None:
    thinker = fresh_thinker(clew)
    own = thinker.session.workspace_override
    session = thinker.do("start_new", sessionTitle="A title", sessionTags=tags, cipher=True)["sessionId"]
    for step in history:
        thinker.answer("thought", **{"nextThoughtNeeded": True, **step})
    original = exported(thinker, session, f"{own}")
    assert original["session"]["tags"] == list(dict.fromkeys(tags))
    for format in ("json", "markdown"):
        content = thinker("session_export", sessionId=session, format=format)["content"]
        report = thinker("session_import", content=content, workspace=f"{own}-{format}")
        assert report["problems"] == []
        assert exported(thinker, session, f"{own}-{format}") == original
    short, there = thinker("session_export", sessionId=session, format="cipher")["content"], f"{own}-short"
    thinker("session_import", content=short, workspace=there)
    again = exported(thinker, session, there)
    assert _lean(again) == _lean(original)
    assert again["session"]["tags"] == original["session"]["tags"]
    assert thinker("session_export", sessionId=session, format="cipher", workspace=there)["content"] == short


def _lean(export: dict[str, Any]) -> list[Any]:
    """What the short format keeps."""
    kept = ("thought", "thoughtNumber", "totalThoughts", "nextThoughtNeeded", "branchId", "type", "revisesThought")
    return [
        (node["id"], node["branchOrigin"], node["revisesNode"], *(node["data"].get(name) for name in kept))
        for node in export["nodes"]
    ]


def test_markdown_reads_well_without_its_marks(thinker: Thinker) -> None:
    thinker.think("first")
    thinker.think("second", branchId="alt", branchFromThought=1)
    session = thinker.think("S2|R|^S1|third")["sessionId"]
    plain = thinker("session_export", sessionId=session, format="markdown", includeMetadata=False)["content"]
    assert plain == (
        "## Main Thread\n\n### Thought 1/1\n\nfirst\n\n### Thought 2/2 [R1]\n\nS2|R|^S1|third\n\n"
        "## Branch alt (from thought 1)\n\n### Thought 2/2\n\nsecond\n"
    )
    marked = thinker("session_export", sessionId=session, format="markdown")["content"]
    assert "**Thoughts:** 3" in marked


def test_cipher_lines_are_short(thinker: Thinker) -> None:
    thinker.think("S1|O|slow\nvery")
    session = thinker.think("S2|H|S1|cache", branchId="alt", branchFromThought=1, nextThoughtNeeded=False)[
        "closedSessionId"
    ]
    content = thinker("session_export", sessionId=session, format="cipher", includeMetadata=False)["content"]
    assert content == "[1/1]: S1|O|slow\\nvery\n[2/2] [B:alt<S1] [E:]: S2|H|S1|cache\n"


def test_an_import_refuses_to_overwrite_and_merges_when_asked(clew: Clew, thinker: Thinker) -> None:
    session = thinker.think("one")["sessionId"]
    content = thinker("session_export", sessionId=session)["content"]
    thinker.think("two")
    assert thinker.error("session_import", content=content)["code"] == "CONFLICT"
    report = thinker("session_import", content=content, merge=True)
    assert (report["added"], report["already"]) == (0, 1)
    copy = thinker("session_import", content=content, asCopy=True)
    assert copy["sessionId"] != session
    assert copy["session"]["thoughtCount"] == 1
    thinker("session_delete", sessionId=session)
    assert "was deleted" in thinker.error("session_import", content=content, merge=True)["message"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", "nonsense", "<!-- clew session {} \n<!-- clew thought {-->", "<!-- clew session 5 -->"],
)
def test_what_is_no_export_is_refused_and_changes_nothing(thinker: Thinker, content: str) -> None:
    before = thinker("session_list")
    assert thinker.error("session_import", content=content)["code"] == "INVALID_INPUT"
    assert thinker("session_list") == before


def test_an_unknown_format_is_refused(thinker: Thinker) -> None:
    session = thinker.think("one")["sessionId"]
    assert (
        thinker.refused("session", subOperation="export", sessionId=session, format="html")["code"] == "INVALID_PAYLOAD"
    )


def test_pointers_into_other_sessions_are_resolved_by_tag_or_title(thinker: Thinker) -> None:
    tagged = thinker.do("start_new", sessionTitle="Auth", sessionTags=["auth-redesign"])["sessionId"]
    titled = thinker.do("start_new", sessionTitle="Cache warming strategy")["sessionId"]
    twice = [thinker.do("start_new", sessionTitle=f"Billing rewrite {n}")["sessionId"] for n in (1, 2)]
    thinker.do("start_new", sessionTitle="Now")
    session = thinker.think("as in @auth-redesign:S2-S4, @cache-warming:S1, @billing-rewrite:S1 and @zebra:S9")[
        "sessionId"
    ]
    found = thinker.exported(session)["crossReferences"]
    assert {name: found[name] for name in ("anchorsFound", "resolved", "ambiguous", "unresolved")} == {
        "anchorsFound": 4,
        "resolved": 2,
        "ambiguous": 1,
        "unresolved": 1,
    }
    first, second, third, _ = found["details"]
    assert (first["sessionId"], first["confidence"], first["start"], first["end"]) == (tagged, 0.95, 2, 4)
    assert (second["sessionId"], second["confidence"]) == (titled, 0.85)
    assert sorted(item["sessionId"] for item in third["candidates"]) == sorted(twice)


def test_revisions_of_revisions_lead_to_their_root(thinker: Thinker) -> None:
    thinker.think("a")
    thinker.think("b", revisesThought=1)
    session = thinker.think("c", revisesThought=2)["sessionId"]
    export = thinker.exported(session)
    last = export["nodes"][2]["revisionMetadata"]
    assert (last["revisionDepth"], last["revisionChainId"]) == (2, f"chain-{session}-1")
    assert export["revisionAnalysis"] == {
        "totalRevisions": 2,
        "mostRevisedThought": {"thoughtNumber": 1, "revisionCount": 1},
        "avgTemporalDistance": 1.0,
        "revisionDensity": 66.7,
    }


def test_a_completed_session_is_copied_to_a_file_that_imports(thinker: Thinker) -> None:
    told = thinker.think("done", nextThoughtNeeded=False)
    content = Path(told["exportPath"]).read_text()
    assert thinker("session_import", content=content, workspace="other")["added"] == 1


def test_an_export_too_large_for_an_answer_is_written_to_a_file_instead(
    thinker: Thinker, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = thinker.think("long " * 300)["sessionId"]
    monkeypatch.setattr("clew.ledger.exchange.session_documents.LONGEST", 1000)
    answer = thinker.answer("session_export", sessionId=session)
    assert answer.envelope["error"]["code"] == "UNAVAILABLE"
    run_suggestions(thinker.clew, answer, thinker.session)
