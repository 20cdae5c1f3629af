"""A person's editor with a stale buffer: it reads the file, waits until somebody else has written it, changes one
statement of what it had read, and saves that over it. Tells each save on a line, until its input ends.
"""

from __future__ import annotations

import json
import select
import sys
from pathlib import Path


def main() -> None:
    path, most, ids = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    for number in range(most):
        text = path.read_text(encoding="utf-8")
        if not overwritten(path):
            return
        id, statement = ids[number % len(ids)], f"Saved {number}"
        save(path, text, id, statement)
        print(json.dumps({"block": id, "text": statement}), flush=True)


def overwritten(path: Path) -> bool:
    """Wait for somebody else to write the file; false when nobody will."""
    before = path.stat().st_ino
    while path.stat().st_ino == before:
        if select.select([sys.stdin], [], [], 0.002)[0]:
            return False
    return True


def save(path: Path, text: str, id: str, statement: str) -> None:
    start = text.index("Statement: ", text.index(f"[{id}]"))
    end = text.index("\n", start)
    draft = path.with_name(".editor-draft")
    draft.write_text(f"{text[:start]}Statement: {statement}{text[end:]}", encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    main()
