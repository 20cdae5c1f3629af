"""Runs mind-mem in a separate interpreter: `python mind_mem_peer.py < request.json > answers.json`.

Only the standard library and mind-mem are imported, so that any environment that has mind-mem can run it. The request
is `{"most": 20, "blocks": "...", "questions": [...]}`; the answer holds the ids found for each question, in order.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def answers(request: dict[str, Any]) -> list[list[str]]:
    library: Any = importlib.import_module("mind_mem.recall")
    with tempfile.TemporaryDirectory(prefix="clew-peer-") as folder:
        path = Path(folder) / "decisions" / "DECISIONS.md"
        path.parent.mkdir(parents=True)
        path.write_text(request["blocks"], encoding="utf-8")
        found = []
        for question in request["questions"]:
            hits = library.recall(folder, question, limit=request["most"])
            found.append([hit.get("DiaID") or hit.get("_id", "") for hit in hits][: request["most"]])
        return found


if __name__ == "__main__":
    given = json.load(sys.stdin)
    # Its log output must not end up in the answer.
    with contextlib.redirect_stdout(sys.stderr):
        made = answers(given)
    json.dump(made, sys.stdout)
