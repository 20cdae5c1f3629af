"""Where blocks stand in their files: their order, the line each begins in, and what follows it.

A file is its preamble and then, in order, the text and the gap of each block. What follows an insertion or a change of
the number of lines is moved by one statement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from clew.memory.files.markdown import Problem
from clew.registry.context import Context
from clew.store.database import Row, placeholders


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's text as it stands in a file, and what follows it up to the next block."""

    id: str
    text: str
    gap: str
    problems: tuple[Problem, ...] = ()


class Where(NamedTuple):
    file: str
    ordinal: int
    line: int
    """Counted from 0."""
    lines: int
    """Line ends inside of the block's text."""
    gap: str

    @property
    def end_line(self) -> int:
        return self.line + self.lines + self.gap.count("\n")


HOLDS_TEXT = (
    "(preamble <> '' OR EXISTS"
    " (SELECT 1 FROM place WHERE place.workspace = block_file.workspace AND place.file = block_file.path))"
)
"""SQL: a file of blocks that is not empty."""
_COLUMNS = "file, ordinal, at_line, lines, gap"


def where(ctx: Context, ids: Sequence[str]) -> dict[str, Where]:
    """File and line of current blocks."""
    found: dict[str, Where] = {}
    for start in range(0, len(ids), 500):
        chunk = ids[start : start + 500]
        sql = f"SELECT id, {_COLUMNS} FROM place WHERE workspace = ? AND id IN ({placeholders(len(chunk))}) ORDER BY id"
        found |= {id: Where(*rest) for id, *rest in ctx.tx.tuples(sql, ctx.workspace, *chunk)}
    return found


def in_file(ctx: Context, file: str) -> list[tuple[str, Where]]:
    """Every block of a file, in order."""
    sql = f"SELECT id, {_COLUMNS} FROM place WHERE workspace = ? AND file = ? ORDER BY ordinal"
    return [(id, Where(*rest)) for id, *rest in ctx.tx.tuples(sql, ctx.workspace, file)]


def preamble_of(ctx: Context, file: str) -> str | None:
    """What stands before the first block; None when there is no such file."""
    sql = "SELECT preamble FROM block_file WHERE workspace = ? AND path = ?"
    found = ctx.tx.value(sql, ctx.workspace, file)
    return None if found is None else str(found)


def set_preamble(ctx: Context, file: str, preamble: str, problems: Sequence[Problem] = ()) -> None:
    """Say what stands before the first block. Places are not moved: the file is new, or written whole."""
    ctx.tx.run(
        "INSERT INTO block_file (workspace, path, preamble, problems, seq) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (workspace, path) DO UPDATE SET preamble = excluded.preamble, problems = excluded.problems,"
        " seq = excluded.seq",
        ctx.workspace,
        file,
        preamble,
        _json(problems),
        ctx.ws.next_seq(),
    )


def with_line_ends(ctx: Context, file: str, text: str, old: str = "") -> str:
    """The text with the line ends of the text it replaces, or of its file when it is new."""
    return ended_like(old or around(ctx, file), text)


def ended_like(other: str, text: str) -> str:
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if "\r\n" in other else plain


def around(ctx: Context, file: str) -> str:
    """The preamble of a file and the gap after its first block: enough to tell its line ends."""
    sql = (
        "SELECT preamble, (SELECT gap FROM place WHERE place.workspace = block_file.workspace AND file = path"
        " ORDER BY ordinal LIMIT 1) AS gap FROM block_file WHERE workspace = ? AND path = ?"
    )
    row = ctx.tx.one(sql, ctx.workspace, file)
    return f"{row['preamble']}{row['gap'] or ''}" if row else ""


def append(ctx: Context, file: str, parts: Sequence[BlockText], preamble: str = "") -> None:
    """Put blocks at the end of their file; a new file begins with `preamble`."""
    head, last = preamble_of(ctx, file), _last(ctx, file)
    if not head and last is None:
        set_preamble(ctx, file, preamble)
        head = preamble
    before = last["gap"] if last else head or ""
    joint = _joint(before, empty=last is None and not before)
    if joint:
        _set_gap(ctx, file, last["id"] if last else None, before + joint)
        parts = [*parts[:-1], _ended_as(parts[-1], before, joint)]
    ordinal, line = (last["ordinal"], last["at_line"] + last["lines"]) if last else (0, 0)
    _keep(ctx, _rows(ctx, file, ordinal + 1, line + (before + joint).count("\n"), parts))
    _note_change(ctx, file)


