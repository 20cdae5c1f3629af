"""Consistency check of the store's file tables, and their repair.

A file is its preamble and, in the order of their places, the text and gap of each block. Each place has
its line, so that a change need not read the whole file. Nothing that Clew does should make them
inconsistent; a store that an older version damaged is detected and repaired by `scan`.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import ClewError
from clew.memory.blocks import standing
from clew.memory.files import places
from clew.memory.files.changed_files import Unread, decoded
from clew.memory.files.directory import Directory, directory_of
from clew.memory.files.hand_edits import rendered, stored_file
from clew.memory.files.markdown import GAP, gap_problems
from clew.memory.files.places import BlockText
from clew.registry.context import Context
from clew.store.database import Row


@dataclass(frozen=True)
class Disagreement:
    file: str
    problem: str


def disagreements(ctx: Context) -> list[Disagreement]:
    """Inconsistencies between blocks and their places, by file."""
    lost = [Disagreement(row["file"], f"{row['id']} stands nowhere in it") for row in _without_place(ctx)]
    stray = [Disagreement(row["file"], f"{row['id']} has a place in it and is gone") for row in _without_block(ctx)]
    moved = [found for file in places.files(ctx) if (found := _wrong_line(ctx, file)) is not None]
    return sorted([*lost, *stray, *moved], key=lambda found: (found.file, found.problem))


def file_disagreements(ctx: Context) -> list[str]:
    """As `disagreements`, plus every file whose text differs from the store's. Call after a sync, which
    reads hand edits."""
    with ctx.reading() as bound:
        found = disagreements(bound)
        directory = directory_of(bound)
        if directory is not None and directory.root.is_dir():
            found += [item for file in places.files(bound) if (item := _differs(bound, directory, file)) is not None]
    return [f"{item.file}: {item.problem}" for item in found]


def kept_copies(ctx: Context) -> list[str]:
    """Damaged files and unreadable saves that are kept until the user removes them; paths below the directory."""
    directory = directory_of(ctx)
    if directory is None:
        return []
    return [place.relative_to(directory.root).as_posix() for place in directory.late.set_aside_files()]


def _differs(ctx: Context, directory: Directory, file: str) -> Disagreement | None:
    text = rendered(ctx, file)
    odd = directory.oddity(file)
    if odd is not None:
        return Disagreement(file, odd)
    try:
        data = directory.read(file)
    except ClewError as problem:
        return Disagreement(file, problem.message)
    if data is None:
        return Disagreement(file, "the store has blocks for it, and it is not there") if text else None
    if data == text.encode():
        return None
    unread = decoded(file, data)
    if isinstance(unread, Unread):
        return Disagreement(file, f"line {unread.line}: {unread.problem}")
    return Disagreement(file, "it does not say what the store says")


def fix(ctx: Context, found: list[Disagreement]) -> None:
    """Give every block a place, remove places of blocks that are gone, and renumber the lines."""
    for row in _without_block(ctx):
        ctx.tx.run("DELETE FROM place WHERE workspace = ? AND id = ?", ctx.workspace, row["id"])
    for row in _without_place(ctx):
        places.append(ctx, row["file"], [BlockText(row["id"], row["text"], GAP)])
    for file in sorted({item.file for item in found}):
        stored = stored_file(ctx, file)
        parts = [standing(part.id, part.text, part.gap) for part in stored.parts]
        places.write_file(ctx, file, stored.preamble, gap_problems(stored.preamble), parts)


def _wrong_line(ctx: Context, file: str) -> Disagreement | None:
    lines = rendered(ctx, file).split("\n")
    for place in places.in_file(ctx, file):
        if place.line >= len(lines) or not lines[place.line].lstrip("\ufeff").startswith(f"[{place.id}]"):
            return Disagreement(file, f"{place.id} does not stand in line {place.line + 1}")
    return None


def _without_place(ctx: Context) -> list[Row]:
    sql = (
        "SELECT id, file, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0 AND NOT EXISTS"
        " (SELECT 1 FROM place WHERE place.workspace = block.workspace AND place.id = block.id) ORDER BY id"
    )
    return ctx.tx.all(sql, ctx.workspace)


def _without_block(ctx: Context) -> list[Row]:
    sql = (
        "SELECT id, file FROM place WHERE workspace = ? AND NOT EXISTS (SELECT 1 FROM block"
        " WHERE block.workspace = place.workspace AND block.id = place.id AND until IS NULL AND gone = 0) ORDER BY id"
    )
    return ctx.tx.all(sql, ctx.workspace)
