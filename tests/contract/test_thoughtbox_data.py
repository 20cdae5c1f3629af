"""Thoughtbox directories both ways: what is exported imports to the same, finished sessions arrive finished."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew, open_clew
from clew.clock import system_clock
from clew.settings import load_settings
from tests.contract.local_calls import call
from tests.contract.wire import PATIENCE, serving
from tests.faces.mcp.process import environment


@pytest.fixture(scope="module", params=[system_clock, lambda: 1_795_000_000_000], ids=["the clock runs", "it stands"])
def shared(request: pytest.FixtureRequest) -> Iterator[Clew]:
    """With a clock that stands still every thought stems from the same millisecond, as on a fast machine some do."""
    with tempfile.TemporaryDirectory() as home:
        flags = {"home": home, "workspace": "w", "workspace_lock": False}
        clew = open_clew(load_settings(flags, {}), request.param)
        yield clew
        clew.close()


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(str.strip)
shapes = st.lists(st.tuples(texts, st.sampled_from(["plain", "revise", "branch"])), min_size=1, max_size=8)


def think(clew: Clew, workspace: str, shape: list[tuple[str, str]], finished: bool) -> str:
    session = call(clew, "start_new", sessionTitle="Trip", sessionTags=["a", "b"], workspace=workspace)["sessionId"]
    place = {"sessionId": session, "workspace": workspace}
    call(clew, "thought", thought="first", nextThoughtNeeded=True, **place)
    for number, (text, kind) in enumerate(shape):
        more: dict[str, Any] = {"revisesThought": 1} if kind == "revise" else {}
        more |= {"branchId": f"b{number}", "branchFromThought": 1} if kind == "branch" else {}
        call(clew, "thought", thought=text, nextThoughtNeeded=True, **more, **place)
    if finished:
        call(clew, "thought", thought="done", nextThoughtNeeded=False, **place)
    return str(session)


def told(clew: Clew, workspace: str, session: str) -> dict[str, Any]:
    """An export without what depends on when somebody looked."""
    exported = json.loads(call(clew, "session_export", sessionId=session, workspace=workspace)["content"])
    exported.pop("exportedAt")
    exported["session"].pop("lastAccessedAt")
    return dict(exported)


def by_time(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The directory knows no order but that of time: two chains may have written in the same millisecond."""
    return sorted(nodes, key=lambda node: (node["data"]["timestamp"], node["id"]))


@settings(max_examples=15)
@given(shape=shapes, finished=st.booleans(), number=st.integers(0, 10**9))
def test_a_directory_exported_and_imported_is_the_same(
    shared: Clew, shape: list[tuple[str, str]], finished: bool, number: int
) -> None:
    source, target = f"from-{number}", f"to-{number * 7 + 1}-other"
    session = think(shared, source, shape, finished)
    with tempfile.TemporaryDirectory() as folder:
        report = call(shared, "export_thoughtbox", path=folder, sessionIds=[session], workspace=source)
        assert report["valid"]
        call(shared, "import_thoughtbox", path=folder, workspace=target)
    before, after = told(shared, source, session), told(shared, target, session)
    assert by_time(after["nodes"]) == by_time(before["nodes"])
    assert after["session"]["status"] == ("completed" if finished else "active")


OLD = "11111111-1111-4111-8111-111111111111"


def write_original(
    place: Path, project: str = "_default", title: str = "Old", id: str = OLD, within: str = "2026-01"
) -> None:
    """A finished session with one thought, as Thoughtbox writes it."""
    at = "2026-01-05T10:00:00.190Z"
    thought = {"thought": "all done", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}
    links: dict[str, Any] = {"prev": None, "next": [], "revisesNode": None, "branchOrigin": None, "branchId": None}
    about = {"title": title, "tags": [], "createdAt": "2026-01-05T10:00:00.000Z", "updatedAt": at}
    manifest = {"id": id, "version": "1.0.0", "thoughtFiles": ["001.json"], "branchFiles": {}, "metadata": about}
    folder = place / "projects" / project / "sessions" / within / id
    (folder / "branches").mkdir(parents=True)
    (folder / "001.json").write_text(json.dumps({"id": f"{id}:1", "data": {**thought, "timestamp": at}, **links}))
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("beside", [True, False], ids=["a home of its own", "the same directory"])
def test_a_data_directory_of_the_original_is_offered_for_import(tmp_path: Path, beside: bool) -> None:
    """THOUGHTBOX_DATA_DIR names a directory that Thoughtbox wrote; a finished session arrives finished."""
    theirs = tmp_path / "theirs"
    write_original(theirs)
    environ = {"THOUGHTBOX_DATA_DIR": str(theirs), "CLEW_HOME": str(tmp_path / "home") if beside else ""}
    with serving(tmp_path / "home", "thoughtbox", environ=environ) as wire:

        def said(operation: str, /, **args: Any) -> str:
            heard = wire.send("thoughtbox_gateway", {"operation": operation, "args": args})
            assert heard.ok, heard.text
            return heard.text

        said("start_new", cipher=True, sessionTitle="Begun before the import")
        assert "import_thoughtbox" in said("list_sessions") and "import_thoughtbox" in said("get_state")
        assert json.loads(said("import_thoughtbox"))["added"] == 1
        listed = {item["title"]: item for item in json.loads(said("session", operation="list"))["sessions"]}
        assert (listed["Old"]["status"], listed["Old"]["completedAt"]) == ("completed", "2026-01-05T10:00:00.190Z")
        assert "import_thoughtbox" not in said("list_sessions") + said("get_state")
    assert (theirs / "clew.db").exists() is not beside


