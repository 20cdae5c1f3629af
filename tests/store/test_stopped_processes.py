"""A process that is stopped in the middle of a write: the others read on, wait for a bounded time, are told, go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.errors import ClewError
from clew.store.database import Database
from clew.store.workspaces import create_workspace, find_workspace
from tests.store.holder import PUT, opened
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
FOREVER = 600.0


@pytest.fixture
def place(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    found = str(request.getfixturevalue("postgres_url")) if engine == "postgres" else str(tmp_path / "clew.db")
    database = opened(found, 60)
    with database.write() as tx:
        create_workspace(tx, "ws", 1)
    database.close()
    return found


@pytest.fixture
def impatient(place: str) -> Iterator[Database]:
    database = opened(place, 1.0)
    yield database
    database.close()


class Holder:
    def __init__(self, place: str, key: str, idle: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.store.holder", place, key, str(idle)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "inside"
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)  # it stands still

    def go_on(self) -> str:
        """What it tells of its write once it runs again."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.process.send_signal(signal.SIGCONT)
        return self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def stopped(place: str) -> Iterator[Callable[..., Holder]]:
    made: list[Holder] = []

    def start(key: str = "held", idle: float = FOREVER) -> Holder:
        made.append(Holder(place, key, idle))
        return made[-1]

    yield start
    for holder in made:
        holder.end()


def put(database: Database, key: str) -> None:
    with database.write() as tx:
        find_workspace(tx, "ws")
        tx.run(PUT, key, "x")


def was_put(database: Database, key: str) -> bool:
    try:
        put(database, key)
    except ClewError as problem:
        assert problem.code == "STORE_LOCKED"
        return False
    return True


def keys(database: Database) -> set[str]:
    with database.read() as tx:
        return {row["key"] for row in tx.all("SELECT key FROM meta WHERE value = 'x'")}


def test_others_wait_for_a_bounded_time_and_go_on_afterwards(
    impatient: Database, stopped: Callable[..., Holder]
) -> None:
    put(impatient, "before")
    holder = stopped()
    assert keys(impatient) == {"before"}  # reading goes on
    with pytest.raises(ClewError) as refused:
        put(impatient, "meanwhile")
    assert refused.value.code == "STORE_LOCKED"
    assert refused.value.recovery
    assert holder.go_on() == "done"
    put(impatient, "after")
    assert keys(impatient) == {"before", "held", "after"}


def test_who_is_killed_while_it_stands_still_holds_nobody_up(
    impatient: Database, stopped: Callable[..., Holder]
) -> None:
    holder = stopped()
    holder.end()
    # The server notices when it next looks at the connection, SQLite when the process is gone.
    until(lambda: was_put(impatient, "after"))
    assert keys(impatient) == {"after"}


@pytest.mark.parametrize("engine", ["postgres"])
def test_a_server_ends_what_stands_still_for_too_long_and_its_write_is_refused(
    place: str, stopped: Callable[..., Holder]
) -> None:
    patient = opened(place, 60.0)
    holder = stopped(idle=4.0)  # long enough for it to get inside
    put(patient, "after")
    assert holder.go_on() == "STORE_UNAVAILABLE"
    assert keys(patient) == {"after"}
    patient.close()


def test_a_process_without_file_descriptors_is_told_so_and_goes_on_when_it_has_some(place: str) -> None:
    script = """
import resource, sys
from tests.store.holder import opened
from clew.errors import ClewError
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
database, taken = opened(sys.argv[1], 5), []
try:
    while True: taken.append(open("/dev/null"))
except OSError: pass
try:
    with database.write() as tx: tx.run("INSERT INTO meta (key, value) VALUES ('fd', 'x')")
    print("written")
except ClewError as problem: print(problem.code, problem.recovery)
for file in taken: file.close()
with database.write() as tx: tx.run("INSERT INTO meta (key, value) VALUES ('later', 'x')")
print("later")
"""
    told = subprocess.run([sys.executable, "-c", script, place], cwd=ROOT, capture_output=True, text=True, timeout=200)
    first, second = told.stdout.splitlines()
    assert first.startswith("STORE_UNAVAILABLE"), told
    assert second == "later"
    database = opened(place, 5)
    assert keys(database) == {"later"}
    database.close()
