"""Where blocks stand in their files: order, byte, line; and the log of edits that brings a file up to date.

A place stores byte and line as they were when it was written. A change further up in the file adds a *shift*: every
place with a larger ordinal moves by it. So one change in a file of 50,000 blocks writes two rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from clew.memory.files.markdown import Problem
from clew.memory.files.shifts import Shifts, settle, shift, shifts
from clew.registry.context import Context
from clew.store.database import Row, placeholders

SPACING = 1 << 20
"""Distance of the ordinals of neighbours: twenty blocks in a row can be inserted at the same place before the file has
to be renumbered."""
KEPT_SPLICES = 200
"""A directory that is further behind is rendered whole."""
LONGEST_SPLICE = 1_000_000
WHOLE = -1
"""`removed` of a splice whose text is too long to keep: the file is rendered whole instead."""


@dataclass(frozen=True, slots=True)
class BlockText:
    """A block's text as it stands in a file, and what follows it up to the next block."""

    id: str
    text: str
    gap: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Where:
    file: str
    ordinal: int
    byte: int
    line: int
    bytes: int
    lines: int
    gap: str

    @property
    def end_byte(self) -> int:
        return self.byte + self.bytes + size(self.gap)

    @property
    def end_line(self) -> int:
        return self.line + self.lines + self.gap.count("\n")


def size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def where(ctx: Context, ids: list[str]) -> dict[str, Where]:
    """File and line of current blocks."""
    found: dict[str, Where] = {}
    moved: dict[str, Shifts] = {}
    for start in range(0, len(ids), 500):
        chunk = ids[start : start + 500]
        sql = f"SELECT * FROM place WHERE workspace = ? AND id IN ({placeholders(len(chunk))}) ORDER BY id"
        for row in ctx.tx.all(sql, ctx.workspace, *chunk):
            # Shifts are read once for each file: a search may ask for hundreds of blocks of the same one.
            if row["file"] not in moved:
                moved[row["file"]] = shifts(ctx, row["file"])
            found[row["id"]] = _where(row, moved[row["file"]])
    return found


def in_file(ctx: Context, file: str) -> list[tuple[str, Where]]:
    """Every block of a file, in order."""
    moved = shifts(ctx, file)
    sql = "SELECT * FROM place WHERE workspace = ? AND file = ? ORDER BY ordinal"
    return [(row["id"], _where(row, moved)) for row in ctx.tx.all(sql, ctx.workspace, file)]


def _where(row: Row, moved: Shifts) -> Where:
    bytes_moved, lines_moved = moved.before(row["ordinal"])
    byte, line = row["at_byte"] + bytes_moved, row["at_line"] + lines_moved
    return Where(row["file"], row["ordinal"], byte, line, row["bytes"], row["lines"], row["gap"])


def file_row(ctx: Context, file: str) -> Row:
    """The file's row; a file seen for the first time is empty."""
    sql = "SELECT * FROM block_file WHERE workspace = ? AND path = ?"
    found = ctx.tx.one(sql, ctx.workspace, file)
    if found is not None:
        return found
    insert = "INSERT INTO block_file (workspace, path, preamble, bytes, lines, seq) VALUES (?, ?, '', 0, 0, 0)"
    ctx.tx.run(insert, ctx.workspace, file)
    return {"path": file, "preamble": "", "problems": None, "bytes": 0, "lines": 0, "seq": 0}


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
    row = file_row(ctx, file)
    if row["bytes"] == 0 and preamble:
        set_preamble(ctx, file, preamble)
        row = file_row(ctx, file)
    last = ctx.tx.one(
        "SELECT * FROM place WHERE workspace = ? AND file = ? ORDER BY ordinal DESC LIMIT 1", ctx.workspace, file
    )
    before = last["gap"] if last else row["preamble"]
    joint = _joint(before, empty=row["bytes"] == 0)
    if joint:
        _set_gap(ctx, file, last, before + joint)
        parts = [*parts[:-1], _ended_like(parts[-1], before, joint)]
    low = last["ordinal"] if last else 0
    ordinals = range(low + SPACING, low + SPACING * (len(parts) + 1), SPACING)
    _lay_out(ctx, file, ordinals, row["bytes"] + size(joint), row["lines"] + joint.count("\n"), parts)
    _spliced(ctx, file, row["bytes"], 0, joint + _text(parts), 0)


