"""The tables of the history: sessions, their turns, and the files that were edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from clew.history.turns import HistoryTurn
from clew.history.words import index_words
from clew.registry.context import Context
from clew.store.database import Transaction, transferred
from clew.store.rows import TableRow, find, find_many, insert_many, load, update, upsert
from clew.store.workspaces import find_workspace

BATCH = 500


@dataclass(frozen=True, slots=True)
class HistorySession(TableRow):
    TABLE: ClassVar[str] = "history_session"

    id: str
    client: str
    title: str
    started_ms: int
    ended_ms: int
    turns: int
    path: str
    size: int
    read_to: int


def session_of(ctx: Context, id: str) -> HistorySession | None:
    return find(ctx.tx, ctx.workspace, HistorySession, id)


def sessions(ctx: Context, limit: int) -> list[HistorySession]:
    """The sessions that ended last, the newest first."""
    sql = "SELECT * FROM history_session WHERE workspace = ? ORDER BY ended_ms DESC, id LIMIT ?"
    return [load(HistorySession, row) for row in ctx.tx.all(sql, ctx.workspace, limit)]


def keep_session(ctx: Context, session: HistorySession) -> None:
    upsert(ctx.tx, ctx.workspace, session)


def keep_turns(ctx: Context, turns: Sequence[HistoryTurn]) -> int:
    """Keep turns, each once however often a transcript repeats it; returns how many are new."""
    latest = {turn.uid: turn for turn in turns}
    known = {turn.uid: turn for turn in find_many(ctx.tx, ctx.workspace, HistoryTurn, latest, "uid")}
    next_number = 1 + int(
        ctx.tx.value("SELECT coalesce(max(number), 0) FROM history_turn WHERE workspace = ?", ctx.workspace)
    )
    fresh = [turn for uid, turn in latest.items() if uid not in known]
    added = [replace(turn, number=next_number + at) for at, turn in enumerate(fresh)]
    # A command that was still running when the transcript was read has a result now; nothing else ever changes.
    ended = [
        replace(latest[uid], number=old.number, session=old.session)
        for uid, old in known.items()
        if old.exit_code is None and latest[uid].exit_code is not None
    ]
    insert_many(ctx.tx, ctx.workspace, added)
    for turn in ended:
        update(ctx.tx, ctx.workspace, turn)
    _index(ctx.tx, ctx.workspace, ctx.ws.number, [*added, *ended])
    edits = [(ctx.workspace, file, turn.number) for turn in added for file in dict.fromkeys(turn.files)]
    ctx.tx.many("INSERT INTO history_edit (workspace, file, number) VALUES (?, ?, ?)", edits)
    return len(added)


def _index(tx: Transaction, workspace: str, workspace_number: int, turns: Iterable[HistoryTurn]) -> None:
    index_words(tx, workspace, workspace_number, [(turn.number, turn.words) for turn in turns])


def turns_by_number(ctx: Context, numbers: Iterable[int]) -> dict[int, HistoryTurn]:
    return {turn.number: turn for turn in find_many(ctx.tx, ctx.workspace, HistoryTurn, numbers)}


def turns_after(ctx: Context, session: str, number: int, limit: int) -> list[HistoryTurn]:
    """The turns of a session behind one of them, in order."""
    sql = "SELECT * FROM history_turn WHERE workspace = ? AND session = ? AND number > ? ORDER BY number LIMIT ?"
    return [load(HistoryTurn, row) for row in ctx.tx.all(sql, ctx.workspace, session, number, limit)]


def turns_with_error(ctx: Context, error_key: str, limit: int) -> list[int]:
    sql = "SELECT number FROM history_turn WHERE workspace = ? AND error_key = ? ORDER BY number DESC LIMIT ?"
    return [row["number"] for row in ctx.tx.all(sql, ctx.workspace, error_key, limit)]


def edits_of(ctx: Context, path: str, limit: int) -> list[int]:
    """The turns that edited a file, or a file below a folder, the newest first."""
    below = path.rstrip("/") + "/"
    sql = (
        "SELECT DISTINCT number FROM history_edit WHERE workspace = ? AND (file = ? OR file >= ? AND file < ?)"
        " ORDER BY number DESC LIMIT ?"
    )
    # Everything that begins with `folder/` sorts before `folder0`, the next character.
    rows = ctx.tx.all(sql, ctx.workspace, path, below, below[:-1] + "0", limit)
    return [row["number"] for row in rows]


def editing_sessions(ctx: Context, files: Sequence[str]) -> set[str]:
    """The sessions that edited one of these files, given by their names without folders."""
    if not files:
        return set()
    wanted = " OR ".join(["file = ? OR file LIKE ?"] * len(files))
    named = [value for file in files for value in (file, f"%/{file}")]
    sql = (
        "SELECT DISTINCT session FROM history_turn JOIN history_edit USING (workspace, number)"
        f" WHERE workspace = ? AND ({wanted})"
    )
    return {row["session"] for row in ctx.tx.all(sql, ctx.workspace, *named)}


@transferred("history_words")
def index_again(tx: Transaction) -> None:
    """After a copy to the other engine: the words of all turns, in the index of that engine."""
    for row in tx.all("SELECT DISTINCT workspace FROM history_turn ORDER BY workspace"):
        found = find_workspace(tx, row["workspace"])
        if found is not None:
            _index_workspace(tx, row["workspace"], found["number"])


def _index_workspace(tx: Transaction, workspace: str, number: int) -> None:
    batch: list[HistoryTurn] = []
    for turn in all_turns(tx, workspace):
        batch.append(turn)
        if len(batch) == BATCH:
            _index(tx, workspace, number, batch)
            batch.clear()
    _index(tx, workspace, number, batch)


def all_turns(tx: Transaction, workspace: str) -> Iterator[HistoryTurn]:
    sql = "SELECT * FROM history_turn WHERE workspace = ? AND number > ? ORDER BY number LIMIT ?"
    after = 0
    while turns := [load(HistoryTurn, row) for row in tx.all(sql, workspace, after, BATCH)]:
        yield from turns
        after = turns[-1].number


def keep_again(tx: Transaction, workspace: str, workspace_number: int, turn: HistoryTurn) -> None:
    """Overwrite a turn that was kept before."""
    update(tx, workspace, turn)
    _index(tx, workspace, workspace_number, [turn])
