"""Real runner processes over one store, and what the history says about them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clew.app import Clew
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.store.events import EventRow, events_after
from clew.tasks.jobs.queue import create_job


class Fleet:
    """Starts runners, and ends every one of them."""

    def __init__(self, flags: dict[str, Any], folder: Path) -> None:
        self._flags = flags
        self._folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def configure(self, text: str, name: str = "runner.toml") -> Path:
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def start(self, name: str, configuration: Path, *options: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "CLEW_HOME": str(self._flags["home"]), "CLEW_WORKSPACE": "ws"}
        env["CLEW_DATABASE_URL"] = str(self._flags.get("database_url") or "")
        words = ["runner", "--config", str(configuration), "--runner-id", name, "--json", *options]
        log = (self._folder / f"{name}.log").open("wb")
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", "clew", *words], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        log.close()
        return self.processes[name]

    def stop(self) -> dict[str, int]:
        """Ask all to end; their exit codes by name."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
        return {name: process.wait(timeout=60) for name, process in self.processes.items()}

    def kill(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")


def create_jobs(clew: Clew, count: int, **fields: Any) -> None:
    """Many jobs in one transaction."""
    with Context(clew.dispatcher, Connection(), "ws", None).writing() as ctx:
        for number in range(count):
            create_job(ctx, f"job {number}", "do it", **fields)


def statuses(clew: Clew) -> dict[str, int]:
    with clew.database.read() as tx:
        rows = tx.all("SELECT status, count(*) AS n FROM job WHERE workspace = 'ws' GROUP BY status")
    return {row["status"]: row["n"] for row in rows}


def await_state(clew: Clew, reached: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for a state of the store, looking again when something was written, and not for every single commit.

    Patience ends when nothing has moved for so long, not when a busy machine is slow.
    """
    seen, deadline = statuses(clew), time.monotonic() + seconds
    for _ in clew.database.changes(0.5):
        if reached():
            return
        if (now := statuses(clew)) != seen:
            seen, deadline = now, time.monotonic() + seconds
        assert time.monotonic() < deadline, f"not reached: {seen}"
        time.sleep(0.1)  # leaves the machine to the runners


def history(clew: Clew, workspace: str = "ws") -> list[EventRow]:
    """Every event about jobs, oldest first."""
    found: list[EventRow] = []
    with clew.database.read() as tx:
        while page := events_after(tx, workspace, found[-1].seq if found else 0):
            found += page
    return [event for event in found if event.type.startswith("job_")]


class Replay:
    """Walks through the history and holds it against the rules of claims."""

    def __init__(self, events: list[EventRow], lease_ms: int) -> None:
        self.lease_ms = lease_ms
        self.claims: dict[str, int] = {}
        self.reclaims = 0
        self._status: dict[str, str] = {}
        self._holder: dict[str, tuple[str, int]] = {}
        self._spoke: dict[str, int] = {}
        for event in events:
            getattr(self, f"_{event.type}")(event, str(event.subject))

    def statuses(self) -> dict[str, str]:
        return self._status

    def unfinished(self) -> dict[str, str]:
        return {job: status for job, status in self._status.items() if status != "DONE"}

    def _job_created(self, event: EventRow, job: str) -> None:
        assert job not in self._status, f"{job} was created twice"
        self._status[job] = "QUEUED"

    def _job_claimed(self, event: EventRow, job: str) -> None:
        assert self._status[job] == "QUEUED", f"{job} was claimed while {self._status[job]}"
        self._hold(event, job)

    def _job_reclaimed(self, event: EventRow, job: str) -> None:
        assert self._status[job] == "RUNNING", f"{job} was reclaimed while {self._status[job]}"
        assert event.ts_ms - self._spoke[job] >= self.lease_ms, f"{job} was taken from a runner whose claim held"
        self.reclaims += 1
        self._hold(event, job)

    def _job_reported(self, event: EventRow, job: str) -> None:
        self._check_holder(event, job)
        self._spoke[job] = event.ts_ms

    def _job_completed(self, event: EventRow, job: str) -> None:
        self._check_holder(event, job)
        self._status[job] = "DONE"

    def _job_failed(self, event: EventRow, job: str) -> None:
        self._check_holder(event, job)
        self._status[job] = "FAILED"

    def _job_canceled(self, event: EventRow, job: str) -> None:
        self._check_holder(event, job)
        self._status[job] = "CANCELED"

    def _job_messaged(self, event: EventRow, job: str) -> None:
        assert self._status[job] in ("QUEUED", "RUNNING"), f"{job} was written to while {self._status[job]}"

    def _job_requeued(self, event: EventRow, job: str) -> None:
        assert event.payload["from"] == self._status[job]
        if self._status[job] == "RUNNING":
            self._check_holder(event, job)
        self._status[job] = "QUEUED"

    def _hold(self, event: EventRow, job: str) -> None:
        revision = event.payload["claim_revision"]
        assert revision > self._holder.get(job, ("", 0))[1], f"{job}: claim {revision} is not newer"
        self._status[job] = "RUNNING"
        self._holder[job] = (event.payload["runner"], revision)
        self._spoke[job] = event.ts_ms
        self.claims[job] = self.claims.get(job, 0) + 1

    def _check_holder(self, event: EventRow, job: str) -> None:
        told = (event.payload["runner"], event.payload["claim_revision"])
        assert self._status[job] == "RUNNING", f"{event.type} of {job} while {self._status[job]}"
        assert told == self._holder[job], f"{event.type} of {job} by {told}; {self._holder[job]} holds it"


def running_under(clew: Clew, runner: str) -> list[str]:
    sql = "SELECT id FROM job WHERE workspace = 'ws' AND status = 'RUNNING' AND runner = ? ORDER BY number"
    with clew.database.read() as tx:
        return [row["id"] for row in tx.all(sql, runner)]


def fleet(flags: dict[str, Any], folder: Path) -> Iterator[Fleet]:
    started = Fleet(flags, folder)
    yield started
    started.kill()
