"""Many actors on one store: some are killed at random and started again, and so is the server that others talk to."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.process.actor import OwnStore, heard, prepare, stored, told
from tests.process.histories import LEASE_SECONDS, Op, Problem, check

ROOT = Path(__file__).resolve().parents[2]
SEEDS = Path(__file__).with_name("seeds.json")
"""The plans that once broke something, each with what it broke."""


@dataclass(frozen=True)
class Plan:
    """What a run does, apart from the moments at which the machine does it."""

    processes: int
    operations: int
    seed: int
    served: int = 4
    """Every so many-th actor talks to a server over HTTP."""
    killed: int = 3
    """Every so many-th actor is killed again and again."""
    longest_life: int = 200
    """Operations after which such an actor is killed at the latest."""
    server_life: int = 100
    """Operations through the server after which it is killed at the latest."""
    database_life: int = 500
    """Operations of all after which the database's connections, or its server, are killed at the latest."""


@dataclass
class Outcome:
    ops: list[Op] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    killed: int = 0
    servers_killed: int = 0
    databases_broken: int = 0
    repeats: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    """How many processes gave each set of answers in the end: one set, where they agree."""

    def count(self, outcome: str) -> int:
        return sum(op.outcome == outcome for op in self.ops)

    def of_kind(self, kind: str) -> int:
        return sum(problem.kind == kind for problem in self.problems)


