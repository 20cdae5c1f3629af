"""Snapshots: copies of the files that an apply changes, as they were before, stored with its receipt.

Clew rolls back from the store's versions and needs no copies; its receipt contains the diff. Snapshots are taken only
if Mind-Mem uses the folder too: it rolls a receipt back by copying the files of its folder back."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.canonical import canonical_bytes
from clew.contracts.mind_mem import applied_text
from clew.contracts.mind_mem.applied_text import BlockTexts, Texts
from clew.errors import ClewError
from clew.ids import RECEIPT_TIME
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files import places, plain_files
from clew.memory.files.changed_files import warn_once
from clew.memory.files.directory import CONFIGURATION, WRITE_ONLY, Directory, name_problem, reported
from clew.memory.files.file_state import FolderState
from clew.memory.files.file_text import FileOutput
from clew.memory.files.markdown import MarkdownPart, listed, one_line, parse_block, parse_file
from clew.memory.files.swap import own_folder
from clew.memory.files.sync import after_reading, before_reading, before_rendering
from clew.memory.governance import receipts
from clew.memory.governance.patches import Op, read
from clew.memory.governance.receipts import APPLIED, TIME_FORMAT, Receipt
from clew.registry.context import Context

RECEIPT = "APPLY_RECEIPT.md"
MANIFEST = "MANIFEST.json"
TRACES = (".mind-mem", ".mind-mem-index", ".mind-mem-wal", ".mind-mem-vectors", ".mind-mem-apply.lock", "maintenance")
"""Files that Mind-Mem creates in a folder that it works in, and Clew does not."""
_ROLLED_BACK = re.compile(r"^Result: rolled_back", re.MULTILINE)
WHOLE_FOLDERS = ("decisions", "tasks", "entities", "summaries")
"""Folders that early versions of Mind-Mem replace as a whole: the snapshot must contain their other files too."""
MOST_COPIED = 1_000_000
"""Maximum size of a neighbouring file that is copied; a larger one is linked, which costs nothing."""


def receipt_time(path: str) -> str | None:
    """The timestamp in the path of a receipt file."""
    folder, _, name = path.rpartition("/")
    return folder.removeprefix(f"{APPLIED}/") if name == RECEIPT and folder.startswith(f"{APPLIED}/") else None


@before_rendering("mind_mem")
def take_snapshot(ctx: Context, directory: Directory, state: FolderState, outputs: Sequence[FileOutput]) -> None:
    """Before a receipt is rendered: the files as they were before the oldest one that is not in the folder yet."""
    waiting = sorted((output.seq, ts, output.data) for output in outputs if (ts := receipt_time(output.path)))
    if not waiting or not are_wanted(ctx, directory):
        return
    seq, ts, receipt = waiting[0]
    try:
        take(directory, state, ts, seq, receipt.decode())
    except ClewError as problem:
        said = f"The receipt {ts} has no snapshot, and Mind-Mem cannot roll it back: {problem.message}"
        warn_once(ctx, "FILES_BEHIND", said, problem.recovery or "Mend the directory.")


def are_wanted(ctx: Context, directory: Directory) -> bool:
    """Whether Mind-Mem or another store works here too: each copy is as large as all of memory."""
    if ctx.settings.contract.shares_files or directory.state().shared:
        return True
    if any((directory.root / name).exists() for name in TRACES):
        return True
    with ctx.reading() as bound:
        return plain_files.first_origin(bound, CONFIGURATION) == "edit"


def take(directory: Directory, state: FolderState, ts: str, seq: int, receipt: str) -> None:
    """Store the files that a receipt names as they were before it.

    Nothing is stored if one of them was rendered since, or if the store is rendered into this directory for the first
    time: their previous content is no longer available. A hard link is enough for a copy, because rendering creates a
    new file to replace the old one.
    """
    folder = directory.root / APPLIED / ts
    touched = listed(parse_block(receipt).fields.get("FilesTouched"))
    if not state.files or folder.exists() or not all(_unchanged(directory, state, path, seq) for path in touched):
        return
    with reported(folder):
        draft = own_folder(directory.own, f"snapshot/{ts}")
        manifest = canonical_bytes(_fill(directory, draft, touched))
        (draft / MANIFEST).write_bytes(manifest + b"\n")
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.rename(folder)  # a partial snapshot would look like a complete one


def _fill(directory: Directory, folder: Path, touched: list[str]) -> dict[str, Any]:
    """Copy the files into the folder; returns the metadata that Mind-Mem needs."""
    kept = [path for path in touched if (directory.root / path).is_file()]
    for path in kept:
        _link(directory.root / path, folder / path)
    tops = sorted({path.split("/")[0] for path in touched})
    inventory = {top: _below(directory, top) for top in tops}
    for path in (path for top in tops if top in WHOLE_FOLDERS for path in inventory[top] if path not in kept):
        _copy(directory.root / path, folder / path)
    return {"version": 2, "files": kept, "cleanup_inventory": inventory}


def _unchanged(directory: Directory, state: FolderState, path: str, seq: int) -> bool:
    """Whether a file is as it was rendered before the receipt, or does not exist yet."""
    stamp, entry = directory.stamp(path), state.files.get(path)
    if stamp is None:
        return entry is None
    if entry is None or entry.seq >= seq or directory.oddity(path) is not None:
        return False
    return entry.trusts(stamp) or entry.holds(directory.read(path) or b"")


def _below(directory: Directory, top: str) -> list[str]:
    """Every file of a folder, as Mind-Mem lists them: on rollback it removes files that are not in this list."""
    found = []
    for place, _, names in os.walk(directory.root / top):
        inside = Path(place).relative_to(directory.root).as_posix()
        found += [f"{inside}/{name}" for name in names if not f"{inside}/".startswith(WRITE_ONLY)]
    return sorted(path for path in found if name_problem(path) is None)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy(source, target)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink() or not source.is_file():
        return
    if source.stat().st_size > MOST_COPIED:
        _link(source, target)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)  # with its permissions: a private file remains private


def found(directory: Directory) -> list[str]:
    """The timestamps of the receipts in the directory, oldest first."""
    try:
        names = os.listdir(directory.root / APPLIED)  # noqa: PTH208
    except OSError:
        return []
    return sorted(name for name in names if (directory.root / APPLIED / name / RECEIPT).is_file())


def text(directory: Directory, path: str) -> str | None:
    """The content of a file below the receipts; None if it does not exist, or is not a regular text file."""
    whole = f"{APPLIED}/{path}"
    try:
        data = directory.read(whole) if directory.oddity(whole) is None else None
        return data.decode().replace("\r\n", "\n") if data is not None else None
    except (UnicodeDecodeError, ClewError):
        return None


# Receipts that exist in files only, of Mind-Mem or of a Clew with another store: opened and rolled back like ours.
#
# Such a receipt contains the files as they were before it; `applied_text` computes the result. As a fallback, it is
# the content that the next receipt found there, or else the version that followed in the store. A block that differs
# from it has changed since, and is left to a person.


@dataclass(frozen=True)
class StoredReceipt:
    """A receipt as read from its folder."""

    ts: str
    whole: str
    part: MarkdownPart
    preamble: str
    proposal: str
    files: list[str]
    result: str


@after_reading("mind_mem")
def take_in(ctx: Context, directory: Directory) -> None:
    """Store the receipts that the directory contains and the store does not, newest first."""
    names = [ts for ts in found(directory) if RECEIPT_TIME.fullmatch(ts)]
    known = receipts.times(ctx) if names else set()
    later: Texts = {}
    for ts in sorted(set(names) - known, reverse=True):
        receipt = _read(directory, ts)
        if receipt is not None:
            _adopt(ctx, directory, receipt, later)


@before_reading("mind_mem")
def follow_rollbacks(ctx: Context, directory: Directory) -> None:
    """Close the receipts that Mind-Mem rolled back. It restores the files and appends a note to the receipt.

    A receipt with its rendered length has nothing appended and is not read.
    """
    for receipt, size in receipts.printed_sizes(ctx):
        stamp = directory.stamp(receipt.file)
        if stamp is None or stamp[1] == size:
            continue
        if _ROLLED_BACK.search(text(directory, f"{receipt.ts}/{RECEIPT}") or ""):
            receipts.close(ctx, receipt)


def _read(directory: Directory, ts: str) -> StoredReceipt | None:
    whole = text(directory, f"{ts}/{RECEIPT}") or ""
    parsed = parse_file(whole)
    if not parsed.parts or parsed.parts[0].id != f"AR-{ts}":
        return None
    fields = parse_block(parsed.parts[0].text).fields
    result = one_line(fields.get("Result")) or one_line(fields.get("Status"))
    files = listed(fields.get("FilesTouched"))
    return StoredReceipt(ts, whole, parsed.parts[0], parsed.preamble, one_line(fields.get("Proposal")), files, result)


def _adopt(ctx: Context, directory: Directory, found: StoredReceipt, later: Texts) -> None:
    changes = [] if found.result.startswith(statuses.ROLLED_BACK) else _changes(ctx, directory, found, later)
    rolled_back = ctx.now_ms if found.result.startswith(statuses.ROLLED_BACK) else None
    made = int(datetime.strptime(found.ts, TIME_FORMAT).replace(tzinfo=UTC).timestamp() * 1000)
    receipts.keep(ctx, Receipt(found.ts, found.proposal, changes, False, rolled_back), made)
    path = f"{APPLIED}/{found.ts}/{RECEIPT}"
    if blocks.find(ctx, found.part.id) is None:
        blocks.record(ctx, found.part.id, found.part.text, file=path, origin="edit", cause=found.proposal or None)
        standing = blocks.standing(found.part.id, found.part.text, found.part.gap)
        places.append(ctx, path, [standing], found.preamble)


def _changes(ctx: Context, directory: Directory, found: StoredReceipt, later: Texts) -> list[dict[str, Any]]:
    """The changes of the receipt: each block with its text before, and the text or version after it."""
    kept = {file: text(directory, f"{found.ts}/{file}") for file in found.files}
    if not any(said is not None for said in kept.values()):
        diff = parse_block(found.part.text).fields.get("Diff")
        told = applied_text.in_blocks(diff) if isinstance(diff, str) else None
        if told is not None:
            return _changes_in_blocks(told, later)
    return _changes_in_files(ctx, found, kept, later)


def _changes_in_blocks(told: dict[str, BlockTexts], later: Texts) -> list[dict[str, Any]]:
    changes = [
        {**_change_to(id, block.file, block.before, block.after), "was": block.file}
        for id, block in sorted(told.items())
    ]
    later.update({change["id"]: change["text"] or "" for change in changes})
    return changes


def _changes_in_files(
    ctx: Context, found: StoredReceipt, kept: dict[str, str | None], later: Texts
) -> list[dict[str, Any]]:
    whole = {file: said for file, said in kept.items() if said is not None}
    ops = _ops(ctx, found)
    # A file without a copy shows nothing: all of its blocks would seem to be new.
    left = applied_text.by_diff(found.whole, whole)
    if left is None and ops is not None:
        left = applied_text.by_operations(ctx, ops, whole)
    changes = _told_changes(whole, left) if left is not None else []
    for file in found.files:
        if left is None or file not in left:
            changes += _guessed_changes(ctx, file, kept[file], ops, later)
    later.update({change["id"]: change["text"] or "" for change in changes})
    return changes


def _ops(ctx: Context, found: StoredReceipt) -> list[Op] | None:
    """The operations of the proposal; None if it is missing or cannot be read, and only the files are available."""
    proposal = blocks.find(ctx, found.proposal) if found.proposal else None
    try:
        return read(proposal.fields.get("Ops")) if proposal else None
    except ClewError:
        return None


def _told_changes(kept: dict[str, str], left: dict[str, Texts]) -> list[dict[str, Any]]:
    """Over all files at once, so that a block which moved is one change."""
    parsed = {file: parse_file(said) for file, said in kept.items()}
    before = _standing({file: applied_text.texts(found) for file, found in parsed.items()})
    gaps = {id: gap for found in parsed.values() for id, gap in applied_text.gaps(found).items()}
    after = _standing(left)
    changes = []
    for id in sorted(id for id in {*before, *after} if before.get(id) != after.get(id)):
        was, old = before.get(id, (None, None))
        file, new = after.get(id, (was, None))
        changes.append({**_change_to(id, file or "", old, new), "was": was, "gap": gaps.get(id)})
    return changes


def _standing(files: dict[str, Texts]) -> dict[str, tuple[str, str]]:
    return {id: (file, said) for file, found in files.items() for id, said in found.items()}


def _change_to(id: str, file: str, before: str | None, after: str | None) -> dict[str, Any]:
    return {"id": id, "file": file, "before": None, "text": before, "after": None, "after_text": after}


def _guessed_changes(
    ctx: Context, file: str, kept: str | None, ops: list[Op] | None, later: Texts
) -> list[dict[str, Any]]:
    before = applied_text.texts(parse_file(kept or ""))
    if ops is None:
        now = {block.id: block.text.replace("\r\n", "\n") for block in blocks.current(ctx, file=file)}
        ids = {id for id in {*before, *now} if before.get(id) != now.get(id)}
    else:
        ids = {id for op in ops if op.file in ("", file) for id in _ids(op)}
    if kept is None:
        # Neither text is known. Without a text before, a block would count as new, and rolling back would remove it.
        return [_change_to(id, file, None, None) for id in sorted(ids)]
    found = [_change(ctx, id, file, before.get(id), later) for id in sorted(ids)]
    return [change for change in found if change is not None]


def _ids(op: Op) -> set[str]:
    added = {part.id for part in parse_file(op.patch).parts}
    return added | ({op.target} if op.target and op.op != "insert_after_block" else set())


def _change(ctx: Context, id: str, file: str, before: str | None, later: Texts) -> dict[str, Any] | None:
    if id in later:
        return _change_to(id, file, before, later[id])
    version = _version_after(blocks.history(ctx, id), before)
    return None if version is None else {**_change_to(id, file, before, None), "after": version.seq}


def _version_after(versions: list[Block], before: str | None) -> Block | None:
    """The version that followed a text; the first one if the store never had that text."""
    same = [at for at, version in enumerate(versions) if version.text.replace("\r\n", "\n") == before]
    at = same[-1] + 1 if same else 0
    return versions[at] if at < len(versions) else None
