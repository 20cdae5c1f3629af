"""Thoughtbox's contract at the wire: what a client of it sends through the gateway, and the text it reads.

Written from the dossier and the list of deviations. Where Clew does something else on purpose,
docs/contracts/thoughtbox.toml says so and names the test here.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import TextContent

from clew.contracts.thoughtbox.gateway import SEED_CODES, served, wire_name
from clew.errors import ClewError
from clew.registry.catalogue import catalogue
from tests.contract.wire import Here, Route, Wire, serving


class Client:
    """A client that knows nothing but the gateway, in a workspace of its own."""

    def __init__(self, route: Route, workspace: str) -> None:
        self.route = route
        self.workspace = workspace
        self.links: list[str] = []

    def send(self, operation: str, /, **args: Any) -> tuple[bool, str]:
        given = {"operation": operation, "workspace": self.workspace, **({"args": args} if args else {})}
        heard = self.route.send("thoughtbox_gateway", given)
        if heard.structured is not None:
            assert json.loads(heard.text) == heard.structured, "text and structured content say the same"
        self.links = heard.links
        return heard.ok, heard.text

    def text(self, operation: str, /, **args: Any) -> str:
        ok, text = self.send(operation, **args)
        assert ok, text
        return text

    def json(self, operation: str, /, **args: Any) -> dict[str, Any]:
        found = json.loads(self.text(operation, **args))
        assert isinstance(found, dict)
        return found

    def refused(self, operation: str, /, **args: Any) -> dict[str, Any]:
        ok, text = self.send(operation, **args)
        assert not ok, text
        found = json.loads(text)
        assert isinstance(found, dict)
        return found

    def think(self, text: str, **more: Any) -> dict[str, Any]:
        return self.json("thought", **{"thought": text, "nextThoughtNeeded": True, **more})


@pytest.fixture(params=["sqlite", "postgres", "wire"])
def engine(request: pytest.FixtureRequest) -> str:
    """Both engines in this process, and once a server of its own."""
    return str(request.param)


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(tmp_path_factory.mktemp("wire"), "thoughtbox") as found:
        yield found


@pytest.fixture
def newcomer(engine: str, request: pytest.FixtureRequest) -> Client:
    """A client that has not said anything yet."""
    if engine == "wire":
        return Client(request.getfixturevalue("wire"), f"w-{uuid.uuid4().hex}")
    return Client(Here(request.getfixturevalue("clew"), "thoughtbox"), "ws")


@pytest.fixture
def client(newcomer: Client) -> Client:
    client = newcomer
    client.text("start_new", newWork={"project": "p", "task": "t"})
    client.text("cipher")
    return client


@pytest.fixture
def session(client: Client) -> str:
    """Five thoughts on the main line, the fifth revising the second, and a branch of two."""
    for number in range(1, 5):
        client.think(f"step {number}")
    client.think("step 2 again", isRevision=True, revisesThought=2)
    client.think("other way", branchId="alt", branchFromThought=3)
    return str(client.think("other way on", branchId="alt")["sessionId"])


def test_a_thought_answers_with_its_number_and_session(client: Client) -> None:
    first = client.think("look at the logs")
    assert set(first) == {"thoughtNumber", "sessionId"} and first["thoughtNumber"] == 1
    more = client.think("look closer", verbose=True)
    assert {"totalThoughts", "nextThoughtNeeded", "branches", "thoughtHistoryLength"} <= set(more)


def test_a_second_number_one_after_the_end_begins_a_new_session(client: Client) -> None:
    client.think("one")
    closed = client.think("two", nextThoughtNeeded=False)["closedSessionId"]
    fresh = client.think("fresh topic", thoughtNumber=1, totalThoughts=3, sessionTitle="Fresh", sessionTags=["fresh"])
    assert fresh["thoughtNumber"] == 1 and fresh["sessionId"] != closed
    shown = client.json("session", operation="get", args={"sessionId": fresh["sessionId"]})["session"]
    assert shown["title"] == "Fresh" and "fresh" in shown["tags"]


def test_a_new_title_after_the_end_begins_a_new_session_too(client: Client) -> None:
    closed = client.think("one", nextThoughtNeeded=False)["closedSessionId"]
    assert client.think("other", sessionTitle="Other matter")["sessionId"] != closed


def test_a_plain_thought_after_the_end_goes_on_with_the_session(client: Client) -> None:
    closed = client.think("one", nextThoughtNeeded=False)["closedSessionId"]
    again = client.think("one more")
    assert again["sessionId"] == closed and again["thoughtNumber"] == 2 and again["reopened"] is True


def test_a_title_that_comes_too_late_is_told(client: Client) -> None:
    client.think("one")
    assert "session.update" in " ".join(client.think("two", sessionTitle="Late")["warnings"])


def test_the_final_answer_closes_the_session(client: Client) -> None:
    client.think("one")
    final = client.think("two", nextThoughtNeeded=False)
    assert final["sessionId"] is None and final["sessionClosed"] is True
    assert final["totalThoughts"] == 2 and final["branches"] == [] and final["thoughtHistoryLength"] == 2
    assert Path(final["exportPath"]).is_file()


def test_after_the_final_thought_no_session_is_active(client: Client) -> None:
    """Reads name a session from then on; a plain thought still goes on with it, and then it is active again."""
    client.think("one")
    closed = client.think("two", nextThoughtNeeded=False)["closedSessionId"]
    state = client.text("get_state")
    assert "No active reasoning session" in state and "Active session:" not in state and closed in state
    asked: list[tuple[str, dict[str, Any]]] = [("read_thoughts", {"last": 1}), ("get_structure", {})]
    for operation, given in asked:
        refused = client.refused(operation, **given)
        assert "No active reasoning session" in refused["error"] and closed in refused["suggestion"]
        assert client.json(operation, sessionId=closed, **given)["sessionId"] == closed
    assert client.think("three")["reopened"] is True
    assert f"Active session: {closed}" in client.text("get_state")
    assert client.json("read_thoughts")["count"] == 3


def test_times_have_three_digits_and_sort_as_text(client: Client, session: str) -> None:
    shown = client.json("read_thoughts", sessionId=session, last=20)["thoughts"]
    times = [item["timestamp"] for item in shown]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    exported = client.json("session", operation="export", args={"sessionId": session})["content"]
    assert set(re.findall(r'"timestamp":"([^"]+)"', exported)) == set(times) | {
        item["timestamp"] for item in client.json("read_thoughts", sessionId=session, branchId="alt")["thoughts"]
    }


def test_decision_points_say_what_they_refer_to(client: Client, session: str) -> None:
    found = client.json("deep_analysis", sessionId=session, analysisType="decision_points")
    points = {(item["type"], item["thoughtNumber"], item.get("reference")) for item in found["decisionPoints"]}
    assert points == {("revision", 5, 2), ("branch", 4, 3)}
    assert found["timestamp"].endswith("Z")


def test_one_session_to_compare_with_needs_no_list(client: Client, session: str) -> None:
    found = client.json("deep_analysis", sessionId=session, analysisType="full", options={"compareWith": session})
    assert found["comparison"][0]["sessionId"] == session


def test_analyze_has_the_nested_shape_and_the_flat_figures(client: Client, session: str) -> None:
    found = client.json("session", operation="analyze", args={"sessionId": session})
    assert found["metadata"]["thoughtCount"] == 7 and found["metadata"]["branchCount"] == 1
    assert found["structure"] == {
        "linearityScore": 0.71,
        "revisionRate": 0.14,
        "maxDepth": 1,
        "thoughtDensity": found["density"],
    }
    assert found["quality"] == {"critiqueRequests": 0, "hasConvergence": False, "isComplete": False}
    assert (found["linearity"], found["completion"], found["branchCount"]) == (0.71, 1.0, 1)


@pytest.mark.parametrize(
    "blank", [{"revisesThought": 0, "branchFromThought": 0}, {"branchId": ""}, {"thoughtNumber": 0}]
)
def test_optional_arguments_filled_with_nothing_are_left_out(client: Client, blank: dict[str, Any]) -> None:
    assert client.think("filled in", **blank)["thoughtNumber"] == 1


def test_nothing_inside_of_an_object_is_left_out_as_well(client: Client) -> None:
    told = client.text("start_new", newWork={"project": "p", "task": "", "aspect": "", "domain": ""})
    assert "project:p" in told and "task:" not in told and "domain_active" not in told


@pytest.mark.parametrize(
    ("operation", "blank"),
    [
        ("session.list", {"limit": 0, "status": "", "sortBy": ""}),
        ("session.search", {"query": "step", "limit": 0}),
        ("session.get", {"cursor": "", "limit": 0}),
        ("session.export", {"format": "", "destination": ""}),
        ("deep_analysis", {"analysisType": "", "options": {"compareWith": ""}}),
    ],
)
def test_what_has_a_default_is_left_out_too(
    client: Client, session: str, operation: str, blank: dict[str, Any]
) -> None:
    """tests/ledger/test_blanks.py does this with every optional argument of every operation."""
    asked = {} if operation in ("session.list", "session.search") else {"sessionId": session}
    kept = {name: value for name, value in blank.items() if name == "query"}
    assert client.text(operation, **asked, **blank) == client.text(operation, **asked, **kept)


def test_key_moments_take_a_summary(client: Client, session: str) -> None:
    moment = {"thoughtNumber": 1, "type": "decision", "significance": 8, "summary": "Logs first."}
    asked = {"sessionId": session, "keyMoments": [moment], "targetTypes": ["pattern"]}
    learnings = client.json("session", operation="extract_learnings", args=asked)["learnings"]
    assert learnings[0]["content"].startswith("Logs first.")


@pytest.mark.parametrize("name", ["session_list", "notebook_create", "mental_models_list_models", "session.list"])
def test_no_spelling_of_an_operation_goes_round_its_stage(newcomer: Client, name: str) -> None:
    refused = newcomer.refused(name)
    assert refused["code"] == "STAGE_REQUIREMENT_NOT_MET" and refused["currentStage"] == "entry"


def test_a_refusal_lists_what_is_needed_and_shows_a_call_through_the_gateway(client: Client) -> None:
    refused = client.refused("thought", thought="x")
    assert refused["required"] == ["thought", "nextThoughtNeeded"] and refused["received"] == ["thought"]
    assert "revisesThought" in refused["optional"] and refused["status"] == "failed"
    assert refused["example"]["operation"] == "thought" and "details" not in refused["suggestion"]
    client.json("thought", **refused["example"]["args"])


@pytest.mark.parametrize(
    ("operation", "args"),
    [("nonsense", {}), ("thought", {"thought": "x"}), ("session.get", {"sessionId": "nope"}), ("session", {})],
)
def test_a_refusal_has_a_code_and_a_message(client: Client, operation: str, args: dict[str, Any]) -> None:
    """The seed's ErrorPayload; the original called the message `error`."""
    refused = client.refused(operation, **args)
    assert refused["code"] in SEED_CODES and refused["message"] == refused["error"] != ""


