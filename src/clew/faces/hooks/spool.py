"""What a hook could not hand over: kept as lines in a file, taken over by whoever serves the data directory next.

One line is one append, so that hooks of several sessions do not mix. Secrets and what a user marked as private are
left out before anything is written. The standard library only.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

FOLDER, FILE = "spool", "moments.jsonl"
_WORKSPACES = ("CLEW_WORKSPACE", "BRANCHMIND_WORKSPACE")
_ELSEWHERE = ("CLEW_DATABASE_URL",)
"""Where the environment alone names the store, nobody could know later which one was meant."""
LARGEST_FILE = 4_000_000
LONGEST_LINE = 60_000
MOST_TEXT = 8_000


def append(home: str, directory: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the event was kept. A spool that nobody empties stops growing."""
    folder = os.path.join(home, FOLDER)
    place = os.path.join(folder, FILE)
    if any(os.environ.get(name) for name in _ELSEWHERE):
        return False
    workspace = next((os.environ[name] for name in _WORKSPACES if os.environ.get(name)), "")
    event = {"at": int(time.time() * 1000), "directory": directory, "workspace": workspace}
    line = json.dumps({**event, "arguments": _public(arguments)})
    if len(line) > LONGEST_LINE:
        return False
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.fstat(handle).st_size > LARGEST_FILE:
            return False
        os.write(handle, line.encode() + b"\n")
    finally:
        os.close(handle)
    return True


def _public(arguments: Mapping[str, Any]) -> dict[str, Any]:
    import re

    from clew.secrets import hide_secrets

    private = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)

    def shown(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return hide_secrets(private.sub("", value))[0][-MOST_TEXT:]

    return {name: shown(value) for name, value in arguments.items() if name not in ("until_ms", "prompt")}


def has_any(home: str) -> bool:
    return os.path.exists(os.path.join(home, FOLDER, FILE))


def taken(home: str) -> Iterator[dict[str, Any]]:
    """The events of the spool, oldest first. Renamed before it is read, so that of several readers one has it."""
    place = os.path.join(home, FOLDER, FILE)
    mine = f"{place}.{os.getpid()}.{time.time_ns()}"
    try:
        os.rename(place, mine)
    except OSError:
        return
    try:
        with open(mine, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    found = json.loads(line)
                except ValueError:
                    continue  # a line that was cut off with its writer
                if isinstance(found, dict) and isinstance(found.get("arguments"), dict):
                    yield found
    finally:
        os.unlink(mine)