def _ended_like(part: BlockText, before: str, joint: str) -> BlockText:
    """The last part with the end that the file had: a single line end, where the file had no empty line after it."""
    single = before.endswith("\n") and part.gap.endswith(joint * 2)
    return dataclasses.replace(part, gap=part.gap[: -len(joint)]) if single else part


def _text(parts: Iterable[BlockText]) -> str:
    return "".join(part.text + part.gap for part in parts)


def _joint(before: str, *, empty: bool) -> str:
    """What must stand between the end of a file and a new block: an empty line."""
    newline = "\r\n" if "\r\n" in before else "\n"
    if empty or before.endswith(newline * 2):
        return ""
    return newline if before.endswith("\n") else newline * 2


def _set_gap(ctx: Context, file: str, place: Row | None, gap: str) -> None:
    if place is None:
        ctx.tx.run("UPDATE block_file SET preamble = ? WHERE workspace = ? AND path = ?", gap, ctx.workspace, file)
    else:
        ctx.tx.run("UPDATE place SET gap = ? WHERE workspace = ? AND id = ?", gap, ctx.workspace, place["id"])


def set_preamble(ctx: Context, file: str, preamble: str) -> None:
    """Begin an empty file."""
    ctx.ws.next_seq()
    file_row(ctx, file)
    ctx.tx.run("UPDATE block_file SET preamble = ? WHERE workspace = ? AND path = ?", preamble, ctx.workspace, file)
    _spliced(ctx, file, 0, 0, preamble, 0)


def insert_after(ctx: Context, target: str, standing: BlockText) -> None:
    """Put a block behind another one of the same file."""
    place = where(ctx, [target])[target]
    following = ctx.tx.value(
        "SELECT min(ordinal) FROM place WHERE workspace = ? AND file = ? AND ordinal > ?",
        ctx.workspace,
        place.file,
        place.ordinal,
    )
    if following is None:
        append(ctx, place.file, [standing])
        return
    joint = _joint(place.gap, empty=False)
    if joint:
        _set_gap(ctx, place.file, {"id": target}, place.gap + joint)
    region = Region(place.file, place.ordinal, following, place.end_byte, place.end_line, 0, 0)
    replace(ctx, region, [standing], joint)


def rewrite(ctx: Context, id: str, text: str) -> None:
    """Change a block's text where it stands."""
    place = where(ctx, [id])[id]
    bytes_grown, lines_grown = size(text) - place.bytes, text.count("\n") - place.lines
    ctx.tx.run(
        "UPDATE place SET bytes = ?, lines = ? WHERE workspace = ? AND id = ?",
        size(text),
        text.count("\n"),
        ctx.workspace,
        id,
    )
    shift(ctx, place.file, place.ordinal, bytes_grown, lines_grown)
    _spliced(ctx, place.file, place.byte, place.bytes, text, place.lines)


def remove(ctx: Context, id: str) -> None:
    """Take a block out of its file. Prose that followed it stays."""
    place = where(ctx, [id])[id]
    kept = "" if _is_bare(place.gap) else place.gap
    previous = ctx.tx.one(
        "SELECT * FROM place WHERE workspace = ? AND file = ? AND ordinal < ? ORDER BY ordinal DESC LIMIT 1",
        ctx.workspace,
        place.file,
        place.ordinal,
    )
    before = previous["gap"] if previous else file_row(ctx, place.file)["preamble"]
    joint = "" if kept else _left_joint(ctx, place, before)
    if kept or joint:
        _set_gap(ctx, place.file, previous, before + kept if kept else before[: -len(joint)])
    ctx.tx.run("DELETE FROM place WHERE workspace = ? AND id = ?", ctx.workspace, id)
    lost_bytes = place.bytes + (0 if kept else size(place.gap))
    lost_lines = place.lines + (0 if kept else place.gap.count("\n"))
    shift(ctx, place.file, place.ordinal, -lost_bytes, -lost_lines)
    at, lines = place.byte - size(joint), joint.count("\n")
    _spliced(ctx, place.file, at, lost_bytes + size(joint), "", lost_lines + lines)


def _is_bare(gap: str) -> bool:
    """Blank lines and rules belong to the block before them; anything else was written by a person, and stays."""
    return gap.strip("- \t\r\n") == ""


