"""sync_instructions: a managed block in AGENTS.md or CLAUDE.md with the rules and decisions in force.

Clients without hooks read these files at every start. An edit inside the block becomes a proposal, and
the block is restored to what is in force; text outside of it is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.kinds.catalogue import state_of
from clew.kinds.state import State
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.durable_records import Record, propose_within
from clew.memory.files.erasing import ErasedFiles
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.swap import swap
from clew.memory.governance import proposals
from clew.memory.governance.patches import Op
from clew.memory.governance.proposals import Staged
from clew.memory.governance.submission import ending_of
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.store.redaction import Redactor

FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")
SECTIONS = (("Rules", "R", 60), ("Preferences", "U", 30), ("Decisions", "D", 15))
"""Heading, prefix and maximum number of entries, newest first."""
LONGEST_FILE = 1 << 20
NOTE = "Kept by `clew sync-instructions`. What you change in here is proposed; `clew inbox` decides."
_BLOCK = re.compile(
    r"<!-- clew:begin (?P<digest>[0-9a-f]{12})(?P<ids>[^>\n]*)-->\n(?P<body>.*?)<!-- clew:end -->\n?", re.DOTALL
)
"""The first marker has the digest of the written block and the records in it, by which hand edits are detected."""
_ITEM = re.compile(r"^[-*] (?:(?P<id>[A-Z]{1,16}-[\w-]+): )?(?P<text>.+)$", re.MULTILINE)


class SyncInstructions(Input):
    file: Annotated[
        Literal["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"] | None,
        Field(description="Default: the first of these that the project has, else AGENTS.md."),
    ] = None
    remove: Annotated[bool, Field(description="Take the block out of the file.")] = False
    dry_run: Annotated[bool, Field(description="Only say what would change.")] = False


@dataclass(frozen=True)
class InstructionFile:
    path: Path
    text: str

    @property
    def block(self) -> re.Match[str] | None:
        return _BLOCK.search(self.text)

    def with_block(self, block: str) -> str:
        """The text with the old block replaced by this one, or appended; an empty one removes it."""
        found = self.block
        if found is not None:
            return self.text[: found.start()] + block + self.text[found.end() :]
        gap = "" if not self.text or self.text.endswith("\n\n") else "\n" if self.text.endswith("\n") else "\n\n"
        return f"{self.text}{gap}{block}" if block else self.text


@dataclass(frozen=True)
class HandEdit:
    """A line that was changed, added or deleted by hand inside the block."""

    what: Literal["changed", "added", "deleted"]
    id: str
    text: str


@operation("sync_instructions", writes=True, mode="own", example={"dry_run": True})
def sync_instructions(ctx: Context, args: SyncInstructions) -> dict[str, Any]:
    """Write the rules and decisions in force into a managed block of AGENTS.md or CLAUDE.md.

    Edits inside of the block become proposals; the rest of the file stays as it is.
    """
    file = _read(_place(ctx, args.file))
    with ctx.reading() as bound:
        edits = list(_hand_edits(bound, file))
    proposed = _propose(ctx, file, edits) if edits and not args.dry_run else []
    with ctx.reading() as bound:
        block = _block_now(bound)
    wanted = file.with_block("" if args.remove else block.marked)
    changed = wanted != file.text
    if changed and not args.dry_run:
        _write(file, wanted)
    return {
        "file": str(file.path),
        "changed": changed,
        "records": 0 if args.remove else len(block.ids),
        "left_out": block.left_out,
        "edits": [{"what": edit.what, "id": edit.id, "text": edit.text} for edit in edits],
        "proposed": proposed,
        "dry_run": args.dry_run,
    }


def erase_in_instructions(ctx: Context, redactor: Redactor, found: ErasedFiles) -> None:
    """Rewrite blocks that contained an erased text. Text that people wrote, also inside the block, is
    only reported."""
    project = ctx.project
    for path in (project / name for name in FILES) if project is not None else ():
        if not path.is_file() or path.is_symlink():
            continue
        with suppress(ClewError):
            file = _read(path)
            if not redactor.found_in(file.text):
                continue
            if file.block is not None and file.block["digest"] == _digest(file.block["body"]):
                with ctx.reading() as bound:
                    wanted = file.with_block(_block_now(bound).marked)
                _write(file, wanted)
                file = InstructionFile(path, wanted)
                found.cleaned.append(str(path))
            if redactor.found_in(file.text):
                found.holding.append(str(path))


def _place(ctx: Context, named: str | None) -> Path:
    if ctx.project is None:
        raise ClewError(
            "NOT_ALLOWED",
            f"this server does not run in the project of {ctx.workspace}",
            "Run `clew sync-instructions` in the project's directory.",
        )
    known = [name for name in FILES if (ctx.project / name).is_file()]
    path = ctx.project / (named or (known[0] if known else FILES[0]))
    if not path.resolve().is_relative_to(ctx.project.resolve()):
        raise ClewError("NOT_ALLOWED", f"{path} leads out of the project", "Replace the link by a file.")
    return path


def _read(path: Path) -> InstructionFile:
    try:
        data = path.read_bytes() if path.exists() else b""
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ClewError("IO_ERROR", f"{path} cannot be read as UTF-8: {problem}", "Repair the file.") from None
    if len(data) > LONGEST_FILE:
        raise ClewError("INVALID_INPUT", f"{path} is larger than {LONGEST_FILE >> 20} MiB", "Name another file.")
    return InstructionFile(path, text)


def _write(file: InstructionFile, text: str) -> None:
    """Write the file atomically. A concurrent save is kept next to the file."""
    path = file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.clew-new")
    draft.write_text(text, encoding="utf-8")
    if not path.exists():
        draft.rename(path)
        return
    for replaced in swap(draft, path):
        if replaced.read_bytes() == file.text.encode():
            replaced.unlink()


@dataclass(frozen=True)
class InstructionBlock:
    """The text between the markers."""

    body: str
    ids: tuple[str, ...]
    left_out: int

    @property
    def marked(self) -> str:
        return f"<!-- clew:begin {_digest(self.body)} {' '.join(self.ids)} -->\n{self.body}<!-- clew:end -->\n"


def _block_now(ctx: Context) -> InstructionBlock:
    parts, ids, left_out = [f"{NOTE}\n"], [], 0
    for heading, prefix, most in SECTIONS:
        found = _in_force(ctx, prefix)
        left_out += max(len(found) - most, 0)
        ids += [block.id for block in found[:most]]
        if found:
            lines = (f"- {block.id}: {_one_line(block)}" for block in found[:most])
            parts.append("\n".join([f"## {heading}", "", *lines, ""]))
    return InstructionBlock("\n".join(parts), tuple(ids), left_out)


def _in_force(ctx: Context, prefix: str) -> list[Block]:
    found = [
        block
        for block in blocks.current(ctx, prefix=prefix)
        if state_of(block.kind.name, block.status) is State.IN_FORCE
    ]
    return sorted(found, key=lambda block: (-block.seq, block.id))


def _one_line(block: Block) -> str:
    # A marker inside a statement would end the block.
    return " ".join(block.headline.split()).replace("-->", "--›")


def _digest(body: str) -> str:
    return sha256_hex(body.encode())[:12]


def _hand_edits(ctx: Context, file: InstructionFile) -> Iterator[HandEdit]:
    """Differences from what was written; none if the block is unchanged."""
    found = file.block
    if found is None or found["digest"] == _digest(found["body"]):
        return
    items = list(_ITEM.finditer(found["body"]))
    listed = {match["id"]: match["text"].strip() for match in items if match["id"]}
    known = {block.id: _one_line(block) for _, prefix, _ in SECTIONS for block in _in_force(ctx, prefix)}
    for id, text in listed.items():
        if id in known and known[id] != text:
            yield HandEdit("changed", id, text)
    for id in found["ids"].split():
        if id in known and id not in listed:
            yield HandEdit("deleted", id, known[id])
    for match in items:
        if not match["id"]:
            yield HandEdit("added", "", match["text"].strip())


def _propose(ctx: Context, file: InstructionFile, edits: list[HandEdit]) -> list[str]:
    origin = file.path.name
    with governed_transaction(ctx) as bound:
        return [id for edit in edits if (id := _proposed(bound, edit, origin)) is not None]


def _proposed(ctx: Context, edit: HandEdit, origin: str) -> str | None:
    if edit.what == "added":
        kept = propose_within(ctx, Record("rule", edit.text, origin=origin))
        return kept.proposal_id if kept is not None else None
    block = blocks.get(ctx, edit.id)
    why = f"{edit.what} in {origin}"
    if edit.what == "changed":
        op = Op("update_field", target=edit.id, field="Statement", value=edit.text)
    else:
        history = f"{blocks.day_of(ctx.now_ms)} {why}"
        op = Op("set_status", target=edit.id, status=ending_of(block.kind), history=history)
    return proposals.stage(ctx, Staged("edit", edit.id, (op,), (why,), why)).id