def test_a_missing_model_is_answered_with_those_there_are(client: Client) -> None:
    refused = client.refused("mental_models", operation="get_model")
    assert "five-whys" in refused["availableModels"] and refused["required"] == ["modelId"]
    choices = client.refused("deep_analysis")["choices"]
    assert choices["analysisType"] == ["patterns", "cognitive_load", "decision_points", "full"]


@pytest.mark.parametrize(
    ("group", "sub"), [("session", "get"), ("notebook", "get_cell"), ("session", "bogus"), ("notebook", "")]
)
def test_failures_of_sessions_and_notebooks_say_so(client: Client, group: str, sub: str) -> None:
    assert client.refused(group, operation=sub, args={})["success"] is False


def test_warnings_stand_in_the_text(client: Client) -> None:
    client.json("bind_root", rootUri="file:///home/me/projB")
    told = client.text("start_new", newWork={"project": "explicit", "task": "t"})
    assert "Warning: Project 'explicit' was ignored" in told and "'projB'" in told


@pytest.mark.parametrize("group", ["session", "notebook", "mental_models", "knowledge"])
def test_the_stage_is_checked_before_the_arguments(newcomer: Client, group: str) -> None:
    """The original refuses a group that comes too early for its stage, whatever is wrong with the call besides."""
    for args in ({}, {"operation": "bogus"}):
        assert newcomer.refused(group, **args)["code"] == "STAGE_REQUIREMENT_NOT_MET"
    newcomer.text("start_new", cipher=True)
    assert newcomer.refused(group)["code"] == "INVALID_OPERATION"


