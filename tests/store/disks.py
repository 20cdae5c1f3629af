"""Disks that fail, as SQLite sees them: one that records what was written and synced, and one whose n-th call fails."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


@dataclass(frozen=True)
class Call:
    """What was done to a file: read, write, truncate, sync or delete."""

    kind: str
    file: str
    offset: int = 0
    data: bytes = b""


@dataclass
class Recording:
    calls: list[Call] = field(default_factory=list)

    def note(self, call: Call) -> None:
        self.calls.append(call)


@dataclass
class Failing:
    """The n-th call of a kind raises what the operating system would have said."""

    kind: str
    number: int
    error: type[Exception]
    seen: int = 0
    struck: bool = False

    def note(self, call: Call) -> None:
        if call.kind == self.kind:
            self.seen += 1
            if self.seen == self.number:
                self.struck = True
                raise self.error(f"{self.kind} {self.number} fails")


class Disk(apsw.VFS):
    def __init__(self, name: str, watcher: Recording | Failing) -> None:
        self.watcher = watcher
        super().__init__(name, "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        plain = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.watcher.note(Call("open", str(plain)))
        return DiskFile(self.watcher, name, str(plain), flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.watcher.note(Call("delete", filename))
        super().xDelete(filename, syncdir)


class DiskFile(apsw.VFSFile):
    def __init__(self, watcher: Recording | Failing, name: Any, plain: str, flags: list[int]) -> None:
        self._watcher, self._plain = watcher, plain
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._watcher.note(Call("read", self._plain, offset))
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._watcher.note(Call("write", self._plain, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._watcher.note(Call("truncate", self._plain, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._watcher.note(Call("sync", self._plain))
        super().xSync(flags)


@contextmanager
def mounted(watcher: Recording | Failing) -> Iterator[None]:
    """Every file that SQLite opens in here lies on the watched disk."""
    disk = Disk(f"disk-{id(watcher)}", watcher)
    try:
        yield
    finally:
        disk.unregister()


def after_a_power_cut(calls: list[Call], chance: random.Random) -> dict[str, bytes]:
    """The files as they may lie on the disk when the power goes after these calls.

    What was synced is there. Of the writes since, any may be missing, whole or in sectors, and in any order.
    """
    durable: dict[str, bytearray] = {}
    pending: dict[str, list[Call]] = {}
    for call in calls:
        if call.kind == "delete":
            durable.pop(call.file, None)
            pending.pop(call.file, None)
        elif call.kind == "sync":
            for written in pending.pop(call.file, []):
                _apply(durable, written)
        elif call.kind in ("write", "truncate"):
            pending.setdefault(call.file, []).append(call)
    for waiting in pending.values():
        for written in chance.sample(waiting, chance.randint(0, len(waiting))):
            for part in _torn(written, chance):
                _apply(durable, part)
    return {name: bytes(data) for name, data in durable.items()}


def _apply(files: dict[str, bytearray], call: Call) -> None:
    file = files.setdefault(call.file, bytearray())
    if call.kind == "truncate":
        del file[call.offset :]
        return
    end = call.offset + len(call.data)
    if len(file) < end:
        file.extend(bytes(end - len(file)))
    file[call.offset : end] = call.data


def _torn(call: Call, chance: random.Random) -> list[Call]:
    if call.kind == "truncate" or chance.random() < 0.5:
        return [call]
    parts = [
        Call("write", call.file, call.offset + at, call.data[at : at + SECTOR])
        for at in range(0, len(call.data), SECTOR)
    ]
    return [part for part in parts if chance.random() < 0.5]


def lay_out(files: dict[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if not name.endswith("-shm"):  # lives in memory, and is made anew
            (folder / Path(name).name).write_bytes(data)
