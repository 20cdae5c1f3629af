"""The places of blocks in their files: their order, the line each begins in, and the gap after it.

A file is its preamble and then, in order, the text and the gap of each block. The preamble is stored as
the gap of a block without id and text at the beginning. The places after a change are shifted by one
statement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from clew.memory.files.markdown import Problem
from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.rows import chunks


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's text in a file, and the gap up to the next block."""

    id: str
    text: str
    gap: str
    problems: tuple[Problem, ...] = ()


class BlockPlace(NamedTuple):
    id: str
    file: str
    ordinal: int
    line: int
    """Counted from 0."""
    lines: int
    """Line ends inside the block's text."""
    gap: str
    problems: str | None = None
    """Problems in the gap, as JSON."""

    @property
    def end_line(self) -> int:
        return self.line + self.lines + self.gap.count("\n")


HOLDS_TEXT = (
    "(preamble <> '' OR EXISTS"
    " (SELECT 1 FROM place WHERE place.workspace = block_file.workspace AND place.file = block_file.path))"
)
"""SQL: a file of blocks that is not empty."""
_COLUMNS = "id, file, ordinal, at_line, lines, gap, problems"


def _places(ctx: Context, rest: str, *params: object) -> list[BlockPlace]:
    rows = ctx.tx.tuples(f"SELECT {_COLUMNS} FROM place WHERE workspace = ? AND {rest}", ctx.workspace, *params)
    return [BlockPlace(*row) for row in rows]


def where(ctx: Context, ids: Sequence[str]) -> dict[str, BlockPlace]:
    """File and line of current blocks."""
    asked = [_places(ctx, f"id IN ({placeholders(len(part))}) ORDER BY id", *part) for part in chunks(ids)]
    return {place.id: place for found in asked for place in found}


def in_file(ctx: Context, file: str) -> list[BlockPlace]:
    """Every block of a file, in order."""
    return _places(ctx, "file = ? ORDER BY ordinal", file)


def files(ctx: Context) -> list[str]:
    sql = "SELECT path FROM block_file WHERE workspace = ? ORDER BY path"
    return [row[0] for row in ctx.tx.tuples(sql, ctx.workspace)]


def flawed(ctx: Context) -> list[BlockPlace]:
    """The blocks whose gap contains lines that cannot be parsed."""
    return _places(ctx, "problems IS NOT NULL ORDER BY id")


def preamble_of(ctx: Context, file: str) -> str | None:
    """The text before the first block; None if there is no such file."""
    sql = "SELECT preamble FROM block_file WHERE workspace = ? AND path = ?"
    found = ctx.tx.value(sql, ctx.workspace, file)
    return None if found is None else str(found)


def set_preamble(ctx: Context, file: str, preamble: str, problems: Sequence[Problem] = ()) -> None:
    """Set the text before the first block. Places are not shifted: the file is new, or written as a whole."""
    sql = (
        "INSERT INTO block_file (workspace, path, preamble, problems, seq) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (workspace, path) DO UPDATE SET preamble = excluded.preamble, problems = excluded.problems,"
        " seq = excluded.seq"
    )
    ctx.tx.run(sql, ctx.workspace, file, preamble, _json(problems), ctx.ws.next_seq())


def with_line_ends(ctx: Context, file: str, text: str, old: str = "") -> str:
    """The text with the line ends of the text it replaces, or of its file if it is new."""
    return ended_like(old or around(ctx, file), text)


def ended_like(other: str, text: str) -> str:
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in other else plain


def around(ctx: Context, file: str) -> str:
    """The preamble of a file and the gap after its first block: enough to detect its line ends."""
    sql = (
        "SELECT preamble, (SELECT gap FROM place WHERE place.workspace = block_file.workspace AND file = path"
        " ORDER BY ordinal LIMIT 1) AS gap FROM block_file WHERE workspace = ? AND path = ?"
    )
    row = ctx.tx.one(sql, ctx.workspace, file)
    return f"{row['preamble']}{row['gap'] or ''}" if row else ""


def append(ctx: Context, file: str, parts: Sequence[BlockText], preamble: str = "") -> None:
    """Append blocks to their file; a new file begins with `preamble`."""
    last = _places(ctx, "file = ? ORDER BY ordinal DESC LIMIT 1", file)
    before = last[0] if last else _beginning(file, preamble_of(ctx, file) or "")
    if not last and not before.gap:
        set_preamble(ctx, file, preamble)
        before = _beginning(file, preamble)
    joint = _joint(before)
    if joint:
        parts = [*parts[:-1], _ended_as(parts[-1], before.gap, joint)]
    _insert(ctx, before, joint, parts)


def insert_after(ctx: Context, target: str, part: BlockText) -> None:
    """Insert a block after another one of the same file."""
    before = where(ctx, [target])[target]
    if _is_last(ctx, before):
        append(ctx, before.file, [part])
    else:
        _insert(ctx, before, _joint(before), [part])


def _insert(ctx: Context, before: BlockPlace, joint: str, parts: Sequence[BlockText]) -> None:
    _replace(ctx, [before], [before._replace(gap=before.gap + joint), *map(_unplaced, parts)])


def _beginning(file: str, preamble: str) -> BlockPlace:
    return BlockPlace("", file, 0, 0, 0, preamble)


def _unplaced(part: BlockText) -> BlockPlace:
    """A block whose file, ordinal and line are computed from the previous block."""
    return BlockPlace(part.id, "", 0, 0, part.text.count("\n"), part.gap, _json(part.problems))


def _ended_as(part: BlockText, before: str, joint: str) -> BlockText:
    """The last part with the file's original ending: a single line end if the file had no empty line after it."""
    single = before.endswith("\n") and part.gap.endswith(joint * 2)
    return dataclasses.replace(part, gap=part.gap[: -len(joint)]) if single else part


