"""What hooks left in the spool arrives, whoever is killed in between and whatever else lies in it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from clew.app import Clew
from clew.faces.hooks import spool
from clew.faces.hooks.service import digest
from tests.faces.hooks.conftest import filled, project
from tests.waiting import until

EVENTS = 40
TAKING = """
import sys
from pathlib import Path
from clew.app import open_clew
from clew.faces.hooks.service import digest
digest(Path(sys.argv[1]), open_clew)
"""

HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    filled(tmp_path)
    return tmp_path


@pytest.fixture
def clew(place: Path) -> Iterator[Clew]:
    with closing(project(place)) as opened:
        yield opened


def failed(number: int) -> dict[str, object]:
    return {
        "event": "tool-failed",
        "client": "claude",
        "session": "s",
        "tool": "command",
        "tool_id": f"t-{number}",
        "command": f"pytest -q tests/test_{number}.py",
        "exit_code": 1,
        "output": f"Exit code 1: assertion {number}",
    }


def leave(place: Path, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        assert spool.append(str(place / "home"), str(place / "project"), failed(number))


def arrived(clew: Clew) -> int:
    with clew.database.read() as tx:
        return int(tx.value("SELECT count(DISTINCT subject) FROM agent_deed WHERE exit_code = 1"))


def is_so_far(clew: Clew, reader: subprocess.Popen[bytes], count: int) -> bool:
    return arrived(clew) >= count or reader.poll() is not None


def take(clew: Clew, place: Path) -> int:
    return digest(place / "home", lambda settings: Clew(settings, database=clew.database))


def is_emptied(clew: Clew, place: Path) -> bool:
    """A reader that was just killed may hold its lock for a moment; then the spool is taken later."""
    take(clew, place)
    return not spool.has_any(str(place / "home"))


def test_nothing_is_lost_when_the_reader_is_killed_again_and_again(place: Path, clew: Clew) -> None:
    leave(place, EVENTS)
    for at in range(5, EVENTS, 10):
        reader = subprocess.Popen([sys.executable, "-c", TAKING, str(place / "home")])
        until(partial(is_so_far, clew, reader, at))
        reader.kill()
        reader.wait()
        leave(place, 1, EVENTS + at)
    until(partial(is_emptied, clew, place))
    assert arrived(clew) == EVENTS + len(range(5, EVENTS, 10))


def test_a_line_that_no_hook_wrote_stops_nothing_and_is_kept(place: Path, clew: Clew) -> None:
    leave(place, 2)
    file = place / "home" / "spool" / "moments.jsonl"
    nested = json.dumps({"directory": str(place / "project"), "arguments": {"command": 0}})
    deep = nested.replace("0", "[" * 5_000 + "]" * 5_000)
    file.write_text(file.read_text() + deep + "\n" + '{"half": ' + "\n")
    leave(place, 50, first=10)
    take(clew, place)
    assert arrived(clew) == 52
    assert len((place / "home" / "spool" / "refused.jsonl").read_text().splitlines()) == 2


def test_a_locked_store_takes_them_later(place: Path, clew: Clew) -> None:
    leave(place, 20)
    command = [sys.executable, "-c", HOLDING, str(place / "home" / "clew.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"locked\n"
        assert take(clew, place) == 0
        assert spool.has_any(str(place / "home"))
        holder.communicate()
    assert take(clew, place) == 20
    assert arrived(clew) == 20


def test_two_readers_hand_nothing_over_twice(place: Path, clew: Clew) -> None:
    leave(place, EVENTS)
    readers = [subprocess.Popen([sys.executable, "-c", TAKING, str(place / "home")]) for _ in range(3)]
    for reader in readers:
        reader.wait()
    take(clew, place)
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM agent_deed WHERE exit_code = 1") == EVENTS


def test_a_long_event_is_kept_with_shorter_texts(place: Path, clew: Clew) -> None:
    event = {**failed(1), "paths": [f"src/{'x' * 4_000}{number}.py" for number in range(40)]}
    assert spool.append(str(place / "home"), str(place / "project"), event)
    take(clew, place)
    assert arrived(clew) == 1


def test_a_hook_can_keep_an_event_with_the_standard_library_alone(place: Path) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from clew.faces.hooks import spool;"
        " print(spool.append(sys.argv[2], '/', {'command': 'curl -u me:hunter22secret https://example.com'}))"
    )
    source = str(Path(spool.__file__).parents[3])
    command = [sys.executable, "-I", "-S", "-c", script, source, str(place / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
    assert "hunter22secret" not in (place / "home" / "spool" / "moments.jsonl").read_text()