def test_the_directory_that_the_original_uses_by_default_is_offered_and_read(tmp_path: Path) -> None:
    """Without a variable Thoughtbox keeps its data in ~/.thoughtbox."""
    write_original(tmp_path / ".thoughtbox")
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "CLEW_HOME": str(tmp_path / "home")}
    with serving(tmp_path / "home", "thoughtbox", environ=environ) as wire:

        def said(operation: str, /, **args: Any) -> str:
            heard = wire.send("thoughtbox_gateway", {"operation": operation, "args": args})
            assert heard.ok, heard.text
            return heard.text

        assert "import_thoughtbox" in said("get_state") and "import_thoughtbox" in said("list_sessions")
        found = json.loads(said("import_thoughtbox"))
        assert (found["path"], found["added"]) == (str(tmp_path / ".thoughtbox"), 1)
        assert "Old" in said("list_sessions")


def test_the_knowledge_graph_comes_from_the_default_directory_too(tmp_path: Path) -> None:
    """The original writes it there also where THOUGHTBOX_DATA_DIR names another directory."""
    write_original(tmp_path / "theirs")
    graph = tmp_path / ".thoughtbox" / "projects" / "_default" / "memory" / "graph.jsonl"
    graph.parent.mkdir(parents=True)
    entity = {"type": "entity", "id": "e1", "name": "Locks", "entityType": "Insight", "label": "Locks are short"}
    graph.write_text(json.dumps(entity) + "\n")
    environ = {
        "HOME": str(tmp_path),
        "USERPROFILE": str(tmp_path),
        "CLEW_HOME": str(tmp_path / "home"),
        "THOUGHTBOX_DATA_DIR": str(tmp_path / "theirs"),
    }
    with serving(tmp_path / "home", "thoughtbox", environ=environ) as wire:
        heard = wire.send("thoughtbox_gateway", {"operation": "import_thoughtbox"})
        found = json.loads(heard.text)
        assert heard.ok and found["added"] == 1
        assert [item["place"] for item in found["patterns"]] == [str(graph)]


