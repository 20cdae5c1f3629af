"""Merges a hand-edited file: the person's edit, plus what the store changed meanwhile in other blocks.

A person may also save from a stale buffer: the editor read the file, something was approved into it,
and then the editor saved the old text with its own change. Such a save lacks blocks that its author
never saw and has old versions of others. Treating these as edits would undo what was approved. So an
approved change survives a save on three conditions: it is recent, the saved text contains nothing of
it, and the save changes something else too. A save that only leaves blocks out removes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.file_state import UNKNOWN, Known
from clew.memory.files.markdown import MarkdownPart, ParsedFile, parse_file
from clew.memory.governance.receipts import is_taken_back, taken_back
from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.events import subjects_changed


def merged(
    ctx: Context, path: str, base: Known | None, stored: ParsedFile, edited: ParsedFile, by_git: bool = False
) -> ParsedFile:
    """The merged text of a hand-edited file, given the text that it was edited from (None if that is unknown).

    Git's output is not an old copy that was saved by accident: text that the store had before counts as well.
    """
    if by_git:
        return merge(_blocks_rendered(ctx, path, base), stored, edited)
    before = _blocks_before(ctx, path, base, edited.parts)
    if base is not None:
        before = _stale_base(ctx, path, before, edited) or before
    return merge(before, stored, edited)


def _blocks_rendered(ctx: Context, path: str, base: Known | None) -> dict[str, str]:
    """The blocks of the file that git replaced; none if the file did not exist."""
    if base is None:
        return {}
    if base.text is not None or base.seq == UNKNOWN:
        return _by_id(parse_file(base.text or ""))
    return _blocks_at(ctx, path, base.seq)


def _blocks_before(ctx: Context, path: str, base: Known | None, parts: list[MarkdownPart]) -> dict[str, str]:
    """The blocks of the file that a person edited, by id."""
    if base is not None and base.text is not None:
        return _by_id(parse_file(base.text))
    if base is None or base.seq == UNKNOWN:
        return _known_before(ctx, path, parts)
    before = _blocks_at(ctx, path, base.seq)
    # A version that the store had later is not an edit: the process that rendered it ended before it recorded that.
    others = [part for part in parts if before.get(part.id) != part.text]
    return before | _seen_before(ctx, path, others, base.seq)


NUL = "\x00"


def without_damage(ctx: Context, path: str, base: Known | None, stored: ParsedFile, damaged: str) -> ParsedFile:
    """A file in which a power failure left NULs: its readable part, and the rest from the store."""
    legible = [part for part in parse_file(damaged).parts if NUL not in part.text]
    before = _blocks_before(ctx, path, base, legible)
    edited = {part.id: part for part in reversed(legible) if before.get(part.id) != part.text}
    kept = [replace(part, text=edited.pop(part.id).text) if part.id in edited else part for part in stored.parts]
    if kept and edited:
        kept[-1] = replace(kept[-1], gap=_ended(kept[-1].gap))
    added = [replace(part, gap=_ended(part.gap.replace(NUL, ""))) for part in reversed(edited.values())]
    return ParsedFile(stored.preamble, kept + added)


def _by_id(parsed: ParsedFile) -> dict[str, str]:
    """The texts of the blocks; of two with one id, the first."""
    return {part.id: part.text for part in reversed(parsed.parts)}


def _blocks_at(ctx: Context, path: str, seq: int) -> dict[str, str]:
    """The blocks of a file as of a sequence number in the store."""
    sql = (
        "SELECT id, text FROM block WHERE workspace = ? AND file = ? AND until IS NULL AND gone = 0 AND seq <= ?"
        " UNION ALL SELECT id, text FROM block WHERE workspace = ? AND file = ? AND until > ? AND gone = 0 AND seq <= ?"
    )
    return dict(ctx.tx.tuples(sql, ctx.workspace, path, seq, ctx.workspace, path, seq, seq))


def _known_before(ctx: Context, path: str, parts: list[MarkdownPart]) -> dict[str, str]:
    """What the author of a file of unknown age must have known: blocks in the version that the file
    has, if the store once had it, and what another author rolled back. That is missing from the file,
    or in its earlier version, on purpose."""
    seen, back = _seen_before(ctx, path, parts), taken_back(ctx)
    return {
        **{id: text for id, text in seen.items() if id not in back},
        **{id: block.text for id, block in back.items() if block.file == path},
    }


def _seen_before(ctx: Context, path: str, parts: list[MarkdownPart], since: int = UNKNOWN) -> dict[str, str]:
    """Blocks whose text this file has had, after a sequence number: these are old, not edited."""
    found: dict[str, str] = {}
    for start in range(0, len(parts), 500):
        chunk = {part.id: part.text for part in parts[start : start + 500]}
        sql = (
            "SELECT id, text FROM block WHERE workspace = ? AND file = ? AND seq > ?"
            f" AND id IN ({placeholders(len(chunk))}) ORDER BY id, seq"
        )
        for row in ctx.tx.all(sql, ctx.workspace, path, since, *chunk):
            if row["text"] == chunk[row["id"]]:
                found[row["id"]] = row["text"]
    return found


def merge(base: Mapping[str, str], stored: ParsedFile, edited: ParsedFile) -> ParsedFile:
    """The edited file, with what the store changed since `base` in blocks that the person left alone."""
    # Reversed, so that of two blocks with one id the first wins, as everywhere.
    current = {part.id: part for part in reversed(stored.parts)}
    kept = [part for part in (_settled(part, base, current) for part in edited.parts) if part is not None]
    seen = {part.id for part in edited.parts}
    # The author cannot have removed what they have never seen.
    added = [part for part in stored.parts if part.id not in seen and part.id not in base]
    if added and kept:
        kept[-1] = replace(kept[-1], gap=_ended(kept[-1].gap))
    return ParsedFile(edited.preamble if kept or not added else _ended(edited.preamble), kept + added)


def _settled(part: MarkdownPart, base: Mapping[str, str], current: Mapping[str, MarkdownPart]) -> MarkdownPart | None:
    if base.get(part.id) != part.text:
        return part  # a person's edit wins
    stored = current.get(part.id)
    if stored is None or stored.text == part.text:
        return stored and part
    return replace(part, text=stored.text)


def _ended(gap: str) -> str:
    """A gap with an end after which a header can begin."""
    if not gap or gap.endswith("\n\n"):
        return gap or "\n\n"
    return gap + ("\n" if gap.endswith("\n") else "\n\n")


RECENT_MS = 600_000
"""Ten minutes: longer than people leave an edited buffer unsaved, short enough that a later removal is meant."""
MOST_SEQS, MOST = 10_000, 200
"""How far back events are searched, and how many changed blocks are considered: limits the cost of a save."""


@dataclass(frozen=True)
class GovernedChange:
    """A change of a block by approval or rollback: its newest version, which may be a removal, and the
    previous one."""

    now: Block
    before: Block | None

    @property
    def replaced(self) -> str | None:
        """The previous text of the block, if there was one."""
        return None if self.before is None or self.before.gone else self.before.text

    def stands_in(self, texts: Mapping[str, str]) -> bool:
        return not self.now.gone and self.now.text in texts.get(self.now.id, "")

    def missing_from(self, edited: ParsedFile, texts: Mapping[str, str]) -> bool:
        if self.now.id in texts:
            return self.replaced is not None and self.replaced in texts[self.now.id]
        return not self.now.gone and bool(self.now.headline) and self.now.headline not in edited.join()


def _stale_base(ctx: Context, path: str, before: Mapping[str, str], edited: ParsedFile) -> dict[str, str] | None:
    """The blocks of the older text that a stale save was made from; None if it was made from `before`."""
    recent = _recent(ctx, path)
    if not recent:
        return None
    texts = _by_id(edited)
    # A text that contains a change was saved after it, and so after all earlier ones.
    seen = max((change.now.seq for change in recent if change.stands_in(texts)), default=0)
    unseen = [change for change in recent if change.now.seq > seen and change.missing_from(edited, texts)]
    if not unseen:
        return None
    known = dict(before)
    for change in unseen:
        known.pop(change.now.id, None)
        if change.replaced is not None:
            known[change.now.id] = change.replaced
    return known if _changes(known, edited.parts) else None


def _recent(ctx: Context, path: str) -> list[GovernedChange]:
    """Changes of the file by approval or rollback in the last minutes."""
    since = (ctx.ws.seq - MOST_SEQS, ctx.now_ms - RECENT_MS)
    types = ("block_written", "block_removed")
    changed = subjects_changed(ctx.tx, ctx.workspace, types, f'"file":"{path}"', *since, MOST)
    versions = [blocks.history(ctx, id, 2) for id in changed]
    return [
        GovernedChange(found[-1], found[0] if len(found) > 1 else None)
        for found in versions
        if found and found[-1].file == path and found[-1].origin != "edit" and not is_taken_back(ctx, found[-1])
    ]


def _changes(known: Mapping[str, str], parts: list[MarkdownPart]) -> bool:
    """Whether the save contains anything that the text it was made from did not."""
    return any(known.get(part.id) != part.text for part in parts)
