"""transcripts_open: the messages around one position of a transcript, with bounded reads however large the file is."""

from __future__ import annotations

from typing import Annotated, BinaryIO

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import TRANSCRIPT, confined
from clew.reasoning.scope import StepFocus, resolve_scope, resolve_step
from clew.reasoning.transcripts.files import (
    HEAD_BYTES,
    LONGEST_LINE,
    Allowance,
    Line,
    default_prefix,
    lines,
    open_file,
    root_directory,
    session_info,
    spoken_in,
)
from clew.reasoning.transcripts.transcript_search import RootDir, texts_budget, transcript_id
from clew.registry.budget import Trim
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Bounded, StrictModel, Title, operation
from clew.registry.record import Opened, opener

COUNTED = 256 << 20
"""How many bytes are read to find a line by its number."""
AROUND = 16 << 20
"""How many bytes are read before and after the position."""
BLOCK = 1 << 20

OPEN_BUDGET = texts_budget(
    "entries[].text", (4000, 600, 120), ("ref", "root_dir"), Trim("entries", key="byte", around="ref.byte")
)


class TranscriptRef(StrictModel):
    path: Annotated[Title, Field(min_length=1, description="File below root_dir.")]
    line: Annotated[int | None, Field(ge=1, le=MAX_NUMBER, description="Number of the line, from 1.")] = None
    byte: Annotated[int | None, Field(ge=0, le=MAX_NUMBER, description="Where the line starts; quick in any file.")] = (
        None
    )


class TranscriptsOpen(Bounded):
    ref: Annotated[TranscriptRef, Field(description="{path, line} or {path, byte} as search and digest show it.")]
    root_dir: RootDir = None
    before_lines: Annotated[int, Field(ge=0, le=200, description="Lines to show before it.")] = 8
    after_lines: Annotated[int, Field(ge=0, le=200, description="Lines to show after it.")] = 8


EXAMPLE = {"ref": {"path": "2026/11/15/rollout-1.jsonl", "line": 1}}


@operation("transcripts_open", mode="own", budget=OPEN_BUDGET, example=EXAMPLE)
def transcripts_open(ctx: Context, args: TranscriptsOpen) -> Json:
    """Show the messages around one place of a recorded session."""
    if (args.ref.line is None) == (args.ref.byte is None):
        raise invalid("ref", "give exactly one of line and byte", kind="choose_one", fields=["line", "byte"])
    found = _read(ctx, args)
    _suggest_note(ctx, args, found)
    return {"workspace": ctx.workspace, **found}


def _read(ctx: Context, args: TranscriptsOpen) -> Json:
    root = root_directory(args.root_dir, anywhere=ctx.connection.local)
    path = confined(root, args.ref.path, "ref.path")
    info = session_info(path, Allowance(HEAD_BYTES))
    if not ctx.connection.local and not info.belongs_to(default_prefix()):
        message = f"ref.path: {shorten(args.ref.path, 120)} is not a session of this project"
        recovery = "Copy ref from a search or a digest."
        ways = [suggest("transcripts_digest", "Shows the sessions of this project.")]
        raise ClewError("NOT_FOUND", message, recovery, suggestions=ways)
    with open_file(path) as file:
        start, number = _place(ctx, file, args.ref)
        window = _window(file, start, number, args.before_lines, args.after_lines)
    return {
        "root_dir": str(root),
        "ref": {"path": path.relative_to(root).as_posix(), "line": number, "byte": start},
        "session": {**info.to_json(), "cwd": info.cwd},
        "project": info.project(),
        "entries": [entry for line in window if (entry := _entry(line, number is not None)) is not None],
    }