def test_a_misspelt_argument_is_answered_with_the_mended_call(client: Client) -> None:
    refused = client.refused("thought", thought="x", nextThoughtNeeded=True, sessionTag=["a"])
    assert refused["example"]["args"] == {"thought": "x", "nextThoughtNeeded": True, "sessionTags": ["a"]}
    client.json(refused["example"]["operation"], **refused["example"]["args"])
    too_many = client.refused("session", operation="list", args={"limit": 500, "project": "p"})
    repaired = too_many["example"]
    assert repaired == {
        "operation": "session",
        "subOperation": "list",
        "args": {"limit": 100, "project": "p"},
        "workspace": client.workspace,
    }
    assert "example" in too_many["suggestion"]


def test_a_list_of_sessions_says_how_many_it_does_not_show(client: Client) -> None:
    client.text("start_new", newWork={"project": "p"})
    client.text("start_new", newWork={"project": "p"})
    told = client.text("list_sessions", filters={"project": "p", "limit": 2})
    assert told.startswith("Found 3 sessions") and "1 more are not shown" in told
    assert "not shown" not in client.text("list_sessions", filters={"project": "p"})


def test_an_unknown_project_or_task_is_answered_with_those_there_are(client: Client) -> None:
    refused = client.refused("navigate", target={"project": "zz"})
    assert refused["availableProjects"] == ["p"] and "p" in refused["suggestion"]
    client.text("start_new", newWork={"project": "other", "task": "elsewhere"})
    assert client.refused("navigate", target={"project": "p", "task": "zz"})["availableTasks"] == ["t"]


