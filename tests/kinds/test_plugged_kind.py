"""A kind of record is one file: `kinds/risk.py` in the data directory adds it to everything that readers use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.faces.cli.conftest import Shell
from tests.faces.resident.shims import ending
from tests.faces.web.server import Server
from tests.waiting import until

PLUGIN = """
from clew.kinds.builtin import durable_kind
from clew.kinds.catalogue import add

add(durable_kind("risk", "RISK", "knowledge/RISKS.md", "Risks", synonyms=("hazard",), section="known"))
"""
TEXT = "The vendor may end support of the importer"


@pytest.fixture
def clew(tmp_path: Path) -> Shell:
    folder = tmp_path / "home" / "kinds"
    folder.mkdir(parents=True)
    (folder / "risk.py").write_text(PLUGIN)
    (tmp_path / "ws").mkdir()
    return Shell(tmp_path / "ws", tmp_path / "home", anew=True)


def test_every_reader_finds_a_kind_that_one_file_adds(clew: Shell) -> None:
    assert "thought, risk, or another" in re.sub(r"[\s│]+", " ", clew("remember", "--help").out)
    kept = clew("remember", "-k", "hazard", TEXT, "--why", "They said so.", "--json").json["result"]
    assert (kept["id"], kept["kind"], kept["state"]) == ("RISK-1", "risk", "kept")
    assert "RISK-1  risk · in force" in clew("recall", "vendor support").out
    assert f"RISK-1 risk: {TEXT}" in clew("resume").out
    assert "RISK-1 (risk, in force)" in clew("open", "RISK-1").out
    found = clew("recall", "vendor", "--kind", "risks", "--json").json["result"]["results"]
    assert [hit["_id"] for hit in found] == ["RISK-1"]
    newer = clew("remember", "-k", "risk", "The vendor has ended support", "--replaces", "RISK-1", "--json")
    assert newer.json["result"]["id"] == "RISK-2"
    assert "RISK-1 (risk, replaced by RISK-2)" in clew("open", "RISK-1").out
    assert "RISK-1 is in force again" in clew("retract", "RISK-2", "--why", "They go on.").out
    assert f"kept the risk “{TEXT}”" in clew("digest", "--since", "today").out
    assert "[RISK-1]" in next(clew.home.rglob("RISKS.md")).read_text()


def test_the_page_lists_it_and_knows_its_states(clew: Shell) -> None:
    clew("remember", "-k", "risk", TEXT)
    server = Server(clew.home, directory=clew.directory)
    try:
        listed = server.call("record_list")["result"]
        assert [(row["id"], row["kind"], row["label"]) for row in listed["records"]] == [("RISK-1", "risk", "in force")]
        assert listed["kinds"] == {"risk": 1}
        with urlopen(server.address + "/static/js/facts.js", timeout=60) as response:
            facts = response.read().decode()
        kinds = json.loads(facts.partition("export const RECORD_KINDS = ")[2].partition(";\n")[0])
        risk = next(kind for kind in kinds if kind["name"] == "risk")
        assert risk["family"] == "standing" and risk["states"]["superseded"] == "replaced"
    finally:
        server.stop()


def test_a_server_that_runs_takes_up_a_file_that_is_added(clew: Shell) -> None:
    plugin = clew.home / "kinds" / "risk.py"
    plugin.unlink()
    resident = {"CLEW_RESIDENT": "on", "CLEW_RESIDENT_IDLE": "60"}
    with ending(clew.home):
        assert clew("remember", "-k", "risk", TEXT, env=resident).code
        plugin.write_text(PLUGIN)
        until(lambda: clew("remember", "-k", "risk", TEXT, env=resident).code == 0)
        assert "RISK-1 (risk, in force)" in clew("open", "RISK-1", env=resident).out


def test_without_the_file_the_kind_is_not_there(clew: Shell) -> None:
    (clew.home / "kinds" / "risk.py").unlink()
    refused = clew("remember", "-k", "risk", TEXT)
    assert refused.code and "is none of rule, preference" in refused.err
