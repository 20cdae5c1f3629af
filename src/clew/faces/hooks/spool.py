"""Events that a hook could not deliver: lines in a file, processed by the next server of the data directory.

One line is one append, so that hooks of several sessions do not mix. Secrets and what a user marked as private are
left out before anything is written. The standard library only.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from clew.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

# The file keeps its older name: one that an earlier version left is emptied too.
FOLDER, FILE, REFUSED = "spool", "moments.jsonl", "refused.jsonl"
_DONE = ".done"
HOOK_EVENT, PROOF = "hook_event", "tasks_receipt_record"
FLAGS = ("workspace", "server", "ca_file")
"""Settings of the environment that say where an event belongs; kept with it. The token is not."""
_VARIABLES = {
    "workspace": ("CLEW_WORKSPACE", "BRANCHMIND_WORKSPACE"),
    "server": ("CLEW_SERVER",),
    "ca_file": ("CLEW_CA_FILE", "SSL_CERT_FILE"),
}
_ELSEWHERE = ("CLEW_DATABASE_URL",)
"""If only the environment names the store, it is unknown later which one was meant."""
LARGEST_FILE = 4_000_000
LONGEST_LINE = 60_000
LONGEST_PROOF = 2_000_000
"""A receipt names every file that it covers."""
TEXT_LIMITS = (8_000, 800, 80)
"""Characters of each text that are kept: fewer where a line would be too long."""


def append(
    home: str,
    directory: str,
    arguments: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
    name: str = HOOK_EVENT,
) -> bool:
    """Whether the event was kept. A spool that is never emptied stops growing."""
    folder = os.path.join(home, FOLDER)
    place = os.path.join(folder, FILE)
    if any(environ.get(variable) for variable in _ELSEWHERE):
        return False
    flags = {flag: _first(environ, names) for flag, names in _VARIABLES.items()}
    event = {"at": int(time.time() * 1000), "directory": directory, **flags}
    if name != HOOK_EVENT:
        event["name"] = name
    longest = LONGEST_PROOF if name == PROOF else LONGEST_LINE
    lines = (json.dumps({**event, "arguments": _public(arguments, most)}) for most in TEXT_LIMITS)
    line = next((line for line in lines if len(line) <= longest), None)
    if line is None:
        return False
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return _append(place, line.encode())


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")


def _append(place: str, line: bytes) -> bool:
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if os.fstat(handle).st_size > LARGEST_FILE:
            return False
        os.write(handle, line + b"\n")
    finally:
        os.close(handle)
    return True


def _public(arguments: Mapping[str, Any], most: int) -> dict[str, Any]:
    from clew.private_parts import without_private
    from clew.secrets import hide_secrets

    def shown(value: Any) -> Any:
        if isinstance(value, list):
            return [shown(item) for item in value]
        if not isinstance(value, str):
            return value
        return hide_secrets(without_private(value))[0][-most:]

    return {name: shown(value) for name, value in arguments.items() if name not in ("until_ms", "prompt")}


def has_any(home: str) -> bool:
    folder = os.path.join(home, FOLDER)
    return os.path.exists(os.path.join(folder, FILE)) or bool(_claims(folder))


def _claims(folder: str) -> list[str]:
    """Files that were taken for reading, the oldest first; one whose reader was killed is among them."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [name for name in names if name.startswith(f"{FILE}.") and not name.endswith(_DONE)]
    return [os.path.join(folder, name) for name in sorted(found, key=lambda name: name.rpartition(".")[2])]


class Taken:
    """The events of the spool while this process delivers them; it holds a lock meanwhile.

    How far a file was handed over is written after each event. Whoever is killed in between leaves the rest to the
    next, and at most one event is handed over twice.
    """

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, FOLDER)
        self._lock = FileLock(os.path.join(self._folder, "lock"))

    def __enter__(self) -> Taken:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def events(self) -> Iterator[dict[str, Any]]:
        """Oldest first. Going on to the next one says that this one is in the store, or kept by `refuse`."""
        if not os.path.isdir(self._folder) or not self._lock.take():
            return
        place = os.path.join(self._folder, FILE)
        with suppress(OSError):
            os.rename(place, f"{place}.{time.time_ns()}")
        for claim in _claims(self._folder):
            yield from self._from(claim)
            os.unlink(claim)
            with suppress(OSError):
                os.unlink(claim + _DONE)

    def _from(self, claim: str) -> Iterator[dict[str, Any]]:
        with open(claim, "rb") as file:
            file.seek(_done(claim))
            while line := file.readline():
                found = _event(line)
                if found is not None:
                    yield found
                elif line.strip():
                    self.refuse(line)
                _write_done(claim, file.tell())

    def refuse(self, event: dict[str, Any] | bytes) -> None:
        """Keep what cannot be handed over for a person; it does not stop what comes after it."""
        line = event if isinstance(event, bytes) else json.dumps(event).encode()
        _append(os.path.join(self._folder, REFUSED), line.rstrip(b"\n"))


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None  # a line that was cut off with its writer, or that no hook wrote
    return found if isinstance(found, dict) and isinstance(found.get("arguments"), dict) else None


def _done(claim: str) -> int:
    try:
        with open(claim + _DONE, encoding="ascii") as file:
            return int(file.read() or 0)
    except (OSError, ValueError):
        return 0


def _write_done(claim: str, place: int) -> None:
    draft = f"{claim}.draft{_DONE}"
    with open(draft, "w", encoding="ascii") as file:
        file.write(str(place))
    os.replace(draft, claim + _DONE)
