"""The directory of Markdown files: locking, listing, reading and atomic writes. `.clew/` inside it is our own."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson

from clew.canonical import canonical_bytes
from clew.errors import ClewError
from clew.hooks import HookPoint
from clew.locks import FileLock
from clew.memory.files.file_state import RACY_NS, FolderState, Known, Stamp, stamp_of, state_from
from clew.memory.files.swap import LateSave, LateSaves, check_writable, create, swap, take_rights
from clew.platforms import sync_file, sync_folder
from clew.registry.context import Context
from clew.store.database import lock_wait

OWN = ".clew"
FOLDERS = ("decisions", "tasks", "entities", "knowledge", "summaries", "intelligence", "shared", "agents")
WRITE_ONLY = ("intelligence/applied/", "intelligence/state/")
DERIVED = "categories"
"""Files generated from blocks: rendered and removed, never read back."""
CONFIGURATION = "mind-mem.json"
PLAIN = (CONFIGURATION, "memory/intel-state.json")
KERNELS = "mind"
OURS = 0o600
"""Minimum permissions of Clew's own files, also for the copy of a file that is read-only."""
LOCK_SECONDS = 20.0
MOST_BYTES = 32_000_000
"""Maximum size of a file: twice what 50,000 decisions take. Every call would read a larger one into memory again."""


@dataclass(frozen=True)
class RenderedFile:
    """A file that was rendered: its stamp, and what was saved just before."""

    stamp: Stamp
    late: list[LateSave]


file_lock: HookPoint[Callable[[Path], AbstractContextManager[None]]] = HookPoint("file_lock")
"""Hook that locks a file against other programs that use the folder."""


@contextmanager
def kept_from_others(path: Path) -> Iterator[None]:
    with ExitStack() as held:
        for lock in file_lock.all():
            held.enter_context(lock(path))
        yield


class FilesProblem(ClewError):
    """The files cannot be read or written. The store can, so reading memory continues without them."""


def root_of(ctx: Context) -> Path | None:
    """The workspace's directory; none on PostgreSQL unless it is set in the settings."""
    settings = ctx.settings
    if settings.memory_dir is not None and ctx.workspace == settings.workspace:
        return settings.memory_dir
    if settings.database_url:
        return None
    # A workspace id may contain slashes; one directory level for each prevents ids from being nested in each other.
    return settings.home / "workspaces" / ctx.workspace.replace("/", "+") / "memory"


def is_memory(ctx: Context, file: Path) -> bool:
    """Whether a file is in a place that memory is read from: a save there counts as a person's edit."""
    root = root_of(ctx)
    places = [ctx.settings.home / "workspaces", *(root / folder for folder in FOLDERS if root is not None)]
    # Lowercase, because some file systems are case-insensitive.
    spelled = Path(str(file).casefold())
    own = any(spelled.is_relative_to(str(place.resolve()).casefold()) for place in places)
    return own or OWN in spelled.parts


def shown_root(ctx: Context) -> str:
    """The workspace as the seed shows it: a path, or the id if there are no files."""
    root = root_of(ctx)
    return str(root) if root else ctx.workspace


_held = threading.local()
"""The directories whose lock this thread holds."""


