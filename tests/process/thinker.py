"""A process that keeps cards: the same ones as its rivals, and some of its own; tells what each call did."""

from __future__ import annotations

import json
import sys

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings


def main() -> None:
    home, url, count = sys.argv[1], sys.argv[2] or None, int(sys.argv[3])
    clew = open_clew(load_settings({"home": home, "database_url": url, "workspace": "ws"}, {}))
    sys.stdin.readline()  # the starting shot
    done = []
    for number in range(count):
        shared = {"id": f"S{number}", "type": "decision", "title": f"Shared {number}", "tags": ["a:core"]}
        for card in (shared, {"type": "evidence", "title": f"Own {number}"}):
            answer = clew.dispatcher.call(
                "think_card", {"card": card, "supports": ["S0"] if number else []}, Connection()
            )
            done.append(answer.envelope["result"] or answer.envelope["error"])
    sys.stdout.write(json.dumps(done))


if __name__ == "__main__":
    main()
