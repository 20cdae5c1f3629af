"""Which files of projects a person has trusted: by path and digest, kept in the data directory.

A change of the file ends the trust in it, because a pull can change it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from clew.canonical import sha256_hex
from clew.errors import ClewError

RECORD = "trusted.json"


def is_trusted(home: Path, path: Path, data: bytes) -> bool:
    """Whether these bytes of the file were trusted."""
    return trusted_files(home).get(str(path.resolve())) == sha256_hex(data)


def trust(home: Path, path: Path) -> None:
    """Trust the file as it is now."""
    _save(home, {**trusted_files(home), str(path.resolve()): sha256_hex(path.read_bytes())})


def distrust(home: Path, path: Path) -> bool:
    """Forget the file; False when it was not trusted."""
    known = trusted_files(home)
    was = known.pop(str(path.resolve()), None)
    if was is not None:
        _save(home, known)
    return was is not None


def trusted_files(home: Path) -> dict[str, str]:
    """Path -> digest. A record that cannot be read trusts nothing."""
    try:
        found = json.loads((home / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(path): str(digest) for path, digest in found.items()} if isinstance(found, dict) else {}


def _save(home: Path, known: dict[str, str]) -> None:
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = home / f".{RECORD}.{os.getpid()}"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(known, file, indent=2, sort_keys=True)
        draft.replace(home / RECORD)
    except OSError as problem:
        raise ClewError("IO_ERROR", f"{home / RECORD}: {problem}", f"Make {home} writable.") from problem
