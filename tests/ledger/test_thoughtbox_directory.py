"""A user's Thoughtbox directory: imported with all its traps, exported as one that checks out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from tests.ledger import sample
from tests.ledger.conftest import Thinker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "dot-thoughtbox"
    sample.build(base)
    return base


@pytest.fixture
def local(clew: Clew) -> Thinker:
    caller = Thinker(clew)
    caller.session.local = True
    return caller


def nodes(caller: Thinker, session: str) -> dict[str, dict[str, Any]]:
    export = caller.exported(session)
    return {item["id"].removeprefix(f"{session}:"): item for item in export["nodes"]}


def test_every_session_arrives_once_with_the_counts_stated(local: Thinker, folder: Path) -> None:
    report = local("import_thoughtbox", path=str(folder))
    assert (report["sessions"], report["failed"]) == (sample.SESSIONS, [])
    assert {item["sessionId"]: item["thoughts"] for item in report["reports"]} == sample.THOUGHTS
    assert report["added"] == sum(sample.THOUGHTS.values())
    assert report["duplicates"] == [f"2025-12/{sample.PLAIN}"]
    assert report["ignored"] == ["mental-models"]
    stored = {item["id"]: item["thoughtCount"] for item in local("session_list", limit=100)["sessions"]}
    assert stored == sample.THOUGHTS
    (memory,) = report["patterns"]
    assert {name: memory[name] for name in ("entities", "observations", "relations", "dropped")} == {
        "entities": 2,
        "observations": 1,
        "relations": 1,
        "dropped": 4,
    }


def test_importing_again_adds_nothing(local: Thinker, folder: Path) -> None:
    local("import_thoughtbox", path=str(folder))
    again = local("import_thoughtbox", path=str(folder))
    assert (again["added"], again["already"]) == (0, sum(sample.THOUGHTS.values()))
    assert again["patterns"][0]["added"] == 0


def test_a_dry_run_writes_nothing(local: Thinker, folder: Path) -> None:
    report = local("import_thoughtbox", path=str(folder), dryRun=True)
    assert report["thoughts"] == sum(sample.THOUGHTS.values())
    assert local("session_list")["count"] == 0


def test_the_integrity_report_names_what_is_missing(local: Thinker, folder: Path) -> None:
    report = local("import_thoughtbox", path=str(folder))
    found = {item["sessionId"]: item["integrity"] for item in report["reports"]}
    assert found[sample.EMPTY]["valid"]
    plain = found[sample.PLAIN]
    assert plain["unlistedFiles"] == ["1001.json"]
    assert plain["errors"] == ["1002.json.tmp: left over from a crash; not read"]
    branched = found[sample.BRANCHED]
    assert branched["missingBranchFiles"] == {"gone": ["009.json"]}
    assert any("ESCAPE" in text for text in branched["errors"])
    odd = found[sample.ODD]
    assert odd["missingThoughtFiles"] == ["011.json"]
    assert [text.partition(":")[0] for text in odd["errors"]] == ["009.json", "010.json"]
    lost = found[sample.LOST]
    assert (lost["manifestExists"], lost["manifestValid"]) == (True, False)
    assert found[sample.EXPORTED] is None


def test_links_are_rebuilt_and_broken_ones_told(local: Thinker, folder: Path) -> None:
    report = local("import_thoughtbox", path=str(folder))
    key = sample.BRANCHED
    found = nodes(local, key)
    assert set(found) == {"1", "2", "3", "4", "weird-id-x:3", "weird-id-x:4", "a-b:3", "lost:100", "seedlike:5"}
    assert found["2"]["next"] == [f"{key}:3", f"{key}:weird-id-x:3", f"{key}:weird-id-x:4", f"{key}:a-b:3"]
    assert found["3"]["revisesNode"] is None
    assert found["4"]["data"]["revisesThought"] == 77
    assert found["4"]["data"]["thoughtType"] == "reasoning"
    assert found["lost:100"]["branchOrigin"] is None
    assert found["2"]["data"]["critique"]["model"] == "m"
    assert found["2"]["data"]["type"] == "H"
    export = local.exported(key)
    assert export["session"]["branchNames"] == {"weird-id-x": "Weird ID/../x"}
    assert any("fork point" in text for text in report["problems"])
    assert local("session_get", sessionId=sample.EMPTY)["session"]["title"] == "Nothing thought"


def test_times_give_the_order_and_bad_numbers_get_new_ones(local: Thinker, folder: Path) -> None:
    local("import_thoughtbox", path=str(folder))
    told = local("session_get", sessionId=sample.ODD)["thoughts"]
    assert [(item["thought"], item["thoughtNumber"]) for item in told] == [
        ("goal first", 5),
        ("then backwards", 4),
        ("negative", 9),
        ("zero", 10),
        ("between", 11),
        ("circle a", 6),
        ("circle b", 7),
        ("no time", 8),
    ]
    found = nodes(local, sample.ODD)
    assert found["9"]["data"]["originalNumber"] == -4
    assert found["11"]["data"]["originalNumber"] == 2.5
    assert found["7"]["prev"] == f"{sample.ODD}:6"


def test_the_directorys_text_wins_over_exports(local: Thinker, folder: Path) -> None:
    local("import_thoughtbox", path=str(folder))
    assert local("read_thoughts", sessionId=sample.PLAIN, thoughtNumber=1)["thoughts"][0]["thought"] == "S1|O|step 1"
    assert local("read_thoughts", sessionId=sample.PLAIN, last=1)["thoughts"][0]["thoughtNumber"] == 1001
    assert local("read_thoughts", sessionId=sample.EXPORTED, last=9)["count"] == 2


def test_what_is_exported_checks_out_and_imports_to_the_same(
    local: Thinker, clew: Clew, folder: Path, tmp_path: Path
) -> None:
    local("import_thoughtbox", path=str(folder))
    out = tmp_path / "out"
    report = local("export_thoughtbox", path=str(out))
    assert report["valid"]
    assert report["thoughts"] == sum(sample.THOUGHTS.values())
    again = local("import_thoughtbox", path=str(out), workspace="other")
    assert again["added"] == report["thoughts"]
    for key in sample.THOUGHTS:
        first, second = (_plain(local("session_export", sessionId=key, workspace=ws)) for ws in ("ws", "other"))
        assert first == second, key


def _plain(answer: dict[str, Any]) -> Any:
    """Without when it was exported, from where it came, and what only the first import had to mend."""
    export = json.loads(answer["content"])
    session = {
        name: value
        for name, value in export["session"].items()
        if name not in {"thoughtboxProject", "lastAccessedAt", "version"}
    }
    return session, export["nodes"]


def test_links_that_lead_out_are_not_followed(local: Thinker, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    sample.manifest(secret, "88888888-8888-4888-8888-888888888888", "Not yours", [], {})
    (folder / "projects" / "_default" / "sessions" / "2025-12" / "link").symlink_to(secret)
    report = local("import_thoughtbox", path=str(folder))
    assert report["sessions"] == sample.SESSIONS


@pytest.mark.parametrize("named", ["looped", "/proc", "/dev"])
def test_a_place_that_is_no_directory_of_thoughtbox_is_no_error_of_ours(
    local: Thinker, tmp_path: Path, named: str
) -> None:
    (tmp_path / "looped").symlink_to(tmp_path / "looped")
    answer = local.answer("import_thoughtbox", path=str(tmp_path / named))
    assert answer.ok or answer.envelope["error"]["code"] == "NOT_FOUND"


def test_a_caller_over_mcp_is_confined_to_the_data_directory(clew: Clew, folder: Path, tmp_path: Path) -> None:
    remote = Thinker(clew)
    assert remote.error("import_thoughtbox", path=str(folder))["code"] == "INVALID_INPUT"
    assert remote.error("export_thoughtbox", path=str(tmp_path / "x"))["code"] == "INVALID_INPUT"
    assert remote.error("import_thoughtbox", path="nothing")["code"] == "NOT_FOUND"
    remote.think("kept")
    assert remote("export_thoughtbox", path="mine")["valid"]


WAYS = "99999999-9999-4999-8999-999999999999"


def lay_out(base: Path) -> Path:
    """A session as Thoughtbox writes it, with everything that Clew names, counts or reads differently."""
    folder = base / "projects" / "_default" / "sessions" / "2025-12" / WAYS
    critique = {"text": "hm", "model": "m", "timestamp": "2025-12-07T10:00:01.000Z"}
    first, second = f"{WAYS}:1", f"{WAYS}:2"
    main = [
        sample.node(WAYS, 1, "S1|Q|which way?", 1, critique=critique, isRevision=False, agentName="Z"),
        sample.node(WAYS, 2, "S2|H|S1|the short one", 2, prev=first, revisesThought=0, branchId=""),
        sample.node(WAYS, -4, "before all", 3, prev=second),
        sample.node(WAYS, 3, "of nobody", 9, isRevision=True, revisesThought=77, revises=f"{WAYS}:77", prev=second),
    ]
    main[0] |= {"contentHash": "abc"}
    fork: dict[str, Any] = {"branchFromThought": 2, "origin": second, "prev": second}
    ways = {"OptionB": 4, "Option_A": 5, "Weird ID": 6}
    for name, at in ways.items():
        old = f"{WAYS}:{name}:2"
        again = sample.node(WAYS, 3, "again", at, branch=name, isRevision=True, revisesThought=2, revises=old, **fork)
        sample.write(folder / "branches" / name / "003.json", again)
    for name, item in zip(("001", "002", "0-4", "003"), main, strict=True):
        sample.write(folder / f"{name}.json", item)
    listed = {name: ["003.json"] for name in ways}
    sample.manifest(folder, WAYS, "Ways", ["001.json", "002.json", "0-4.json", "003.json"], listed, runs=[{"id": "r"}])
    return folder


def contents(place: Path) -> dict[str, Any]:
    return {str(path.relative_to(place)): json.loads(path.read_text()) for path in place.rglob("*.json")}


def test_what_came_from_a_directory_goes_back_as_it_came(local: Thinker, tmp_path: Path) -> None:
    """Names of branches, ids, numbers, pointers and fields: after JSON is read, every file is the same."""
    lay_out(tmp_path / "theirs")
    local("import_thoughtbox", path=str(tmp_path / "theirs"))
    local("export_thoughtbox", path=str(tmp_path / "ours"))
    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")


def test_what_was_done_since_is_written_beside_what_came(local: Thinker, tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "theirs")
    before = contents(folder)
    local("import_thoughtbox", path=str(tmp_path / "theirs"))
    local.think("on with it", sessionId=WAYS, branchId="optionb")
    local.think("S4|C|done", sessionId=WAYS, nextThoughtNeeded=False)
    local("session_update", sessionId=WAYS, title="Chosen")
    local("export_thoughtbox", path=str(tmp_path / "ours"))
    after = contents(tmp_path / "ours" / folder.relative_to(tmp_path / "theirs"))
    assert {name for name in before if after[name] != before[name]} == {"manifest.json"}
    new = after["branches/OptionB/004.json"]
    assert (new["id"], new["prev"]) == (f"{WAYS}:OptionB:4", f"{WAYS}:OptionB:3")
    assert new["branchId"] == new["data"]["branchId"] == "OptionB"
    assert after["manifest.json"]["branchFiles"]["OptionB"] == ["003.json", "004.json"]
    assert (after["manifest.json"]["metadata"]["title"], after["manifest.json"]["status"]) == ("Chosen", "completed")
    again = local("import_thoughtbox", path=str(tmp_path / "ours"), workspace="other")
    assert (again["added"], again["failed"]) == (9, [])


def test_a_revision_on_a_branch_finds_what_came_before_the_fork(local: Thinker, tmp_path: Path) -> None:
    """Thoughtbox names the branch in `revisesNode` although thought 2 is on the main line."""
    lay_out(tmp_path / "theirs")
    report = local("import_thoughtbox", path=str(tmp_path / "theirs"))
    assert not [text for text in report["problems"] if "option" in text.lower()]
    found = local("deep_analysis", sessionId=WAYS, analysisType="decision_points")["decisionPoints"]
    revised = {item["branchId"]: item.get("reference") for item in found if item["type"] == "revision"}
    assert {name: revised[name] for name in ("optionb", "option-a", "weird-id")} == {
        "optionb": 2, "option-a": 2, "weird-id": 2
    }  # fmt: skip
    assert ["optionb:S3", "S2"] in local("get_structure", sessionId=WAYS)["revisions"]
    assert "[R:S2]" in local("session_export", sessionId=WAYS, format="cipher")["content"]


@pytest.mark.parametrize("name", ["../../out", "a/b", "..", "CON:", "x.", "a\nb", "n" * 300])
def test_a_branch_name_that_is_no_directory_gets_its_id(local: Thinker, tmp_path: Path, name: str) -> None:
    local.think("one")
    session = local.think("aside", branchId="aside", branchFromThought=1)["sessionId"]
    export = local.exported(session)
    export["session"]["branchNames"] = {"aside": name}
    local("session_import", export=export, workspace="other")
    local("export_thoughtbox", path=str(tmp_path / "ours"), workspace="other")
    (folder,) = (tmp_path / "ours" / "projects" / "_default" / "sessions").glob(f"*/{session}")
    assert [path.name for path in (folder / "branches").iterdir()] == ["aside"]
    assert not (tmp_path / "out").exists()


def test_nothing_kept_of_a_file_can_lead_elsewhere(local: Thinker, tmp_path: Path) -> None:
    """An export is text that anybody may write; what it says of files is used only where it can be true."""
    session = local.think("one")["sessionId"]
    local.think("two")
    export = local.exported(session)
    export["session"]["filed"] = {"manifest": {"thoughtFiles": {"theirs": ["../x"]}, "status": 3}, "metadata": []}
    export["nodes"][0]["data"]["filed"] = {"data": {"thoughtNumber": "../../x"}, "dataWithout": 7}
    export["nodes"][1]["data"]["filed"] = {"data": {"thoughtNumber": 1}, "node": 3}
    local("session_import", export=export, workspace="other")
    assert local("export_thoughtbox", path=str(tmp_path / "ours"), workspace="other")["valid"]
    written = contents(tmp_path / "ours")
    assert sorted(Path(name).name for name in written) == ["001.json", "002.json", "manifest.json"]


def test_the_graph_goes_back_as_the_file_it_was(local: Thinker, folder: Path, tmp_path: Path) -> None:
    """Also the lines that no pattern was made from; but not those about a pattern that was deleted here."""
    graph = "projects/_default/memory/graph.jsonl"
    first, *others = (folder / graph).read_text().splitlines()
    (folder / graph).write_text("\n".join([first.replace("holds jobs", "holds\u2028jobs"), *others]))
    for _ in range(2):
        local("import_thoughtbox", path=str(folder))
    assert local("export_thoughtbox", path=str(tmp_path / "ours"))["graphs"] == [graph]
    lines = (folder / graph).read_text().split("\n")
    assert (tmp_path / "ours" / graph).read_text().split("\n") == [*lines, ""]
    assert local("knowledge_stats")["earlierVersions"] == 0
    local("knowledge_delete_pattern", id="worker-concept")
    local("export_thoughtbox", path=str(tmp_path / "less"))
    without = [line for line in lines if '"e3"' not in line]
    assert (tmp_path / "less" / graph).read_text().split("\n") == [*without, ""]
    (tmp_path / "less" / graph).write_text("added by another program\n")
    local("export_thoughtbox", path=str(tmp_path / "less"))
    assert (tmp_path / "less" / graph).read_text().splitlines()[0] == "added by another program"
