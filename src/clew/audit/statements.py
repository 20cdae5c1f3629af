"""What is audited: statements of the store, and of files that other tools or people wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.errors import ClewError
from clew.importers.port import Candidate, Malformed, Roots, files_matching, read_text
from clew.importers.sources import load_sources
from clew.kinds.catalogue import by_prefix, state_of
from clew.kinds.kind import KindFamily
from clew.kinds.state import State
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.markdown import listed, one_line, parse_block, parse_file
from clew.registry.context import Context

MOST_STATEMENTS = 5_000
_REASONS = ("Rationale", "Why", "Reason", "Source", "Origin", "Evidence", "Provenance")


@dataclass(frozen=True)
class AuditedStatement:
    place: str
    """The id of a record, or file and line."""
    kind: str
    text: str
    state: State
    whole: str
    """Everything that is written there, in which secrets are looked for."""
    has_reason: bool
    about: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.state is State.IN_FORCE

    @property
    def is_over(self) -> bool:
        return self.state in (State.REPLACED, State.WITHDRAWN)


@dataclass(frozen=True)
class Audited:
    statements: list[AuditedStatement]
    unreadable: list[str]
    left_out: int = 0


def of_store(ctx: Context) -> Audited:
    found = [_of_block(block) for block in blocks.current(ctx) if block.kind.family is KindFamily.DURABLE]
    return Audited(found[:MOST_STATEMENTS], [], max(len(found) - MOST_STATEMENTS, 0))


def _of_block(block: Block) -> AuditedStatement:
    has_reason = any(one_line(block.fields.get(name)) for name in _REASONS)
    about = tuple(listed(block.fields.get("About")))
    state = state_of(block.kind.name, block.status)
    return AuditedStatement(block.id, block.kind.name, block.headline, state, block.text, has_reason, about)


def of_path(path: Path) -> Audited:
    """A folder with files in any format that `backfill` reads, or a Markdown file of records."""
    if not path.exists():
        raise ClewError("NOT_FOUND", f"{path} does not exist", "Name a file or a folder.")
    folder = path if path.is_dir() else path.parent
    roots = Roots(folder.resolve(), folder.resolve())
    wanted = None if path.is_dir() else path.resolve()
    statements: list[AuditedStatement] = []
    unreadable: list[str] = []
    for found in _findings(roots, wanted):
        if isinstance(found, AuditedStatement):
            statements.append(found)
        else:
            unreadable.append(str(found))
    return Audited(statements[:MOST_STATEMENTS], unreadable, max(len(statements) - MOST_STATEMENTS, 0))


def _findings(roots: Roots, wanted: Path | None) -> Iterator[AuditedStatement | Malformed]:
    for source in load_sources():
        if source.name == "git_history":
            continue  # a history states what was, not what holds
        for path in source.detect(roots):
            if wanted in (None, path.resolve()):
                for finding in source.read(roots, path):
                    if isinstance(finding, Candidate):
                        yield _of_candidate(finding)
                    elif isinstance(finding, Malformed):
                        yield finding
    for path in files_matching(roots.project, ["*.md", "*/*.md"]):
        if wanted in (None, path.resolve()):
            yield from _of_memory_file(roots, path)


def _of_candidate(candidate: Candidate) -> AuditedStatement:
    whole = f"{candidate.title}\n{candidate.text}\n{candidate.why}"
    place = str(candidate.origin)
    return AuditedStatement(
        place, candidate.kind, candidate.text, State.IN_FORCE, whole, bool(candidate.why), candidate.about
    )


def _of_memory_file(roots: Roots, path: Path) -> Iterator[AuditedStatement | Malformed]:
    """The records of a Mind-Mem or Clew memory file; a file without any is not one."""
    text = read_text(roots, path)
    if isinstance(text, Malformed):
        yield text
        return
    kinds = by_prefix()
    for part in parse_file(text).parts:
        kind = kinds.get(part.id.partition("-")[0])
        if kind is None or kind.family is not KindFamily.DURABLE:
            continue
        fields = parse_block(part.text).fields
        state = state_of(kind.name, one_line(fields.get("Status")) or None)
        has_reason = any(one_line(fields.get(name)) for name in _REASONS)
        place = f"{roots.shown(path)} {part.id}"
        about = tuple(listed(fields.get("About")))
        yield AuditedStatement(place, kind.name, blocks.headline(fields), state, part.text, has_reason, about)
