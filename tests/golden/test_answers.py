"""No operation changes its answer unnoticed, on either engine."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clew.app import Clew
from clew.registry.catalogue import OperationEntry
from tests.contract import lived_in
from tests.golden import recording

OPERATIONS = recording.recorded_operations()


class History:
    """A store in which something has happened, of which each test gets a copy."""

    def __init__(self, home: Path, now_ms: int, server: Any = None, database: str = "") -> None:
        self.home = home
        self.now_ms = now_ms
        self.server = server
        self.database = database

    @property
    def engine(self) -> str:
        return "postgres" if self.server else "sqlite"

    def flags(self, database: str) -> dict[str, str]:
        return {"database_url": self.server.get_uri(database=database)} if self.server else {}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    home, clock = tmp_path_factory.mktemp("golden") / "built", recording.SteadyClock()
    if request.param == "sqlite":
        recording.build_history(home, clock)
        yield History(home, clock.now_ms)
        return
    server = request.getfixturevalue("postgres_server")
    name = f"golden_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        recording.build_history(home, clock, database_url=server.get_uri(database=name))
        yield History(home, clock.now_ms, server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(history: History) -> Iterator[str]:
    """A copy of the database, made of files by PostgreSQL itself: nothing of it goes through the log."""
    if history.server is None:
        yield ""
        return
    name = f"golden_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(history.server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {history.database} STRATEGY FILE_COPY")
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def clock(history: History) -> recording.SteadyClock:
    clock = recording.SteadyClock()
    clock.now_ms = history.now_ms
    return clock


@pytest.fixture
def home(history: History, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Everything that an answer may name stands in one folder, whose path is always equally long: answers count."""
    with tempfile.TemporaryDirectory(prefix="clew-", dir="/tmp") as name:
        folder = Path(name)
        install(folder / "bin", monkeypatch)
        (folder / "project").mkdir()
        monkeypatch.chdir(folder / "project")
        (folder / ".claude" / "projects").mkdir(parents=True)
        monkeypatch.setenv("HOME", name)
        shutil.copytree(history.home, folder / "home")
        yield folder / "home"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers name the program that a shell would start; it is the same on every machine."""
    folder.mkdir()
    for program, words in (("python", ""), ("clew", " -m clew")):
        (folder / program).write_text(f'#!/bin/sh\nexec {sys.executable}{words} "$@"\n')
        (folder / program).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def clew(history: History, database: str, clock: recording.SteadyClock, home: Path) -> Iterator[Clew]:
    clew = recording.open_store(home, clock, **history.flags(database))
    yield clew
    clew.close()


@pytest.mark.parametrize("entry", OPERATIONS, ids=lambda entry: entry.name)
def test_the_answer_is_the_recorded_one(
    history: History, clew: Clew, clock: recording.SteadyClock, home: Path, entry: OperationEntry
) -> None:
    answer = recording.record(clew, clock, entry, home)
    if os.environ.get("CLEW_GOLDEN") == "record":
        recording.keep(entry.name, history.engine, answer)
    recorded = recording.kept(entry.name, history.engine)
    difference = list(difflib.unified_diff(recorded.splitlines(), answer.splitlines(), lineterm="", n=1))
    assert not difference, "\n".join(difference)
    if history.engine == "sqlite" and entry.name not in lived_in.ELSEWHERE:
        assert '\n    "success": true' in answer


def test_every_operation_is_recorded_or_says_why_not() -> None:
    recorded = {path.stem for path in recording.ANSWERS.rglob("*.json")}
    assert recorded == {entry.name for entry in OPERATIONS}
