"""A process that has loaded everything, and forks writers: each a process of its own that opens the store itself.

A line on stdin names the writers of a batch. Each tells its pid and every acknowledged seq on stdout; when all of the
batch have ended, whoever ended them, the batch is told.
"""

from __future__ import annotations

import json
import os
import sys

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.registry.lookup import find_operation
from clew.settings import load_settings


def main() -> None:
    home, url = sys.argv[1], sys.argv[2] or None
    find_operation("notes_commit")
    for line in sys.stdin:
        labels = line.split()
        for label in labels:
            if os.fork() == 0:
                write(home, url, label)
        for _ in labels:
            os.wait()
        tell({"batch": labels})


def write(home: str, url: str | None, label: str) -> None:
    """Write until somebody kills this process."""
    flags = {"home": home, "database_url": url, "workspace": "ws", "embedding_model": "none"}
    clew, session, number = open_clew(load_settings(flags, {})), Connection(), 0
    while True:
        number += 1
        answer = clew.dispatcher.call("notes_commit", {"content": f"{label} note {number}"}, session)
        if not answer.ok:
            tell({"pid": os.getpid(), "error": answer.envelope["error"]})
            os._exit(1)
        tell({"pid": os.getpid(), "seq": answer.envelope["result"]["entry"]["seq"]})


def tell(report: object) -> None:
    """In one write, which a pipe takes whole or not at all, however many processes share it."""
    os.write(1, f"{json.dumps(report)}\n".encode())


if __name__ == "__main__":
    main()