def test_the_directory_of_mental_models_has_the_shape_of_the_original(client: Client) -> None:
    found = json.loads(client.route.read("thoughtbox://mental-models"))
    assert (found["total_models"], found["total_tags"]) == (15, 6) and found["description"]
    debugging = next(tag for tag in found["tags"] if tag["name"] == "debugging")
    assert debugging["uri"] == "thoughtbox://mental-models/debugging" and debugging["model_count"] == 2
    duck = next(model for model in found["all_models"] if model["name"] == "rubber-duck")
    assert duck["uris"] == ["thoughtbox://mental-models/debugging/rubber-duck"] and duck["tags"] == ["debugging"]
    for uri in [uri for model in found["all_models"] for uri in model["uris"]]:
        assert client.route.read(uri).split("---\n\n")[1].startswith("# ")


def test_a_note_is_found_by_the_topic_it_was_written_under(client: Client) -> None:
    client.json("knowledge", action="write_scratchpad", topic="Search Latency!", content="ask the DBA")
    assert (
        client.json("knowledge", action="read_scratchpad", topic="Search Latency!")["note"]["content"] == "ask the DBA"
    )
    gone = client.json("knowledge", action="delete_scratchpad", topic="Search Latency!")
    assert gone == {"id": "search-latency", "deleted": True}
    assert client.refused("knowledge", action="read_scratchpad", topic="Search Latency!")["code"] == "INVALID_PAYLOAD"


def test_loading_a_notebook_from_nothing_says_what_to_give(client: Client) -> None:
    assert "content" in client.refused("notebook", operation="load", args={})["suggestion"]
    both = client.refused("notebook", operation="load", args={"content": "x", "path": "y"})
    assert "one of them" in both["suggestion"]


def test_a_domain_is_checked_and_can_be_left(client: Client) -> None:
    assert "availableDomains" in client.refused("navigate", target={"domain": "zzz"})
    client.text("navigate", target={"domain": "architecture"})
    names = {model["name"] for model in client.json("mental_models", operation="list_models")["models"]}
    assert names == {"trade-off-matrix", "abstraction-laddering", "decomposition", "constraint-relaxation"}
    client.text("navigate", target={"domain": "none"})
    assert client.json("mental_models", operation="list_models")["count"] == 15
    client.text("start_new", newWork={"domain": "debugging"})
    client.text("start_new", newWork={"task": "other"})
    assert client.json("mental_models", operation="list_models")["count"] == 15


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"target": {"project": "p"}},
        {"target": {"project": "p", "domain": ""}},
        {"project": "p", "task": "t", "domain": None},
        {"domain": ""},
        {"domain": None},
        {"target": {"domain": None}},
    ],
    ids=str,
)
def test_navigating_without_a_domain_leaves_it(client: Client, elsewhere: dict[str, Any]) -> None:
    client.text("navigate", domain="research")
    assert client.json("mental_models", operation="list_models")["count"] == 3
    assert "Left domain: research" in client.text("navigate", **elsewhere)
    assert "Stage: 2" in client.text("get_state") and "Domain" not in client.text("get_state")
    assert client.json("mental_models", operation="list_models")["count"] == 15


def test_navigating_nowhere_is_refused(client: Client) -> None:
    nowhere: dict[str, Any]
    for nowhere in ({}, {"target": {}}, {"domain": ""}):
        assert client.refused("navigate", **nowhere)["error"] == "target: is required"