def _last(ctx: Context, file: str) -> Row | None:
    sql = "SELECT * FROM place WHERE workspace = ? AND file = ? ORDER BY ordinal DESC LIMIT 1"
    return ctx.tx.one(sql, ctx.workspace, file)


def _ended_as(part: BlockText, before: str, joint: str) -> BlockText:
    """The last part with the end that the file had: a single line end, where the file had no empty line after it."""
    single = before.endswith("\n") and part.gap.endswith(joint * 2)
    return dataclasses.replace(part, gap=part.gap[: -len(joint)]) if single else part


def _joint(before: str, *, empty: bool) -> str:
    """What must stand between the end of a file and a new block: an empty line."""
    newline = "\r\n" if "\r\n" in before else "\n"
    if empty or before.endswith(newline * 2):
        return ""
    return newline if before.endswith("\n") else newline * 2


def _set_gap(ctx: Context, file: str, id: str | None, gap: str) -> None:
    """The text behind a block, or before the first one."""
    if id is None:
        ctx.tx.run("UPDATE block_file SET preamble = ? WHERE workspace = ? AND path = ?", gap, ctx.workspace, file)
    else:
        ctx.tx.run("UPDATE place SET gap = ? WHERE workspace = ? AND id = ?", gap, ctx.workspace, id)


def insert_after(ctx: Context, target: str, standing: BlockText) -> None:
    """Put a block behind another one of the same file."""
    place = where(ctx, [target])[target]
    if _is_last(ctx, place):
        append(ctx, place.file, [standing])
        return
    joint = _joint(place.gap, empty=False)
    if joint:
        _set_gap(ctx, place.file, target, place.gap + joint)
    line = place.end_line + joint.count("\n")
    grown = joint.count("\n") + standing.text.count("\n") + standing.gap.count("\n")
    sql = (
        "UPDATE place SET ordinal = ordinal + 1, at_line = at_line + ? WHERE workspace = ? AND file = ? AND ordinal > ?"
    )
    ctx.tx.run(sql, grown, ctx.workspace, place.file, place.ordinal)
    _keep(ctx, _rows(ctx, place.file, place.ordinal + 1, line, [standing]))
    _note_change(ctx, place.file)


def _is_last(ctx: Context, place: Where) -> bool:
    sql = "SELECT 1 FROM place WHERE workspace = ? AND file = ? AND ordinal > ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, place.file, place.ordinal) is None


def rewrite(ctx: Context, id: str, text: str) -> None:
    """Note that a block's text changed where it stands."""
    place = where(ctx, [id])[id]
    lines = text.count("\n")
    if lines != place.lines:
        ctx.tx.run("UPDATE place SET lines = ? WHERE workspace = ? AND id = ?", lines, ctx.workspace, id)
        _move_lines(ctx, place.file, place.ordinal, lines - place.lines)
    _note_change(ctx, place.file)


def remove(ctx: Context, id: str) -> None:
    """Take a block out of its file. Prose that followed it stays."""
    place = where(ctx, [id])[id]
    kept = "" if _is_bare(place.gap) else place.gap
    previous = ctx.tx.one(
        "SELECT id, gap FROM place WHERE workspace = ? AND file = ? AND ordinal < ? ORDER BY ordinal DESC LIMIT 1",
        ctx.workspace,
        place.file,
        place.ordinal,
    )
    before = previous["gap"] if previous else preamble_of(ctx, place.file) or ""
    joint = "" if kept else _left_joint(ctx, place, before)
    if kept or joint:
        text = before + kept if kept else before[: -len(joint)]
        _set_gap(ctx, place.file, previous["id"] if previous else None, text)
    ctx.tx.run("DELETE FROM place WHERE workspace = ? AND id = ?", ctx.workspace, id)
    lost = place.lines + (0 if kept else place.gap.count("\n"))
    _move_lines(ctx, place.file, place.ordinal, -lost)
    _note_change(ctx, place.file)


