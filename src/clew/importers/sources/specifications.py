"""Requirements of OpenSpec and spec-kit, and spec-kit's constitution: what the project says must hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clew.importers.markdown_lines import MarkdownLine, MarkdownPage, MarkdownSource, plain
from clew.importers.port import Candidate, Finding, Roots, files_matching
from clew.importers.sentences import SHORTEST, is_directive, sentences_of, shortened

PATTERNS = ("openspec/specs/**/spec.md", "specs/*/spec.md", ".specify/memory/constitution.md")
_REQUIREMENT = re.compile(r"^Requirement: (.+)$", re.IGNORECASE)
_FUNCTIONAL = re.compile(r"^(FR-\d+)\W+(.+)$")
_PLACEHOLDER = re.compile(r"\[[A-Z][A-Z_0-9]+\]|\[NEEDS CLARIFICATION")


class Specifications(MarkdownSource):
    name = "specifications"
    title = "Requirements (OpenSpec, spec-kit)"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, PATTERNS)

    def findings(self, page: MarkdownPage) -> Iterator[Finding]:
        for line in page.lines():
            id, text = _requirement(page, line)
            statement = shortened(" ".join(_directives(text)))
            if len(statement) >= SHORTEST:
                yield Candidate("rule", statement, page.origin(line.number, id), title=_title(line))


def _requirement(page: MarkdownPage, line: MarkdownLine) -> tuple[str, str]:
    """Its number, where there is one, and its text; empty for what requires nothing, such as a scenario."""
    if page.path.name != "spec.md":
        return "", line.text
    functional = _FUNCTIONAL.match(plain(line.text)) if line.is_item else None
    if functional:
        return functional[1], functional[2]
    below = bool(line.headings) and _REQUIREMENT.match(line.headings[-1]) is not None
    return "", line.text if below and not line.is_item else ""


def _title(line: MarkdownLine) -> str:
    heading = _REQUIREMENT.match(line.headings[-1]) if line.headings else None
    return heading[1] if heading else " / ".join(line.headings[1:])


def _directives(text: str) -> list[str]:
    """The sentences that say what must hold; those with a placeholder of the template are not filled in yet."""
    return [one for one in sentences_of(plain(text)) if is_directive(one) and not _PLACEHOLDER.search(one)]
