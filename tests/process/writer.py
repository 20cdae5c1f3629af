"""A process that writes notes through the dispatcher and tells each acknowledged seq on stdout at once."""

from __future__ import annotations

import json
import sys
import time

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings


def main() -> None:
    home, url, count, label = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), sys.argv[4]
    clew = open_clew(load_settings({"home": home, "database_url": url, "workspace": "ws"}, {}))
    session = Connection()
    sys.stdin.readline()  # the starting shot
    for number in range(count):
        begun = time.monotonic()
        answer = clew.dispatcher.call("notes_commit", {"content": f"{label} note {number}"}, session)
        report = {
            "ok": answer.ok,
            "seq": answer.envelope["result"]["entry"]["seq"] if answer.ok else None,
            "error": answer.envelope["error"],
            "begun": begun,
            "ended": time.monotonic(),
        }
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
