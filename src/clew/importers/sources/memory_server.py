"""The knowledge graph of the official memory server: memory.jsonl with entities and relations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.importers.json_lines import ImportedLine, JsonLinesSource
from clew.importers.port import Candidate, Finding, Roots, files_matching
from clew.importers.sentences import SHORTEST

PLACES = ("memory.jsonl", "memory.json", ".mcp/memory.jsonl", ".memory/memory.jsonl")


class MemoryServer(JsonLinesSource):
    name = "memory_server"
    title = "The official memory server's graph"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, PLACES)

    def findings(self, line: ImportedLine) -> Iterator[Finding]:
        if line.field("type") != "entity":
            return
        name, observations = line.field("name"), line.fields.get("observations")
        if not name or not isinstance(observations, list):
            yield line.malformed("is an entity without name or observations")
            return
        for text in filter(_is_statement, observations):
            yield Candidate("fact", f"{name}: {text}", line.origin(name), title=name[:120])


def _is_statement(value: object) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST
