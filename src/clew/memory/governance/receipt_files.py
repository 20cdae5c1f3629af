"""Receipts that stand in files only, of Mind-Mem or of a Clew with another store: opened and rolled back like ours.

Such a receipt says what the files were before it, not what it made of them. What a block became is what the next
receipt found there, or else the version that followed in the store; what changed after that is left to a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clew.errors import ClewError
from clew.ids import RECEIPT_TIME
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files import places, snapshots
from clew.memory.files.directory import Directory
from clew.memory.files.markdown import Part, listed, one_line, parse_block, parse_file
from clew.memory.governance import receipts
from clew.memory.governance.patches import Op, read
from clew.memory.governance.receipts import TIME_FORMAT, Receipt
from clew.registry.context import Context

Texts = dict[str, str]
"""Block id -> its text."""


@dataclass(frozen=True)
class Found:
    """A receipt as it stands in its folder."""

    ts: str
    part: Part
    preamble: str
    proposal: str
    files: list[str]
    result: str


def take_in(ctx: Context, directory: Directory) -> None:
    """Store the receipts that the directory holds and the store does not, newest first."""
    names = [ts for ts in snapshots.found(directory) if RECEIPT_TIME.fullmatch(ts)]
    known = receipts.times(ctx) if names else set()
    later: Texts = {}
    for ts in sorted(set(names) - known, reverse=True):
        found = _read(directory, ts)
        if found is not None:
            _adopt(ctx, directory, found, later)


def _read(directory: Directory, ts: str) -> Found | None:
    text = snapshots.text(directory, f"{ts}/{snapshots.RECEIPT}")
    parsed = parse_file(text or "")
    if not parsed.parts or parsed.parts[0].id != f"AR-{ts}":
        return None
    fields = parse_block(parsed.parts[0].text).fields
    result = one_line(fields.get("Result")) or one_line(fields.get("Status"))
    files = listed(fields.get("FilesTouched"))
    return Found(ts, parsed.parts[0], parsed.preamble, one_line(fields.get("Proposal")), files, result)


def _adopt(ctx: Context, directory: Directory, found: Found, later: Texts) -> None:
    changes = [] if found.result.startswith("rolled_back") else _changes(ctx, directory, found, later)
    rolled_back = ctx.now_ms if found.result.startswith("rolled_back") else None
    made = int(datetime.strptime(found.ts, TIME_FORMAT).replace(tzinfo=UTC).timestamp() * 1000)
    receipts.keep(ctx, Receipt(found.ts, found.proposal, changes, False, rolled_back), made)
    path = f"{snapshots.APPLIED}/{found.ts}/{snapshots.RECEIPT}"
    if blocks.find(ctx, found.part.id) is None:
        blocks.record(ctx, found.part.id, found.part.text, file=path, origin="edit", cause=found.proposal or None)
        standing = blocks.standing(found.part.id, found.part.text, found.part.gap)
        places.append(ctx, path, [standing], found.preamble)


def _changes(ctx: Context, directory: Directory, found: Found, later: Texts) -> list[dict[str, Any]]:
    """What the receipt changed: each block with its text before, and the text or version that it became."""
    touched = _touched(ctx, found)
    changes = []
    for file in found.files:
        text = snapshots.text(directory, f"{found.ts}/{file}")
        before = {part.id: part.text for part in parse_file(text or "").parts}
        if touched is None:
            now = {block.id: block.text.replace("\r\n", "\n") for block in blocks.current(ctx, file=file)}
            ids = sorted(id for id in {*before, *now} if before.get(id) != now.get(id))
        else:
            ids = sorted(touched)
        changes += [change for id in ids if (change := _change(ctx, id, file, before.get(id), later)) is not None]
    later.update({change["id"]: change["text"] or "" for change in changes})
    return changes


def _touched(ctx: Context, found: Found) -> set[str] | None:
    """The blocks that the proposal is about; None when it is gone, and only the files can tell."""
    proposal = blocks.find(ctx, found.proposal) if found.proposal else None
    try:
        ops = read(proposal.fields.get("Ops")) if proposal else None
    except ClewError:
        return None
    return None if ops is None else {id for op in ops for id in _ids(op)}


def _ids(op: Op) -> set[str]:
    added = {part.id for part in parse_file(op.patch).parts}
    return added | ({op.target} if op.target and op.op != "insert_after_block" else set())


def _change(ctx: Context, id: str, file: str, before: str | None, later: Texts) -> dict[str, Any] | None:
    change: dict[str, Any] = {"id": id, "file": file, "before": None, "text": before}
    if id in later:
        return {**change, "after": None, "after_text": later[id]}
    version = _version_after(blocks.history(ctx, id), before)
    return None if version is None else {**change, "after": version.seq}


def _version_after(versions: list[Block], before: str | None) -> Block | None:
    """The version that followed a text; the first one when the store never had that text."""
    same = [at for at, version in enumerate(versions) if version.text.replace("\r\n", "\n") == before]
    at = same[-1] + 1 if same else 0
    return versions[at] if at < len(versions) else None
