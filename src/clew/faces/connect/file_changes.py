"""Which files would change and how; and the change: atomic, with a backup, only if the file is still as it was."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.canonical import sha256_hex
from clew.faces.connect.clients import Client, ClientPlan
from clew.faces.connect.config_formats import Hollow
from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.pieces import Own, Piece
from clew.faces.connect.servers import DISTRIBUTION, NAME
from clew.faces.connect.undo_journal import Journal, JournalEntry
from clew.ids import real_path
from clew.secrets import hide_secrets

LARGEST = 20_000_000
"""Bytes. Claude Code keeps its state in the file of its servers, which grows; nothing of a configuration is larger."""
LONGEST_LINE = 400
"""Characters. Programs write a whole file into one line; of that only the part that changes is shown."""
_BOM = "\ufeff"
_IDLE = ("refused", "unchanged")


@dataclass
class FileChange:
    """One file: what it holds, and what it should hold. None means no file."""

    file: Path
    before: bytes | None
    after: bytes | None = None
    base: bytes | None = None
    """What it held before Clew came, or would hold without it."""
    clients: tuple[str, ...] = ()
    whats: tuple[str, ...] = ()
    hollows: tuple[Hollow, ...] = ()
    leaving: tuple[str, ...] = ()
    """The clients that no longer need the file, when something is taken out."""
    ours: bool = False
    """Whether the whole file is of our making, not only pieces of it."""
    refusal: str | None = None

    @property
    def action(self) -> str:
        if self.refusal:
            return "refused"
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self) -> str:
        """As `diff -u` shows it; the user's secrets in the context lines are hidden."""
        old, new = (_decoded(data) for data in (self.before, self.after))
        left, right = (str(self.file) if data is not None else "/dev/null" for data in (self.before, self.after))
        if max(map(len, (*old.splitlines(), *new.splitlines(), ""))) > LONGEST_LINE:
            lines = [f"--- {left}", f"+++ {right}", *_within_a_line(old, new)]
        else:
            lines = [*difflib.unified_diff(old.splitlines(), new.splitlines(), left, right, n=2, lineterm="")]
        return hide_secrets("\n".join(lines))[0]


def _within_a_line(old: str, new: str) -> list[str]:
    """What differs, with a few characters around it."""
    start = _alike(old, new)
    behind = _alike(old[start:][::-1], new[start:][::-1])
    around = max(0, start - 30)

    def part(text: str) -> str:
        return "..." + " ".join(text[around : min(len(text), len(text) - behind + 30)].split()) + "..."

    return [f"@@ character {start} @@", f"-{part(old)}", f"+{part(new)}"]


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


@dataclass
class _Group:
    pieces: list[Piece] = field(default_factory=list)
    clients: list[str] = field(default_factory=list)


def connection(clients: Iterable[Client], plan: ClientPlan, journal: Journal) -> list[FileChange]:
    """What connecting these clients would change."""
    return [_connected(file, group, journal) for file, group in _by_file(clients, plan).items()]


def removal(clients: Sequence[Client], plan: ClientPlan, journal: Journal) -> list[FileChange]:
    """What taking Clew out of these clients would change; files that are not there are not named."""
    groups = _by_file(clients, plan)
    names = {client.name for client in clients}
    for path, record in journal.records.items():
        if names & set(record.clients):
            groups.setdefault(Path(path), _Group(clients=sorted(names & set(record.clients))))
    changes = [_disconnected(file, group, names, journal) for file, group in groups.items()]
    return [change for change in changes if change.before is not None]


def _by_file(clients: Iterable[Client], plan: ClientPlan) -> dict[Path, _Group]:
    """The pieces by the file they go into; several clients share a skill."""
    groups: dict[Path, _Group] = {}
    for client in clients:
        for piece in client.pieces(plan):
            group = groups.setdefault(_followed(piece.file), _Group())
            if piece not in group.pieces:
                group.pieces.append(piece)
            if client.name not in group.clients:
                group.clients.append(client.name)
    return groups


