"""Numbered schema changes, one SQL file each, run in order under a lock.

A file is written in the subset both engines speak. Lines after `-- sqlite:` or `-- postgres:` up to `-- both:` are
for that engine only. Once released, a file never changes: a new number mends it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from clew.errors import ClewError

_FILE = re.compile(r"(\d{4})_[a-z_]+\.sql")


@cache
def migrations() -> dict[int, str]:
    """Number -> SQL text, in order."""
    found = {}
    for resource in files(__package__).iterdir():
        match = _FILE.fullmatch(resource.name)
        if match:
            found[int(match.group(1))] = resource.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


@cache
def latest() -> int:
    """The schema version this program writes; listing file names is enough to know it."""
    numbers = [_FILE.fullmatch(resource.name) for resource in files(__package__).iterdir()]
    return max(int(match.group(1)) for match in numbers if match)


def pending(version: int) -> list[int]:
    """The migrations that a database of this version still needs, in order."""
    return [number for number in migrations() if number > version]


def statements(number: int, engine: str) -> list[str]:
    """The statements of one migration for one engine."""
    kept, wanted = [], True
    for line in migrations()[number].splitlines():
        marker = line.strip().lower()
        if marker in {"-- sqlite:", "-- postgres:", "-- both:"}:
            wanted = marker in {f"-- {engine}:", "-- both:"}
        elif wanted and not marker.startswith("--"):
            kept.append(line)
    text = "\n".join(kept)
    if engine == "postgres":
        # Byte order everywhere, so that both engines sort alike.
        text = re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', text)
        text = re.sub(r"\bBLOB\b", "BYTEA", text)
    # Cut at a semicolon that ends a line, which no migration has inside of a statement.
    return [part.strip() for part in text.split(";\n") if part.strip()]


def too_new(where: str, version: int) -> ClewError:
    return ClewError(
        "STORE_TOO_NEW",
        f"{where} has schema {version}; this Clew knows {latest()}",
        "Upgrade Clew, or point CLEW_HOME to another directory. Nothing was changed.",
    )
