"""A hundred concurrent clients, each behind its own shim: how many servers they get, and the losses of a killed one.

Every client starts `clew serve` on the same empty data directory and writes notes without waiting for the responses.
The resident server is killed (SIGKILL) after a third of the responses. An acknowledged note must be stored, and none
twice; the others are answered with "outcome unknown". Every client's next call must work, and when the last one has
left and the idle time is over, no process may be left.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import psutil

from benchmarks.client import StdioServer, clew_server
from benchmarks.report import Report

CLIENTS = 100
NOTES = 3
PATIENCE = 240.0


@dataclass
class Outcome:
    wall_ms: float
    """Until all were served, from the start of the first process."""
    residents: int
    """How many servers answered them before the kill."""
    residents_after: int
    acknowledged: int
    unknown: int
    lost: int
    """Acknowledged and not stored."""
    doubled: int
    next_calls: int
    """Clients whose next call worked."""
    left: int
    """Remaining processes after the idle time."""


@dataclass
class Client:
    served_by: int
    ready: float
    kept: list[str]
    unknown: int


class Crowd:
    def __init__(self, home: Path, size: int) -> None:
        self._home = home
        self._size = size
        self._gathered = Barrier(size)
        self._answers: list[int] = []
        self._is_in_the_middle = Event()

    def kill_in_the_middle(self) -> None:
        assert self._is_in_the_middle.wait(PATIENCE)
        os.kill(resident_of(self._home), signal.SIGKILL)

    def work(self, server: StdioServer, number: int) -> Client:
        server.initialize(f"client-{number}")
        ready, served_by = time.perf_counter(), resident_of(self._home)
        self._gathered.wait(PATIENCE)
        for note in range(NOTES):
            arguments = {"content": f"{number}.{note}", "fmt": "json"}
            params = {"name": "notes_commit", "arguments": arguments}
            server.send({"jsonrpc": "2.0", "id": 1000 + note, "method": "tools/call", "params": params})
        kept = [self._kept(server, number) for _ in range(NOTES)]
        server.call("status")
        return Client(served_by, ready, [note for note in kept if note], kept.count(None))

    def _kept(self, server: StdioServer, number: int) -> str | None:
        """The note of the next response, or None if its outcome is unknown."""
        assert server.process.stdout is not None
        answer = json.loads(server.process.stdout.readline())
        self._answers.append(number)
        if len(self._answers) >= self._size:
            self._is_in_the_middle.set()
        if not answer["result"].get("isError"):
            return f"{number}.{answer['id'] - 1000}"
        text = answer["result"]["content"][0]["text"]
        assert "unknown" in text, text
        return None


def play(home: Path, size: int) -> Outcome:
    """One round on an empty data directory."""
    begun = time.perf_counter()
    with ExitStack() as stack, ThreadPoolExecutor(size) as pool:
        servers = [stack.enter_context(shim(home)) for _ in range(size)]
        crowd = Crowd(home, size)
        works = [pool.submit(crowd.work, server, number) for number, server in enumerate(servers)]
        crowd.kill_in_the_middle()
        clients = [finished for work in works if (finished := outcome_of(work))]
        found = stored(servers[0])
        after = len(residents(home))
    kept = {note for client in clients for note in client.kept}
    return Outcome(
        wall_ms=(max(client.ready for client in clients) - begun) * 1000,
        residents=len({client.served_by for client in clients}),
        residents_after=after,
        acknowledged=len(kept),
        unknown=sum(client.unknown for client in clients),
        lost=len(kept - set(found)),
        doubled=len(found) - len(set(found)),
        next_calls=len(clients),
        left=left_over(home),
    )


def outcome_of(work: Future[Client]) -> Client | None:
    try:
        return work.result(PATIENCE)
    except RuntimeError as problem:
        print(f"a client could not go on: {problem}")
        return None


def shim(home: Path) -> StdioServer:
    return clew_server(home, CLEW_RESIDENT="on", CLEW_RESIDENT_IDLE="1")


def resident_of(home: Path) -> int:
    return int(json.loads((home / "resident" / "address.json").read_text())["pid"])


def residents(home: Path) -> list[int]:
    """The processes that serve this data directory."""
    wanted = ["clew.faces.resident", os.path.realpath(home)]
    return [process.pid for process in psutil.process_iter() if words(process)[-2:] == wanted]


def words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def stored(server: StdioServer) -> list[str]:
    found: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = server.call("show", doc_kind="notes", limit=200, fmt="json", **cursor)
        page = json.loads(answer["content"][0]["text"])["result"]
        found += [entry["content"] for entry in page["entries"]]
        if not page["pagination"]["has_more"]:
            return found
        cursor = {"cursor": page["pagination"]["next_cursor"]}


def left_over(home: Path) -> int:
    """The servers that still run although they had time to exit."""
    end = time.monotonic() + PATIENCE
    while (left := len(residents(home))) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def main(quick: bool = False) -> None:
    size = 20 if quick else CLIENTS
    report = Report(
        "crowd", f"{size} clients at once on an empty data directory, their server killed under their calls"
    )
    with tempfile.TemporaryDirectory(prefix="clew-crowd-") as name:
        for number in range(1 if quick else 3):
            report.row(round=number + 1, clients=size, **vars(play(Path(name, str(number)), size)))
    report.row(round="target", residents=1, residents_after=1, lost=0, doubled=0, next_calls=size, left=0)
    report.save()


if __name__ == "__main__":
    main()