def _followed(file: Path) -> Path:
    """Where a link leads: people keep their configuration in another folder, and the link must stay a link."""
    return real_path(file) if file.is_symlink() else file


def _connected(file: Path, group: _Group, journal: Journal) -> FileChange:
    change = _change(file, group)
    if change.refusal:
        return change
    try:
        text, mark = _text(change.before)
        change.hollows = _hollows(group, text, journal.of(file))
        change.base = _base(change, group, journal)
        for piece in group.pieces:
            text = piece.written(text)
        change.after = change.before if text == _text(change.before)[0] else (mark + text).encode()
    except (Unreadable, UnicodeDecodeError) as problem:
        change.refusal = str(problem)
    return change


def _disconnected(file: Path, group: _Group, names: set[str], journal: Journal) -> FileChange:
    change = _change(file, group)
    change.leaving = tuple(sorted(names))
    record = journal.of(file)
    users = set(record.clients) - names if record else set()
    if change.refusal or change.before is None or users:  # another client still needs it
        change.after = change.before
        return change
    try:
        change.after = change.base = _base(change, group, journal)
    except (Unreadable, UnicodeDecodeError) as problem:
        change.refusal = str(problem)
    return change


def _change(file: Path, group: _Group) -> FileChange:
    whats = tuple(dict.fromkeys(piece.what for piece in group.pieces))
    ours = all(isinstance(piece, Own) for piece in group.pieces)
    change = FileChange(file, None, clients=tuple(group.clients), whats=whats, ours=ours)
    try:
        if file.is_symlink():
            change.refusal = "it is a link that leads to itself"
        elif file.exists() and (not file.is_file() or file.stat().st_size > LARGEST):
            change.refusal = "it is no ordinary file" if not file.is_file() else f"it has more than {LARGEST} bytes"
        elif file.exists():
            change.before = file.read_bytes()
    except OSError as problem:
        change.refusal = f"it cannot be read: {problem.strerror}"
    return change


def _text(data: bytes | None) -> tuple[str, str]:
    """The text and the mark before it. Bytes that are not UTF-8 are refused when they are decoded."""
    text = (data or b"").decode("utf-8")
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")


