"""Files of the workspace without blocks (kernels, settings, state), with all their versions."""

from __future__ import annotations

from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.workspaces import declare_events

declare_events(
    {
        "memory_file_written": "A settings, kernel or category file of governed memory changed.",
        "memory_file_removed": "A category or kernel file of governed memory was removed; its versions stay.",
    }
)


BOM = "\ufeff"
"""The byte order mark that some editors add. It is not part of the text."""


def text(ctx: Context, path: str) -> str:
    """The text of the file, without a byte order mark; empty if there is none."""
    return stored(ctx, path).removeprefix(BOM)


def both(ctx: Context, one: str, other: str) -> tuple[str, str]:
    """The texts of two files, read in one round trip."""
    sql = "SELECT path, text FROM plain_file WHERE workspace = ? AND path IN (?, ?) AND until IS NULL"
    found = {row["path"]: row["text"].removeprefix(BOM) for row in ctx.tx.all(sql, ctx.workspace, one, other)}
    return found.get(one, ""), found.get(other, "")


def stored(ctx: Context, path: str) -> str:
    """The exact content of the file; empty if there is none."""
    sql = "SELECT text FROM plain_file WHERE workspace = ? AND path = ? AND until IS NULL"
    return str(ctx.tx.value(sql, ctx.workspace, path) or "")


def versions(ctx: Context, path: str) -> list[str]:
    """The current and earlier texts of the file, newest first; empty if the file was removed."""
    if not stored(ctx, path):
        return []
    sql = "SELECT text FROM plain_file WHERE workspace = ? AND path = ? ORDER BY seq DESC LIMIT 100"
    return [row["text"].removeprefix(BOM) for row in ctx.tx.all(sql, ctx.workspace, path)]


def ever_written(ctx: Context, paths: list[str]) -> set[str]:
    """The files that the workspace has or ever had: what a person removed is not created again."""
    sql = f"SELECT DISTINCT path FROM plain_file WHERE workspace = ? AND path IN ({placeholders(len(paths))})"
    return {row[0] for row in ctx.tx.tuples(sql, ctx.workspace, *paths)}


def first_origin(ctx: Context, path: str) -> str | None:
    """The origin of the first version: `init` is Clew, `edit` a person or another program."""
    sql = "SELECT origin FROM plain_file WHERE workspace = ? AND path = ? ORDER BY seq LIMIT 1"
    found = ctx.tx.value(sql, ctx.workspace, path)
    return str(found) if found is not None else None


def texts(ctx: Context, folder: str, besides: str = "") -> dict[str, str]:
    """The files of a folder, plus one more: path to text."""
    sql = (
        "SELECT path, text FROM plain_file WHERE workspace = ? AND until IS NULL AND (path LIKE ? OR path = ?)"
        " ORDER BY path"
    )
    rows = ctx.tx.all(sql, ctx.workspace, f"{folder}/%", besides)
    return {row["path"]: row["text"].removeprefix(BOM) for row in rows}


def paths(ctx: Context, folder: str) -> list[str]:
    sql = "SELECT path FROM plain_file WHERE workspace = ? AND until IS NULL ORDER BY path"
    return [row["path"] for row in ctx.tx.all(sql, ctx.workspace) if row["path"].startswith(f"{folder}/")]


def never_edited(ctx: Context, folder: str) -> list[str]:
    """The files of a folder that Clew created and that were never edited."""
    sql = (
        "SELECT path FROM plain_file WHERE workspace = ? AND path LIKE ?"
        " GROUP BY path HAVING min(origin) = 'init' AND max(origin) = 'init' AND count(*) > count(until) ORDER BY path"
    )
    return [row["path"] for row in ctx.tx.all(sql, ctx.workspace, f"{folder}/%")]


def write(ctx: Context, path: str, content: str, origin: str) -> None:
    """Write a file with the line ends and the byte order mark that it has."""
    before = stored(ctx, path)
    ends = content.replace("\n", "\r\n") if "\r\n" in before else content
    _store(ctx, path, BOM + ends if before.startswith(BOM) else ends, origin)


def _store(ctx: Context, path: str, content: str, origin: str) -> None:
    if stored(ctx, path) == content:
        return
    seq = ctx.ws.next_seq()
    ctx.tx.run(_CLOSE, seq, ctx.workspace, path)
    sql = "INSERT INTO plain_file (workspace, path, seq, text, origin, agent, ts_ms) VALUES (?, ?, ?, ?, ?, ?, ?)"
    ctx.tx.run(sql, ctx.workspace, path, seq, content, origin, ctx.agent, ctx.now_ms)
    ctx.emit("memory", "memory_file_written", path, {"origin": origin})


_CLOSE = "UPDATE plain_file SET until = ? WHERE workspace = ? AND path = ? AND until IS NULL"


def remove(ctx: Context, path: str) -> None:
    """Close the file's last version; directories remove it with their next rendering."""
    seq = ctx.ws.next_seq()
    ctx.tx.run(_CLOSE, seq, ctx.workspace, path)
    ctx.emit("memory", "memory_file_removed", path)


def removed(ctx: Context, folder: str, since: int) -> dict[str, int]:
    """Files of a folder that were removed after a seq and not written again, each with the seq of its removal."""
    sql = (
        "SELECT path, max(until) AS seq FROM plain_file WHERE workspace = ? AND path LIKE ?"
        " GROUP BY path HAVING count(*) = count(until) AND max(until) > ? ORDER BY path"
    )
    return {row["path"]: int(row["seq"]) for row in ctx.tx.all(sql, ctx.workspace, f"{folder}/%", since)}


def take_in(ctx: Context, path: str, edited: str, *, is_new: bool) -> None:
    """Store a hand edit. Unless it is known to be new, a text that the store had before is an old copy,
    not an edit."""
    if is_new or not _had(ctx, path, edited):
        _store(ctx, path, edited, "edit")


def _had(ctx: Context, path: str, content: str) -> bool:
    sql = "SELECT 1 FROM plain_file WHERE workspace = ? AND path = ? AND text = ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, path, content) is not None
