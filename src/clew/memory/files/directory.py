"""The directory of Markdown files: locking, atomic writes, and what it knows of its own state.

`.clew/` inside it holds a copy of every file as it was last rendered (the *base*) and `state.json` with the stamp of
each file, so that a hand edit is noticed by a stat and understood by comparing with the base.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from clew.canonical import canonical_bytes
from clew.errors import ClewError
from clew.registry.context import Context

OWN = ".clew"
FOLDERS = ("decisions", "tasks", "entities", "summaries", "intelligence", "shared", "agents")
WRITE_ONLY = ("intelligence/applied/", "intelligence/state/")
DERIVED = "categories"
"""Files made from blocks: rendered and removed, never read back."""
PLAIN = ("mind-mem.json", "memory/intel-state.json")
KERNELS = "mind"
LOCK_SECONDS = 20.0
RACY_NS = 50_000_000

Stamp = tuple[int, int, int]
"""Modification time, size and inode of a file."""


@dataclass(frozen=True)
class Content:
    """What a file is to hold: the first `kept` bytes of its base, then `rest`."""

    rest: bytes | bytearray
    kept: int = 0


@dataclass(frozen=True)
class Late:
    """What a person saved in the very moment of a rendering, and the text it was edited from."""

    data: bytes
    base: bytes | None


@dataclass
class Known:
    """What is known of a file: its stamp, when that was taken, and up to which edit it is rendered."""

    stamp: Stamp
    checked_ns: int
    number: int = 0
    seq: int = 0

    def trusts(self, stamp: Stamp) -> bool:
        """A file written in the moment before its stamp was taken may have changed without another stamp."""
        return tuple(self.stamp) == stamp and stamp[0] < self.checked_ns - RACY_NS


@dataclass
class State:
    store: str = ""
    files: dict[str, Known] = field(default_factory=dict)
    write_only_seq: int = 0


def root_of(ctx: Context) -> Path | None:
    """The workspace's directory; none on PostgreSQL unless the settings name one."""
    settings = ctx.settings
    if settings.memory_dir is not None and ctx.workspace == settings.workspace:
        return settings.memory_dir
    if settings.database_url:
        return None
    # A workspace id may hold slashes; one directory level for each keeps ids from lying inside one another.
    return settings.home / "workspaces" / ctx.workspace.replace("/", "+") / "memory"


def shown_root(ctx: Context) -> str:
    """The workspace as the seed shows it: a path, or the id where there are no files."""
    root = root_of(ctx)
    return str(root) if root else ctx.workspace


