"""A process that changes the embedding model and waits for a line on stdin after each step that it reports."""

from __future__ import annotations

import json
import sys

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings


def main() -> None:
    home, url, path, patience = sys.argv[1], sys.argv[2] or None, sys.argv[3], sys.argv[4]
    clew = open_clew(load_settings({"home": home, "database_url": url, "workspace": "ws", "embedding_model": ""}, {}))

    def step(done: float, total: float | None, message: str | None) -> None:
        tell({"done": done, "total": total})
        if patience == "wait":
            sys.stdin.readline()

    answer = clew.dispatcher.call("model_use", {"path": path}, Connection(local=True), step)
    tell({"ok": answer.ok, "result": answer.envelope["result"], "error": answer.envelope["error"]})
    clew.close()


def tell(report: object) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
