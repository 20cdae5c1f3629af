"""Many agents that think at once: `python -m benchmarks.agents ADDRESS SESSION AGENTS SECONDS LABEL`.

A separate process, so that the load does not slow down the measuring process. Prints the seconds that each
call took, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.http_client import HttpClient

PERIOD = 1.0


def work(address: str, session: str, name: str, delay: float, seconds: float) -> list[float]:
    """One thought a second on a separate branch."""
    client = HttpClient(address)
    told = {"sessionId": session, "nextThoughtNeeded": True, "branchId": name}
    begun = time.perf_counter() + delay
    taken: list[float] = []
    for turn in range(int(seconds / PERIOD)):
        time.sleep(max(0.0, begun + turn * PERIOD - time.perf_counter()))
        fork = {"branchFromThought": 1} if turn == 0 else {}
        text = f"S{turn + 2}|O|| step {turn} of {name}: what was measured and what follows from it"
        taken.append(client.timed("thought", thought=text, **told, **fork))
    client.close()
    return taken


def main() -> None:
    address, session, agents, seconds, label = sys.argv[1:]
    count = int(agents)
    with ThreadPoolExecutor(count) as pool:
        works = [
            pool.submit(work, address, session, f"{label}-{number}", number * PERIOD / count, float(seconds))
            for number in range(count)
        ]
        print(json.dumps([taken for done in works for taken in done.result()]))


if __name__ == "__main__":
    main()