def test_the_list_of_tools_names_the_operations() -> None:
    entry = catalogue().find("thoughtbox_gateway")
    assert entry is not None
    names = entry.input_schema["properties"]["operation"]["enum"]
    assert len(names) == len(set(names)) == 19, "those of the original and three of ours"
    assert set(names) == {wire_name(found).partition(".")[0] for found in served()}


def test_the_next_page_is_called_by_names_of_the_schema(client: Client) -> None:
    """tests/ledger/test_recommended.py walks all that is recommended by any operation."""
    client.text("start_new", newWork={"project": "p"})
    following = client.json("session", subOperation="list", limit=1)["nextCall"]
    assert (following["operation"], following["subOperation"]) == ("session", "list")
    told = client.route.send("thoughtbox_gateway", following)
    assert told.ok and json.loads(told.text)["count"] == 1


def test_a_session_is_exported_to_a_directory_below_the_exports(client: Client, session: str) -> None:
    told = client.json("session", operation="export", args={"sessionId": session, "destination": "mine"})
    written = json.loads(Path(told["exportPath"]).read_text())
    assert len(written["nodes"]) == 7 and "content" not in told
    refused = client.refused("session", operation="export", args={"sessionId": session, "destination": "../../etc"})
    assert refused["success"] is False


def test_the_seeds_directory_of_exports_is_ours(client: Client, session: str) -> None:
    """`~/.thoughtbox/exports` is the seed's default; no directory is ever called `~`."""

    def written(**more: Any) -> Path:
        told = client.json("session", operation="export", args={"sessionId": session, **more})
        return Path(told["exportPath"])

    exports = written(destination=".").parent
    assert written(destination="~/.thoughtbox/exports", format="markdown").parent == exports
    assert written(destination="~/.thoughtbox/exports/mine/", format="cipher").parent == exports / "mine"
    assert not (exports / "~").exists()


@pytest.mark.parametrize("place", ["/tmp/elsewhere", "~", "~/elsewhere", "../../etc", "~/.thoughtbox/exports/../x"])
def test_a_destination_elsewhere_is_refused_with_one_that_works(client: Client, session: str, place: str) -> None:
    asked = {"sessionId": session, "format": "markdown", "destination": place}
    refused = client.refused("session", operation="export", args=asked)
    assert refused["success"] is False and refused["error"].startswith("destination:")
    repaired = refused["example"]
    assert (repaired["operation"], repaired["subOperation"]) == ("session", "export")
    assert repaired["args"] == {**asked, "destination": "."}
    told = client.json("session", operation="export", args=repaired["args"])
    assert Path(told["exportPath"]).is_file()


@pytest.mark.parametrize(("asked", "numbers"), [({"last": 600}, (21, 620)), ({"range": [1, 1000]}, (1, 620))])
def test_many_thoughts_are_read_page_by_page(client: Client, asked: dict[str, Any], numbers: tuple[int, int]) -> None:
    """Any number may be asked for; what does not fit into one answer comes with the next call that it names."""
    lines = "\n".join(f"[{number}/620]: step {number}" for number in range(1, 621))
    session = client.json("session", operation="import", args={"content": f"# Long\n{lines}"})["sessionId"]
    seen: list[int] = []
    call: dict[str, Any] | None = {"args": {"sessionId": session, **asked}}
    while call is not None:
        told = client.json("read_thoughts", **call["args"])
        assert told["query"].partition(":")[0] in asked and told["count"] == len(told["thoughts"]) > 0
        seen += [item["thoughtNumber"] for item in told["thoughts"]]
        call = told.get("nextCall")
        assert (call is not None) is told["pagination"]["has_more"]
    assert seen == list(range(numbers[0], numbers[1] + 1))


def test_markdown_without_metadata_is_the_thoughts_alone(client: Client, session: str) -> None:
    asked = {"sessionId": session, "format": "markdown", "includeMetadata": False}
    text = client.json("session", operation="export", args=asked)["content"]
    assert text.startswith("## Main Thread\n\n### Thought 1/1\n\nstep 1\n") and "<!--" not in text


def test_a_long_session_is_exported_whole(client: Client) -> None:
    for _ in range(3):
        session = client.think("word " * 80_000)["sessionId"]
    for format in ("json", "markdown", "cipher"):
        told = client.json("session", operation="export", args={"sessionId": session, "format": format})
        assert len(told["content"]) > 1_200_000, format