def test_the_shell_reads_the_directory_that_the_variable_names(tmp_path: Path) -> None:
    write_original(tmp_path / "theirs")
    environ = {"THOUGHTBOX_DATA_DIR": str(tmp_path / "theirs"), "CLEW_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "clew", "import", "thoughtbox", "--json"]
    done = subprocess.run(
        command, env=environment(tmp_path / "home", **environ), capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["path"] == str(tmp_path / "theirs")


def write_projects(place: Path) -> None:
    """One session in `_default`, one in a project, and one that only an export still holds."""
    write_original(place)
    write_original(place, "acme", "Other", "22222222-2222-4222-8222-222222222222")
    lone = "33333333-3333-4333-8333-333333333333"
    thought = {"thought": "x", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": True}
    exported: dict[str, Any] = {"version": "1.0", "session": {"id": lone, "title": "Lone", "tags": []}}
    exported["nodes"] = [{"id": f"{lone}:1", "data": {**thought, "timestamp": "2026-01-05T10:00:00.000Z"}}]
    (place / "exports").mkdir()
    (place / "exports" / f"{lone}-2026.json").write_text(json.dumps(exported))


@pytest.mark.parametrize(
    ("project", "brought", "left"),
    [
        ("acme", {"Other"}, {"_default": 2}),
        ("_default", {"Old", "Lone"}, {"acme": 1}),
        ("", {"Old", "Lone", "Other"}, {}),
    ],
)
def test_the_variable_names_the_project_that_is_imported(
    tmp_path: Path, project: str, brought: set[str], left: dict[str, int]
) -> None:
    """A client of Thoughtbox sees the sessions of its project; the others are told and come when asked for."""
    write_projects(tmp_path / "theirs")
    environ = {"THOUGHTBOX_DATA_DIR": str(tmp_path / "theirs"), "CLEW_HOME": str(tmp_path / "home")}
    with serving(tmp_path / "home", "thoughtbox", environ={**environ, "THOUGHTBOX_PROJECT": project}) as wire:

        def said(operation: str, /, **args: Any) -> dict[str, Any]:
            heard = wire.send("thoughtbox_gateway", {"operation": operation, **({"args": args} if args else {})})
            assert heard.ok, heard.text
            return dict(json.loads(heard.text))

        def titles() -> set[str]:
            return {item["title"] for item in said("session", operation="list")["sessions"]} - {"Begun"}

        wire.send("thoughtbox_gateway", {"operation": "start_new", "args": {"sessionTitle": "Begun"}})
        told = said("import_thoughtbox")
        assert (titles(), told["otherProjects"]) == (brought, left)
        state = wire.send("thoughtbox_gateway", {"operation": "get_state"})
        assert "import_thoughtbox" not in state.text
        if left:
            assert 'import_thoughtbox {"project":"*"}' in told["warnings"][0]
        said("import_thoughtbox", project="*")
        assert titles() == {"Old", "Lone", "Other"}


def files(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in sorted(place.rglob("*")) if path.is_file()}


def test_what_was_imported_is_exported_to_the_same_files(shared: Clew, tmp_path: Path) -> None:
    """A directory that went through the store once comes out of the store as it is, byte for byte."""
    session = think(shared, "first", [("plain", "plain"), ("again", "revise"), ("aside", "branch")], True)
    one, two = tmp_path / "one", tmp_path / "two"
    call(shared, "export_thoughtbox", path=str(one), sessionIds=[session], workspace="first")
    call(shared, "import_thoughtbox", path=str(one), workspace="second")
    call(shared, "export_thoughtbox", path=str(two), workspace="second")
    assert files(two) == files(one) and len(files(one)) == 6


def test_a_directory_of_the_original_comes_out_as_it_went_in(shared: Clew, tmp_path: Path) -> None:
    """Its projects, fields nobody here knows, times and links; only `next`, which it leaves empty, is filled in."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    other = "22222222-2222-4222-8222-222222222222"
    write_original(theirs)
    write_original(theirs, "acme", "Other", other)
    thought = theirs / f"projects/acme/sessions/2026-01/{other}/001.json"
    node = json.loads(thought.read_text())
    node["data"] |= {"thoughtType": "decision", "confidence": 0.5, "needsMoreThoughts": True}
    thought.write_text(json.dumps(node))
    manifest = thought.parent / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "runs": [{"id": "r1"}]}))
    call(shared, "import_thoughtbox", path=str(theirs), workspace="third")
    call(shared, "export_thoughtbox", path=str(ours), workspace="third")
    before, after = files(theirs), files(ours)
    assert before.keys() == after.keys()
    for name, text in before.items():
        was, now = json.loads(text), json.loads(after[name])
        assert was == {key: now[key] for key in was}, name
        assert now.keys() - was.keys() <= {"lastAccessedAt", "status", "completedAt"}, name


def test_sessions_go_back_into_the_partition_they_came_from(shared: Clew, tmp_path: Path) -> None:
    """By month, week, day or not at all. A month may differ from that of `createdAt`: the original used local time."""
    theirs, ours, again = tmp_path / "theirs", tmp_path / "ours", tmp_path / "again"
    partitions = ("2025-12", "2026-W02", "2026-01-05", "")
    ids = {f"3333333{number}-3333-4333-8333-333333333333": within for number, within in enumerate(partitions)}
    for id, within in ids.items():
        write_original(theirs, id=id, within=within)
    call(shared, "import_thoughtbox", path=str(theirs), workspace="fourth")
    call(shared, "export_thoughtbox", path=str(ours), workspace="fourth")
    assert files(ours).keys() == files(theirs).keys()
    listed = call(shared, "session_list", workspace="fourth")["sessions"]
    assert {item["id"]: item["partitionPath"] for item in listed} == ids
    call(shared, "import_thoughtbox", path=str(ours), workspace="fifth")
    call(shared, "export_thoughtbox", path=str(again), workspace="fifth")
    assert files(again) == files(ours)


@pytest.mark.parametrize("name", ["../../outside", "/tmp/outside", "2026", "a\n"])
def test_no_partition_leads_out_of_the_directory(shared: Clew, tmp_path: Path, name: str) -> None:
    """An export is text that anybody may write; its partition becomes part of a path only in the seed's forms."""
    session = think(shared, f"sixth-{len(name)}", [], False)
    exported = told(shared, f"sixth-{len(name)}", session)
    exported["session"]["partitionPath"] = name
    content = json.dumps(exported)
    target = f"seventh-{len(name)}"
    call(shared, "session_import", content=content, format="json", workspace=target)
    report = call(shared, "export_thoughtbox", path=str(tmp_path / "ours"), workspace=target)
    month = exported["session"]["createdAt"][:7]
    assert report["reports"][0]["place"] == f"projects/_default/sessions/{month}/{session}"
