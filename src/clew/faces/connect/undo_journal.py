"""What `clew connect` has written, so that each file can be restored byte for byte, and its current state.

The journal and the copies are in Clew's data directory, readable by their owner alone, since a client's file may hold
keys. An unchanged file gets its former bytes back; one that was changed loses our pieces only.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.faces.connect.clients import CLIENTS, Client, ClientPlan
from clew.faces.connect.config_formats import JSON, JSONC, TOML, Hollow, value_at
from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.pieces import Piece, ServerPiece, State
from clew.locks import FileLock

FOLDER = "connect"
RECORD = "written.json"
COPIES = 5
"""How many copies of a file are kept; an older one goes when a new one is made."""


@dataclass(frozen=True)
class JournalEntry:
    """One file that was written."""

    after: str
    """The digest of what was written."""
    copy: str | None
    """The name of the copy that holds what was there before without our pieces; None: there was no file."""
    clients: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """The folders that were made for it, the outermost first."""
    hollows: tuple[Hollow, ...] = ()


@dataclass
class Journal:
    home: Path
    records: dict[str, JournalEntry] = field(default_factory=dict)

    @classmethod
    def open(cls, home: Path) -> Journal:
        """A record that cannot be read is taken for none: then our pieces are found by what they are."""
        try:
            found = json.loads((home / FOLDER / RECORD).read_text(encoding="utf-8"))
            return cls(home, {path: _record(row) for path, row in found["files"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(home)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One `clew connect` at a time: two would each forget what the other has noted."""
        lock = FileLock(self._folder() / "lock")
        if not lock.take(patience=30):
            raise ClewError("CONFLICT", "another clew connect is at work", "Wait for it to end, then run this again.")
        try:
            # Read again under the lock: another `clew connect` may have written since this one began to plan.
            self.records = Journal.open(self.home).records
            yield
        finally:
            lock.release()

    def of(self, file: Path) -> JournalEntry | None:
        return self.records.get(str(file))

    def before(self, file: Path, data: bytes) -> tuple[bytes | None] | None:
        """The content of the file before it was written, if it still holds what was written: `(None,)` is no file."""
        record = self.of(file)
        # Somebody has changed the file since. Its former bytes would undo that too, so only our pieces are taken out.
        if record is None or record.after != sha256_hex(data):
            return None
        if record.copy is None:
            return (None,)
        try:
            return ((self.home / FOLDER / record.copy).read_bytes(),)
        except OSError:
            return None

    def keep(self, file: Path, data: bytes | None) -> str | None:
        """Copy what a file holds, before it is written; the name of the copy."""
        if data is None:
            return None
        name = f"{sha256_hex(str(file), 12)}-{sha256_hex(data, 12)}-{file.name}"
        folder = self._folder()
        place = folder / name
        if not place.exists():
            _write_private(place, data)
        self._forget_old(folder, name)
        return name

    def note(self, file: Path, record: JournalEntry | None) -> None:
        """Remember, or forget with None, and save at once: what is written and not noted cannot be restored."""
        if record is None:
            self.records.pop(str(file), None)
        else:
            self.records[str(file)] = record
        rows = {path: asdict(row) for path, row in sorted(self.records.items())}
        _write_private(self._folder() / RECORD, json.dumps({"version": 1, "files": rows}, indent=1).encode())

    def _folder(self) -> Path:
        folder = self.home / FOLDER
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        return folder

    def _forget_old(self, folder: Path, name: str) -> None:
        # A copy that a record points to is the only way back, however old it is.
        used = {record.copy for record in self.records.values()} | {name}
        copies = sorted(folder.glob(f"{name[:12]}-*"), key=lambda copy: copy.stat().st_mtime_ns)
        for copy in [copy for copy in copies if copy.name not in used][: max(0, len(copies) - COPIES)]:
            copy.unlink(missing_ok=True)


def _record(row: dict[str, Any]) -> JournalEntry:
    hollows = tuple((tuple(path), inner) for path, inner in row["hollows"])
    return JournalEntry(row["after"], row["copy"], tuple(row["clients"]), tuple(row["folders"]), hollows)


def _write_private(place: Path, data: bytes) -> None:
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    except OSError as problem:
        draft.unlink(missing_ok=True)
        raise ClewError("IO_ERROR", f"{place}: {problem}", f"Make {place.parent} writable.") from problem


@dataclass(frozen=True)
class PieceStatus:
    """One piece in one file."""

    client: Client
    piece: Piece
    state: State
    problem: str | None = None
    """Why the file cannot be read."""
    lost: str | None = None
    """The command that the entry starts, when there is no such file."""
    gone: bool = False
    """Whether we wrote it and it is no longer there."""


def statuses(plan: ClientPlan, project: Path, journal: Journal) -> Iterator[PieceStatus]:
    """Every piece of every client that is installed here, and what a project says by itself."""
    for client in CLIENTS.values():
        if client.is_installed(plan.places):
            for piece in client.pieces(plan):
                yield _piece_status(client, piece, journal)
        empty = Journal(journal.home)
        for piece in _project_pieces(client, plan, project):
            if piece.file.is_file():
                yield _piece_status(client, piece, empty)


def _piece_status(client: Client, piece: Piece, journal: Journal) -> PieceStatus:
    try:
        text = piece.file.read_text(encoding="utf-8-sig") if piece.file.is_file() else ""
        state = piece.state(text)
        lost = _lost_command(piece, text) if isinstance(piece, ServerPiece) and state != "missing" else None
    except (OSError, Unreadable, UnicodeDecodeError) as problem:
        return PieceStatus(client, piece, "missing", f"{piece.file} cannot be read: {problem}")
    gone = state == "missing" and journal.of(piece.file) is not None
    return PieceStatus(client, piece, state, None, lost, gone)


def _lost_command(server: ServerPiece, text: str) -> str | None:
    """A command by path that is not there. A bare name is left to the client, whose PATH may be another."""
    entry = value_at(server.format.read(text), (*server.table, server.names(text)[0]))
    command = entry.get("command", entry.get("cmd"))
    word = str(command[0] if isinstance(command, list) and command else command or "")
    is_path = "/" in word or "\\" in word
    return word if is_path and shutil.which(word) is None else None


def _project_pieces(client: Client, plan: ClientPlan, project: Path) -> list[ServerPiece]:
    """What a project may hold for the same client; `clew connect` writes the user's own files only."""
    entry = client.entry(plan.target)
    state = plan.places.claude_state()
    return {
        "claude": [
            ServerPiece(project / ".mcp.json", JSON, {}, ("mcpServers",), entry),
            ServerPiece(state, JSON, {}, ("projects", str(project), "mcpServers"), entry),
        ],
        "codex": [ServerPiece(project / ".codex" / "config.toml", TOML, {}, ("mcp_servers",), entry)],
        "cursor": [ServerPiece(project / ".cursor" / "mcp.json", JSONC, {}, ("mcpServers",), entry)],
        "vscode": [ServerPiece(project / ".vscode" / "mcp.json", JSONC, {}, ("servers",), entry)],
    }.get(client.name, [])
