"""A process that works on lists, registers and claims through Clew's operations, and tells what it did.

It tells each operation before it begins and after it ended, so that a killed one leaves at most one open. Where an
answer is lost it repeats the call with the same request id, as a careful client does. In the end it waits for a line on
its standard input and answers some questions, which every process must answer alike.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from http.client import HTTPException
from math import inf
from typing import Any, Protocol

from clew.canonical import canonical
from tests.process.histories import LEASE_SECONDS, WRITES, Op, Stored, released

LISTS, REGISTERS, CLAIMS = ("list1", "list2"), ("TASK-001", "TASK-002"), ("JOB-001", "JOB-002")
PATIENCE = 120.0
"""Seconds for which an answer that was lost is asked for again."""
UNANSWERED: dict[str, Any] = {"success": False, "error": {"code": "NO_ANSWER", "details": {"outcome": "unknown"}}}


class Listener(Protocol):
    """A way to call operations; answers with the envelope."""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]: ...

    def close(self) -> None: ...


class OwnStore:
    """In this process, as over stdio or in the shell."""

    def __init__(self, home: str, url: str) -> None:
        from clew.app import open_clew
        from clew.registry.connection import Connection
        from clew.settings import load_settings

        flags = {"home": home, "database_url": url or None, "workspace": "ws", "embedding_model": "none"}
        self._clew = open_clew(load_settings(flags, {}))
        self._connection = Connection(toolset="full")

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._clew.dispatcher.call(name, arguments, self._connection).envelope

    def close(self) -> None:
        self._clew.close()


class ServedStore:
    """Through a server, which may be killed and started again at any moment."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Any = None

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return dict(self._conversation().envelope(name, arguments))
        except (OSError, HTTPException, RuntimeError, ValueError, KeyError):
            self._client = None
            return UNANSWERED

    def _conversation(self) -> Any:
        from benchmarks.http_client import HttpClient

        self._client = self._client or HttpClient(self._address)
        return self._client

    def close(self) -> None:
        """A server needs no farewell."""


@dataclass
class Actor:
    door: Listener
    chance: random.Random
    name: str
    numbered: int = 0
    held: tuple[str, str, int] | None = None
    """The job that it holds, the claim and its revision."""
    seen: str = ""
    """The last entry of a list that it wrote or read."""
    repeats: int = 0

    def operations(self, count: int) -> Iterator[None]:
        while self.numbered < count:
            self._step()
            yield

    def _step(self) -> None:
        draw = self.chance.random()
        if self.held:
            self._release()
        elif draw < 0.30:
            self._append()
        elif draw < 0.50:
            self._put()
        elif draw < 0.60:
            self._claim()
        elif draw < 0.98 or not self.seen:
            self._read()
        else:
            self._find()

    def _op(self, kind: str, object: str, id: str = "") -> Op:
        self.numbered += 1
        op = Op(id or f"{self.name}n{self.numbered}", kind, object, time.monotonic())
        tell(op)
        return op

    def _append(self) -> None:
        op = self._op("append", self.chance.choice(LISTS))
        result = self._do(op, "notes_commit", content=op.id, doc=op.object)
        if result:
            op.position, self.seen = result["entry"]["seq"], op.id
        tell(op)

    def _put(self) -> None:
        op = self._op("put", self.chance.choice(REGISTERS))
        result = self._do(op, "tasks_edit", task=op.object, title=op.id)
        if result:
            op.position = result["revision"]
        tell(op)

    def _claim(self) -> None:
        op = self._op("claim", self.chance.choice(CLAIMS))
        lease = int(LEASE_SECONDS * 1000)
        given = {"job": op.object, "runner_id": f"host:{op.id}", "lease_ttl_ms": lease, "allow_stale": True}
        result = self._do(op, "tasks_jobs_claim", **given)
        if result:
            op.position = result["job"]["revision"]
            self.held = (op.object, op.id, op.position)
        tell(op)

    def _release(self) -> None:
        assert self.held is not None
        (job, claim, revision), self.held = self.held, None
        op = self._op("release", job, released(claim))
        given = {"job": job, "runner_id": f"host:{claim}", "claim_revision": revision}
        result = self._do(op, "tasks_jobs_requeue", **given)
        if result:
            op.position = result["job"]["revision"]
        tell(op)

    def _read(self) -> None:
        op = self._op("read", self.chance.choice([*LISTS, *REGISTERS, *CLAIMS]))
        if op.object in LISTS:
            result = self._do(op, "show", doc_kind="notes", doc=op.object, limit=1)
            for entry in result.get("entries", []):
                op.position, op.value = entry["seq"], entry["content"]
                self.seen = op.value
        elif op.object in REGISTERS:
            target = self._do(op, "open", id=op.object).get("target")
            if target and target["revision"]:
                op.position, op.value = target["revision"], target["title"]
        else:
            job = self._do(op, "tasks_jobs_open", job=op.object, max_events=1).get("job")
            if job:
                op.position, op.value = job["revision"], (job["runner"] or "").removeprefix("host:")
        tell(op)

    def _find(self) -> None:
        op = self._op("find", "index")
        found = self._do(op, "recall", query=self.seen, limit=3).get("results", [])
        op.value = "found" if any(self.seen in item["excerpt"] for item in found) else ""
        tell(op)

    def _do(self, op: Op, name: str, **arguments: Any) -> dict[str, Any]:
        """The result; empty where there is none. Sets how the operation ended."""
        deadline, doubtful = time.monotonic() + PATIENCE, False
        request = {"request_id": op.id} if op.kind in WRITES else {}
        while True:
            envelope = self.door.call(name, {**arguments, **request, "workspace": "ws"})
            if envelope["success"]:
                op.outcome, op.ended = "ok", time.monotonic()
                return dict(envelope["result"])
            op.code = envelope["error"]["code"]
            doubtful = doubtful or envelope["error"].get("details", {}).get("outcome") == "unknown"
            # A store that cannot be reached refuses this attempt, and says nothing of the one before.
            if not doubtful or not op.code.startswith(("STORE_", "NO_ANSWER")):
                op.outcome, op.ended = "failed", time.monotonic()
                time.sleep(0.2 if op.code == "STORE_UNAVAILABLE" else 0.0)
                return {}
            if time.monotonic() > deadline:
                return {}
            self.repeats += 1
            time.sleep(self.chance.uniform(0.02, 0.1))

    def answers(self) -> dict[str, str]:
        """Questions that every process must answer alike, each with the digest of what was answered."""
        asked: list[tuple[str, dict[str, Any]]] = [
            *(("show", {"doc_kind": "notes", "doc": name, "limit": 20}) for name in LISTS),
            *(("open", {"id": name}) for name in (*REGISTERS, *CLAIMS)),
            ("tasks_jobs_list", {}),
            *(("recall", {"query": text, "limit": 10}) for text in ("n7", "n12", "s3w1n5", "title", "held")),
        ]
        return {f"{name} {canonical(given)}": self._digest(name, given) for name, given in asked}

    def _digest(self, name: str, given: dict[str, Any]) -> str:
        op = Op("", "read", "", time.monotonic())
        answer = self._do(op, name, **given) or op.code
        return hashlib.sha256(canonical(answer).encode()).hexdigest()


