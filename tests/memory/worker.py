"""A process that proposes, and with `apply` also approves and rolls back, telling each acknowledged step on a line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings


def main() -> None:
    flags = json.loads(sys.argv[1])
    count, tag, what = int(sys.argv[2]), sys.argv[3], sys.argv[4]
    settings = load_settings({**flags, "workspace": "ws", "workspace_lock": False}, {}, Path.cwd())
    clew = open_clew(settings)

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        answer = clew.dispatcher.call(name, arguments, Connection(toolset="full", person="@ines"))
        if not answer.ok:
            raise SystemExit(json.dumps(answer.envelope["error"]))
        return dict(answer.envelope["result"])

    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    for number in range(count):
        proposed = call("propose_update", block_type="decision", statement=f"Use component {tag} number {number}")
        ids = {name: proposed[name] for name in ("signal_id", "proposal_id", "block_id")}
        print(json.dumps({"proposed": ids}), flush=True)
        if what == "apply":
            applied = call("approve_apply", proposal_id=ids["proposal_id"], dry_run=False)
            print(json.dumps({"applied": ids, "receipt_ts": applied["receipt_ts"]}), flush=True)
            if number % 3 == 2:
                call("rollback_proposal", receipt_ts=applied["receipt_ts"])
                print(json.dumps({"undone": ids}), flush=True)


if __name__ == "__main__":
    main()