@opener("transcript")
def open_transcript(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    """The messages at one position of a recorded session; None if it does not exist or this caller may not read it."""
    match = TRANSCRIPT.fullmatch(id)
    assert match is not None, f"{id} has another form"
    ref = TranscriptRef(path=match.group(1), byte=int(match.group(2)))
    try:
        found = _read(ctx, TranscriptsOpen(ref=ref, before_lines=0, after_lines=min(limit, 200) - 1))
    except ClewError:
        return None
    spoken = found["entries"][0]["text"] if found["entries"] else found["ref"]["path"]
    return {"kind": "transcript", "id": id, "summary": shorten(" ".join(spoken.split()), 140), "transcript": found}


def _place(ctx: Context, file: BinaryIO, ref: TranscriptRef) -> tuple[int, int | None]:
    """The byte where the wanted line starts, and its number if that is known."""
    if ref.line is not None:
        return _byte_of_line(file, ref.line), ref.line
    byte = ref.byte or 0
    size = file.seek(0, 2)
    if byte >= max(size, 1):
        raise invalid("ref.byte", f"the file has {size} bytes", "Copy ref from a search or a digest.", kind="range")
    # A byte inside of a line is accepted with a warning: a file may have been rewritten since the search.
    start = _line_start(file, byte)
    if start != byte:
        message = f"byte {byte} lies inside the line that starts at {start}"
        ctx.warn("TRANSCRIPTS_REF_NOT_EXACT", message, f"Use byte {start}.")
    return start, 1 if start == 0 else None


def _byte_of_line(file: BinaryIO, wanted: int) -> int:
    """The byte where a line starts, found by counting line ends in blocks, which is faster than reading lines."""
    number, byte = 1, 0
    while number < wanted:
        block = file.read(BLOCK)
        if not block:
            raise invalid("ref.line", f"the file has fewer than {wanted} lines", "Use a smaller line.", kind="range")
        ends = block.count(b"\n")
        if number + ends < wanted:
            number, byte = number + ends, byte + len(block)
        else:
            place = -1
            for _ in range(wanted - number):
                place = block.index(b"\n", place + 1)
            return byte + place + 1
        if byte > COUNTED:
            message = f"ref.line: line {wanted} lies beyond the first {COUNTED >> 20} MB"
            recovery = "Use ref.byte, which search and digest show."
            hints = [{"kind": "range", "field": "ref.line"}]
            raise ClewError("INVALID_INPUT", message, recovery, hints)
    return byte


def _line_start(file: BinaryIO, byte: int) -> int:
    # A start further back would belong to a line that `lines` skips anyway.
    low = max(0, byte - LONGEST_LINE)
    file.seek(low)
    place = file.read(byte - low).rfind(b"\n")
    return low + place + 1 if place >= 0 else low


def _window(file: BinaryIO, start: int, number: int | None, before: int, after: int) -> list[Line]:
    first = _back(file, start, before)
    file.seek(first)
    head = list(lines(file, Allowance(start - first), 1))
    shown = [Line(0 if number is None else number - len(head) + i, line.byte, line.raw) for i, line in enumerate(head)]
    file.seek(start)
    rest = Allowance(AROUND)
    for line in lines(file, rest, number or 0):
        shown.append(Line(line.number if number is not None else 0, line.byte, line.raw))
        if len(shown) - len(head) > after:
            break
    return shown


def _back(file: BinaryIO, start: int, count: int) -> int:
    """The start of the line `count` lines before `start`; fewer if the bytes read back do not reach that far."""
    low = max(0, start - AROUND)
    file.seek(low)
    block = file.read(start - low)
    place = len(block)
    for _ in range(count):
        earlier = block.rfind(b"\n", 0, max(place - 1, 0)) + 1
        if place == 0 or (earlier == 0 and low > 0):
            break  # the file's beginning, or a line that began before the block
        place = earlier
    return low + place


def _entry(line: Line, numbered: bool) -> Json | None:
    spoken = spoken_in(line)
    if spoken is None:
        return None
    number = line.number if numbered else None
    return {"byte": line.byte, "line": number, **picked(spoken, "role", "ts", "text")}


QUOTED, LONGEST_QUOTE, SHORTEST_QUOTE = 4_000, 400, 100
"""Maximum characters that a suggested note quotes in total, and of one message."""


def _suggest_note(ctx: Context, args: TranscriptsOpen, found: Json) -> None:
    """Suggest a note that quotes these messages, with their position and the step that is in focus."""
    ref, entries = found["ref"], found["entries"]
    if not entries:
        return
    place = f"{ref['path']}#L{ref['line']}" if ref["line"] is not None else transcript_id(ref["path"], ref["byte"])
    with ctx.reading() as bound:
        step = _step_in_focus(bound)
    meta = {"source": "transcripts_open", "ref": ref, **({"step": step.to_json()} if step is not None else {})}
    content = f"ref: {place}\n{_quoted(entries, ref['byte'], args.max_chars or 2 * QUOTED)}"
    note = {"content": content, "title": "From a transcript", "meta": meta}
    ctx.suggest(suggest("macro_branch_note", "Keeps this in memory.", "low", **note))


def _quoted(entries: list[Json], byte: int, limit: int) -> str:
    """The messages around the position: at most half of the caller's budget, because they appear in it twice."""
    room = min(limit // 2, QUOTED)
    count = min(len(entries), max(room // LONGEST_QUOTE, 1))
    here = next((number for number, entry in enumerate(entries) if entry["byte"] >= byte), len(entries) - 1)
    first = min(max(here - count // 2, 0), len(entries) - count)
    most = max(min(room, LONGEST_QUOTE), SHORTEST_QUOTE)
    return "\n".join(f"{entry['role']}: {shorten(entry['text'], most)}" for entry in entries[first : first + count])


def _step_in_focus(ctx: Context) -> StepFocus | None:
    """The current step of the work in focus, if there is one."""
    if ctx.ws.focus is None:
        return None
    try:
        return resolve_step(ctx, resolve_scope(ctx, ctx.ws.focus), "focus")
    except ClewError:
        return None