def prepare(door: Listener) -> None:
    """The registers and the jobs that are claimed."""
    wanted: list[tuple[str, dict[str, Any]]] = [("tasks_create", {"kind": "plan", "title": "registers"})]
    wanted += [("tasks_create", {"kind": "task", "parent": "PLAN-001", "title": "empty"})] * len(REGISTERS)
    wanted += [("tasks_jobs_create", {"title": "held", "prompt": "hold it"})] * len(CLAIMS)
    for name, given in wanted:
        envelope = door.call(name, given)
        assert envelope["success"], envelope["error"]


def stored(home: str, url: str) -> dict[str, Stored]:
    """What the store holds, read past the operations."""
    from pathlib import Path

    from clew.app import open_database
    from clew.settings import load_settings

    database = open_database(load_settings({"home": Path(home), "database_url": url or None}, {}))
    found: dict[str, Stored] = {}
    with database.read() as tx:
        for name in LISTS:
            rows = tx.all("SELECT seq, content FROM entry WHERE workspace = 'ws' AND doc = ? ORDER BY seq", name)
            found[name] = Stored([(row["seq"], row["content"]) for row in rows])
        for name in REGISTERS:
            row = tx.one("SELECT revision, title FROM work WHERE workspace = 'ws' AND id = ?", name)
            places = [(row["revision"], row["title"])] if row and row["revision"] else []
            found[name] = Stored(places, complete=False)
        for name in CLAIMS:
            rows = tx.all("SELECT kind, runner FROM job_event WHERE workspace = 'ws' AND job = ? ORDER BY seq", name)
            found[name] = Stored([(at, _claimed_by(row)) for at, row in enumerate(rows) if at])
    database.close()
    return found


def _claimed_by(row: dict[str, Any]) -> str:
    """Each event of a job after its creation is one revision: a claim, or a release by its holder."""
    claim = str(row["runner"]).removeprefix("host:")
    return released(claim) if row["kind"] == "requeued" else claim


def told(op: Op) -> dict[str, Any]:
    return {**asdict(op), "ended": None if op.ended == inf else op.ended}


def tell(op: Op) -> None:
    print(json.dumps(told(op)), flush=True)


def heard(lines: Iterable[str]) -> list[Op]:
    """The operations that a process told of; of one that was told only once, nobody knows the end."""
    found: dict[str, Op] = {}
    for line in lines:
        with suppress(json.JSONDecodeError):  # killed while telling
            fields = json.loads(line)
            if "id" in fields:
                ended = inf if fields["ended"] is None else fields["ended"]
                found[fields["id"]] = Op(**{**fields, "ended": ended})
    return list(found.values())


def main() -> None:
    home, url, address, count, seed, name = sys.argv[1:7]
    door: Listener = ServedStore(address) if address else OwnStore(home, url)
    actor = Actor(door, random.Random(seed), name)
    for _ in actor.operations(int(count)):
        pass
    print(json.dumps({"done": actor.numbered, "repeats": actor.repeats}), flush=True)
    if sys.stdin.readline():
        print(json.dumps({"answers": actor.answers()}), flush=True)
    door.close()


if __name__ == "__main__":
    main()
