"""Code that blocks cite: `code:<path>#L1-L9@sha256:<digest>`, and what stands there now.

The digest is of the lines as they are in the file, with or without the last line end, so that
`sed -n 1,9p FILE | sha256sum` makes one. Carriage returns make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.ids import confined
from clew.memory.kinds import kind_of
from clew.memory.screening import screened
from clew.registry.context import Context

MOST_CITES = 2_000
MOST_BYTES = 5_000_000
MOST_KEPT = 20_000
MOST_WINDOWS = 20_000
DIFF_CHARS = 4_000

_CITE = re.compile(r"\bcode:([^\s#]{1,400})#L(\d{1,7})(?:-L?(\d{1,7}))?@sha256:([0-9a-fA-F]{8,64})\b")


@dataclass(frozen=True, order=True)
class Cite:
    path: str
    first: int
    last: int
    digest: str

    @property
    def place(self) -> str:
        return f"{self.path}#L{self.first}-L{self.last}"

    def __str__(self) -> str:
        return f"code:{self.place}@sha256:{self.digest}"


@dataclass(frozen=True)
class Seen:
    """What stands under a citation. `problem` says why it cannot be read; `moved` where the cited lines are now."""

    matches: bool
    text: str = ""
    problem: str = ""
    moved: int | None = None


def cites_in(text: str) -> list[Cite]:
    found = [
        Cite(path, int(first), int(last or first), digest.lower()) for path, first, last, digest in _CITE.findall(text)
    ]
    return list(dict.fromkeys(found))


def cited(ctx: Context) -> dict[str, list[Cite]]:
    """The citations of blocks that hold, by block."""
    sql = (
        "SELECT id, status, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
        " AND prefix IN ('D', 'T', 'PRJ', 'PER', 'TOOL', 'INC') AND text LIKE '%code:%@sha256:%' ORDER BY id"
    )
    rows = [row for row in ctx.tx.all(sql, ctx.workspace) if _holds(row["id"], row["status"])]
    return {row["id"]: cites_in(row["text"]) for row in rows}


def _holds(id: str, status: str | None) -> bool:
    kind = kind_of(id)
    return not status or not kind.statuses or status in kind.live


def look(ctx: Context) -> dict[Cite, Seen] | None:
    """Read what is cited, outside of any transaction. None: this server does not stand in the workspace's project."""
    if ctx.workspace != ctx.settings.workspace:
        return None
    with ctx.reading() as bound:
        wanted = sorted({cite for cites in cited(bound).values() for cite in cites})[:MOST_CITES]
    files: dict[str, bytes | str] = {}
    for cite in wanted:
        if cite.path not in files:
            files[cite.path] = _read(ctx.settings.project_root, cite.path)
    return {cite: _seen(cite, files[cite.path]) for cite in wanted}


def _read(root: Path, path: str) -> bytes | str:
    """The file's bytes, or why there are none."""
    try:
        file = confined(root, path)
        if not file.is_file():
            return "the file is gone"
        if file.stat().st_size > MOST_BYTES:
            return f"the file is longer than {MOST_BYTES:,} bytes"
        return file.read_bytes()
    except ClewError:
        return "the path lies outside of the project"
    except OSError as problem:
        return f"the file cannot be read: {problem.strerror}"


def _seen(cite: Cite, data: bytes | str) -> Seen:
    if isinstance(data, str):
        return Seen(False, problem=data)
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    size = cite.last - cite.first + 1
    if cite.first < 1 or size < 1:
        return Seen(False, problem="the lines are not given as first to last, from 1")
    there = lines[cite.first - 1 : cite.last]
    text = b"\n".join(there).decode("utf-8", "replace").replace("\x00", "�")
    if _is(there, cite.digest):
        return Seen(True, text)
    return Seen(False, text, moved=_moved(lines, size, cite.digest))


def _is(lines: list[bytes], digest: str) -> bool:
    whole = b"\n".join(lines)
    return any(sha256_hex(form).startswith(digest) for form in (whole + b"\n", whole))


def _moved(lines: list[bytes], size: int, digest: str) -> int | None:
    """The line at which the cited text stands unchanged, when it only moved."""
    starts = range(min(len(lines) - size + 1, MOST_WINDOWS))
    return next((start + 1 for start in starts if _is(lines[start : start + size], digest)), None)


def keep(ctx: Context, seen: Iterable[tuple[Cite, Seen]]) -> None:
    """Remember cited lines that match. Secrets in them are masked, like everywhere."""
    known = {tuple(row.values()) for row in ctx.tx.all(_KNOWN, ctx.workspace)}
    for cite, found in seen:
        key = (cite.path, cite.first, cite.last, cite.digest)
        if found.matches and key not in known and len(found.text) <= MOST_KEPT:
            ctx.tx.run(_KEEP, ctx.workspace, *key, screened(found.text)[0], ctx.now_ms)


def diff(ctx: Context, cite: Cite, now: str) -> str | None:
    """What changed since the lines were cited; None when they were never seen as cited."""
    before = ctx.tx.value(_KEPT, ctx.workspace, cite.path, cite.first, cite.last, cite.digest)
    if before is None:
        return None
    after = screened(now)[0]
    lines = unified_diff(before.split("\n"), after.split("\n"), f"cited/{cite.path}", f"now/{cite.path}", lineterm="")
    text = "\n".join(line.rstrip() for line in lines)
    return text if len(text) <= DIFF_CHARS else text[:DIFF_CHARS] + "\n… (cut)"


_KNOWN = "SELECT path, first_line, last_line, digest FROM cited_code WHERE workspace = ?"
_KEPT = (
    "SELECT text FROM cited_code WHERE workspace = ? AND path = ? AND first_line = ? AND last_line = ? AND digest = ?"
)
_KEEP = (
    "INSERT INTO cited_code (workspace, path, first_line, last_line, digest, text, seen_at_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, path, first_line, last_line, digest) DO NOTHING"
)