def put_rules_back(ctx: Context, id: str, gap: str) -> None:
    """The blank lines and rules behind a block as they were; what a person wrote there is not touched."""
    place = where(ctx, [id])[id]
    gap = ended_like(place.gap, gap)
    # It may have been the last of its file then; what was put behind it since must not stand on its last line.
    gap += _joint(gap, empty=not _has_later(ctx, place))
    if gap == place.gap or not (_is_bare(gap) and _is_bare(place.gap)):
        return
    ctx.ws.next_seq()
    _set_gap(ctx, place.file, {"id": id}, gap)
    shift(ctx, place.file, place.ordinal, size(gap) - size(place.gap), gap.count("\n") - place.gap.count("\n"))
    _spliced(ctx, place.file, place.byte + place.bytes, size(place.gap), gap, place.gap.count("\n"))


def _left_joint(ctx: Context, place: Where, before: str) -> str:
    """The empty line that `append` put before the last block of a file which ends without one; it goes with it."""
    newline = "\r\n" if "\r\n" in before else "\n"
    single = place.gap.endswith(newline) and not place.gap.endswith(newline * 2)
    if not single or not before.endswith(newline * 2):
        return ""
    return "" if _has_later(ctx, place) else newline


def _has_later(ctx: Context, place: Where) -> bool:
    sql = "SELECT 1 FROM place WHERE workspace = ? AND file = ? AND ordinal > ? LIMIT 1"
    return ctx.tx.value(sql, ctx.workspace, place.file, place.ordinal) is not None


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of a file between two places (exclusive ordinals), with its byte and line."""

    file: str
    low: int
    high: int | None
    byte: int
    line: int
    bytes: int
    lines: int


def replace(ctx: Context, region: Region, parts: list[BlockText], before: str = "") -> None:
    """Put other blocks in the place of a region; `before` is text that belongs to what stands above it."""
    high = region.high if region.high is not None else region.low + SPACING * (len(parts) + 1)
    # No whole numbers are left between the neighbours: renumbering makes room.
    if high - region.low <= len(parts):
        renumber(ctx, region.file)
        replace(ctx, _renumbered(ctx, region), parts, before)
        return
    _clear(ctx, region)
    step = high - region.low
    # Evenly between the neighbours, so that the next insert at either side finds room as well.
    ordinals = [region.low + step * number // (len(parts) + 1) for number in range(1, len(parts) + 1)]
    _lay_out(ctx, region.file, ordinals, region.byte + size(before), region.line + before.count("\n"), parts)
    text = before + _text(parts)
    if region.high is not None:
        # Only what stands behind the region moves; its own places were written with their final bytes.
        last = ordinals[-1] if ordinals else region.low
        shift(ctx, region.file, last, size(text) - region.bytes, text.count("\n") - region.lines)
    _spliced(ctx, region.file, region.byte, region.bytes, text, region.lines)


def _lay_out(
    ctx: Context, file: str, ordinals: Sequence[int], byte: int, line: int, parts: Sequence[BlockText]
) -> None:
    """Write the places of blocks that follow each other from a byte and a line on."""
    moved, rows = shifts(ctx, file), []
    for ordinal, part in zip(ordinals, parts, strict=True):
        rows.append(_place_row(ctx, file, ordinal, byte, line, part, moved))
        byte += size(part.text) + size(part.gap)
        line += part.text.count("\n") + part.gap.count("\n")
    ctx.tx.many(_INSERT_PLACE, rows)


def _clear(ctx: Context, region: Region) -> None:
    sql = "DELETE FROM place WHERE workspace = ? AND file = ? AND ordinal > ?"
    if region.high is None:
        ctx.tx.run(sql, ctx.workspace, region.file, region.low)
    else:
        ctx.tx.run(f"{sql} AND ordinal < ?", ctx.workspace, region.file, region.low, region.high)


_INSERT_PLACE = (
    "INSERT INTO place (workspace, id, file, ordinal, at_byte, at_line, bytes, lines, gap, problems)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, id) DO UPDATE SET file = excluded.file, ordinal = excluded.ordinal,"
    " at_byte = excluded.at_byte, at_line = excluded.at_line, bytes = excluded.bytes, lines = excluded.lines,"
    " gap = excluded.gap, problems = excluded.problems"
)


def _place_row(
    ctx: Context, file: str, ordinal: int, byte: int, line: int, part: BlockText, moved: Shifts
) -> tuple[object, ...]:
    bytes_moved, lines_moved = moved.before(ordinal)
    problems = orjson.dumps(part.problems).decode() if part.problems else None
    return (
        ctx.workspace,
        part.id,
        file,
        ordinal,
        # Stored as if no shift had happened, because every reader adds the shifts before it: the two must cancel.
        byte - bytes_moved,
        line - lines_moved,
        size(part.text),
        part.text.count("\n"),
        part.gap,
        problems,
    )


def renumber(ctx: Context, file: str) -> None:
    """Space the ordinals of a file evenly again."""
    settle(ctx, file)
    sql = "SELECT id FROM place WHERE workspace = ? AND file = ? ORDER BY ordinal"
    rows = ctx.tx.all(sql, ctx.workspace, file)
    ctx.tx.many(
        "UPDATE place SET ordinal = ? WHERE workspace = ? AND id = ?",
        [(number * SPACING, ctx.workspace, row["id"]) for number, row in enumerate(rows, 1)],
    )


def _renumbered(ctx: Context, region: Region) -> Region:
    """The same region after renumbering, found by its bytes."""
    low, high = 0, None
    for _, place in in_file(ctx, region.file):
        if place.byte < region.byte:
            low = place.ordinal
        elif place.byte >= region.byte + region.bytes:
            high = place.ordinal
            break
    return Region(region.file, low, high, region.byte, region.line, region.bytes, region.lines)


def measure(ctx: Context, file: str) -> None:
    """Note byte, line and length anew from the texts themselves; directories render the file whole."""
    ctx.tx.run("DELETE FROM shift WHERE workspace = ? AND file = ?", ctx.workspace, file)
    preamble = file_row(ctx, file)["preamble"]
    byte, line, rows = size(preamble), preamble.count("\n"), []
    sql = (
        "SELECT place.id, place.gap, block.text FROM place CROSS JOIN block"
        " WHERE place.workspace = ? AND place.file = ?"
        " AND block.workspace = place.workspace AND block.id = place.id AND block.until IS NULL AND block.gone = 0"
        " ORDER BY place.ordinal"
    )
    for row in ctx.tx.all(sql, ctx.workspace, file):
        rows.append((byte, line, size(row["text"]), row["text"].count("\n"), ctx.workspace, row["id"]))
        byte += size(row["text"]) + size(row["gap"])
        line += row["text"].count("\n") + row["gap"].count("\n")
    ctx.tx.many("UPDATE place SET at_byte = ?, at_line = ?, bytes = ?, lines = ? WHERE workspace = ? AND id = ?", rows)
    ctx.ws.next_seq()
    # Places that had to be measured anew cannot be trusted to describe an edit, so nobody catches up by splices.
    _spliced(ctx, file, 0, WHOLE, "", 0)
    ctx.tx.run(
        "UPDATE block_file SET bytes = ?, lines = ? WHERE workspace = ? AND path = ?", byte, line, ctx.workspace, file
    )


def _spliced(ctx: Context, file: str, byte: int, removed: int, text: str, removed_lines: int) -> None:
    """Record an edit of the file: its new length, and the splice, from which a directory that is behind catches up."""
    seq = ctx.ws.seq
    kept = text if len(text) <= LONGEST_SPLICE else ""
    ctx.tx.run(
        "UPDATE block_file SET bytes = bytes + ?, lines = lines + ?, seq = ? WHERE workspace = ? AND path = ?",
        size(text) - removed,
        text.count("\n") - removed_lines,
        seq,
        ctx.workspace,
        file,
    )
    number = 1 + (
        ctx.tx.value("SELECT max(number) FROM splice WHERE workspace = ? AND file = ?", ctx.workspace, file) or 0
    )
    ctx.tx.run(
        "INSERT INTO splice (workspace, file, number, seq, at_byte, removed, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ctx.workspace,
        file,
        number,
        seq,
        byte,
        # A text that is not kept cannot be replayed; whoever meets this splice renders the file whole.
        removed if kept == text else WHOLE,
        kept,
    )
    ctx.tx.run(
        "DELETE FROM splice WHERE workspace = ? AND file = ? AND number <= ?",
        ctx.workspace,
        file,
        number - KEPT_SPLICES,
    )
