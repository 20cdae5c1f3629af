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


def test_a_caller_over_mcp_is_confined_to_the_data_directory(clew: Clew, folder: Path, tmp_path: Path) -> None:
    remote = Thinker(clew)
    assert remote.error("import_thoughtbox", path=str(folder))["code"] == "INVALID_INPUT"
    assert remote.error("export_thoughtbox", path=str(tmp_path / "x"))["code"] == "INVALID_INPUT"
    assert remote.error("import_thoughtbox", path="nothing")["code"] == "NOT_FOUND"
    remote.think("kept")
    assert remote("export_thoughtbox", path="mine")["valid"]
