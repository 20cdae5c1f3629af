"""JSON as importers need it: whole documents, and objects line by line.

Lines are cut at newlines only; a torn last line is normal, a broken one is reported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from clew.importers.port import Finding, Malformed, Provenance, Roots, read_text

JsonObject = dict[str, Any]


def json_document(roots: Roots, path: Path) -> Any:
    """What a file of JSON holds; `Malformed` where it cannot be read."""
    text = read_text(roots, path)
    if isinstance(text, Malformed):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        return Malformed(roots.shown(path), problem.lineno, "is not JSON")


class JsonLinesSource(ABC):
    """A source whose files hold one JSON object a line: it says what an object holds."""

    name: str

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        for found in objects_of(roots, path):
            if isinstance(found, Malformed):
                yield found
            else:
                yield from self.findings(ImportedLine(self.name, roots.shown(path), *found))

    @abstractmethod
    def findings(self, line: ImportedLine) -> Iterator[Finding]: ...


@dataclass(frozen=True)
class ImportedLine:
    source: str
    shown: str
    number: int
    fields: JsonObject

    def field(self, name: str) -> str:
        return str(self.fields.get(name) or "")

    def origin(self, id: str, day: str = "") -> Provenance:
        return Provenance(self.source, self.shown, self.number, id, day)

    def malformed(self, problem: str) -> Malformed:
        return Malformed(self.shown, self.number, problem)


def objects_of(roots: Roots, path: Path) -> Iterator[tuple[int, JsonObject] | Malformed]:
    shown = roots.shown(path)
    try:
        data = path.read_bytes()
    except OSError as problem:
        yield Malformed(shown, 0, problem.strerror or str(problem))
        return
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            if number < len(lines):  # the last line may still be being written
                yield Malformed(shown, number, "is not JSON")
            continue
        if isinstance(found, dict):
            yield number, found
        else:
            yield Malformed(shown, number, "is not a JSON object")
