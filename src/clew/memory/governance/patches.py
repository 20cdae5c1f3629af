"""The operations of a proposal: their text form, their fingerprints, and a draft to try them on.

Mind-Mem defines seven kinds; its file format and fingerprint are kept, so that either program can apply
the proposal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import unified_diff
from typing import Any

from clew.canonical import canonical, sha256_hex
from clew.errors import ClewError, invalid, shorten
from clew.kinds import statuses
from clew.kinds.state import State
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.directory import FOLDERS, directory_of
from clew.memory.files.markdown import (
    Value,
    append_item,
    one_line,
    parse_block,
    parse_file,
    set_field,
    without_field,
)
from clew.memory.kinds import kind_of
from clew.registry.context import Context
from clew.store.database import placeholders

KINDS: dict[str, tuple[str, ...]] = {
    "append_block": ("file", "patch"),
    "insert_after_block": ("target", "patch"),
    "update_field": ("target", "field", "value"),
    "append_list_item": ("target", "list", "item"),
    "set_status": ("target", "status"),
    "replace_range": ("target", "start", "end", "patch"),
    "supersede_decision": ("target", "patch"),
}
"""The kinds of operation and the required parts of each."""
OWN_KINDS: dict[str, tuple[str, ...]] = {
    "replace_block": ("target", "value"),
    "move_block": ("target", "value"),
    "restore_block": ("target", "status"),
}
"""Kinds that only Clew proposes: `value` is the record that replaces the target, or the file it moves to."""

_FILE = re.compile(r"(?:[\w.-]+/)+[\w.-]+\.md", re.ASCII)
LONGEST_PART = 200
"""Maximum bytes of a file name. File systems allow 255, but drafts and copies add to the name of their file."""
# Proposals, receipts and state belong to the review itself, so no proposal may change them.
_CLOSED = ("intelligence/proposed/", "intelligence/applied/", "intelligence/state/")
UNTAGGED = "untagged"
"""The value of Tags if there are none: the field must not be empty."""
_LINE = re.compile(r"([a-z_]+):(?:[ \t]+(.*))?$")


@dataclass(frozen=True, slots=True)
class Op:
    op: str
    file: str = ""
    target: str = ""
    field: str = ""
    value: str = ""
    list: str = ""
    item: str = ""
    status: str = ""
    history: str = ""
    start: str = ""
    end: str = ""
    patch: str = ""


NAMES = tuple(part.name for part in fields(Op))


def check(op: Op) -> Op:
    """Refuse an unknown operation or one that lacks a part. Whether it can be applied is tested on a draft."""
    if op.op not in KINDS and op.op not in OWN_KINDS:
        raise invalid("ops", f"{shorten(op.op, 40)!r} is not an operation", f"Use one of {', '.join(KINDS)}.")
    missing = [name for name in {**KINDS, **OWN_KINDS}[op.op] if not getattr(op, name)]
    if missing:
        raise invalid("ops", f"{op.op} needs {' and '.join(missing)}", kind="missing_required")
    if op.file:
        check_file(op.file)
    return op


def check_file(path: str) -> str:
    """Check that a path is a Markdown file of the workspace that proposals may change.

    Hidden files are refused because Clew never reads them, and long names because they could not be written.
    """
    parts = path.split("/")
    odd = any(part.startswith(".") or len(part) > LONGEST_PART for part in parts)
    if not _FILE.fullmatch(path) or odd or parts[0] not in FOLDERS or path.startswith(_CLOSED):
        raise invalid(
            "file",
            f"{shorten(path, 80)!r} is not a memory file that a proposal may change",
            "Use a relative path such as decisions/DECISIONS.md.",
        )
    return path


def check_place(ctx: Context, path: str) -> None:
    """Refuse a new file whose path is taken: a part of it is a file, or the path itself is a folder."""
    parts = path.split("/")
    near = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    sql = f"SELECT path FROM block_file WHERE workspace = ? AND (path IN ({placeholders(len(near))}) OR path LIKE ?)"
    known = {row["path"] for row in ctx.tx.all(sql, ctx.workspace, *near, f"{path}/%")}
    if path in known:
        return
    directory = directory_of(ctx)
    taken = min(known) if known else directory.obstacle(path) if directory else None
    if taken:
        raise ClewError(
            "CONFLICT",
            f"{shorten(path, 120)} cannot be a file: {shorten(taken, 120)} is in its way",
            "Name another file, such as decisions/DECISIONS.md.",
        )


def printed(ops: list[Op]) -> list[str]:
    """The operations as items of a block's `Ops` field."""
    return ["\n".join(_printed(name, getattr(op, name)) for name in NAMES if getattr(op, name)) for op in ops]