class Directory:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / OWN
        self._prefix = str(root)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time works on the files."""
        with reported(self.root):
            self.own.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.own / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(handle)
            yield
        finally:
            os.close(handle)

    def _wait(self, handle: int) -> None:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ClewError(
                        "STORE_LOCKED",
                        f"another process works on {self.root} for over {LOCK_SECONDS:.0f} s",
                        "Try again; end the process that holds the lock if this stays so.",
                    ) from None
                time.sleep(0.002)

    def state(self) -> State:
        try:
            raw = orjson.loads((self.own / "state.json").read_bytes())
            files = {path: Known(tuple(known.pop("stamp")), **known) for path, known in raw.pop("files").items()}
            return State(files=files, **raw)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return State()

    def save(self, state: State, durable: bool) -> None:
        """Keep the state. It must not outlive a rendering that a power cut took back: that would look like an edit."""
        files = {path: vars(entry) for path, entry in state.files.items()}
        whole = {"store": state.store, "files": files, "write_only_seq": state.write_only_seq}
        with reported(self.root):
            text = canonical_bytes(whole)
            self._replace(self.own / "state.json", Content(text), durable=False)
            if durable:
                _sync_folder(self.own)
            ignore = self.own / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")

    def stamp(self, path: str) -> Stamp | None:
        try:
            status = os.stat(f"{self._prefix}/{path}")  # noqa: PTH116  (a Path costs more than the stat)
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    def read(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise ClewError("IO_ERROR", f"{self.root / path}: {problem}", "Make the file readable.") from problem

    def oddity(self, path: str) -> str | None:
        """Why a path is neither read nor written: what a link leads to is not ours, and only a file holds text."""
        place, kind = self._prefix, 0
        for part in path.split("/"):
            place = f"{place}/{part}"
            try:
                kind = os.lstat(place).st_mode
            except OSError:
                return None
            if stat.S_ISLNK(kind):
                return f"{part} is a symbolic link, and links are not followed"
        return None if stat.S_ISREG(kind) else f"{part} is not an ordinary file"

    def base(self, path: str, start: int = 0) -> bytes | None:
        """The file as it was last rendered or read back, from a byte on."""
        try:
            with (self.own / "base" / path).open("rb") as file:
                file.seek(start)
                return file.read()
        except OSError:
            return None

    def write(self, path: str, content: Content, expected: Stamp | None, durable: bool) -> Late | None:
        """Replace a file at once. Returns what a person saved in the moment before, when that happened."""
        target = self.root / path
        aside = self.own / "aside"
        with reported(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            aside.unlink(missing_ok=True)
            if expected is not None and target.exists():
                os.link(target, aside)
            self._replace(target, content, durable, self.own / "base" / path)
            saved = _changed(aside, expected)
            late = Late(saved, self.base(path)) if saved is not None else None
            if durable:
                self.keep_base(path, content)
            aside.unlink(missing_ok=True)
        return late

    def remove(self, path: str) -> None:
        with reported(self.root / path):
            (self.root / path).unlink(missing_ok=True)

    def keep_base(self, path: str, content: Content) -> None:
        """Remember the file. Only what changed is written, under another name: a crash leaves none, not a wrong one."""
        base = self.own / "base" / path
        with reported(base):
            if content.kept:
                part = base.with_name(f".{base.name}.part")
                base.replace(part)
                with part.open("r+b") as file:
                    file.seek(content.kept)
                    file.write(content.rest)
                    file.truncate()
                part.replace(base)
                return
            base.parent.mkdir(parents=True, exist_ok=True)
            base.unlink(missing_ok=True)  # ext4 writes out a file at once when another is renamed over it
            self._replace(base, content, durable=False)

    def _replace(self, target: Path, content: Content, durable: bool, base: Path | None = None) -> None:
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        with draft.open("wb") as file:
            if content.kept and base is not None:
                _copy(base, file, content.kept)
            file.write(content.rest)
            file.flush()
            # Dated back, so that whoever saves the file after us, however soon, gives it another time than ours.
            saved = time.time_ns() - 2 * RACY_NS
            os.utime(file.fileno(), ns=(saved, saved))
            if durable:
                os.fdatasync(file.fileno())
        draft.replace(target)

    def block_files(self) -> list[str]:
        """The Markdown files that may hold blocks, in order."""
        found = [path for folder in FOLDERS for path in self._below(folder, ".md")]
        return sorted(path for path in found if not path.startswith(WRITE_ONLY))

    def plain_files(self) -> list[str]:
        kernels = self._below(KERNELS, ".mind")
        return sorted([*(path for path in PLAIN if self.stamp(path) is not None), *kernels])

    def _below(self, folder: str, suffix: str) -> list[str]:
        """What looks like a file below a folder, links included; `oddity` tells which of them are not."""
        if os.path.islink(f"{self._prefix}/{folder}"):  # noqa: PTH114
            return [folder]
        found: list[str] = []
        try:
            with os.scandir(f"{self._prefix}/{folder}") as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if entry.name.startswith(".") or f"{path}/" in WRITE_ONLY:
                        continue
                    if entry.name.endswith(suffix):
                        found.append(path)
                    elif entry.is_dir():
                        found += self._below(path, suffix)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as problem:
            raise ClewError("IO_ERROR", f"{self.root / folder}: {problem.strerror}", "Make it readable.") from problem
        return found


def _copy(source: Path, target: BinaryIO, count: int) -> None:
    """The first bytes of a file, copied by the kernel where it can."""
    with source.open("rb") as file:
        if hasattr(os, "copy_file_range"):
            while count:
                try:
                    done = os.copy_file_range(file.fileno(), target.fileno(), count)
                except OSError:
                    break
                if not done:
                    break
                count -= done
        while count:
            portion = file.read(min(count, 1 << 20))
            if not portion:
                raise OSError(errno.EIO, f"{source} is shorter than it was")
            target.write(portion)
            count -= len(portion)


def _sync_folder(folder: Path) -> None:
    """Make the renames so far durable; one sync commits the journal for all of them."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _changed(aside: Path, expected: Stamp | None) -> bytes | None:
    if expected is None or not aside.exists():
        return None
    status = aside.stat()
    return None if (status.st_mtime_ns, status.st_size, status.st_ino) == tuple(expected) else aside.read_bytes()


@contextmanager
def reported(where: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise ClewError(
            "IO_ERROR", f"{where}: {problem.strerror or problem}", "Make the directory writable, or free space."
        ) from problem


def directory_of(ctx: Context) -> Directory | None:
    root = root_of(ctx)
    return Directory(root) if root else None


def known(stamp: Stamp, number: int, seq: int) -> Known:
    return Known(stamp, time.time_ns(), number, seq)


def store_name(row: dict[str, Any]) -> str:
    """Which store a directory was rendered from: a copy of it elsewhere is another one."""
    return f"{row['id']}@{row['created_at_ms']}"