@pytest.mark.parametrize("engine", ["wire"])
def test_a_cell_imports_a_module_of_node_by_its_bare_name(client: Client) -> None:
    pytest.importorskip("deno")
    book = client.json("notebook", operation="create", args={"title": "T", "language": "javascript"})["notebook"]["id"]
    cell = {"notebookId": book, "cellType": "code", "content": "import path from 'path'\nconsole.log(path.sep)"}
    made = client.json("notebook", operation="add_cell", args=cell)["cell"]["id"]
    ran = client.json("notebook", operation="run_cell", args={"notebookId": book, "cellId": made})
    assert ran["output"] == "/\n"
    shown = client.json("notebook", operation="get_cell", args={"notebookId": book, "cellId": made})["cell"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", shown["executedAt"])


def test_the_overview_tells_the_operations_and_their_parameters(wire: Wire) -> None:
    (message,) = wire.portal.call(wire.client.get_prompt, "list_mcp_assets", {}).messages
    assert isinstance(message.content, TextContent)
    assert "| `thought` | **thought**, **nextThoughtNeeded**" in message.content.text
    assert "| `session.export` | **sessionId**" in message.content.text


def test_cells_are_listed_whole(client: Client) -> None:
    book = client.json("notebook", operation="create", args={"title": "T", "language": "javascript"})["notebook"]["id"]
    text = "word " * 100
    client.json("notebook", operation="add_cell", args={"notebookId": book, "cellType": "markdown", "content": text})
    cells = client.json("notebook", operation="list_cells", args={"notebookId": book})["cells"]
    assert text.strip() in [cell.get("text", "").strip() for cell in cells]


def test_patterns_and_notes_say_where_they_are(client: Client) -> None:
    kept = {"title": "P", "description": "d", "content": "c"}
    assert client.json("knowledge", operation="create_pattern", args=kept)["success"] is True
    note = client.json("knowledge", operation="write_scratchpad", args={"topic": "Search latency", "content": "c"})[
        "note"
    ]
    assert note["uri"] == "thoughtbox://knowledge/scratchpad/search-latency"
    if client.workspace == "ws":  # an address has no place for a workspace
        assert client.route.read(note["uri"]) == "# Search latency\n\nc\n"


@pytest.mark.parametrize("name", ["evolution-check", "subagent-summarize"])
def test_two_prompts_have_an_address_too(client: Client, name: str) -> None:
    text = client.route.read(f"thoughtbox://prompts/{name}")
    assert "thought" in text and len(text.split()) > 60


def test_the_state_tells_of_a_bound_root(newcomer: Client) -> None:
    newcomer.json("bind_root", rootUri="file:///home/me/projB")
    told = newcomer.text("get_state")
    assert "Project: projB" in told and "Root: projB" in told


def test_a_domain_holds_the_models_that_the_seed_tags_with_it(client: Client) -> None:
    client.text("navigate", domain="decision-making")
    names = {model["name"] for model in client.json("mental_models", operation="list_models")["models"]}
    original = {"steelmanning", "trade-off-matrix", "opportunity-cost", "time-horizon-shifting"}
    assert names == original | {"inversion", "impact-effort-grid"}


def test_the_models_of_one_tag_have_an_address(client: Client) -> None:
    found = json.loads(client.route.read("thoughtbox://mental-models/debugging"))
    assert found["tag"] == "debugging" and found["count"] == len(found["models"]) > 0


# What is different on purpose (docs/contracts/thoughtbox.toml).


def test_unknown_arguments_are_refused(client: Client) -> None:
    assert "agentName" in client.refused("thought", thought="x", nextThoughtNeeded=True, agentName="Planner")["error"]


def test_a_taken_number_and_targets_that_are_not_there_are_refused(client: Client) -> None:
    client.think("one")
    assert client.refused("thought", thought="x", nextThoughtNeeded=True, thoughtNumber=1)["nextFree"] == 2
    wrong: list[dict[str, Any]] = [
        {"revisesThought": 77},
        {"isRevision": True},
        {"branchId": "b", "branchFromThought": 99},
        {"branchId": "b"},
    ]
    for arguments in wrong:
        client.refused("thought", thought="x", nextThoughtNeeded=True, **arguments)
    client.refused("read_thoughts", sessionId="00000000-0000-4000-8000-000000000000")


def test_a_branch_has_a_plain_name_and_one_fork_point(client: Client) -> None:
    client.think("one")
    client.think("two")
    client.refused("thought", thought="x", nextThoughtNeeded=True, branchId="Weird/../x", branchFromThought=1)
    client.think("b", branchId="b", branchFromThought=1)
    client.refused("thought", thought="x", nextThoughtNeeded=True, branchId="b", branchFromThought=2)


def test_guides_are_named_and_not_sent(client: Client) -> None:
    first = client.think("one", verbose=True)
    assert first["resources"] == ["thoughtbox://patterns-cookbook"] and "guide" not in first
    assert client.links == first["resources"], "the answer links to them as well"
    forked = client.think("other", verbose=True, branchId="alt", branchFromThought=1)
    assert forked["resources"] == ["thoughtbox://guidance/parallel-verification"] == client.links
    assert len(client.think("two", includeGuide=True)["guide"]) > 1000


def test_beginnings_are_answered_in_one_text_with_the_seeds_stages(newcomer: Client) -> None:
    assert newcomer.text("get_state").startswith("Stage: 0 entry") and not newcomer.links
    told = newcomer.text("start_new", newWork={"project": "p", "task": "t"}, sessionTags=["mine"])
    assert "Stage: 1 init_complete" in told and "Tags: mine, project:p, task:t" in told
    again = newcomer.text("start_new", newWork={"project": "p"})
    assert "Related sessions:" in again and "p / t" in again


def test_a_cipher_export_holds_whole_thoughts_and_can_be_imported_again(client: Client) -> None:
    long = "S1|H|therefore " + "x" * 400
    id = client.think(long)["sessionId"]
    content = client.json("session", operation="export", args={"sessionId": id, "format": "cipher"})["content"]
    assert long in content
    copied = client.json("session", operation="import", args={"content": content, "format": "cipher", "asCopy": True})
    read = client.json("read_thoughts", sessionId=copied["sessionId"])["thoughts"]
    assert [item["thought"] for item in read] == [long]


def test_the_knowledge_zone_has_patterns_and_no_graph(client: Client) -> None:
    refused = client.refused("knowledge", action="create_entity", name="Lock", type="Concept", label="a lock")
    assert refused["code"] == "INVALID_OPERATION" and "create_pattern" in refused["availableOperations"]


def test_what_the_seed_does_not_name_is_refused_by_name(client: Client) -> None:
    for group, sub in (("mental_models", "get_capability_graph"), ("session", "discovery")):
        assert client.refused(group, operation=sub)["code"] == "INVALID_OPERATION"
    for uri in ("system://status", "thoughtbox://interleaved/research", "thoughtbox://notebook/operations"):
        with pytest.raises((ClewError, MCPError)) as told:
            client.route.read(uri)
        assert uri in str(told.value)


def test_session_get_gives_pages_in_the_order_of_writing(client: Client, session: str) -> None:
    page = client.json("session", operation="get", args={"sessionId": session, "limit": 6})
    assert [item["thoughtNumber"] for item in page["thoughts"]] == [1, 2, 3, 4, 5, 4]
    assert page["branches"]["alt"] == {"forks": 3, "range": [4, 5], "length": 2}
    rest = {"sessionId": session, "cursor": page["pagination"]["next_cursor"]}
    assert len(client.json("session", operation="get", args=rest)["thoughts"]) == 1
    assert re.fullmatch(r"\d{4}-\d\d", page["session"]["partitionPath"])


def test_the_same_state_gives_the_same_export(client: Client, session: str) -> None:
    asked = {"sessionId": session}
    assert client.text("session", operation="export", args=asked) == client.text(
        "session", operation="export", args=asked
    )


def test_markdown_with_metadata_can_be_imported_again(client: Client, session: str) -> None:
    asked = {"sessionId": session, "format": "markdown"}
    text = client.json("session", operation="export", args=asked)["content"]
    copy = client.json("session", operation="import", args={"content": text, "asCopy": True})
    assert copy["added"] == 7


def test_a_thought_and_a_list_have_a_largest_size(client: Client) -> None:
    client.refused("thought", thought="x" * 1_000_001, nextThoughtNeeded=True)
    client.refused("session", operation="list", args={"limit": 101})


def test_a_search_without_words_finds_all_sessions(client: Client, session: str) -> None:
    for args in ({}, {"query": ""}):
        found = client.json("session", subOperation="search", args=args)
        assert [item["id"] for item in found["sessions"]] == [session]


@pytest.mark.parametrize("text", ["a\x00b", "half \ud800"])
def test_what_cannot_be_stored_is_refused_in_the_gateways_form(client: Client, text: str) -> None:
    if isinstance(client.route, Wire) and text != "a\x00b":
        pytest.skip("the client's own library sends no half of a surrogate pair")
    refused = client.refused("thought", thought=text, nextThoughtNeeded=True)
    assert isinstance(refused["error"], str) and refused["error"] == refused["message"]
    assert (refused["code"], refused["status"]) == ("INVALID_PAYLOAD", "failed") and "envelope" not in refused
    for kept in ("\x01\x1b", "\u202e\u200d\ufeff"):
        assert (
            client.json("read_thoughts", thoughtNumber=client.think(kept)["thoughtNumber"])["thoughts"][0]["thought"]
            == kept
        )


def test_formats_and_tags_follow_the_seed(client: Client, session: str) -> None:
    export = {"sessionId": session}
    assert client.json("session", operation="export", args=export)["format"] == "json"
    refused = client.refused("session", operation="export", args={**export, "format": "pdf"})
    assert refused["code"] == "INVALID_PAYLOAD"
    client.json("session", operation="update", args={"sessionId": session, "tags": ["a"]})
    for tags, found in ((["a"], [session]), (["a", "b"], [])):
        listed = client.json("session", operation="list", args={"tags": tags})
        assert [item["id"] for item in listed["sessions"]] == found


def test_a_long_title_is_kept_with_its_thought(newcomer: Client) -> None:
    newcomer.text("start_new", newWork={"project": "p", "task": "t"})
    newcomer.text("cipher")
    made = newcomer.think("one", sessionTitle="t" * 300)
    found = newcomer.json("session", operation="get", args={"sessionId": made["sessionId"]})
    assert found["session"]["title"] == "t" * 300


def test_the_last_thoughts_are_those_of_the_main_line(client: Client, session: str) -> None:
    client.think("step 6", sessionId=session)
    found = client.json("read_thoughts", sessionId=session)
    assert [(item["thoughtNumber"], item.get("branchId")) for item in found["thoughts"]] == [
        (number, None) for number in (2, 3, 4, 5, 6)
    ]
    whole = client.json("read_thoughts", sessionId=session, range=[0, 1000])
    assert [item["thoughtNumber"] for item in whole["thoughts"]] == [1, 2, 3, 4, 5, 6]
    assert client.json("read_thoughts", sessionId=session, last=0)["count"] == 5, "zero is nothing, as in D6"


def test_a_number_is_a_text_and_blanks_are_no_thought(client: Client) -> None:
    number = client.json("thought", thought=5, nextThoughtNeeded=True)["thoughtNumber"]
    assert client.json("read_thoughts", thoughtNumber=number)["thoughts"][0]["thought"] == "5"
    assert client.refused("thought", thought="  ", nextThoughtNeeded=True)["status"] == "failed"


def test_the_filter_of_mental_models_is_a_text(client: Client) -> None:
    tags = ["planning", "decision-making"]
    listed = client.json("mental_models", operation="list_models", args={"tags": tags})
    assert listed["filter"] == "planning, decision-making"


def test_two_cells_of_a_notebook_have_two_file_names(client: Client) -> None:
    made = client.json("notebook", operation="create", args={"title": "N", "language": "typescript"})
    cell = {
        "notebookId": made["notebook"]["id"],
        "cellType": "code",
        "content": "1",
        "filename": "u.ts",
    }
    client.json("notebook", operation="add_cell", args=cell)
    refused = client.refused("notebook", operation="add_cell", args=cell)
    assert refused["success"] is False and "u.ts" in refused["error"]


def test_a_mental_model_by_its_address_begins_with_its_facts(client: Client) -> None:
    text = client.route.read("thoughtbox://mental-models/debugging/five-whys")
    head = text.split("---\n")[1].splitlines()
    assert [line.partition(":")[0] for line in head] == ["name", "title", "tags", "uri", "alternate_uris"]
    assert 'uri: "thoughtbox://mental-models/debugging/five-whys"' in head


def test_what_has_a_default_is_not_asked_for(client: Client, session: str) -> None:
    learned = {"sessionId": session, "targetTypes": []}
    some = client.json("session", operation="extract_learnings", args=learned)
    assert some == client.json("session", operation="extract_learnings", args={"sessionId": session})
    assert client.json("deep_analysis", sessionId=session)["sessionId"] == session
    assert client.refused("deep_analysis")["required"] == ["sessionId"]