class Server:
    """`clew serve --http` on a port of its own, which is killed and started again without a word."""

    def __init__(self, home: str, url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._home, self._url = home, url
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    def start(self) -> None:
        command = [sys.executable, "-m", "clew", "serve", "--http", "--json", "--port", str(self._port)]
        command += ["--toolset", "full", "--workspace", "ws"]
        own = {
            "CLEW_RESIDENT": "off",
            "CLEW_HOME": self._home,
            "CLEW_DATABASE_URL": self._url,
            "CLEW_EMBEDDING_MODEL": "none",
        }
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment(**own), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it listens

    def stop(self, how: int = signal.SIGKILL) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def environment(**own: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **own}


class Progress:
    """Counts what the actors have told, for those who wait until enough was done."""

    def __init__(self) -> None:
        self._count = 0
        self._over = False
        self._changed = threading.Condition()

    def step(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def after(self, steps: int) -> bool:
        """Wait for so many further operations; False when there will be no more."""
        with self._changed:
            wanted = self._count + steps
            self._changed.wait_for(lambda: self._over or self._count >= wanted)
            return not self._over


@dataclass
class Crowd:
    home: str
    url: str
    plan: Plan
    break_database: Callable[[], None] | None = None
    """Breaks the connections of the database, or kills its server, and returns when it is back."""
    outcome: Outcome = field(default_factory=Outcome)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _all: Progress = field(default_factory=Progress)
    _served: Progress = field(default_factory=Progress)
    _calm: threading.Event = field(default_factory=threading.Event)
    _all_done: threading.Barrier = field(init=False)

    def run(self) -> Outcome:
        prepare(OwnStore(self.home, self.url))
        self._all_done = threading.Barrier(self.plan.processes + 1)
        server = Server(self.home, self.url)
        actors = [threading.Thread(target=self._act, args=(at, server.address)) for at in range(self.plan.processes)]
        faults = [threading.Thread(target=self._kill_server, args=(server,))]
        faults += [threading.Thread(target=self._break_database)]
        for thread in (*actors, *faults):
            thread.start()
        try:
            self._all_done.wait()
        finally:
            for progress in (self._all, self._served):
                progress.end()
            for thread in faults:
                thread.join()
            time.sleep(LEASE_SECONDS + 0.5)  # whether a lease has ended is an answer that depends on the moment
            self._calm.set()
            for thread in actors:
                thread.join()
            server.stop(signal.SIGTERM)
        self.outcome.problems = check(self.outcome.ops, stored(self.home, self.url)) + self._disagreement()
        return self.outcome

    def _disagreement(self) -> list[Problem]:
        sets = len(self.outcome.answers)
        return [] if sets == 1 else [Problem("different", f"the processes gave {sets} sets of answers in the end")]

    def _kill_server(self, server: Server) -> None:
        chance = random.Random(self.plan.seed)
        while self._served.after(chance.randint(1, self.plan.server_life)):
            server.stop()
            server.start()
            self.outcome.servers_killed += 1

    def _break_database(self) -> None:
        chance = random.Random(self.plan.seed)
        while self.break_database and self._all.after(chance.randint(1, self.plan.database_life)):
            self.break_database()
            self.outcome.databases_broken += 1

    def _act(self, at: int, address: str) -> None:
        chance, left, age = random.Random(f"{self.plan.seed} {at}"), self.plan.operations, -1
        try:
            for life in count():
                if left > 0 and at % self.plan.killed == 0:
                    age = chance.randint(1, self.plan.longest_life)
                name = f"s{self.plan.seed}w{at}l{life}"
                done, asked = self._live(at, address, left, name, age)
                left, age = max(left - done, 0), -1
                if asked:
                    return
        except BaseException:
            self._all_done.abort()
            raise

    def _live(self, at: int, address: str, left: int, name: str, age: int) -> tuple[int, bool]:
        """One life of an actor: how many operations it told of, and whether it lived to the end."""
        served = address if at % self.plan.served == self.plan.served - 1 else ""
        command = [sys.executable, "-m", "tests.process.actor", self.home, self.url, served, str(left), name, name]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            lines, killed = self._listen(process, age, self._served if served else Progress())
            lived = not killed and bool(lines) and '"done"' in lines[-1]
            if lived:
                self._ask(process, json.loads(lines[-1]))
        ops = heard(lines)
        with self._lock:
            self.outcome.ops += ops
            self.outcome.killed += process.returncode == -signal.SIGKILL
        if process.returncode not in (0, -signal.SIGKILL):
            raise RuntimeError(f"actor {name} ended with {process.returncode}")
        return len(ops), lived

    def _listen(self, process: subprocess.Popen[str], age: int, progress: Progress) -> tuple[list[str], bool]:
        """What it tells until it is done, and whether it was killed in an operation because its time had come."""
        lines, killed = list[str](), False
        for line in process.stdout or ():
            lines.append(line)
            if '"done"' in line:
                break
            if len(lines) % 2 == 0:
                self._all.step()
                progress.step()
            if len(lines) == 2 * age - 1:
                time.sleep(random.uniform(0, 0.004))
                process.kill()
                killed = True
        return lines, killed

    def _ask(self, process: subprocess.Popen[str], done: dict[str, Any]) -> None:
        """When all have done their work and nothing is killed any more, each is asked the same questions."""
        self._all_done.wait()
        self._calm.wait()
        answers, _ = process.communicate("answer\n")
        with self._lock:
            self.outcome.repeats += done["repeats"]
            self.outcome.answers[json.dumps(json.loads(answers)["answers"], sort_keys=True)] += 1


def keep_broken(engine: str, plan: Plan, outcome: Outcome) -> None:
    """Write down the plan for the tests, and the whole history beside the results for whoever looks for the cause."""
    if plan.seed not in kept_seeds(engine):
        problems = [problem.text for problem in outcome.problems[:5]]
        entry = {"engine": engine, "plan": asdict(plan), "problems": problems}
        SEEDS.write_text(json.dumps([*json.loads(SEEDS.read_text()), entry], indent=2) + "\n", encoding="utf-8")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    with (folder / f"history-{engine}-{plan.seed}.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(told(op))}\n" for op in outcome.ops)


def kept_seeds(engine: str) -> list[int]:
    return [entry["plan"]["seed"] for entry in json.loads(SEEDS.read_text()) if entry["engine"] == engine]
