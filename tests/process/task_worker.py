"""A process that works on TASK-001 and tells on stdout what each of its calls came to."""

from __future__ import annotations

import json
import sys

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings


def main() -> None:
    home, url, agent, count = sys.argv[1], sys.argv[2] or None, sys.argv[3], int(sys.argv[4])
    clew = open_clew(load_settings({"home": home, "database_url": url, "workspace": "ws"}, {}))
    session = Connection(toolset="full", agent_id=agent)
    sys.stdin.readline()  # the starting shot
    calls = [("tasks_step_lease_claim", {"path": "s:1", "ttl_seq": 10_000})]
    calls += [("tasks_note", {"path": "s:0", "note": f"{agent} {number}"}) for number in range(count)]
    calls += [("tasks_close_step", {"path": "s:0", "checkpoints": "gate"})]
    for name, arguments in calls:
        answer = clew.dispatcher.call(name, {"task": "TASK-001", **arguments}, session)
        code = None if answer.ok else answer.envelope["error"]["code"]
        revision = answer.envelope["result"].get("revision") if answer.ok else None
        sys.stdout.write(json.dumps({"name": name, "code": code, "revision": revision}) + "\n")


if __name__ == "__main__":
    main()