def _decoded(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", errors="replace")


def _hollows(group: _Group, text: str, record: JournalEntry | None) -> tuple[Hollow, ...]:
    """What was empty before; what an earlier connection noted is older and stays."""
    found = dict(record.hollows) if record else {}
    for piece in group.pieces:
        if piece.state(text) == "missing":
            found = {**dict(piece.hollows(text)), **found}
    return tuple(sorted(found.items(), key=lambda hollow: -len(hollow[0])))


def _base(change: FileChange, group: _Group, journal: Journal) -> bytes | None:
    """The file without us: its former bytes if it is as we left it, otherwise what is left without our pieces."""
    if change.before is None:
        return None
    known = journal.before(change.file, change.before)
    if known is not None:
        return known[0]
    text, mark = _text(change.before)
    record = journal.of(change.file)
    left = _stripped(text, group, record)
    if left == text:
        return change.before
    # Nobody knows of a time before us: we made the file, or its record is lost and we are taken out.
    made = record.copy is None if record is not None else bool(change.leaving) or change.ours
    # Where nothing of anybody else is in it either, it goes altogether.
    if made and all(piece.is_bare(left) for piece in group.pieces):
        return None
    return (mark + left).encode()


def _stripped(text: str, group: _Group, record: JournalEntry | None) -> str:
    for piece in group.pieces:
        hollows = list(record.hollows) if record else piece.own_hollows(text)
        text = piece.taken(text)
        for hollow in hollows:
            text = piece.refilled(text, hollow)
    return text


def apply(changes: Iterable[FileChange], journal: Journal) -> list[FileChange]:
    """Write what is to be written. A change that could not be made says why in its `refusal`."""
    waiting = [change for change in changes if change.action not in _IDLE or journal.of(change.file)]
    if not waiting:
        return []
    with journal.locked():
        return _apply_all(waiting, journal)


def _apply_all(changes: Iterable[FileChange], journal: Journal) -> list[FileChange]:
    folders: set[str] = set()
    done = []
    for change in changes:
        record = journal.of(change.file)
        if change.action in _IDLE:
            _note_clients(change, record, journal)
            continue
        change.refusal = _apply(change, journal)
        if change.after is None and not change.refusal:
            folders |= set(record.folders if record is not None else _likely_made(change.file))
        done.append(change)
    # The innermost first: a folder is removed only when it is empty.
    for folder in sorted(folders, key=len, reverse=True):
        try:
            Path(folder).rmdir()
        except OSError:
            continue  # it holds files of others
    return done


_OURS = frozenset({NAME, DISTRIBUTION})
_SHARED = frozenset({"skills", "commands", "hooks", "extensions", "plugins"})


def _likely_made(file: Path) -> list[str]:
    """Folders around a file that `clew connect` makes, where its record is lost; they go only when they are empty."""
    around = list(file.parents)
    named = [number for number, folder in enumerate(around) if folder.name in _OURS | _SHARED]
    return [str(folder) for folder in around[: named[-1] + 1]] if named else []


def _apply(change: FileChange, journal: Journal) -> str | None:
    try:
        # A client that runs writes its own file; what was planned from the older text must not go over it.
        now = change.file.read_bytes() if change.file.exists() else None
        if now != change.before:
            return "it was changed while you looked at it; run the command again"
        if change.after is None:
            _delete(change, journal)
        else:
            _write(change, change.after, journal)
    except OSError as problem:
        return f"it cannot be written: {problem.strerror or problem}"
    return None


def _note_clients(change: FileChange, record: JournalEntry | None, journal: Journal) -> None:
    """A file that several clients share stays as it is; who uses it changes."""
    if record is None or change.refusal:
        return
    joined = () if change.leaving else change.clients
    clients = tuple(name for name in dict.fromkeys((*record.clients, *joined)) if name not in change.leaving)
    if clients != record.clients:
        journal.note(change.file, replace(record, clients=clients))


def _write(change: FileChange, after: bytes, journal: Journal) -> None:
    record = journal.of(change.file)
    copy = journal.keep(change.file, change.before)
    # A second connect finds our own pieces in the file. What is to be restored is the file without them.
    if change.base != change.before:
        copy = journal.keep(change.file, change.base)
    if change.leaving:
        _replace(change.file, after)
        journal.note(change.file, None)
        return
    folders = (*(record.folders if record else ()), *map(str, _make_folders(change.file.parent)))
    clients = tuple(dict.fromkeys((*(record.clients if record else ()), *change.clients)))
    # Noted first: if the machine stops in between, the digest does not fit, and nothing is restored over the file.
    journal.note(change.file, JournalEntry(sha256_hex(after), copy, clients, folders, change.hollows))
    _replace(change.file, after)


def _delete(change: FileChange, journal: Journal) -> None:
    journal.keep(change.file, change.before)
    change.file.unlink()
    journal.note(change.file, None)


def _make_folders(folder: Path) -> list[Path]:
    """Make the folder; the ones that were not there, the outermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for place in reversed(missing):
        place.mkdir()
    return missing[::-1]


def _replace(file: Path, data: bytes) -> None:
    """The whole file in one step, with the rights it had; a new one has those that the user gives new files."""
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else None
    draft = file.with_name(f".{file.name}.{os.getpid()}.clew")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        # While it is written no other user may read it: a configuration may hold keys. Its own mode is set at the end.
        with os.fdopen(os.open(draft, flags, 0o666 if mode is None else 0o600), "wb") as fresh:
            fresh.write(data)
            fresh.flush()
            os.fsync(fresh.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
