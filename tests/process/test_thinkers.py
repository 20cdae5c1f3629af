"""Several processes keep the same cards at once: each card is written once, each own card has an id of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import Caller
from tests.process.test_many_writers import fire

PROCESSES, CARDS = 4, 15
ROOT = Path(__file__).resolve().parents[2]


def start(home: Path, url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.process.thinker", str(home), url, str(CARDS)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_card_that_many_write_is_written_once(call: Caller, database_flags: dict[str, Any]) -> None:
    thinkers = [start(database_flags["home"], database_flags.get("database_url") or "") for _ in range(PROCESSES)]
    for thinker in thinkers:
        fire(thinker)
    done = [result for thinker in thinkers for result in json.loads(thinker.communicate(timeout=600)[0])]
    written = [result["card_id"] for result in done if result["inserted"]]
    assert len(done) == PROCESSES * CARDS * 2
    assert len(written) == len(set(written)) == CARDS + PROCESSES * CARDS
    entries = call("show", limit=200)["entries"]
    assert sorted(entry["meta"]["card_id"] for entry in entries) == sorted(written)
    assert [entry["seq"] for entry in entries] == sorted({entry["seq"] for entry in entries})
    assert [anchor["id"] for anchor in call("anchors_list")["anchors"]] == ["a:core"]
    assert call("think_lint")["ok"]
