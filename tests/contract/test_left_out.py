"""What an answer leaves out it says, with the call that gives it: over every operation that takes a budget."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from clew.app import Clew
from clew.registry.budget import Trim
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.lookup import find_operation
from tests.conftest import Caller
from tests.contract import lived_in

ABOUT = {"workspace", "branch", "doc", "truncated", "budget", "signal", "degradation"}
"""Fields that say where an answer comes from and that it was cut; what was asked for is beside them."""
READS = [e for e in catalogue().operations if e.read_only and e.name not in lived_in.ELSEWHERE]
SIZES = (150, 300, 600)


def takes(entry: OperationEntry, name: str) -> bool:
    return name in entry.input_schema["properties"]


BOUNDED = [e for e in READS if takes(e, "max_chars") and find_operation(e.name).budget is not None]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace for all."""
    made = tmp_path_factory.mktemp("left-out") / "home"
    lived_in.build(made)
    clew = lived_in.open(made, embedding_model="none")
    lived_in.fill(Caller(clew))
    clew.close()
    return made


@pytest.fixture(scope="module")
def lived(home: Path) -> Iterator[Clew]:
    """Only read by those who use it."""
    clew = lived_in.open(home, embedding_model="none")
    yield clew
    clew.close()


@pytest.fixture(scope="module")
def call(lived: Clew) -> Caller:
    return Caller(lived)


@pytest.fixture
def writer(home: Path, tmp_path: Path) -> Iterator[Caller]:
    """A copy that may be changed."""
    shutil.copytree(home, tmp_path / "copy")
    clew = lived_in.open(tmp_path / "copy", embedding_model="none")
    yield Caller(clew)
    clew.close()


def was_cut(result: dict[str, Any]) -> bool:
    return bool(result.get("budget", {}).get("truncated"))