def _is_bare(gap: str) -> bool:
    """Blank lines and rules belong to the block before them; anything else was written by a person, and stays."""
    return gap.strip("- \t\r\n") == ""


def _left_joint(ctx: Context, place: Where, before: str) -> str:
    """The empty line that `append` put before the last block of a file which ends without one; it goes with it."""
    newline = "\r\n" if "\r\n" in before else "\n"
    single = place.gap.endswith(newline) and not place.gap.endswith(newline * 2)
    if not single or not before.endswith(newline * 2):
        return ""
    return newline if _is_last(ctx, place) else ""


def put_rules_back(ctx: Context, id: str, gap: str) -> None:
    """The blank lines and rules behind a block as they were; what a person wrote there is not touched."""
    place = where(ctx, [id])[id]
    gap = ended_like(place.gap, gap)
    # It may have been the last of its file then; what was put behind it since must not stand on its last line.
    gap += _joint(gap, empty=_is_last(ctx, place))
    if gap == place.gap or not (_is_bare(gap) and _is_bare(place.gap)):
        return
    ctx.ws.next_seq()
    _set_gap(ctx, place.file, id, gap)
    _move_lines(ctx, place.file, place.ordinal, gap.count("\n") - place.gap.count("\n"))
    _note_change(ctx, place.file)


def _move_lines(ctx: Context, file: str, ordinal: int, lines: int) -> None:
    """Move everything behind an ordinal."""
    sql = "UPDATE place SET at_line = at_line + ? WHERE workspace = ? AND file = ? AND ordinal > ?"
    if lines:
        ctx.tx.run(sql, lines, ctx.workspace, file, ordinal)


def write_file(ctx: Context, file: str, preamble: str, problems: Sequence[Problem], parts: Sequence[BlockText]) -> None:
    """Say what a file holds from now on. Only the rows that differ are written."""
    old = dict(in_file(ctx, file))
    set_preamble(ctx, file, preamble, problems)
    flawed = {row["id"] for row in ctx.tx.all(_FLAWED, ctx.workspace, file)}
    rows = _rows(ctx, file, 1, preamble.count("\n"), parts)
    _keep(ctx, [row for row in rows if row.id in flawed or row.problems or row.place != old.get(row.id)])
    gone = old.keys() - {part.id for part in parts}
    sql = "DELETE FROM place WHERE workspace = ? AND id = ? AND file = ?"
    ctx.tx.many(sql, [(ctx.workspace, id, file) for id in sorted(gone)])


_FLAWED = "SELECT id FROM place WHERE workspace = ? AND file = ? AND problems IS NOT NULL"


class _PlaceRow(NamedTuple):
    workspace: str
    id: str
    place: Where
    problems: str | None


def _rows(ctx: Context, file: str, ordinal: int, line: int, parts: Iterable[BlockText]) -> list[_PlaceRow]:
    """The places of blocks that follow each other, from an ordinal and a line on."""
    rows = []
    for number, part in enumerate(parts, ordinal):
        place = Where(file, number, line, part.text.count("\n"), part.gap)
        rows.append(_PlaceRow(ctx.workspace, part.id, place, _json(part.problems)))
        line = place.end_line
    return rows


def _json(problems: Sequence[Problem]) -> str | None:
    return orjson.dumps(problems).decode() if problems else None


def _keep(ctx: Context, rows: Sequence[_PlaceRow]) -> None:
    ctx.tx.many(_INSERT_PLACE, [(row.workspace, row.id, *row.place, row.problems) for row in rows])


_INSERT_PLACE = (
    f"INSERT INTO place (workspace, id, {_COLUMNS}, problems) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, id) DO UPDATE SET file = excluded.file, ordinal = excluded.ordinal,"
    " at_line = excluded.at_line, lines = excluded.lines, gap = excluded.gap, problems = excluded.problems"
)


def _note_change(ctx: Context, file: str) -> None:
    """Directories render the file again."""
    sql = "UPDATE block_file SET seq = ? WHERE workspace = ? AND path = ?"
    ctx.tx.run(sql, ctx.ws.seq, ctx.workspace, file)
