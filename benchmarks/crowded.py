"""Many agents at one server: throughput, the slowest waits, and one agent next to another that calls in a loop.

`python -m benchmarks crowded`. Thirty-two clients over HTTP make the mix of calls that agents make, without a pause,
on 10,000 records. Then one agent thinks alone, and again while another asks `resume` on eight connections. The clients
run on the same cores, so a server on a dedicated machine has a higher throughput.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from benchmarks.against import processor_ms
from benchmarks.client import ROOT
from benchmarks.everyday import MIXED, calls, fill
from benchmarks.http_client import HttpClient, http_server
from benchmarks.report import Report, spread
from benchmarks.stores import ENGINES, fresh_store

CLIENTS, SECONDS, RECORDS = 32, 120, 10_000
LOOPING, THOUGHTS = 8, 60
CALLS_AIM, SLOWER_AIM = 30, 5


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    report = Report("crowded", "Many agents at one server")
    records, seconds = (1_000, 10) if quick else (RECORDS, SECONDS)
    for engine in engines:
        with fresh_store(engine) as store:
            fill(store, records, {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"})
            with http_server(store.home, store.url) as (address, server):
                measure_crowd(report, engine, records, address, seconds, server)
                measure_victim(report, engine, records, address)
    report.save()


def measure_crowd(report: Report, engine: str, records: int, address: str, seconds: int, server: int) -> None:
    begun = processor_ms(server)
    found = apart("crowd", address, str(seconds))
    taken = found["seconds"]
    report.row(
        engine=engine,
        records=records,
        what=f"{CLIENTS} clients",
        calls_per_second=len(taken) / seconds,
        cpu_ms_per_call=(processor_ms(server) - begun) / len(taken),
        errors=found["errors"],
        **spread(taken),
        aim=f">= {CALLS_AIM} calls a second, 0 errors",
    )


def measure_victim(report: Report, engine: str, records: int, address: str) -> None:
    alone = spread(thoughts(address))
    with looping(address):
        beside = spread(thoughts(address))
    slower = beside["p50_ms"] / alone["p50_ms"]
    for what, row in (("think alone", alone), ("think beside a loop of resume", beside)):
        aim = f"<= {SLOWER_AIM} times alone: {slower:.1f}" if row is beside else ""
        report.row(engine=engine, records=records, what=what, calls_per_second="", errors=0, **row, aim=aim)


def apart(what: str, *arguments: str) -> dict[str, Any]:
    """The clients are a separate process: they must not share a lock with the measuring one."""
    command = [sys.executable, "-m", "benchmarks.crowded", what, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


def thoughts(address: str) -> list[float]:
    client = HttpClient(address)
    taken = [client.timed("think", text=f"Thought {turn}: it may be the cache.") for turn in range(THOUGHTS)]
    client.close()
    return taken


@contextmanager
def looping(address: str) -> Iterator[None]:
    """A client that calls `resume` on eight connections inside the block."""
    command = [sys.executable, "-m", "benchmarks.crowded", "loop", address]
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.terminate()


def crowd(address: str, seconds: float) -> None:
    """Every client draws its calls from the mix; an error is counted, and the client goes on."""
    ends = time.perf_counter() + seconds

    def work(number: int) -> tuple[list[float], int]:
        draw, known = random.Random(number), calls()
        client, errors = HttpClient(address), 0
        taken: list[float] = []
        while time.perf_counter() < ends:
            name = draw.choices(list(MIXED), list(MIXED.values()))[0]
            wanted, arguments = known[name](number * 10_000 + len(taken))
            begun = time.perf_counter()
            try:
                client.call(wanted, **arguments)
            except RuntimeError as problem:
                print(problem, file=sys.stderr)
                errors += 1
            taken.append(time.perf_counter() - begun)
        return taken, errors

    with ThreadPoolExecutor(CLIENTS) as pool:
        done = list(pool.map(work, range(CLIENTS)))
    seconds_taken = [one for taken, _ in done for one in taken]
    print(json.dumps({"seconds": seconds_taken, "errors": sum(errors for _, errors in done)}))


def loop(address: str) -> None:
    begun = threading.Barrier(LOOPING + 1)

    def work(_: int) -> None:
        client = HttpClient(address)
        client.call("resume")
        begun.wait()
        while True:
            client.call("resume")

    for number in range(LOOPING):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    begun.wait()
    print("looping", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    if sys.argv[1] == "crowd":
        crowd(sys.argv[2], float(sys.argv[3]))
    else:
        loop(sys.argv[2])
