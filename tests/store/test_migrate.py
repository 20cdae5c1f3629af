"""A store whose schema nobody may change by opening it, and the command that changes it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.app import open_clew, schema_versions
from clew.errors import ClewError
from clew.settings import Settings, load_settings
from clew.store.migrations import declared_writer, latest, migrations, numbered
from tests.conftest import Caller


@pytest.fixture
def place(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where a store may be made that is not there yet."""
    flags: dict[str, Any] = {"home": tmp_path / "home", "workspace": "ws"}
    if engine == "postgres":
        flags["database_url"] = request.getfixturevalue("empty_postgres_url")
    return flags


def settings_of(place: dict[str, Any], auto_migrate: bool) -> Settings:
    return load_settings({**place, "auto_migrate": auto_migrate}, {}, place["home"].parent)


def test_a_server_without_the_right_says_what_to_run_and_changes_nothing(place: dict[str, Any]) -> None:
    fenced = settings_of(place, False)
    clew = open_clew(fenced)
    error = Caller(clew).error("remember", text="x is kept", kind="fact")
    clew.close()
    assert error["code"] == "STORE_TOO_OLD"
    assert "clew migrate --apply" in error["recovery"]
    assert schema_versions(fenced, migrate=False) == (0, latest())


def test_after_the_command_the_same_server_writes(place: dict[str, Any]) -> None:
    fenced = settings_of(place, False)
    assert schema_versions(fenced, migrate=True) == (latest(), latest())
    clew = open_clew(fenced)
    assert Caller(clew)("remember", text="x is kept", kind="fact")["state"] == "kept"
    clew.close()
    assert schema_versions(fenced, migrate=False) == (latest(), latest())


def test_two_migrations_with_one_number_are_refused() -> None:
    """Of two with the same number only one would be run, and nobody would know which."""
    with pytest.raises(ClewError, match=r"number 2: 0002_one\.sql and 0002_two\.sql"):
        numbered(["0001_start.sql", "0002_two.sql", "0002_one.sql", "README.md"])
    assert numbered(["0010_b.sql", "0002_a.sql"]) == {2: "0002_a.sql", 10: "0010_b.sql"}


NEWER = """
import json, sys
from pathlib import Path
from clew.store import migrations as known
place, header = json.loads(sys.argv[1]), sys.argv[2]
files, number = known.migrations(), known.latest() + 1
files = {**files, number: header + "CREATE TABLE of_tomorrow (workspace TEXT NOT NULL);\\n"}
known.migrations, known.latest = (lambda: files), (lambda: number)
from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
clew = open_clew(load_settings({**place, "home": Path(place["home"])}, {}, Path(place["home"]).parent))
for turn in range(int(sys.argv[3])):
    answer = clew.dispatcher.call("notes_commit", {"content": f"new {turn}"}, Connection(client="new", handle="n"))
    print(json.dumps(answer.ok), flush=True)
clew.close()
"""


def newer(place: dict[str, Any], header: str, writes: int) -> subprocess.Popen[str]:
    """The next version of Clew, with one more table, writing."""
    told = json.dumps({**place, "home": str(place["home"])})
    command = [sys.executable, "-c", NEWER, told, header, str(writes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_versions_write_at_once_where_the_newer_one_only_added(place: dict[str, Any]) -> None:
    older = open_clew(settings_of(place, True))
    call = Caller(older)
    call("notes_commit", content="before")
    process = newer(place, f"-- oldest writer: {latest()}\n", 15)
    with process:
        assert process.stdout is not None
        seen = [json.loads(process.stdout.readline())]  # the schema is the newer one from here on
        for turn in range(15):
            call("notes_commit", content=f"old {turn}")
        seen += [json.loads(line) for line in process.stdout]
    assert seen == [True] * 15
    assert older.database.schema_version() == latest() + 1
    older.close()
    again = open_clew(settings_of(place, True))  # an older one that starts now
    assert Caller(again)("notes_commit", content="after")
    with again.database.read() as tx:
        assert tx.value("SELECT count(*) FROM entry WHERE content LIKE 'old %' OR content LIKE 'new %'") == 30
    again.close()


def test_an_older_version_stops_where_the_newer_one_changed_something(place: dict[str, Any]) -> None:
    older = open_clew(settings_of(place, True))
    call = Caller(older)
    call("notes_commit", content="before")
    with newer(place, "", 1) as process:
        process.wait(60)
    assert call.error("notes_commit", content="after")["code"] == "STORE_TOO_NEW"
    older.close()


def test_a_migration_that_lets_older_programs_write_only_adds() -> None:
    """A table, an index, or a column that may be left out: nothing that an older program trips over."""
    harmless = re.compile(r"CREATE (TABLE|INDEX) |ALTER TABLE \w+ ADD COLUMN (?!.*NOT NULL(?!.*DEFAULT))")
    for number, text in migrations().items():
        if declared_writer(number) == number:
            continue
        bare = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
        for statement in filter(None, (part.strip() for part in re.split(r";\s*(?:\n|$)", bare))):
            assert harmless.match(statement), (number, statement)