class Directory:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / OWN
        self._prefix = str(root)
        self.late = LateSaves(self.own)
        self.ill_named: dict[str, str] = {}
        """Files and folders with names that are not read: a printable form of the path, and why."""
        self._touched: set[Path] = set()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the files for this process. The lock is reentrant."""
        held: set[str] = _held.__dict__.setdefault("roots", set())
        if self._prefix in held:
            yield
            return
        with self._lock():
            held.add(self._prefix)
            try:
                yield
            finally:
                held.discard(self._prefix)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with reported(self.root):
            self.own.mkdir(parents=True, exist_ok=True)
            # A link `.clew` could lead to anything, and we write and delete in it.
            if self.own.is_symlink():
                raise OSError(errno.ELOOP, f"{self.own} is a symbolic link, and links are not followed")
            lock = FileLock(self.own / "lock")
            wait = lock_wait(LOCK_SECONDS)
            taken = lock.take(wait, pause=0.002)
        if not taken:
            raise FilesProblem(
                "STORE_LOCKED",
                f"another process works on {self.root} for over {wait:g} s",
                "Try again; end the process that holds the lock if this stays so.",
            )
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def numbering(self, path: str) -> Iterator[None]:
        """Prevent Mind-Mem from numbering blocks of a file meanwhile: it derives numbers from the file,
        and overwrites a block whose number it gave away. If the file is missing, or behind a link, it
        numbers nothing."""
        if self.stamp(path) is None or self.oddity(path) is not None:
            yield
            return
        # Version 5 numbers under the first, version 1 under the second; both hold their lock while they write.
        with kept_from_others(self.root / f"{path}.capture"), kept_from_others(self.root / path):
            yield

    def state(self) -> FolderState:
        try:
            return state_from(orjson.loads((self.own / "state.json").read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            return FolderState()
        # An unreadable state only costs time: every file is read and compared once more.
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return FolderState(damaged=True)

    def save(self, state: FolderState) -> None:
        """Save the state. It must not outlive a rendering that a power failure undid: that would look like an edit.

        So every folder in which a file was renamed is flushed first. One flush would do on ext4, which
        commits all renames together; other file systems commit each folder separately.
        """
        with reported(self.root):
            for folder in sorted(self._touched):
                sync_folder(folder)
            self._touched.clear()
            self._replace(self.own / "state.json", canonical_bytes(state.to_json()))
            ignore = self.own / ".gitignore"
            if not ignore.exists():
                with create(ignore) as file:
                    file.write(b"*\n")
            self._remove_copies()

    def _remove_copies(self) -> None:
        """Earlier versions kept a copy of every file below `.clew/base`."""
        copies = self.own / "base"
        if copies.is_symlink():
            copies.unlink()
        elif copies.exists():
            shutil.rmtree(copies, ignore_errors=True)

    def settle(self) -> None:
        """Flush the folders, so that a power failure cannot remove `.clew`."""
        with reported(self.root):
            for folder in (self.own, self.root):
                sync_folder(folder)

    def stamp(self, path: str) -> Stamp | None:
        try:
            status = os.stat(f"{self._prefix}/{path}")  # noqa: PTH116  (a Path costs more than the stat)
        except OSError:
            return None
        return stamp_of(status)

    def read(self, path: str) -> bytes | None:
        try:
            size = (self.root / path).stat().st_size
            if size > MOST_BYTES:
                said = f"it has {size:,} bytes, and more than {MOST_BYTES:,} are not read"
                raise FilesProblem("IO_ERROR", said, "Split the file.")
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise ClewError("IO_ERROR", f"{self.root / path}: {problem}", "Make the file readable.") from problem

    def oddity(self, path: str) -> str | None:
        """Why a path is neither read nor written: a link's target is not ours, and only a regular file has text."""
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

    def obstacle(self, path: str) -> str | None:
        """Why a path cannot be a file: there is a file where a folder is needed, or a folder in its place."""
        place = self.root / path
        if place.is_dir():
            return f"the folder {path}"
        above = [folder for folder in place.parents if self.root in folder.parents]
        return next((str(folder.relative_to(self.root)) for folder in above if folder.is_file()), None)

    def write(self, path: str, data: bytes, expected: Known | None) -> RenderedFile:
        """Replace a file atomically and examine the previous one. Returns what a person saved since `expected`.

        What was taken out stays in `.clew/late/` until it is stored, so that a crash in between does not lose it.
        """
        target = self.root / path
        with reported(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            check_writable(target)
            draft, stamp = self._draft(path, data)
            with kept_from_others(target):
                taken = swap(draft, target)
            saves = [self.late.take(path, out, expected) for out in taken]
            self._touched.add(target.parent)
        return RenderedFile(stamp, [save for save in saves if save is not None])

    def _draft(self, path: str, data: bytes) -> tuple[Path, Stamp]:
        """The new file, flushed, and its stamp."""
        new = self.late.new_draft(path)
        with create(new) as file:
            take_rights(file, self.root / path)
            file.write(data)
            file.flush()
            _date_back(file)
            sync_file(file.fileno())
            status = os.fstat(file.fileno())
        return self.late.name_draft(new, status.st_ino), stamp_of(status)

    def late_saves(self, state: FolderState) -> list[LateSave]:
        """Saves that earlier renderings took out and that are not in the store."""
        with reported(self.own):
            return self.late.found(state.files)

    def replace(self, path: str, data: bytes) -> None:
        """Write a file that is never read back, whatever its previous content."""
        target = self.root / path
        with reported(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._replace(target, data)

    def remove(self, path: str) -> None:
        with reported(self.root / path):
            (self.root / path).unlink(missing_ok=True)

    def _replace(self, target: Path, data: bytes) -> None:
        """Replace a file that only Clew writes; nothing is flushed."""
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        with create(draft) as file:
            take_rights(file, target, OURS)
            file.write(data)
            file.flush()
            _date_back(file)
        draft.replace(target)

    def block_files(self) -> list[str]:
        """The Markdown files that may contain blocks, in order."""
        found = [path for folder in FOLDERS for path in self._below(folder, ".md")]
        return sorted(path for path in found if not path.startswith(WRITE_ONLY))

    def plain_files(self) -> list[str]:
        kernels = self._below(KERNELS, ".mind")
        return sorted([*(path for path in PLAIN if self.stamp(path) is not None), *kernels])

    def _below(self, folder: str, suffix: str) -> list[str]:
        """The candidates for files below a folder, links included; `oddity` filters them."""
        if os.path.islink(f"{self._prefix}/{folder}"):  # noqa: PTH114
            return [folder]
        found: list[str] = []
        try:
            with os.scandir(f"{self._prefix}/{folder}") as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if entry.name.startswith(".") or f"{path}/" in WRITE_ONLY:
                        continue
                    is_wanted = entry.name.endswith(suffix)
                    problem = name_problem(entry.name)
                    if problem is not None:
                        if is_wanted or entry.is_dir():
                            self.ill_named[shown_name(path)] = problem
                    elif is_wanted:
                        found.append(path)
                    elif entry.is_dir():
                        found += self._below(path, suffix)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as problem:
            raise ClewError("IO_ERROR", f"{self.root / folder}: {problem.strerror}", "Make it readable.") from problem
        return found


def _date_back(file: BinaryIO) -> None:
    """Set the modification time back, so that any later save, however soon, has a different time."""
    saved = time.time_ns() - 2 * RACY_NS
    os.utime(file.fileno() if os.utime in os.supports_fd else file.name, ns=(saved, saved))


def name_problem(name: str) -> str | None:
    """Why a file with this name is not read: neither the store nor a response can contain such a path."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return None if name.isprintable() else "its name holds a character that cannot be shown"


def shown_name(path: str) -> str:
    """A path with unprintable characters escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


@contextmanager
def reported(where: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise FilesProblem(
            "IO_ERROR", f"{where}: {problem.strerror or problem}", "Make the directory writable, or free space."
        ) from problem


def directory_of(ctx: Context) -> Directory | None:
    root = root_of(ctx)
    return Directory(root) if root else None


def store_name(row: dict[str, object]) -> str:
    """Which store a directory was rendered from: a copy of it elsewhere is another one."""
    return f"{row['id']}@{row['created_at_ms']}"