def _printed(name: str, value: str) -> str:
    # On one line only if parsing it returns the same text: outer blanks would be stripped, `|` starts a literal.
    if "\n" not in value and value == value.strip() and value != "|":
        return f"{name}: {value}"
    # An empty line is indented like the others: to Mind-Mem a line without indent ends the operations.
    return "\n".join([f"{name}: |", *(f"  {line}" for line in value.split("\n"))])


def read(value: Value | None) -> list[Op]:
    """The operations of a proposal block, written by Clew, Mind-Mem or a person."""
    if not isinstance(value, list) or not value:
        raise ClewError("CONFLICT", "the proposal holds no operations", "Write at least one item under Ops.")
    return [check(_read(item)) for item in value]


def _read(item: str) -> Op:
    found: dict[str, str] = {}
    literal: str | None = None
    for line in item.split("\n"):
        if literal is not None and (not line.strip() or line.startswith("  ")):
            found[literal] += line[2:] + "\n"
            continue
        literal = None
        match = _LINE.match(line.strip())
        if not match:
            raise invalid("ops", f"cannot read {shorten(line, 60)!r}; write `key: value`")
        name, text = match.group(1), (match.group(2) or "").strip()
        # Mind-Mem accepts both names for the text of a supersede_decision.
        name = {"new_block": "patch"}.get(name, name)
        if name == "range" and not text:
            continue  # its start and end follow, indented
        if name not in NAMES:
            raise invalid("ops", f"{name!r} is not a part of an operation", f"Known parts: {', '.join(NAMES)}.")
        found[name] = "" if text == "|" else text
        literal = name if text == "|" else None
    return Op(**{"op": "", **{name: text.rstrip("\n") for name, text in found.items()}})


def digest(type: str, target: str, ops: list[Op]) -> str:
    """A digest over every part of every operation."""
    whole = {"type": type, "target": target, "ops": [asdict(op) for op in ops]}
    return sha256_hex(canonical(whole), 16)


def fingerprint(type: str, target: str, ops: list[Op], absent: str | None = None) -> str:
    """The fingerprint by Mind-Mem's formula, which covers only some parts. `absent` represents an empty part.

    Plain `json.dumps`, because Mind-Mem hashes exactly this text.
    """
    short = [
        {
            **{name: getattr(op, name) or absent for name in ("op", "file", "target")},
            **{name: _coerced(getattr(op, name)) for name in ("value", "status")},
            "patch": op.patch,
        }
        for op in ops
    ]
    return sha256_hex(json.dumps({"type": type, "target": target, "ops": short}, sort_keys=True), 16)


def fingerprints(type: str, target: str, ops: list[Op]) -> set[str]:
    """Every fingerprint that is valid for these operations: our digest, and those of Mind-Mem's versions."""
    return {digest(type, target, ops), fingerprint(type, target, ops), fingerprint(type, target, ops, "")}


