"""Many processes on one store, some killed all the time: does one order explain everything that was told?"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from benchmarks.client import ROOT
from benchmarks.report import Report
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.app import open_database
from clew.settings import load_settings


def main(quick: bool = False, engines: Sequence[str] = ENGINES) -> None:
    processes, count = (4, 200) if quick else (32, 3_125)
    report = Report("histories", "Operations of many processes, every third of which is killed and started again")
    for engine in engines:
        with fresh_store(engine) as store:
            report.row(engine=engine, processes=processes, **figures(store, processes, count))
    report.save()


def figures(store: Store, processes: int, count: int) -> dict[str, object]:
    from tests.process.histories import check, prepare, stored

    database = open_database(load_settings({"home": store.home, "database_url": store.url or None}, {}))
    prepare(database)
    begun = time.monotonic()
    ops = run(store, processes, count)
    seconds = time.monotonic() - begun
    problems = check(ops, stored(database))
    database.close()
    if problems:
        print(*problems[:20], sep="\n")
    unknown = sum(op.outcome == "unknown" for op in ops)
    return {
        "operations": len(ops),
        "per_second": round(len(ops) / seconds),
        "unknown": unknown,
        "unexplained": len(problems),
    }


def run(store: Store, processes: int, count: int) -> list:  # type: ignore[type-arg]
    from tests.process.histories import heard

    found, lock = [], threading.Lock()

    def work(number: int) -> None:
        chance, left, round_ = random.Random(number), count, 0
        while left > 0:
            killed_after = chance.randint(1, 400) if number % 3 == 0 else 2 * left
            lines = one_process(store, left, 1000 * number + round_, killed_after)
            told = heard(lines)
            left, round_ = left - max(len(told), 1), round_ + 1
            with lock:
                found.extend(told)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def one_process(store: Store, count: int, seed: int, killed_after: int) -> list[str]:
    command = [sys.executable, "-m", "tests.process.histories", str(store.home), store.url, str(count), str(seed)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if len(lines) == killed_after and killed_after < 2 * count:
            process.kill()
    process.wait()
    return lines