def cut(call: Caller, entry: OperationEntry) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The arguments and the envelope of each answer that a small budget cut."""
    example = lived_in.prepared(call, entry.name, entry.example)
    for most in SIZES:
        given = {**example, "max_chars": most}
        answer = call.answer(entry.name, **given, fmt="json")
        if answer.ok and was_cut(answer.envelope["result"]):
            assert answer.envelope["result"]["budget"]["used_chars"] <= most
            yield given, answer.envelope


def test_a_small_budget_leaves_something_of_what_was_asked_for(call: Caller) -> None:
    seen = 0
    for entry in BOUNDED:
        for given, envelope in cut(call, entry):
            seen += 1
            assert set(envelope["result"]) - ABOUT, (entry.name, given)
    assert seen > 100


def at(result: Any, path: str) -> Any:
    for name in path.split("."):
        result = result.get(name) if isinstance(result, dict) else None
    return result


def lists(result: Any, path: str = "") -> dict[str, list[Any]]:
    """Every list that is reached through objects."""
    if isinstance(result, list):
        return {path: result}
    if not isinstance(result, dict):
        return {}
    return {
        found: items
        for name, part in result.items()
        for found, items in lists(part, f"{path}.{name}" if path else name).items()
    }


def emptied(entry: OperationEntry, whole: dict[str, Any], shown: dict[str, Any]) -> list[str]:
    """Lists that had items and are shown empty, but for those that speak of the items of another list."""
    budget = find_operation(entry.name).budget
    steps = budget.steps if budget is not None else ()
    follow = {step.follow.path for step in steps if isinstance(step, Trim) and step.follow is not None}
    return [path for path, items in lists(whole).items() if items and at(shown, path) == [] and path not in follow]


def wholes(call: Caller) -> Iterator[tuple[OperationEntry, dict[str, Any], dict[str, Any]]]:
    for entry in BOUNDED:
        example = lived_in.prepared(call, entry.name, entry.example)
        answer = call.answer(entry.name, **example, fmt="json")
        if answer.ok:
            yield entry, example, answer.envelope["result"]


def test_no_small_budget_shows_a_list_as_empty_that_is_not(call: Caller) -> None:
    """An empty list would say that there is nothing."""
    seen = 0
    for entry, example, whole in wholes(call):
        for most in (40, 70, 100, *SIZES, 1300):
            shown = call.answer(entry.name, **example, max_chars=most, fmt="json").envelope["result"]
            seen += was_cut(shown)
            assert emptied(entry, whole, shown) == [], (entry.name, most, shown)
    assert seen > 200


@pytest.fixture(scope="module")
def asked(call: Caller) -> list[tuple[OperationEntry, dict[str, Any], dict[str, Any]]]:
    return list(wholes(call))


@hypothesis.settings(max_examples=150, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(which=st.integers(0, 10_000), most=st.integers(0, 3_000))
def test_any_budget_holds_tells_the_truth_and_leads_on(
    call: Caller, asked: list[tuple[OperationEntry, dict[str, Any], dict[str, Any]]], which: int, most: int
) -> None:
    entry, example, whole = asked[which % len(asked)]
    envelope = call.answer(entry.name, **example, max_chars=most, fmt="json").envelope
    shown = envelope["result"]
    assert shown["budget"]["used_chars"] <= max(most, 2)
    assert emptied(entry, whole, shown) == []
    if not was_cut(shown):
        return
    told = {item["code"]: item["message"] for item in envelope["warnings"]}
    assert told.keys() & {"BUDGET_TRUNCATED", "BUDGET_MINIMAL"}
    # "Only a signal" is said of that alone; whatever else is left is named.
    left = shown.keys() - {"truncated", "budget"}
    if "BUDGET_MINIMAL" in told:
        assert ("only a signal" in told["BUDGET_MINIMAL"]) is (left <= {"signal", "min"})
        assert left <= {"signal", "min"} or all(name in told["BUDGET_MINIMAL"] for name in left)
    assert envelope["suggestions"][0].get("target") == entry.name


def last_list(entry: OperationEntry) -> str | None:
    """The list that the operation gives up last: what it was asked for."""
    budget = find_operation(entry.name).budget
    last = budget.steps[-1] if budget is not None and budget.steps else None
    return last.path if isinstance(last, Trim) and not last.floor else None


def test_the_list_that_was_asked_for_is_there_at_every_size(call: Caller) -> None:
    seen = set()
    for entry, example, whole in wholes(call):
        path = last_list(entry)
        if path is None or not at(whole, path):
            continue
        seen.add(entry.name)
        for most in (120, *SIZES):
            shown = call.answer(entry.name, **example, max_chars=most, fmt="json").envelope["result"]
            assert at(shown, path), (entry.name, most, shown)
    assert {"show", "think_context", "graph_query", "session_get"} < seen and len(seen) > 25, seen


def test_a_cut_answer_suggests_the_budget_that_is_enough(call: Caller) -> None:
    for entry in BOUNDED:
        for given, envelope in cut(call, entry):
            first = envelope["suggestions"][0]
            assert first.get("target") == entry.name, (entry.name, given, first)
            again = call.answer(entry.name, **{**first["params"], "fmt": "json"})
            assert again.ok and not again.envelope["result"]["budget"]["truncated"], (entry.name, given)


def says_so(text: str) -> bool:
    """Whether a text has the warning, and the call that gives the rest: as its fix, or as what to do next.

    Agents give their tool `op_search` no budget: its usual one has room for everything.
    """
    warned = text.partition("WARNING: BUDGET_")[2]
    calls = re.split(r"\| fix: |next: ", warned)[1:]
    return any("max_chars=" in call or '"max_chars":' in call or call.startswith("op_search query=") for call in calls)


def test_a_cut_answer_in_lines_says_so_and_names_the_call(call: Caller) -> None:
    for entry in BOUNDED:
        for given, _ in cut(call, entry):
            text = call.answer(entry.name, **given, fmt="lines").text
            assert says_so(text), (entry.name, given, text)


def test_an_agent_reads_in_the_text_that_an_answer_was_cut_and_the_call(lived: Clew, call: Caller) -> None:
    agent = Caller(lived, "agent")
    for entry in BOUNDED:
        for given, _ in cut(agent, entry):
            text = agent.answer("op_read", name=entry.name, arguments=given).text
            assert says_so(text), (entry.name, given, text)


@pytest.mark.parametrize("toolset", ["full", "mind-mem"])
def test_the_bare_json_of_a_cut_answer_has_its_warning_and_the_call(lived: Clew, toolset: str) -> None:
    """Its client asked for less than everything, so it does not mind an object in the place of a list."""
    call = Caller(lived, toolset)
    for name in ("recall", "hybrid_search"):
        asked = {"query": "lock held by the writer"}
        assert isinstance(json.loads(call.answer(name, **asked).text), list)
        answer = call.answer(name, **asked, max_chars=300)
        shown = json.loads(answer.text)
        assert shown == answer.structured
        assert shown["results"] and shown["warnings"][0]["code"].startswith("BUDGET_")
        assert {way["target"] for way in shown["suggestions"] if way["action"] == "call_tool"} == {name}


@pytest.mark.parametrize(("name", "given"), [("help", {}), ("skill", {"profile": "strict"})])
def test_a_text_that_was_cut_ends_with_the_call_that_gives_it_whole(
    call: Caller, name: str, given: dict[str, str]
) -> None:
    whole = call.answer(name, **given).text
    for most in (0, 2, 20, 90, 300):
        answer = call.answer(name, **given, max_chars=most)
        assert len(answer.text) <= most
        assert answer.envelope["suggestions"][0]["params"] == given
        assert most < 90 or answer.text.splitlines()[-1].startswith(f"MORE: {name}")
    assert call.answer(name, **given, max_chars=len(whole)).text == whole


# Operations that count as writing, because most of their calls change something.

VIEWS = ("tasks_snapshot", "tasks_resume", "tasks_resume_pack", "tasks_resume_super", "tasks_mindpack")
ANSWER: dict[str, Any] = {"reply_job": "JOB-001", "reply_message": "Go on."}
ACTS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((name, {"task": "TASK-002"} if name != "tasks_mindpack" else {}) for name in VIEWS),
    ("tasks_jobs_radar", ANSWER),
    ("anchors_bootstrap", {"anchors": [{"id": f"a:n{n}", "title": "N", "kind": "component"} for n in range(9)]}),
    ("think_nominal_merge", {}),
)


def events(call: Caller) -> int:
    return int(call("events_list", limit=1)["last_seq"])


def test_every_writing_operation_with_a_budget_is_walked_here() -> None:
    bounded = {e.name for e in catalogue().operations if not e.read_only and takes(e, "max_chars")}
    with_one = {name for name in bounded if find_operation(name).budget is not None}
    assert with_one == {name for name, _ in ACTS}


def double(call: Caller) -> None:
    """Cards that are alike, for think_nominal_merge."""
    for number in range(8):
        call("think_card", card={"id": f"CARD-S{number}", "type": "note", "title": f"Same {number // 2}"})


@pytest.mark.parametrize(("name", "given"), ACTS, ids=[name for name, _ in ACTS])
def test_a_cut_answer_of_a_write_leads_on_without_doing_it_again(
    writer: Caller, name: str, given: dict[str, Any]
) -> None:
    double(writer)
    answer = writer.answer(name, **given, max_chars=120, fmt="json")
    assert answer.ok and was_cut(answer.envelope["result"]), answer.envelope
    before, first = events(writer), answer.envelope["suggestions"][0]
    following = writer.answer(first["target"], **{**first["params"], "fmt": "json"})
    assert following.ok, following.envelope["error"]
    assert events(writer) == before, (name, first)
    assert first["target"] != name or not was_cut(following.envelope["result"]), (name, first)
    assert not first["params"].keys() & ANSWER.keys()


@pytest.mark.parametrize("name", [*VIEWS, "tasks_jobs_radar"])
@pytest.mark.parametrize("toolset", ["full", "core", "agent"])
def test_a_view_that_was_cut_says_so_in_its_text(writer: Caller, name: str, toolset: str) -> None:
    call = Caller(writer.clew, toolset)
    for most in SIZES:
        text = call.answer(name, max_chars=most, fmt="lines").text
        assert says_so(text), (name, most, text)


MACROS: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("tasks_macro_start", {"task_title": "New", "plan": "PLAN-001", "steps": []}, "resume_max_chars", "tasks_snapshot"),
    ("tasks_macro_finish", {"task": "TASK-002"}, "handoff_max_chars", "tasks_handoff"),
)


def test_a_macro_whose_view_was_cut_suggests_the_read_that_shows_it(writer: Caller) -> None:
    for name, given, limit, target in MACROS:
        example = {**(catalogue().find(name) or pytest.fail(name)).example, **given}
        answer = writer.answer(name, **example, **{limit: 150}, fmt="json")
        assert answer.ok, answer.envelope["error"]
        first, before = answer.envelope["suggestions"][0], events(writer)
        assert first["target"] == target, (name, first)
        following = writer.answer(target, **{**first["params"], "fmt": "json"}).envelope
        assert not was_cut(following["result"]) and events(writer) == before


def test_a_pack_that_was_cut_for_its_file_says_so(writer: Caller, tmp_path: Path) -> None:
    answer = writer.answer("context_pack_export", out_file="pack.json", max_chars=800)
    assert answer.ok and answer.envelope["result"]["truncated"], answer.envelope
    assert answer.envelope["warnings"][0]["code"].startswith("BUDGET_")
    first = answer.envelope["suggestions"][0]
    assert not writer(first["target"], **first["params"])["truncated"]


def test_resume_leads_on_in_every_size(lived: Clew) -> None:
    agent = Caller(lived, "agent")
    for most in (110, 150, 300, 600):
        answer = agent.answer("resume", max_chars=most)
        assert len(answer.text) <= most and "more: " in answer.text, answer.text
        first = answer.envelope["suggestions"][0]
        assert first["target"] == "resume" and first["params"]["max_chars"] > most


def more(result: dict[str, Any]) -> bool:
    """Whether an answer says that a list goes on."""
    page = result.get("pagination") or {}
    return bool(
        page.get("has_more")
        or result.get("has_more")
        or result.get("hasMore")
        or result.get("next_offset")
        or (result.get("truncated") and not result.get("budget", {}).get("truncated"))
    )


def listed(call: Caller) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each read whose list goes on: as its example stands, and with the smallest limit."""
    for entry in READS:
        example = lived_in.prepared(call, entry.name, entry.example)
        least = entry.input_schema["properties"].get("limit", {}).get("minimum", 1)
        for given in (example, {**example, "limit": least}) if takes(entry, "limit") else (example,):
            answer = call.answer(entry.name, **given, fmt="json")
            if answer.ok and more(answer.envelope["result"]):
                yield entry.name, given, answer.envelope