def _coerced(text: str) -> Any:
    """A value as Mind-Mem parses it from a proposal: null, true, false and numbers are converted."""
    words = {"null": None, "none": None, "None": None, "true": True, "True": True, "false": False, "False": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def with_files(draft: ProposalDraft, ops: Sequence[Op]) -> tuple[Op, ...]:
    """The operations, each with the file it changes, because Mind-Mem accepts none without a file."""
    return tuple(op if op.file else replace(op, file=draft.file_of(op.target)) for op in ops)


@dataclass
class BlockChange:
    """One changed block. `before` is None for a new block; `after` names the block that a new one follows."""

    id: str
    file: str
    before: Block | None
    text: str
    after: str | None = None

    @property
    def files(self) -> set[str]:
        """The files that it changes: two if the block moves."""
        return {self.file, self.before.file if self.before else self.file}


class ProposalDraft:
    """Copies of the blocks that a proposal changes. Its operations run on the copies, and nothing is written."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.changes: dict[str, BlockChange] = {}

    def run(self, op: Op) -> None:
        STEPS[op.op](self, op)

    def find(self, id: str) -> Block | None:
        """A block as it was before the operations."""
        return blocks.find(self.ctx, id)

    def target(self, op: Op) -> BlockChange:
        """The block that an operation changes, with the effects of the operations before it."""
        change = self.changes.get(op.target)
        if change is None:
            block = self.find(op.target)
            if block is None:
                raise ClewError("CONFLICT", f"{op.op}: there is no block {op.target}", "Propose the change anew.")
            text = block.text.replace("\r\n", "\n")
            change = BlockChange(block.id, block.file, block, text)
        if op.file and op.file != change.file:
            raise ClewError("CONFLICT", f"{op.op}: {op.target} is in {change.file}, not in {op.file}")
        return change

    def file_of(self, id: str) -> str:
        return self.changes[id].file if id in self.changes else blocks.get(self.ctx, id).file

    def files(self) -> list[str]:
        """Every file that the changes touch."""
        return sorted({file for change in self.changes.values() for file in change.files})

    def put(self, change: BlockChange, text: str) -> None:
        change.text = text
        self.changes[change.id] = change

    def add(self, patch: str, file: str, after: str | None = None) -> list[str]:
        """Add the blocks of a patch, at the end of the file or after a block; returns their ids."""
        parsed = parse_file(patch)
        if not parsed.parts or parsed.preamble.strip():
            raise ClewError("CONFLICT", "the patch does not begin with a block header", "Begin it with [PREFIX-...].")
        for part in parsed.parts:
            if part.id in self.changes or self.find(part.id) is not None:
                raise ClewError("CONFLICT", f"{part.id} exists already", "Propose the block under a new id.")
            self.changes[part.id] = BlockChange(part.id, file, None, part.text, after)
            # Each further block follows the one before it, so that the patch keeps its order.
            after = part.id if after else None
        return [part.id for part in parsed.parts]

    def diff(self, context: int = 3) -> str:
        """All changes as a unified diff, with this many context lines."""
        found: list[str] = []
        for change in self.changes.values():
            before = change.before.text.replace("\r\n", "\n").split("\n") if change.before else []
            old = f"{change.file}#{change.id}" if change.before else "/dev/null"
            after, new = change.text.split("\n"), f"{change.file}#{change.id}"
            found += unified_diff(before, after, old, new, n=context, lineterm="")
        return "\n".join(found)


def _unquoted(text: str) -> str:
    """A text without the quotes that people and Mind-Mem put around it in a proposal."""
    whole = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if whole else text


def _append(draft: ProposalDraft, op: Op) -> None:
    draft.add(op.patch, op.file)


def _insert_after(draft: ProposalDraft, op: Op) -> None:
    place = draft.target(op)
    if place.before is None:
        raise ClewError("CONFLICT", f"insert_after_block: {op.target} is not in a file yet")
    draft.add(op.patch, place.file, op.target)


def _update_field(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    if op.field not in parse_block(change.text).fields:
        raise ClewError("CONFLICT", f"update_field: {op.target} has no field {op.field}", "Name a field it has.")
    draft.put(change, set_field(change.text, op.field, op.value))


def _append_list_item(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    item, known = _unquoted(op.item), parse_block(change.text).fields.get(op.list)
    # Tags are one line. Mind-Mem's validator crashes if they are a list.
    if op.list == "Tags" and isinstance(known, str):
        tags = [known] if known != UNTAGGED else []
        draft.put(change, set_field(change.text, "Tags", ", ".join([*tags, one_line(item)])))
    else:
        draft.put(change, append_item(change.text, op.list, item))


def _set_status(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    text = set_field(change.text, "Status", op.status)
    history = _unquoted(op.history)
    if history:
        known = parse_block(text).fields.get("History")
        text = append_item(text, "History", history) if known else set_field(text, "History", [history])
    draft.put(change, text)


def _replace_range(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    lines = change.text.split("\n")
    first, last = _unquoted(op.start), _unquoted(op.end)
    start = next((n for n, line in enumerate(lines) if first in line), None)
    if start is None:
        raise ClewError("CONFLICT", f"replace_range: no line of {op.target} holds {first!r}")
    end = next((n for n, line in enumerate(lines) if n > start and last in line), None)
    if end is None:
        raise ClewError("CONFLICT", f"replace_range: no line of {op.target} after the start holds {last!r}")
    # The line with the end mark itself stays, as in Mind-Mem.
    text = "\n".join([*lines[:start], *op.patch.split("\n"), *lines[end:]])
    found = parse_file(text)
    # A patch with its own header line would split one block into two, one of which was never approved.
    if [part.id for part in found.parts] != [change.id] or found.parts[0].text != text:
        raise ClewError("CONFLICT", f"replace_range: the patch would break {op.target} into several blocks")
    draft.put(change, text)


def _supersede(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    if "enforcement: invariant" in change.text:
        raise ClewError("NOT_ALLOWED", f"{op.target} is an invariant and cannot be superseded", "Edit it by hand.")
    added = draft.add(op.patch, change.file)
    text = set_field(change.text, "Status", statuses.SUPERSEDED)
    draft.put(change, set_field(text, "SupersededBy", added[0]))


def _replace_block(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    taken = one_line(parse_block(change.text).fields.get("SupersededBy"))
    state = kind_of(change.id).state(one_line(parse_block(change.text).fields.get("Status")))
    if state is State.REPLACED and taken not in ("", op.value):
        raise ClewError(
            "CONFLICT",
            f"{op.target} was replaced by {taken} in the meantime",
            f"Reject it; what is to hold instead of {taken} is remembered with replaces=[{taken}].",
            details={"rule": "replaced", "successor": taken},
        )
    if state in (State.WITHDRAWN, State.EXPIRED):
        return  # withdrawn for its own reason: it must not be restored when the successor is withdrawn
    draft.put(change, set_field(set_field(change.text, "Status", statuses.SUPERSEDED), "SupersededBy", op.value))


def _restore_block(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    draft.put(change, restored_text(change.text, op.status, _unquoted(op.history)))


def restored_text(text: str, status: str, history: str) -> str:
    """The text of a restored block: without a successor, and with a line about the reason."""
    fields = parse_block(text).fields
    if "SupersededBy" in fields:
        text = without_field(text, "SupersededBy")
    text = set_field(text, "Status", status)
    return append_item(text, "History", history) if fields.get("History") else text


def _move_block(draft: ProposalDraft, op: Op) -> None:
    change = draft.target(op)
    change.file = check_file(op.value)
    draft.changes[change.id] = change


STEPS: dict[str, Callable[[ProposalDraft, Op], None]] = {
    "append_block": _append,
    "insert_after_block": _insert_after,
    "update_field": _update_field,
    "append_list_item": _append_list_item,
    "set_status": _set_status,
    "replace_range": _replace_range,
    "supersede_decision": _supersede,
    "replace_block": _replace_block,
    "move_block": _move_block,
    "restore_block": _restore_block,
}
