"""Numbered schema changes, one SQL file each, run in order under a lock.

A file is written in the SQL subset that both engines support. Lines after `-- sqlite:` or `-- postgres:` up to `--
both:` are for that engine only. Once released, a file never changes: fixes are made by a new migration.

A file that only adds what older programs can ignore declares this: `-- oldest writer: 29`. Programs for schema 29 and
later can then still write to a database of the new one, so that servers can be upgraded one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from clew.errors import ClewError

OLDEST_WRITER = "oldest_writer"
"""The key of `meta` with the value `SCHEMA:N`: programs from N on may write to a database of this schema."""
_OLDEST = re.compile(r"^-- oldest writer: (\d+)$", re.MULTILINE)
_FILE = re.compile(r"(\d{4})_[a-z_]+\.sql")


@cache
def migrations() -> dict[int, str]:
    """Number -> SQL text, in order."""
    folder, names = files(__package__), numbered(resource.name for resource in files(__package__).iterdir())
    return {number: (folder / name).read_text(encoding="utf-8") for number, name in names.items()}


def numbered(names: Iterable[str]) -> dict[int, str]:
    """Number -> file name, in order. Two files with the same number are an error, because only one would be run."""
    found: dict[int, str] = {}
    for name in sorted(names):
        match = _FILE.fullmatch(name)
        if match is None:
            continue
        number = int(match.group(1))
        if number in found:
            raise ClewError(
                "STORE_ERROR",
                f"two migrations have the number {number}: {found[number]} and {name}",
                "Install Clew again; in a source tree give the newer one the next free number. Nothing was changed.",
            )
        found[number] = name
    return found


@cache
def latest() -> int:
    """The schema version this program writes; listing file names is enough to know it."""
    return max(numbered(resource.name for resource in files(__package__).iterdir()))


def writers_note() -> str:
    """The note for older programs that a migration writes to the database."""
    return f"{latest()}:{max(declared_writer(number) for number in migrations())}"


def declared_writer(number: int) -> int:
    """The oldest schema whose programs may write after this migration: its own, unless declared otherwise."""
    found = _OLDEST.search(migrations()[number])
    return int(found[1]) if found else number


def may_write(version: int, note: str | None) -> bool:
    """Whether this program may write to a database with this schema and note."""
    schema, _, oldest = (note or "").partition(":")
    return version <= latest() or (schema == str(version) and oldest.isdigit() and int(oldest) <= latest())


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
        # Byte order everywhere, so that both engines sort identically.
        text = re.sub(r"\bTEXT\b", 'TEXT COLLATE "C"', text)
        text = re.sub(r"\bBLOB\b", "BYTEA", text)
    # Split at semicolons at line ends, which no migration has inside of a statement.
    return [part.strip() for part in text.split(";\n") if part.strip()]


def too_old(where: str, version: int) -> ClewError:
    return ClewError(
        "STORE_TOO_OLD",
        f"{where} has schema {version}, this Clew needs {latest()}, and auto_migrate is off",
        "Run `clew migrate --apply` as the owner of the tables, then start again. Nothing was changed.",
    )


def too_new(where: str, version: int) -> ClewError:
    return ClewError(
        "STORE_TOO_NEW",
        f"{where} has schema {version}; this Clew knows {latest()}",
        "Upgrade Clew, or point CLEW_HOME to another directory. Nothing was changed.",
    )
