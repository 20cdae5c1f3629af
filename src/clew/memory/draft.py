"""A copy of the blocks that a proposal touches, on which its operations are tried before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff

from clew.errors import ClewError
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.grammar import HEADER, ParsedBlock, one_line, parse_block, parse_file
from clew.memory.kinds import kind_of
from clew.memory.ops import Op, check_file
from clew.memory.printing import append_item, set_field
from clew.registry.context import Context


@dataclass
class Change:
    """One block before and after; `before` is None for a new one, `after` names the block it stands behind."""

    id: str
    file: str
    before: Block | None
    text: str
    after: str | None = None


class Draft:
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.changes: dict[str, Change] = {}

    def run(self, op: Op) -> None:
        STEPS[op.op](self, op)

    def target(self, op: Op) -> Change:
        """The block that an op changes, as the ops before it left it."""
        change = self.changes.get(op.target)
        if change is None:
            block = blocks.find(self.ctx, op.target)
            if block is None:
                raise ClewError("CONFLICT", f"{op.op}: there is no block {op.target}", "Propose the change anew.")
            text = block.text.replace("\r\n", "\n")
            change = Change(block.id, block.file, block, text)
        if op.file and op.file != change.file:
            raise ClewError("CONFLICT", f"{op.op}: {op.target} is in {change.file}, not in {op.file}")
        return change

    def put(self, change: Change, text: str) -> None:
        change.text = text
        self.changes[change.id] = change

    def add(self, patch: str, file: str, after: str | None = None) -> list[str]:
        """New blocks from a patch, at the end of the file or behind a block."""
        parsed = parse_file(patch)
        if not parsed.parts or parsed.preamble.strip():
            raise ClewError("CONFLICT", "the patch does not begin with a block header", "Begin it with [PREFIX-...].")
        for part in parsed.parts:
            if part.id in self.changes or blocks.find(self.ctx, part.id) is not None:
                raise ClewError("CONFLICT", f"{part.id} exists already", "Propose the block under a new id.")
            self.changes[part.id] = Change(part.id, file, None, part.text, after)
            after = part.id if after else None
        return [part.id for part in parsed.parts]

    def diff(self) -> str:
        """What would change, as a unified diff."""
        found: list[str] = []
        for change in self.changes.values():
            before = change.before.text.replace("\r\n", "\n").split("\n") if change.before else []
            old = f"{change.file}#{change.id}" if change.before else "/dev/null"
            found += unified_diff(before, change.text.split("\n"), old, f"{change.file}#{change.id}", lineterm="")
        return "\n".join(found)


def _append(draft: Draft, op: Op) -> None:
    draft.add(op.patch, op.file)


def _insert_after(draft: Draft, op: Op) -> None:
    place = draft.target(op)
    if place.before is None:
        raise ClewError("CONFLICT", f"insert_after_block: {op.target} is not in a file yet")
    draft.add(op.patch, place.file, op.target)


def _update_field(draft: Draft, op: Op) -> None:
    change = draft.target(op)
    if op.field not in parse_block(change.text).fields:
        raise ClewError("CONFLICT", f"update_field: {op.target} has no field {op.field}", "Name a field it has.")
    draft.put(change, set_field(change.text, op.field, op.value))


def _append_list_item(draft: Draft, op: Op) -> None:
    change = draft.target(op)
    draft.put(change, append_item(change.text, op.list, op.item.strip("\"'")))


def _set_status(draft: Draft, op: Op) -> None:
    change = draft.target(op)
    text = set_field(change.text, "Status", op.status)
    if op.history:
        known = parse_block(text).fields.get("History")
        text = append_item(text, "History", op.history) if known else set_field(text, "History", [op.history])
    draft.put(change, text)


def _replace_range(draft: Draft, op: Op) -> None:
    change = draft.target(op)
    lines = change.text.split("\n")
    start = next((n for n, line in enumerate(lines) if op.start in line), None)
    if start is None:
        raise ClewError("CONFLICT", f"replace_range: no line of {op.target} holds {op.start!r}")
    end = next((n for n, line in enumerate(lines) if n > start and op.end in line), None)
    if end is None:
        raise ClewError("CONFLICT", f"replace_range: no line of {op.target} after the start holds {op.end!r}")
    text = "\n".join([*lines[:start], *op.patch.split("\n"), *lines[end:]])
    found = parse_file(text)
    if [part.id for part in found.parts] != [change.id] or found.parts[0].text != text:
        raise ClewError("CONFLICT", f"replace_range: the patch would break {op.target} into several blocks")
    draft.put(change, text)


def _supersede(draft: Draft, op: Op) -> None:
    change = draft.target(op)
    if "enforcement: invariant" in change.text:
        raise ClewError("NOT_ALLOWED", f"{op.target} is an invariant and cannot be superseded", "Edit it by hand.")
    added = draft.add(op.patch, change.file)
    text = set_field(change.text, "Status", "superseded")
    draft.put(change, set_field(text, "SupersededBy", added[0]))


STEPS: dict[str, Callable[[Draft, Op], None]] = {
    "append_block": _append,
    "insert_after_block": _insert_after,
    "update_field": _update_field,
    "append_list_item": _append_list_item,
    "set_status": _set_status,
    "replace_range": _replace_range,
    "supersede_decision": _supersede,
}


def drafted(ctx: Context, ops: list[Op]) -> Draft:
    """The ops done on a copy, and the result checked."""
    draft = Draft(ctx)
    for op in ops:
        draft.run(op)
    for change in draft.changes.values():
        _validate(change)
    return draft


def _validate(change: Change) -> None:
    """A block must still be one block; a new one needs its kind's fields; a status must be one the kind has."""
    check_file(change.file)
    parsed = parse_block(change.text)
    kind = kind_of(change.id)
    if not HEADER.match(change.text.split("\n", 1)[0]) or len(parse_file(change.text).parts) != 1:
        raise ClewError("CONFLICT", f"{change.id}: the result is not one block")
    if change.before is None:
        _need(change.id, parsed, kind.required)
    status = one_line(parsed.fields.get("Status"))
    changed = change.before is None or change.before.status != status
    if changed and status and kind.statuses and status not in kind.statuses:
        raise ClewError(
            "CONFLICT", f"{change.id}: {status!r} is not a status of a {kind.name}", f"Use {', '.join(kind.statuses)}."
        )


def _need(id: str, parsed: ParsedBlock, required: tuple[str, ...]) -> None:
    missing = [name for name in required if name not in parsed.fields]
    if missing:
        raise ClewError("CONFLICT", f"{id} lacks {', '.join(missing)}", "Add the fields to the patch.")
    if parsed.problems:
        line, problem = parsed.problems[0]
        raise ClewError("CONFLICT", f"{id} line {line + 1}: {problem}", "Mend the patch.")
