"""The state of a folder of memory files: `.clew/state.json`.

For each file it has the stamp (time, size, inode), a digest of the bytes and the sequence number of the
store that they correspond to. A hand edit is noticed by a stat, confirmed by the digest, and merged
against the blocks that the store had at that number. No copy of a file is kept: an unflushed copy can
come back as NULs after a power failure.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any

from clew.canonical import digest

RACY_NS = 50_000_000
"""File times advance in ticks of up to 10 ms. A stamp taken within this time of a save may hide another save."""
UNKNOWN = -1
"""The sequence number of a file whose text is not what the store had at any time."""

Stamp = tuple[int, int, int]
"""Modification time, size and inode of a file."""


def stamp_of(status: os.stat_result) -> Stamp:
    return (status.st_mtime_ns, status.st_size, status.st_ino)


@dataclass
class Known:
    """The state of a file when it was last rendered or read."""

    stamp: Stamp
    checked_ns: int
    """When the stamp was taken."""
    seq: int = UNKNOWN
    """Sequence number of the store's text that the file contains."""
    digest: str = ""
    text: str | None = None
    """The text of the file if the store never had it. It is not saved."""

    def trusts(self, stamp: Stamp) -> bool:
        """Whether a file with this stamp is unchanged. One that was written just before its stamp was
        taken may have changed again without a new stamp."""
        return tuple(self.stamp) == stamp and stamp[0] < self.checked_ns - RACY_NS

    def holds(self, data: bytes) -> bool:
        return self.digest == digest(data)

    def to_json(self) -> dict[str, Any]:
        return {"stamp": self.stamp, "checked_ns": self.checked_ns, "seq": self.seq, "digest": self.digest}


def known(stamp: Stamp, seq: int, data: bytes) -> Known:
    return Known(stamp, time.time_ns(), seq, digest(data))


@dataclass
class FolderState:
    store: str = ""
    shared: bool = False
    """Whether another store has rendered into the directory too."""
    stores: list[str] = field(default_factory=list)
    """The stores that have recorded that they write into this directory; see `folder_mark`."""
    damaged: bool = False
    """Whether the state file exists but is invalid: then nothing is known, and missing files imply nothing."""
    files: dict[str, Known] = field(default_factory=dict)
    write_only_seq: int = 0
    checkout: str = ""
    """Git's checkout when the files were last looked at, if they are in a repository."""
    unread: dict[str, tuple[Stamp, int | None, str]] = field(default_factory=dict)
    """Files that cannot be read as text: the stamp, the line and the problem, so that they are not read every time."""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "files": {path: entry.to_json() for path, entry in self.files.items()}}


def state_from(raw: dict[str, Any]) -> FolderState:
    """Raises if the JSON is not a valid state."""
    files = {path: _known_from(entry) for path, entry in raw.pop("files").items()}
    unread = {path: (tuple(note[0]), note[1], note[2]) for path, note in raw.pop("unread", {}).items()}
    return FolderState(files=files, unread=unread, **raw)


def _known_from(raw: dict[str, Any]) -> Known:
    # Versions before digests stored the number of the newest edit; -1 meant that the text was not the store's.
    seq = UNKNOWN if raw.get("number") == UNKNOWN else raw["seq"]
    return Known(tuple(raw["stamp"]), raw["checked_ns"], seq, raw.get("digest", ""))