def _joint(before: BlockPlace) -> str:
    """The separator needed between the end of a block or preamble and a new block: an empty line."""
    newline = "\r\n" if "\r\n" in before.gap else "\n"
    is_empty = not before.id and not before.gap
    if is_empty or before.gap.endswith(newline * 2):
        return ""
    return newline if before.gap.endswith("\n") else newline * 2


def _is_last(ctx: Context, place: BlockPlace) -> bool:
    sql = "SELECT 1 FROM place WHERE workspace = ? AND file = ? AND ordinal > ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, place.file, place.ordinal) is None


def rewrite(ctx: Context, id: str, text: str) -> None:
    """Update the place of a block whose text changed."""
    place = where(ctx, [id])[id]
    _replace(ctx, [place], [place._replace(lines=text.count("\n"))])


def remove(ctx: Context, id: str) -> None:
    """Remove a block from its file. Prose after it stays."""
    gone = where(ctx, [id])[id]
    previous = _places(ctx, "file = ? AND ordinal < ? ORDER BY ordinal DESC LIMIT 1", gone.file, gone.ordinal)
    before = previous[0] if previous else _beginning(gone.file, preamble_of(ctx, gone.file) or "")
    kept = before.gap + gone.gap
    if _is_bare(gone.gap):
        kept = before.gap[: -len(newline)] if (newline := _left_joint(ctx, gone, before.gap)) else before.gap
    _replace(ctx, [before, gone], [before._replace(gap=kept)])


def _is_bare(gap: str) -> bool:
    """Whether a gap is only blank lines and rules, which belong to the block before it; anything else
    was written by a person, and stays."""
    return gap.strip("- \t\r\n") == ""


def _left_joint(ctx: Context, gone: BlockPlace, before: str) -> str:
    """The empty line that `append` put before the last block of a file which ends without one; removed
    with the block."""
    newline = "\r\n" if "\r\n" in before else "\n"
    single = gone.gap.endswith(newline) and not gone.gap.endswith(newline * 2)
    if not single or not before.endswith(newline * 2):
        return ""
    return newline if _is_last(ctx, gone) else ""


def put_rules_back(ctx: Context, id: str, gap: str) -> None:
    """Restore the blank lines and rules after a block; text that a person wrote there is not touched."""
    place = where(ctx, [id])[id]
    back = place._replace(gap=ended_like(place.gap, gap))
    if not _is_last(ctx, place):
        # The block may have been the last of its file then; one that was added since must not begin on
        # its last line.
        back = back._replace(gap=back.gap + _joint(back))
    if back != place and _is_bare(back.gap) and _is_bare(place.gap):
        ctx.ws.next_seq()
        _replace(ctx, [place], [back])


def _replace(ctx: Context, old: Sequence[BlockPlace], new: Sequence[BlockPlace]) -> None:
    """Replace blocks by others. The first place is kept; the places after the last one are shifted."""
    last, now = old[-1], _numbered(new)
    more, lines = now[-1].ordinal - last.ordinal, now[-1].end_line - last.end_line
    if more or lines:
        sql = (
            "UPDATE place SET ordinal = ordinal + ?, at_line = at_line + ?"
            " WHERE workspace = ? AND file = ? AND ordinal > ?"
        )
        ctx.tx.run(sql, more, lines, ctx.workspace, last.file, last.ordinal)
    _keep(ctx, old, now)
    # Directories render the file again.
    sql = "UPDATE block_file SET seq = ? WHERE workspace = ? AND path = ?"
    ctx.tx.run(sql, ctx.ws.seq, ctx.workspace, last.file)


def write_file(ctx: Context, file: str, preamble: str, problems: Sequence[Problem], parts: Iterable[BlockText]) -> None:
    """Set the content of a file. Only rows that differ are written."""
    old = in_file(ctx, file)
    set_preamble(ctx, file, preamble, problems)
    _keep(ctx, old, _numbered([_beginning(file, preamble), *map(_unplaced, parts)])[1:])


def _numbered(places: Sequence[BlockPlace]) -> list[BlockPlace]:
    """Consecutive blocks with ordinals and lines computed from the first one's."""
    found = [places[0]]
    for place in places[1:]:
        before = found[-1]
        found.append(place._replace(file=before.file, ordinal=before.ordinal + 1, line=before.end_line))
    return found


def _keep(ctx: Context, old: Sequence[BlockPlace], new: Sequence[BlockPlace]) -> None:
    """Write the rows that differ."""
    known = set(old)
    changed = [place for place in new if place not in known]
    for place in changed[:1]:
        if not place.id:
            sql = "UPDATE block_file SET preamble = ? WHERE workspace = ? AND path = ?"
            ctx.tx.run(sql, place.gap, ctx.workspace, place.file)
    ctx.tx.many(_INSERT_PLACE, [(ctx.workspace, *place) for place in changed if place.id])
    gone = {place.id: place.file for place in old}
    for place in new:
        gone.pop(place.id, None)
    sql = "DELETE FROM place WHERE workspace = ? AND id = ? AND file = ?"
    ctx.tx.many(sql, [(ctx.workspace, id, file) for id, file in sorted(gone.items())])


_INSERT_PLACE = (
    f"INSERT INTO place (workspace, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, id) DO UPDATE SET file = excluded.file, ordinal = excluded.ordinal,"
    " at_line = excluded.at_line, lines = excluded.lines, gap = excluded.gap, problems = excluded.problems"
)


def _json(problems: Sequence[Problem]) -> str | None:
    return orjson.dumps(problems).decode() if problems else None
