"""Synchronizes files and store: hand edits in, governed writes out.

`sync` runs before every read of memory, `publish` after every write. Both hold the directory's lock and
do the same: read back what people changed since the last rendering, then render what is newer in the
store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from clew.errors import ClewError
from clew.fast_imports import without_collection
from clew.hooks import HookPoint
from clew.memory.blocks import Block
from clew.memory.files import folder_mark, hand_edits, places, plain_files
from clew.memory.files.changed_files import EditedFile, Unread, decoded, ill_named, look, removed_by_git, warn_once
from clew.memory.files.directory import DERIVED, KERNELS, Directory, FilesProblem, directory_of
from clew.memory.files.file_merge import merged
from clew.memory.files.file_state import UNKNOWN, FolderState, Known
from clew.memory.files.file_text import FileOutput, is_tracked, output_of, write_output
from clew.memory.files.markdown import HEADER, ParsedFile
from clew.memory.files.repository import GIT, checkout_of
from clew.memory.files.swap import LateSave
from clew.memory.governance import proposals
from clew.registry.context import Context
from clew.registry.record import refresh
from clew.secrets import redact_text
from clew.store.database import Row, short_lock_waits

ReadingHook = Callable[[Context, Directory], object]
before_reading: HookPoint[ReadingHook] = HookPoint("before_reading")
"""In the transaction that reads hand edits, before it does: what another program that uses the folder undid."""
after_reading: HookPoint[ReadingHook] = HookPoint("after_reading")
"""At the end of that transaction: what another program wrote outside of blocks."""
before_rendering: HookPoint[Callable[[Context, Directory, FolderState, list[FileOutput]], object]] = HookPoint(
    "before_rendering"
)
"""`(ctx, directory, state, outputs)`: these files are about to be replaced."""
after_rendering: HookPoint[ReadingHook] = HookPoint("after_rendering")
"""Once files and store agree, in a read: additional files that another program needs."""
READ_WAIT = 0.25
"""Seconds that a read waits for other writers before it falls back to the store."""
ROUNDS = 4
"""Maximum number of rounds if each rendering meets another save; the rest is left to the next call."""


def sync(ctx: Context) -> list[Unread]:
    """Read back hand edits before memory is read. Costs a few stats if there are none. Returns the ignored files.

    A read does not wait for other writers. What cannot be read back now is a warning: the store has
    everything that was read back so far, and the next call tries again.
    """
    try:
        with short_lock_waits(READ_WAIT):
            return _read_back(ctx)
    except ClewError as problem:
        if not isinstance(problem, FilesProblem) and problem.code != "STORE_LOCKED":
            raise
        return _not_looked_at(ctx, problem)


def _read_back_patiently(ctx: Context) -> None:
    """The same before a write, which waits for others anyway."""
    try:
        _read_back(ctx)
    except FilesProblem as problem:
        _not_looked_at(ctx, problem)


def _not_looked_at(ctx: Context, problem: ClewError) -> list[Unread]:
    said = f"The files were not looked at, what is stored is shown: {problem.message}"
    warn_once(ctx, "FILES_BEHIND", said, problem.recovery or "Repair the directory.")
    return []


def _read_back(ctx: Context) -> list[Unread]:
    directory = directory_of(ctx)
    if directory is None or not directory.root.is_dir():
        return []
    if _is_dirty(ctx, directory):
        return _agree(ctx, directory)
    unread = ill_named(directory)
    _warn_of(ctx, unread)
    return unread


@refresh("block")
def read_back(ctx: Context) -> None:
    """Read hand edits in before a block is opened."""
    sync(ctx)


@contextmanager
def exclusive(ctx: Context) -> Iterator[None]:
    """Read hand edits, run the caller's block, then render the files.

    If several stores share the directory, it is locked meanwhile: two of them would give the same id to
    two blocks, and one block would be lost.
    """
    _read_back_patiently(ctx)
    directory = directory_of(ctx)
    if directory is None or not directory.state().shared:
        yield
        publish(ctx)
        return
    with directory.locked():
        _read_back_patiently(ctx)
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
    warn_once(ctx, "FILES_BEHIND", said, problem.recovery or "Mend the directory.")


def _is_dirty(ctx: Context, directory: Directory) -> bool:
    """Whether a file changed since it was rendered, or the store since then."""
    state = directory.state()
    if state.checkout != checkout_of(ctx):
        return True
    for path in [*directory.block_files(), *directory.plain_files()]:
        stamp, entry = directory.stamp(path), state.files.get(path)
        # A stamp is trusted only if it is older than the rendering by more than the clock's resolution:
        # a save within the same tick would not change it.
        if stamp is None or entry is None or not entry.trusts(stamp):
            return True
    # The record of an unreadable file is removed with the file.
    if directory.late.is_dirty() or any(directory.stamp(path) is None for path in state.unread):
        return True
    with ctx.reading() as bound:
        # Another store has rendered these files, so that they match their state implies nothing for this one.
        foreign = bool(state.files) and not folder_mark.is_ours(bound, state)
        return foreign or any(_behind(state, row["path"], row["seq"], directory) for row in _heads(bound))


def _behind(state: FolderState, path: str, seq: int, directory: Directory) -> bool:
    if not is_tracked(path):
        return bool(seq > state.write_only_seq)
    entry = state.files.get(path)
    return entry is None or entry.seq < seq or directory.stamp(path) is None


def _heads(ctx: Context) -> list[Row]:
    """Every file that the store can render, with the seq of its last change."""
    return ctx.tx.all(
        f"SELECT path, seq, 1 AS blocks FROM block_file WHERE workspace = ? AND {places.HOLDS_TEXT}"
        " UNION ALL SELECT path, seq, 0 AS blocks FROM plain_file WHERE workspace = ? AND until IS NULL"
        " ORDER BY path",
        ctx.workspace,
        ctx.workspace,
    )


def _agree(ctx: Context, directory: Directory) -> list[Unread]:
    """Alternate reading edits and rendering until there was no save in between. A save after the last
    round stays for the next call, in `.clew/late/`."""
    with directory.locked():
        state, replaced = folder_mark.opened(ctx, directory)
        checkout = checkout_of(ctx)
        by_git = checkout not in ("", state.checkout)
        # Saves that an earlier process took out but did not store; they precede anything that is saved now.
        late = directory.late_saves(state)
        # Each rendering may meet another save. A few rounds are enough for everything but an editor in a loop.
        for _ in range(ROUNDS):
            found, unread = look(ctx, directory, state)
            found += removed_by_git(directory, state) if by_git else []
            edits = [replace(edit, replaced=replaced, checked_out=by_git) for edit in found]
            _take_in(ctx, directory, state, edits, late)
            replaced = by_git = False
            late = _bring_out(ctx, directory, state, {item.path for item in unread})
            if not late:
                break
        # The first edits of a person create the workspace, which gets its name as a store only then.
        with ctx.reading() as bound:
            state.store = folder_mark.name_of(bound)
            _tell(after_rendering, bound, directory)
        state.checkout = checkout
        folder_mark.sign(ctx, directory, state)
    _warn_of(ctx, unread)
    return unread


def _warn_of(ctx: Context, unread: list[Unread]) -> None:
    for item in unread:
        line = f" line {item.line}" if item.line else ""
        recovery = "Correct or rename it; until then its records stay as they are stored."
        warn_once(ctx, "FILE_UNREADABLE", f"{item.path}{line} is left alone: {item.problem}", recovery)


def _warn_replaced(ctx: Context, directory: Directory, changed: dict[str, Block]) -> None:
    gone = sum(block.gone for block in changed.values())
    said = (
        f"{directory.root} is another folder than before (its .clew is gone), and its files count:"
        f" {len(changed) - gone} blocks are other ones now, {gone} are gone"
    )
    recovery = "Every version stays in block_history; put the former files back if this was not meant."
    warn_once(ctx, "FOLDER_REPLACED", said, recovery)


def _take_in(
    ctx: Context, directory: Directory, state: FolderState, found: list[EditedFile], late: list[LateSave]
) -> None:
    """Store what people saved: saves that were taken out first, because they are older than the current files."""
    saved = [*_late_edits(ctx, directory, late), *found]
    if not saved:
        return
    replaced = any(edit.replaced for edit in found)
    with_blocks = [edit for edit in saved if edit.path.endswith(".md")]
    with ctx.reading() as bound:
        # A missing file is otherwise rendered again, and the blocks of a renamed file would be in both.
        left = _left_behind(bound, directory, found)
    if len(saved) == len(with_blocks) == 1 and not late and not left:
        _take_in_portions(ctx, directory, saved[0])
    with ctx.writing(logged=False) as bound:
        # First, because what Mind-Mem rolled back is missing from the files on purpose, however recent it is.
        _tell(before_reading, bound, directory)
        taken = _take_in_plain_files(bound, saved)
        same, changed = _take_in_blocks(bound, [*with_blocks, *left])
        reached = dict.fromkeys(taken | same, bound.ws.seq)
        _tell(after_reading, bound, directory)
        if replaced:
            folder_mark.forget(bound, directory)
        # What they write is newer than the files and is rendered next.
        proposals.follow_changes(bound, list(changed), changed)
    if changed and replaced:
        _warn_replaced(ctx, directory, changed)
    for item in late:
        # Only after the commit: until then the copy in `.clew/late` is the only place where that save exists.
        directory.late.settle(item)
    _note_read(state, found, reached)


def _tell(point: HookPoint[ReadingHook], ctx: Context, directory: Directory) -> None:
    for follow in point.all():
        follow(ctx, directory)


def _take_in_plain_files(ctx: Context, saved: list[EditedFile]) -> set[str]:
    return {edit.path for edit in saved if not edit.path.endswith(".md") and _take_in_plain(ctx, edit)}


def _note_read(state: FolderState, found: list[EditedFile], reached: dict[str, int]) -> None:
    for edit in found:
        if not edit.text:
            del state.files[edit.path]  # if the next checkout restores it, it is read then
            continue
        entry = state.files[edit.path]
        entry.seq = reached.get(edit.path, UNKNOWN)
        # The next edit starts from what was read, even if the store merged it into another text.
        entry.text = None if edit.path in reached else edit.text


def _late_edits(ctx: Context, directory: Directory, late: list[LateSave]) -> list[EditedFile]:
    """The readable saves that renderings took out; the rest is kept for the user."""
    found: list[EditedFile] = []
    for item in list(late):
        text = decoded(item.path, item.data)
        if isinstance(text, Unread):
            late.remove(item)
            place = directory.late.set_aside(item)
            said = f"What was saved in {item.path} cannot be read ({text.problem}) and is kept in {place}"
            warn_once(ctx, "FILE_UNREADABLE", said, f"Write what it says into {item.path}.")
            continue
        found.append(EditedFile(item.path, redact_text(text), item.base, late=True))
    return found


def _left_behind(ctx: Context, directory: Directory, found: list[EditedFile]) -> list[EditedFile]:
    """For renamed files: each missing old file, without the blocks that are now in a new one."""
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
    stored = hand_edits.stored_file(ctx, path)
    kept = [part for part in stored.parts if part.id not in ids]
    text = ParsedFile(stored.preamble if kept else "", kept).join()
    return EditedFile(path, text, Known((0, 0, 0), 0, text=stored.join()), late=True)


def _take_in_plain(ctx: Context, edit: EditedFile) -> bool:
    """Whether the store now has the content of the file."""
    plain_files.take_in(ctx, edit.path, edit.text, is_new=edit.replaced or edit.base is not None)
    return plain_files.stored(ctx, edit.path) == edit.text and not edit.late


def _take_in_blocks(ctx: Context, saved: list[EditedFile]) -> tuple[set[str], dict[str, Block]]:
    """Returns the files that the store now has exactly as they are, and the blocks that changed.

    Several saves of one file are merged in order, each into the result of the one before.
    """
    files: dict[str, ParsedFile] = {}
    same = set()
    for path in dict.fromkeys(edit.path for edit in saved):
        series = [edit for edit in saved if edit.path == path]
        stored = result = hand_edits.stored_file(ctx, path)
        for edit in series:
            result = _with_edit(ctx, result, edit)
        text = result.join()
        if text != stored.join():
            files[path] = result
        if text == series[-1].text and not (series[-1].late or series[-1].masked):
            same.add(path)
    return same, hand_edits.take_in(ctx, files, _origin_of(saved[-1]) if saved else hand_edits.EDIT)


def _with_edit(ctx: Context, stored: ParsedFile, edit: EditedFile) -> ParsedFile:
    if edit.replaced:
        return edit.parsed
    return merged(ctx, edit.path, edit.base, stored, edit.parsed, edit.checked_out)


def _origin_of(edit: EditedFile) -> str:
    return GIT if edit.checked_out else hand_edits.EDIT


def _take_in_portions(ctx: Context, directory: Directory, edit: EditedFile) -> None:
    """Import all but the last portion of a long edit, each in its own transaction, so that other
    writers can run in between."""
    with ctx.reading() as bound:
        if hand_edits.portion_of(hand_edits.stored_file(bound, edit.path), edit.parsed) is edit.parsed:
            return
    with without_collection():
        while done := _take_in_portion(ctx, directory, edit):
            ctx.progress(done, len(edit.parsed.parts), edit.path)


def _take_in_portion(ctx: Context, directory: Directory, edit: EditedFile) -> int:
    """The number of blocks stored so far; 0 if the rest fits into one transaction, or requires one."""
    with ctx.writing(logged=False) as bound:
        _tell(before_reading, bound, directory)
        stored = hand_edits.stored_file(bound, edit.path)
        edited = _with_edit(bound, stored, edit)
        portion = hand_edits.portion_of(stored, edited)
        if portion is edited or _holds_others(bound, edit.path, portion):
            return 0
        changed = hand_edits.take_in(bound, {edit.path: portion}, _origin_of(edit))
        proposals.follow_changes(bound, list(changed), changed)
    return len(portion.parts)


def _holds_others(ctx: Context, path: str, portion: ParsedFile) -> bool:
    """Whether it contains blocks of other files: a moved block is one change, in one transaction."""
    return any(place.file != path for place in places.where(ctx, [part.id for part in portion.parts]).values())


def _bring_out(ctx: Context, directory: Directory, state: FolderState, frozen: set[str]) -> list[LateSave]:
    """Render what is newer in the store. Returns what people saved at that moment."""
    with ctx.reading() as bound:
        behind = [row for row in _heads(bound) if _behind(state, row["path"], row["seq"], directory)]
        blocked = [row["path"] for row in behind if row["path"] in frozen or directory.oddity(row["path"])]
        outputs = [output_of(bound, row) for row in behind if row["path"] not in blocked]
        removed = plain_files.removed(bound, DERIVED, state.write_only_seq)
        withdrawn = plain_files.removed(bound, KERNELS, 0)
    for prepare in before_rendering.all():
        prepare(ctx, directory, state, outputs)
    for path in blocked:
        warn_once(ctx, "FILES_BEHIND", f"{path} is not what the store has", f"Make {path} a file that can be written.")
    for path, seq in removed.items():
        directory.remove(path)
        state.write_only_seq = max(state.write_only_seq, seq)
    _remove_unchanged(directory, state, withdrawn)
    late: list[LateSave] = []
    for output in outputs:
        try:
            late += write_output(directory, state, output)
        except FilesProblem as problem:
            _warn_behind(ctx, problem)  # the other files are still written
    return late


def _remove_unchanged(directory: Directory, state: FolderState, paths: Iterable[str]) -> None:
    """Remove files that the store withdrew, unless there was a save into them since."""
    for path in paths:
        stamp, entry = directory.stamp(path), state.files.get(path)
        if stamp is not None and entry is not None and entry.trusts(stamp):
            directory.remove(path)
            del state.files[path]
