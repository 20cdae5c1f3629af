"""How Clew stands in the clients of this user: what was written, whether it is current, and whether it starts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.faces.connect.clients import CLIENTS, Client, ClientPlan
from clew.faces.connect.formats import JSON, JSONC, TOML, value_at
from clew.faces.connect.journal import Journal
from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.pieces import Piece, ServerPiece, State


@dataclass(frozen=True)
class PieceStanding:
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


def standings(plan: ClientPlan, project: Path, journal: Journal) -> Iterator[PieceStanding]:
    """Every piece of every client that is installed here, and what a project says by itself."""
    for client in CLIENTS.values():
        if client.is_installed(plan.places):
            for piece in client.pieces(plan):
                yield _standing(client, piece, journal)
        empty = Journal(journal.home)
        for piece in _project_pieces(client, plan, project):
            if piece.file.is_file():
                yield _standing(client, piece, empty)


def _standing(client: Client, piece: Piece, journal: Journal) -> PieceStanding:
    try:
        text = piece.file.read_text(encoding="utf-8-sig") if piece.file.is_file() else ""
        state = piece.state(text)
        lost = _lost_command(piece, text) if isinstance(piece, ServerPiece) and state != "missing" else None
    except (OSError, Unreadable, UnicodeDecodeError) as problem:
        return PieceStanding(client, piece, "missing", f"{piece.file} cannot be read: {problem}")
    gone = state == "missing" and journal.of(piece.file) is not None
    return PieceStanding(client, piece, state, None, lost, gone)


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
