"""Export and import of memory as one compressed tar: the Markdown files, every version, and the rejected values."""

from __future__ import annotations

import gzip
import io
import os
import shlex
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field, ValidationError

from clew.errors import ClewError, invalid, shorten
from clew.ids import confined
from clew.memory import blocks
from clew.memory.files import hand_edits, places
from clew.memory.files.changed_files import LONGEST_BLOCK
from clew.memory.files.directory import DERIVED, reported
from clew.memory.files.governed_write import lay_out
from clew.memory.files.markdown import parse_block, parse_file
from clew.memory.files.sync import publish, sync
from clew.memory.governance import proposals
from clew.memory.governance.patches import check_file, check_place
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, StrictModel, operation
from clew.registry.people import check_person
from clew.secrets import redact_text
from clew.surroundings import placed

HISTORY, REJECTED = "history.jsonl", "tombstones.jsonl"
MOST_BYTES = 1_000_000_000
"""Limit for the unpacked archive. Files that are not imported are only skipped."""
MOST_READ = 100_000_000
"""Limit for the imported files, which are held in memory together."""
PORTION = 500

Found = tuple[str, str, str]
"""File, id and text of a block."""


class Rejected(StrictModel):
    """A rejected value as an archive holds it."""

    proposal: Annotated[str, Field(max_length=140)]
    statement: str
    reason: str


class ExportMemory(Input):
    path: Annotated[str, Field(min_length=1, max_length=1000, description="File to write, such as memory.tar.gz.")]


class ImportMemory(Input):
    path: Annotated[str, Field(min_length=1, max_length=1000, description="File that export_memory wrote.")]
    force: Annotated[bool, Field(description="Replace blocks that read differently now, instead of skipping.")] = False
    dry_run: Annotated[bool, Field(description="Only say what would be done.")] = False


def exchange_file(ctx: Context, given: str) -> Path:
    """The file or folder of an export or import. A person at the shell may name any; every other caller
    one below the data directory."""
    if ctx.connection.local:
        return placed(given)
    folder = exchange_folder(ctx)
    folder.mkdir(parents=True, exist_ok=True)
    return confined(folder, given)


def exchange_folder(ctx: Context) -> Path:
    """One folder for each workspace: a workspace must neither read nor overwrite the exports of another."""
    return ctx.settings.home / "exports" / ctx.workspace.replace("/", "+")