def test_a_list_that_goes_on_suggests_first_how(call: Caller) -> None:
    seen = set()
    for name, given, envelope in listed(call):
        seen.add(name)
        first = envelope["suggestions"][0]
        assert first.get("target") == name, (name, given, first)
        following = call.answer(name, **{**first["params"], "fmt": "json"})
        assert following.ok, (name, following.envelope["error"])
        assert following.envelope["result"] != envelope["result"], (name, given)
    assert len(seen) >= 20, seen


def test_an_agent_reads_in_the_text_how_a_list_goes_on(lived: Clew, call: Caller) -> None:
    agent = Caller(lived, "agent")
    for name, given, _ in listed(call):
        text = agent.answer("op_read", name=name, arguments=given).text
        ways = ("next: ", "MORE:", "more", "WARNING: BUDGET", "offset=", "cursor=", "limit=", "older")
        assert any(way in text for way in ways), (name, given, text)


def test_the_gateway_names_the_next_call_in_its_text(lived: Clew) -> None:
    agent = Caller(lived, "thoughtbox")
    agent("start_new", sessionTitle="One more", cipher=True)
    asked = {"operation": "session.list", "args": {"limit": 1}}
    first = json.loads(agent.answer("thoughtbox_gateway", **asked).text)
    second = json.loads(agent.answer("thoughtbox_gateway", **first["nextCall"]).text)
    assert first["sessions"][0]["id"] != second["sessions"][0]["id"]


@pytest.mark.parametrize("toolset", ["full", "agent", "branchmind", "thoughtbox", "mind-mem"])
def test_no_budget_breaks_an_answer_in_any_toolset(lived: Clew, toolset: str) -> None:
    call = Caller(lived, toolset)
    for entry in (e for e in READS if takes(e, "max_chars")):
        example = lived_in.prepared(call, entry.name, entry.example)
        for most in (0, 40, 110, 260, 520):
            answer = call.answer(entry.name, **example, max_chars=most)
            assert answer.ok or answer.envelope["error"]["code"] != "INTERNAL", (entry.name, most)
