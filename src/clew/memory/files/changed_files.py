"""What people saved since the files were last rendered: the files that changed, and those that cannot be read.

A power failure may leave NULs in a file that was not flushed. Such a file is repaired: the readable
part counts as a hand edit, the rest is taken from the store, and the damaged file is kept below
`.clew/unread/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from clew.errors import ClewError
from clew.memory.files import hand_edits, plain_files
from clew.memory.files.directory import Directory
from clew.memory.files.file_merge import NUL, without_damage
from clew.memory.files.file_state import UNKNOWN, FolderState, Known, Stamp, known
from clew.memory.files.markdown import ParsedFile, parse_file
from clew.memory.files.repository import TRACKED
from clew.registry.context import Context
from clew.secrets import redact_text

LONGEST_BLOCK = 12_000_000
"""Maximum characters of a block in a file. Every version is stored, and every change reads the whole block."""
HAS_NUL = "it holds a NUL character"
_MERGE = (
    re.compile(r"^<{7}(?: .*)?\r?$", re.MULTILINE),
    re.compile(r"^={7}\r?$", re.MULTILINE),
    re.compile(r"^>{7}(?: .*)?\r?$", re.MULTILINE),
)
"""Git's conflict markers, in this order."""


@dataclass(frozen=True)
class EditedFile:
    """A file that differs from its rendering; `base` is its text before the edit, if that is known."""

    path: str
    text: str
    base: Known | None
    masked: bool = False
    """The file contains a secret and `text` does not: the file is written again without it."""
    late: bool = False
    """Not the current content of the file: a save that a rendering took out, or the rest of a damaged or lost file."""
    replaced: bool = False
    """The file is in another folder than the store wrote into: its content counts, whatever the store had there."""
    checked_out: bool = False
    """Git has written files since the last look: what is missing here was not left out by an old copy."""

    @cached_property
    def parsed(self) -> ParsedFile:
        return parse_file(self.text)


@dataclass(frozen=True)
class Unread:
    """A file that is ignored, because it cannot be read as text or is not a regular file."""

    path: str
    line: int | None
    problem: str


def look(ctx: Context, directory: Directory, state: FolderState) -> tuple[list[EditedFile], list[Unread]]:
    """The hand edits, and the files that cannot be read as text."""
    found: list[EditedFile] = []
    unread: list[Unread] = []
    noted, state.unread = state.unread, {}
    for path in [*directory.block_files(), *directory.plain_files()]:
        stamp, entry = directory.stamp(path), state.files.get(path)
        if stamp is None or (entry is not None and entry.trusts(stamp)):
            continue
        text = _text(directory, path, stamp, noted)
        if isinstance(text, Unread):
            if text.problem == HAS_NUL and _repair(ctx, directory, state, path, found):
                continue
            unread.append(text)
            state.unread[path] = (stamp, text.line, text.problem)
        elif not text:
            state.files.pop(path, None)  # an emptied file is an accident, not an edit: it is rendered again
        elif entry is not None and entry.holds(text.encode()):
            state.files[path] = known(stamp, entry.seq, text.encode())
        else:
            public = redact_text(text)
            # Only files of blocks are rewritten: a setting without its secret would not work any more.
            masked = public != text and path.endswith(".md")
            found.append(EditedFile(path, public, entry, masked))
            state.files[path] = known(stamp, UNKNOWN, text.encode())
    return found, unread + ill_named(directory)


def removed_by_git(directory: Directory, state: FolderState) -> list[EditedFile]:
    """Files that this checkout does not have."""
    return [
        EditedFile(path, "", entry)
        for path, entry in state.files.items()
        if path.partition("/")[0] in TRACKED and path.endswith(".md") and directory.stamp(path) is None
    ]


def ill_named(directory: Directory) -> list[Unread]:
    """Names that the directory skipped when it was listed."""
    return [Unread(path, None, problem) for path, problem in directory.ill_named.items()]


def _repair(ctx: Context, directory: Directory, state: FolderState, path: str, found: list[EditedFile]) -> bool:
    """Have a damaged file rendered again. False if the store does not have it."""
    data, entry = directory.read(path) or b"", state.files.get(path)
    with ctx.reading() as bound:
        if path.endswith(".md"):
            known_file = hand_edits.stored_file(bound, path)
            stored = known_file.join()
            text = without_damage(bound, path, entry, known_file, data.decode()).join()
        else:
            stored = text = plain_files.stored(bound, path)
    if not stored:
        return False
    if text != stored:
        found.append(EditedFile(path, redact_text(text), Known((0, 0, 0), 0, text=stored), late=True))
    place = directory.late.set_aside_copy(path, data)
    # The current content is recorded, so the rendering that replaces it does not treat it as a save.
    state.files[path] = known(directory.stamp(path) or (0, 0, 0), UNKNOWN, data)
    said = f"{path} held NULs, as a power cut leaves them, and was repaired; what it held is kept in {place}"
    warn_once(ctx, "FILE_REPAIRED", said, f"Compare the two, and remove {place.name} when nothing is missing.")
    return True


def _text(
    directory: Directory, path: str, stamp: Stamp, noted: dict[str, tuple[Stamp, int | None, str]]
) -> str | Unread:
    """The text of a file, or why it is ignored; the reason is cached for a file that did not change."""
    odd = directory.oddity(path)
    if odd:
        return Unread(path, None, odd)
    # Only a fault in the text itself is cached: any other can end without a new stamp.
    if path in noted and noted[path][0] == stamp and noted[path][1] is not None:
        return Unread(path, *noted[path][1:])
    try:
        return decoded(path, directory.read(path) or b"")
    except ClewError as problem:
        return Unread(path, None, problem.message)


def decoded(path: str, data: bytes) -> str | Unread:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = f"byte {problem.start + 1} ({data[problem.start]:#04x}) is not UTF-8"
        return Unread(path, data.count(b"\n", 0, problem.start) + 1, byte)
    if NUL in text:
        return Unread(path, text.count("\n", 0, text.index(NUL)) + 1, HAS_NUL)
    marked = _merge_line(text)
    if marked is not None:
        return Unread(path, marked, "it holds the conflict markers of a merge, which somebody has to resolve")
    long = _long_block(text) if len(text) > LONGEST_BLOCK and path.endswith(".md") else None
    return Unread(path, *long) if long else text


def _merge_line(text: str) -> int | None:
    """The line of the first conflict marker, if the text has all three in their order."""
    first, at = None, 0
    for pattern in _MERGE:
        found = pattern.search(text, at) if first is not None or "<<<<<<<" in text else None
        if found is None:
            return None
        first, at = first or found, found.end()
    return text.count("\n", 0, first.start()) + 1 if first else None


def _long_block(text: str) -> tuple[int, str] | None:
    """The line of a block that is too long, and the warning about it."""
    line = text.count("\n", 0, len(parse_file(text).preamble)) + 1
    for part in parse_file(text).parts:
        if len(part.text) > LONGEST_BLOCK:
            return line, f"{part.id} has {len(part.text):,} characters, and a block has at most {LONGEST_BLOCK:,}"
        line += part.text.count("\n") + part.gap.count("\n")
    return None


def warn_once(ctx: Context, code: str, message: str, recovery: str) -> None:
    """Avoids duplicate warnings: a call may look at the files more than once."""
    if all(known["message"] != message for known in ctx.remarks.warnings):
        ctx.warn(code, message, recovery)