@operation("export_memory", writes=True, mode="own", idempotent=True, example={"path": "memory.tar.gz"}, view=BARE)
def export_memory(ctx: Context, args: ExportMemory) -> dict[str, Any]:
    """Write the memory workspace into one file, with every version and rejected value."""
    target = exchange_file(ctx, args.path)
    sync(ctx)
    with ctx.reading() as bound:
        files = dict(_files(bound))
    with reported(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        draft.write_bytes(_packed(files))
        draft.replace(target)
    return {"path": str(target), "files": len(files), "bytes": target.stat().st_size}


def _files(ctx: Context) -> Iterator[tuple[str, str]]:
    sql = f"SELECT path FROM block_file WHERE workspace = ? AND {places.HOLDS_TEXT} ORDER BY path"
    for row in ctx.tx.all(sql, ctx.workspace):
        yield row["path"], hand_edits.rendered(ctx, row["path"])
    plain = "SELECT path, text FROM plain_file WHERE workspace = ? AND until IS NULL ORDER BY path"
    for row in ctx.tx.all(plain, ctx.workspace):
        yield row["path"], row["text"]
    versions = "SELECT id, seq, gone, file, origin, cause, agent, ts_ms, text FROM block WHERE workspace = ?"
    yield HISTORY, _lines(ctx.tx.all(f"{versions} ORDER BY seq, id", ctx.workspace))
    rejected = "SELECT proposal, statement, reason FROM tombstone WHERE workspace = ? ORDER BY seq, mark"
    yield REJECTED, _lines(ctx.tx.all(rejected, ctx.workspace))


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(orjson.dumps(row).decode() + "\n" for row in rows)


def _packed(files: dict[str, str]) -> bytes:
    """The archive. It contains no times and no owners, so the same memory gives the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path in sorted(files):
            data = files[path].encode()
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


@operation("import_memory", writes=True, mode="own", example={"path": "memory.tar.gz"}, view=BARE)
def import_memory(ctx: Context, args: ImportMemory) -> dict[str, Any]:
    """Add the blocks of an exported memory; what was rejected here stays rejected."""
    if not args.dry_run:
        # Imported records state their own status and author: with crafted ones an agent would decide for a person.
        forced = " --force" if args.force else ""
        check_person(ctx, "taking in records of a file", f"import memory {shlex.quote(args.path)}{forced}")
    files = _unpacked(exchange_file(ctx, args.path))
    rejected = _rejected_values(files.pop(REJECTED, ""))
    sync(ctx)
    done: Counter[str] = Counter()
    skipped: list[dict[str, str]] = []
    found = [(path, part.id, part.text) for path, text in files.items() for part in parse_file(text).parts]
    _check_found(ctx, found)
    for start in range(0, len(found), PORTION):
        # One transaction per batch, so that other writers do not wait for the whole import.
        with ctx.reading() if args.dry_run else ctx.writing() as bound:
            _take(bound, found[start : start + PORTION], args, done, skipped)
    if not args.dry_run:
        with ctx.writing() as bound:
            _bury(bound, rejected)
        publish(ctx)
    counts = {name: done[name] for name in ("added", "replaced", "same", "conflicts", "rejected")}
    return {**counts, "skipped": skipped[:100], "dry_run": args.dry_run}


def _check_found(ctx: Context, found: list[Found]) -> None:
    """Refuse what memory cannot store, before anything is written."""
    for path, id, text in found:
        if len(text) > LONGEST_BLOCK:
            raise invalid("path", f"{id} of {path} in it has more than {LONGEST_BLOCK:,} characters")
    with ctx.reading() as bound:
        for path in dict.fromkeys(path for path, _, _ in found):
            check_place(bound, path)


def _take(
    ctx: Context, found: list[Found], args: ImportMemory, done: Counter[str], skipped: list[dict[str, str]]
) -> None:
    if not args.dry_run:
        lay_out(ctx)
    known = {block.id: (block.file, block.text) for block in blocks.current(ctx, ids=[id for _, id, _ in found])}
    refused = _refused(ctx, found)
    pending = Pending(ctx)
    for path, id, text in found:
        file, old = known.get(id, (path, None))
        what = _verdict(text, old, (id, text) in refused, args.force)
        done[what] += 1
        if what in ("conflicts", "rejected"):
            skipped.append({"block_id": id, "why": what})
        elif what != "same" and not args.dry_run:
            # `file` is the current file of the block; a replacement does not move it to the archive's place.
            pending.put(file, id, text, fresh=old is None)
            known[id] = (file, text)
    pending.write()
    proposals.follow_changes(ctx, pending.written)


@dataclass
class Pending:
    """Blocks to write. New blocks of one file are batched; a replacement is written at once."""

    ctx: Context
    origin: str = "import"
    added: dict[str, dict[str, str]] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)

    def put(self, file: str, id: str, text: str, fresh: bool) -> None:
        if fresh:
            self.added.setdefault(file, {})[id] = text
        else:
            self.write()
            blocks.write(self.ctx, id, text, origin=self.origin, file=file)
        self.written.append(id)

    def write(self) -> None:
        for file, texts in self.added.items():
            blocks.add_all(self.ctx, texts, file=file, origin=self.origin)
        self.added.clear()


def _refused(ctx: Context, found: list[Found]) -> set[tuple[str, str]]:
    """Id and text of the blocks whose statement was rejected in this workspace."""
    said = {
        (id, text): blocks.headline(parse_block(text.replace("\r\n", "\n")).fields)
        for _, id, text in found
        if id.startswith(("D-", "T-"))
    }
    rejected = proposals.rejected_among(ctx, list(dict.fromkeys(said.values())))
    return {key for key, statement in said.items() if statement in rejected}


def _verdict(text: str, old: str | None, refused: bool, force: bool) -> str:
    if old is not None and old.replace("\r\n", "\n") == text.replace("\r\n", "\n"):
        return "same"
    if refused:
        return "rejected"
    if old is None:
        return "added"
    return "replaced" if force else "conflicts"


def _bury(ctx: Context, rejected: list[Rejected]) -> None:
    for value in rejected:
        proposals.bury(ctx, value.statement, value.proposal, value.reason)


def _rejected_values(lines: str) -> list[Rejected]:
    """Parsed before anything is written, so that a damaged list changes nothing."""
    try:
        return [Rejected.model_validate_json(line) for line in lines.splitlines() if line.strip()]
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]["msg"]
        raise invalid(
            "path", f"{REJECTED} in it cannot be read: {first}", "Give a file that export_memory wrote."
        ) from None


def _unpacked(source: Path) -> dict[str, str]:
    """The Markdown files and the rejected values; any entry but a regular file is refused."""
    try:
        with tarfile.open(source, "r:gz") as tar:
            return dict(_members(tar))
    except (OSError, tarfile.TarError, EOFError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or shorten(str(problem), 200)
        raise ClewError("IO_ERROR", f"{source}: {said}", "Give a file that export_memory wrote.") from problem


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, str]]:
    total = read = 0
    for member in tar:
        total += member.size
        if not member.isreg() or total > MOST_BYTES:
            raise invalid("path", f"{shorten(member.name, 80)!r} in it is not a file of a sensible size")
        if not member.name.endswith(".md") and member.name != REJECTED:
            continue  # settings and kernels belong to the importing workspace; versions are informational
        if member.name.startswith(("intelligence/applied/", f"{DERIVED}/")):
            continue  # a receipt is only valid in the store that can roll it back; categories are generated from blocks
        if member.name != REJECTED:
            check_file(member.name.replace("intelligence/proposed/", "intelligence/", 1))
        read += member.size
        if read > MOST_READ:
            raise invalid("path", f"the files in it have more than {MOST_READ:,} bytes", "Import it in parts.")
        data = tar.extractfile(member)
        text = data.read().decode() if data else ""
        if "\x00" in text:
            raise invalid("path", f"{shorten(member.name, 80)!r} in it holds a NUL character")
        yield member.name, redact_text(text)
