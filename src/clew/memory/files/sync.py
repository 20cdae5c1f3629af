"""Files and store, brought to agree: hand edits in, governed writes out.

`sync` comes before every read of memory, `publish` after every write. Both hold the directory's lock and do the same:
read back what people changed since the last rendering, then render what the store has that the files have not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from clew.errors import ClewError
from clew.fast_imports import without_collection
from clew.memory.blocks import Block
from clew.memory.files import folder_mark, hand_edits, places, plain_files, snapshots
from clew.memory.files.directory import (
    CONFIGURATION,
    DERIVED,
    Content,
    Directory,
    FilesProblem,
    Stamp,
    State,
    directory_of,
    known,
)
from clew.memory.files.file_merge import merged
from clew.memory.files.file_text import is_tracked, last_splice, output_of, write_output
from clew.memory.files.markdown import HEADER, ParsedFile, parse_file
from clew.memory.files.places import WHOLE, size
from clew.memory.files.swap import LateSave
from clew.memory.governance import proposals
from clew.registry.context import Context
from clew.registry.record import refresh
from clew.store.database import Row

LONGEST_BLOCK = 12_000_000
"""Characters of one block that is read in from a file. Every version of it is kept, and every change reads it whole."""
ROUNDS = 4
"""A person who saves into every rendering is answered by the next call."""


@dataclass(frozen=True)
class EditedFile:
    """A file that is not as it was rendered; `base` is the text it was edited from, when that is known."""

    path: str
    text: str
    base: str | None
    number: int
    late: bool = False
    """Not what the file holds now: a save that a rendering took out, or what is left of a file that is gone."""
    replaced: bool = False
    """Stands in another folder than the store wrote into: what it holds counts, whatever the store had there."""


@dataclass(frozen=True)
class Unread:
    """A file that is left alone, because it cannot be read as text or is none."""

    path: str
    line: int | None
    problem: str


def sync(ctx: Context) -> list[Unread]:
    """Read back hand edits. Costs a few stats when there are none. Returns the files that were left alone.

    Files that cannot be read or written are a warning: the store has everything that was read back so far.
    """
    directory = directory_of(ctx)
    try:
        if directory is not None and directory.root.is_dir() and _stirred(ctx, directory):
            return _agree(ctx, directory)
    except FilesProblem as problem:
        said = f"The files were not looked at, what is stored is shown: {problem.message}"
        _warn_once(ctx, "FILES_BEHIND", said, problem.recovery or "Mend the directory.")
    return []


@refresh("block")
def read_back(ctx: Context) -> None:
    """Read hand edits in before a block is opened."""
    sync(ctx)


@contextmanager
def undisturbed(ctx: Context) -> Iterator[None]:
    """Hand edits in, then what is done inside, then files out.

    Where several stores share the directory, nobody else may work on it meanwhile: two of them would give the same id
    to two blocks, and one block would be lost.
    """
    sync(ctx)
    directory = directory_of(ctx)
    if directory is None or not directory.state().shared:
        yield
        publish(ctx)
        return
    with directory.locked():
        sync(ctx)
        yield
        publish(ctx)


def publish(ctx: Context) -> None:
    """Render what was committed. A directory that cannot be written does not undo the commit: the caller is warned."""
    directory = directory_of(ctx)
    if directory is None:
        return
    try:
        _agree(ctx, directory)
    except FilesProblem as problem:
        _warn_behind(ctx, problem)


def _warn_behind(ctx: Context, problem: FilesProblem) -> None:
    said = f"The change is stored, its file is not: {problem.message}"
    _warn_once(ctx, "FILES_BEHIND", said, problem.recovery or "Mend the directory.")


def _stirred(ctx: Context, directory: Directory) -> bool:
    """Whether a file changed since it was rendered, or the store since then."""
    state = directory.state()
    for path in [*directory.block_files(), *directory.plain_files()]:
        stamp, entry = directory.stamp(path), state.files.get(path)
        # A stamp is trusted only when it is older than the rendering by more than the clock's grain: a save within the
        # same tick would not change it.
        if stamp is None or entry is None or not entry.trusts(stamp):
            return True
    if directory.late.stirred():
        return True
    with ctx.reading() as bound:
        # Another store has rendered these files, so that they are as their state says tells nothing about this one.
        foreign = bool(state.files) and not folder_mark.is_ours(bound, state)
        return foreign or any(_behind(state, row["path"], row["seq"], directory) for row in _heads(bound))


def _behind(state: State, path: str, seq: int, directory: Directory) -> bool:
    if not is_tracked(path):
        return bool(seq > state.write_only_seq)
    entry = state.files.get(path)
    return entry is None or entry.seq < seq or directory.stamp(path) is None


def _heads(ctx: Context) -> list[Row]:
    """Every file that the store can render, with the seq of its last change."""
    return ctx.tx.all(
        "SELECT path, seq, bytes, 1 AS blocks FROM block_file WHERE workspace = ? AND bytes > 0"
        " UNION ALL SELECT path, seq, 1 AS bytes, 0 AS blocks FROM plain_file WHERE workspace = ? AND until IS NULL"
        " ORDER BY path",
        ctx.workspace,
        ctx.workspace,
    )


def _agree(ctx: Context, directory: Directory) -> list[Unread]:
    """Edits in, renderings out, until nobody saved in between. What is saved after the last round stays for the next
    call, in `.clew/late/`."""
    with directory.locked():
        state, replaced = folder_mark.opened(ctx, directory)
        # What an earlier process took out and could not store any more; it comes before anything that is saved now.
        late = directory.late_saves()
        # Each rendering may meet another save. A few rounds are enough for everything but an editor in a loop.
        for _ in range(ROUNDS):
            found, unread = _look(directory, state)
            _take_in(ctx, directory, state, [replace(edit, replaced=replaced) for edit in found], late)
            replaced = False
            late = _bring_out(ctx, directory, state, {item.path for item in unread})
            if not late:
                break
        # The first edits of a person make the workspace, which gets its name as a store only then.
        with ctx.reading() as bound:
            state.store = folder_mark.name_of(bound)
            laid_out = plain_files.text(bound, CONFIGURATION)
        if laid_out:
            with suppress(FilesProblem):  # nothing of ours depends on them
                directory.complete()
        folder_mark.sign(ctx, directory, state)
    _warn_of(ctx, unread)
    return unread


def _warn_of(ctx: Context, unread: list[Unread]) -> None:
    for item in unread:
        line = f" line {item.line}" if item.line else ""
        recovery = "Make it a readable file of UTF-8 text; its blocks stay as they were."
        _warn_once(ctx, "FILE_UNREADABLE", f"{item.path}{line} is left alone: {item.problem}", recovery)


def _warn_replaced(ctx: Context, directory: Directory, changed: dict[str, Block]) -> None:
    gone = sum(block.gone for block in changed.values())
    said = (
        f"{directory.root} is another folder than before (its .clew is gone), and its files count:"
        f" {len(changed) - gone} blocks are other ones now, {gone} are gone"
    )
    recovery = "Every version stays in block_history; put the former files back if this was not meant."
    _warn_once(ctx, "FOLDER_REPLACED", said, recovery)


def _warn_once(ctx: Context, code: str, message: str, recovery: str) -> None:
    """A call may look at the files more than once."""
    if all(known["message"] != message for known in ctx.remarks.warnings):
        ctx.warn(code, message, recovery)


def _look(directory: Directory, state: State) -> tuple[list[EditedFile], list[Unread]]:
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
            unread.append(text)
            if text.line is not None:  # a fault in the text itself; others can end without another stamp
                state.unread[path] = (stamp, text.line, text.problem)
        elif not text:
            state.files.pop(path, None)  # an emptied file is an accident, not an edit: it is rendered again
        elif entry is not None and text.encode() == (base := directory.base(path)):
            state.files[path] = known(stamp, entry.number, entry.seq)
        else:
            number = entry.number if entry is not None else WHOLE
            before = base.decode() if entry is not None and base is not None else None
            found.append(EditedFile(path, text, before, number))
            # WHOLE, because after a hand edit no splice fits the file: its next rendering writes all of it.
            state.files[path] = known(stamp, WHOLE, WHOLE)
    return found, unread


def _text(
    directory: Directory, path: str, stamp: Stamp, noted: dict[str, tuple[Stamp, int | None, str]]
) -> str | Unread:
    """What a file says, or why it is left alone; that is known already of a file that did not change."""
    odd = directory.oddity(path)
    if odd:
        return Unread(path, None, odd)
    if path in noted and noted[path][0] == stamp:
        return Unread(path, *noted[path][1:])
    try:
        return _decoded(path, directory.read(path) or b"")
    except ClewError as problem:
        return Unread(path, None, problem.message)


def _decoded(path: str, data: bytes) -> str | Unread:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = f"byte {problem.start + 1} ({data[problem.start]:#04x}) is not UTF-8"
        return Unread(path, data.count(b"\n", 0, problem.start) + 1, byte)
    if "\x00" in text:
        return Unread(path, text.count("\n", 0, text.index("\x00")) + 1, "it holds a NUL character")
    long = _long_block(text) if len(text) > LONGEST_BLOCK and path.endswith(".md") else None
    return Unread(path, *long) if long else text


def _long_block(text: str) -> tuple[int, str] | None:
    """The line of a block that is too long to be one, and what to say of it."""
    line = text.count("\n", 0, len(parse_file(text).preamble)) + 1
    for part in parse_file(text).parts:
        if len(part.text) > LONGEST_BLOCK:
            return line, f"{part.id} has {len(part.text):,} characters, and a block has at most {LONGEST_BLOCK:,}"
        line += part.text.count("\n") + part.gap.count("\n")
    return None


def _take_in(ctx: Context, directory: Directory, state: State, found: list[EditedFile], late: list[LateSave]) -> None:
    """Store what people saved: what was taken out first, because it is older than what the files hold now."""
    saved = [*_late_edits(ctx, directory, late), *found]
    if not saved:
        return
    replaced = any(edit.replaced for edit in found)
    with ctx.reading() as bound:
        # A file that is gone is otherwise rendered again, and the blocks of a renamed file would stand in both.
        left = _left_behind(bound, directory, found)
    for edit in found:
        if not late and not left and _long(edit):
            _import(ctx, edit)
    with ctx.writing() as bound:
        # First, because what Mind-Mem rolled back is missing from the files on purpose, however recent it is.
        snapshots.follow_rollbacks(bound, directory)
        taken = {edit.path for edit in saved if not edit.path.endswith(".md") and _take_in_plain(bound, edit)}
        same, changed = _take_in_blocks(bound, [*(edit for edit in saved if edit.path.endswith(".md")), *left])
        heads = {row["path"]: row["seq"] for row in _heads(bound)}
        reached = {path: (last_splice(bound, path), heads.get(path, 0)) for path in taken | same}
        snapshots.take_in(bound, directory)
        if replaced:
            folder_mark.forget(bound, directory)
        # What they write is newer than the files and is rendered next.
        proposals.follow_changes(bound, list(changed), changed)
    if changed and replaced:
        _warn_replaced(ctx, directory, changed)
    for item in late:
        # Only after the commit: until then the copy in `.clew/late` is the only place where that save exists.
        directory.late.settle(item)
    for edit in found:
        # What was read back is what the next edit starts from, so the next merge compares with this text.
        directory.keep_base(edit.path, Content(edit.text.encode()))
        if edit.path in reached and edit.path in state.files:
            entry = state.files[edit.path]
            entry.number, entry.seq = reached[edit.path]


def _late_edits(ctx: Context, directory: Directory, late: list[LateSave]) -> list[EditedFile]:
    """What can be read of the saves that renderings took out; the rest is kept for a person."""
    found: list[EditedFile] = []
    for item in list(late):
        text = _decoded(item.path, item.data)
        if isinstance(text, Unread):
            late.remove(item)
            place = directory.late.set_aside(item)
            said = f"What was saved in {item.path} cannot be read ({text.problem}) and is kept in {place}"
            _warn_once(ctx, "FILE_UNREADABLE", said, f"Write what it says into {item.path}.")
            continue
        found.append(
            EditedFile(item.path, text, item.base.decode() if item.base is not None else None, WHOLE, late=True)
        )
    return found


def _left_behind(ctx: Context, directory: Directory, found: list[EditedFile]) -> list[EditedFile]:
    """What renamed files leave behind: a file that is gone, without the blocks that now stand in a new one."""
    moved: dict[str, set[str]] = {}
    for edit in found:
        if edit.base is None and edit.path.endswith(".md"):
            ids = [match.group(1) for match in HEADER.finditer(edit.text)]
            for id, place in places.where(ctx, ids).items():
                if place.file != edit.path and is_tracked(place.file):
                    moved.setdefault(place.file, set()).add(id)
    gone = {path: ids for path, ids in moved.items() if directory.stamp(path) is None}
    return [_without(ctx, path, ids) for path, ids in sorted(gone.items())]


def _without(ctx: Context, path: str, ids: set[str]) -> EditedFile:
    stored = hand_edits.rendered(ctx, path)
    parsed = parse_file(stored)
    kept = [part for part in parsed.parts if part.id not in ids]
    text = ParsedFile(parsed.preamble if kept else "", kept).join()
    return EditedFile(path, text, stored, WHOLE, late=True)


def _take_in_plain(ctx: Context, edit: EditedFile) -> bool:
    """Whether the store now has what the file holds."""
    plain_files.take_in(ctx, edit.path, plain_files.stored(ctx, edit.path) if edit.replaced else edit.base, edit.text)
    return plain_files.stored(ctx, edit.path) == edit.text and not edit.late


def _take_in_blocks(ctx: Context, saved: list[EditedFile]) -> tuple[set[str], dict[str, Block]]:
    """Returns the files that the store now has exactly as they are, and the blocks that changed.

    Several saves of one file are merged one after the other, each into what the one before made of the file, and
    stored as one plan: a plan counts on the file being as the store has it.
    """
    plans, same = [], set()
    for path in dict.fromkeys(edit.path for edit in saved):
        series = [edit for edit in saved if edit.path == path]
        stored = result = _stored(ctx, series[0])
        for edit in series:
            if edit.replaced:
                result = edit.text
            elif edit.late or edit.text != result:
                result = merged(ctx, path, edit.base, result, edit.text)
        if result != stored:
            plans.append(hand_edits.plan(ctx, path, stored, result))
        if result == series[-1].text and not series[-1].late:
            same.add(path)
    return same, hand_edits.take_in(ctx, plans)


def _long(edit: EditedFile) -> bool:
    return edit.base is None and (
        edit.text.count("\n[") > hand_edits.PORTION or len(edit.text) > hand_edits.PORTION_CHARS
    )


def _import(ctx: Context, edit: EditedFile) -> None:
    """A long file that is new to the store, in portions: each is a state of its own, and any process can go on."""
    ends = hand_edits.portions(edit.text)
    with without_collection():
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
            if not _import_portion(ctx, edit, start, end):
                return
            ctx.progress(number, len(ends), edit.path)


def _import_portion(ctx: Context, edit: EditedFile, start: int, end: int) -> bool:
    """False where the file is not new, or changed meanwhile: the ordinary way merges it."""
    with ctx.writing() as bound:
        if places.file_row(bound, edit.path)["bytes"] != size(edit.text[:start]):
            return False
        changed = hand_edits.take_in(bound, [hand_edits.plan(bound, edit.path, edit.text[:start], edit.text[:end])])
        proposals.follow_changes(bound, list(changed), changed)
    return True


def _stored(ctx: Context, edit: EditedFile) -> str:
    """The file as the store has it: the base itself while nothing was written since."""
    fresh = edit.base is not None and edit.number == last_splice(ctx, edit.path)
    if fresh and edit.base is not None and size(edit.base) == places.file_row(ctx, edit.path)["bytes"]:
        return edit.base
    return hand_edits.rendered(ctx, edit.path)


def _bring_out(ctx: Context, directory: Directory, state: State, frozen: set[str]) -> list[LateSave]:
    """Render what is newer in the store. Returns what people saved in that very moment."""
    with ctx.reading() as bound:
        behind = [row for row in _heads(bound) if _behind(state, row["path"], row["seq"], directory)]
        blocked = [row["path"] for row in behind if row["path"] in frozen or directory.oddity(row["path"])]
        outputs = [
            output_of(bound, directory, state.files.get(row["path"]), row)
            for row in behind
            if row["path"] not in blocked
        ]
        removed = plain_files.removed(bound, DERIVED, state.write_only_seq)
        before = _next_receipt(bound, [row for row in behind if row["path"] not in blocked])
    if before is not None:
        _take_snapshot(ctx, directory, state, *before)
    for path in blocked:
        _warn_once(ctx, "FILES_BEHIND", f"{path} is not what the store has", f"Make {path} a file that can be written.")
    for path, seq in removed.items():
        directory.remove(path)
        state.write_only_seq = max(state.write_only_seq, seq)
    late: list[LateSave] = []
    for output in outputs:
        try:
            late += write_output(directory, state, output)
        except FilesProblem as problem:
            _warn_behind(ctx, problem)  # the other files are written all the same
    return late


def _take_snapshot(ctx: Context, directory: Directory, state: State, ts: str, seq: int, receipt: str) -> None:
    try:
        snapshots.take(directory, state, ts, seq, receipt)
    except ClewError as problem:
        said = f"The receipt {ts} has no snapshot, and Mind-Mem cannot roll it back: {problem.message}"
        _warn_once(ctx, "FILES_BEHIND", said, problem.recovery or "Mend the directory.")


def _next_receipt(ctx: Context, behind: list[Row]) -> tuple[str, int, str] | None:
    """Time, seq and text of the oldest receipt that is not rendered: the files are as they were before that one."""
    waiting = sorted((row["seq"], ts, row["path"]) for row in behind if (ts := snapshots.receipt_time(row["path"])))
    if not waiting:
        return None
    seq, ts, path = waiting[0]
    return ts, seq, hand_edits.rendered(ctx, path)
