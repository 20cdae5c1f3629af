"""Instruction files of coding agents: CLAUDE.md, AGENTS.md, GEMINI.md, rules of Cursor, Copilot and Windsurf.

Each list item is a candidate for a rule; in prose, each sentence that says to do or to avoid something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownLine, lines_of, plain, split_front_matter, without_hidden
from clew.importers.port import Candidate, Finding, Malformed, Provenance, Roots, files_matching, read_text
from clew.importers.sentences import SHORTEST, is_directive, sentences_of

PATTERNS = (
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    ".claude/rules/**/*.md",
    "AGENTS.md",
    "**/AGENTS.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".github/instructions/*.instructions.md",
    ".cursor/rules/**/*.mdc",
    ".cursorrules",
    ".windsurf/rules/*.md",
    ".clinerules",
    ".clinerules/*.md",
)
_SKIPPED_FOLDERS = frozenset({"node_modules", ".venv", "venv", "vendor", ".git", "dist", "build"})
_IMPORT = re.compile(r"^@(\S+)$")
_DEEPEST = 5
_LINK_ONLY = re.compile(r"^\[[^\]]*\]\([^)]*\)\.?$")
_LABEL = re.compile(r"^[^.!?]{1,60}:$")


class InstructionFiles:
    name = "instructions"
    title = "Instruction files (CLAUDE.md, AGENTS.md, Cursor, Copilot)"

    def detect(self, roots: Roots) -> list[Path]:
        found = files_matching(roots.project, PATTERNS)
        return [path for path in found if not _SKIPPED_FOLDERS & set(path.relative_to(roots.project).parts)]

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        yield from self._read(roots, path, (path.resolve(),))

    def _read(self, roots: Roots, path: Path, opened: tuple[Path, ...]) -> Iterator[Finding]:
        text = read_text(roots, path)
        if isinstance(text, Malformed):
            yield text
            return
        front = split_front_matter(text)
        about = _scope(front.fields)
        for line in lines_of(without_hidden(front.body), front.first_line):
            imported = _IMPORT.match(line.text)
            if imported:
                yield from self._import(roots, path, line.number, imported[1], opened)
            else:
                yield from _candidates(roots, path, line, about)

    def _import(self, roots: Roots, path: Path, number: int, name: str, opened: tuple[Path, ...]) -> Iterator[Finding]:
        target = (path.parent / name).resolve()
        if not target.is_relative_to(roots.project.resolve()):
            yield Malformed(roots.shown(path), number, f"@{name} lies outside of the project")
        elif len(opened) > _DEEPEST or target in opened:
            yield Malformed(roots.shown(path), number, f"@{name} is imported in a circle or too deep")
        elif not target.is_file():
            yield Malformed(roots.shown(path), number, f"@{name} is not there")
        else:
            yield from self._read(roots, target, (*opened, target))


def _candidates(roots: Roots, path: Path, line: MarkdownLine, about: tuple[str, ...]) -> Iterator[Candidate]:
    text = plain(line.text)
    pieces = [text] if line.is_item else [one for one in sentences_of(text) if is_directive(one)]
    for piece in pieces:
        if len(piece) < SHORTEST or _LINK_ONLY.match(piece) or _LABEL.match(piece):
            continue
        origin = Provenance("instructions", roots.shown(path), line.number)
        title = " / ".join(line.headings[1:] or line.headings)[:120]
        yield Candidate("rule", piece, origin, title=title, about=about)


def _scope(fields: dict[str, object]) -> tuple[str, ...]:
    """The files that a rule is limited to, as each client writes them."""
    for name in ("globs", "paths", "applyTo"):
        value = fields.get(name)
        parts = value if isinstance(value, list) else str(value).split(",") if value else []
        if parts:
            return tuple(str(part).strip() for part in parts if str(part).strip())
    return ()
