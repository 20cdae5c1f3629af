"""A file of memory as it is written out: rendered whole, or the old file with the changes since then."""

from __future__ import annotations

from dataclasses import dataclass

from clew.memory.files import hand_edits, plain_files
from clew.memory.files.directory import (
    DERIVED,
    Content,
    Directory,
    Known,
    State,
    known,
)
from clew.memory.files.places import WHOLE
from clew.memory.files.swap import LateSave
from clew.registry.context import Context
from clew.store.database import Row


@dataclass(frozen=True)
class FileOutput:
    path: str
    content: Content
    number: int
    seq: int
    tracked: bool


def last_splice(ctx: Context, path: str) -> int:
    sql = "SELECT max(number) FROM splice WHERE workspace = ? AND file = ?"
    return int(ctx.tx.value(sql, ctx.workspace, path) or 0)


def write_output(directory: Directory, state: State, output: FileOutput) -> list[LateSave]:
    if not output.tracked:
        directory.replace(output.path, output.content)
        state.write_only_seq = max(state.write_only_seq, output.seq)
        return []
    written = directory.write(output.path, output.content, state.files.get(output.path))
    state.files[output.path] = known(written.stamp, output.number, output.seq)
    return written.late


def output_of(ctx: Context, directory: Directory, entry: Known | None, row: Row) -> FileOutput:
    path = row["path"]
    tracked = is_tracked(path)
    if not row["blocks"]:
        return FileOutput(path, Content(plain_files.stored(ctx, path).encode()), 0, row["seq"], tracked)
    content = _replayed(ctx, directory, entry, row) if tracked else None
    if content is None:
        content = Content(hand_edits.rendered(ctx, path).encode())
    return FileOutput(path, content, last_splice(ctx, path), row["seq"], tracked)


def _replayed(ctx: Context, directory: Directory, entry: Known | None, row: Row) -> Content | None:
    """The file as it was rendered with the splices since then; None when one is missing or the base is damaged."""
    if entry is None or entry.number < 0:
        return None
    sql = "SELECT * FROM splice WHERE workspace = ? AND file = ? AND number > ? ORDER BY number"
    splices = ctx.tx.all(sql, ctx.workspace, row["path"], entry.number)
    if not splices or splices[0]["number"] != entry.number + 1 or any(one["removed"] == WHOLE for one in splices):
        return None
    kept = min(splice["at_byte"] for splice in splices)
    base = directory.base(row["path"], kept)
    if base is None:
        return None
    rest = bytearray(base)
    for splice in splices:
        start = splice["at_byte"] - kept
        rest[start : start + splice["removed"]] = splice["text"].encode()
    return Content(rest, kept) if kept + len(rest) == row["bytes"] else None


def is_tracked(path: str) -> bool:
    return not path.startswith(("intelligence/applied/", f"{DERIVED}/"))
