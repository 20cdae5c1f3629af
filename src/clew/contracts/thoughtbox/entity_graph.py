"""Thoughtbox's entity graph (`memory/graph.jsonl`): converted to patterns, and exported as the original file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from clew.ledger.exchange.imports import storable, time_ms
from clew.ledger.exchange.session_documents import write_whole
from clew.ledger.garden import Pattern, find_pattern, keep_version, kept_versions, write_pattern
from clew.ledger.inputs import slug
from clew.registry.context import Context
from clew.secrets import masked

GRAPH = "graph"
"""The kind under which a graph is stored among the versions of patterns: it is their source."""


@dataclass
class Memory:
    """The entity graph without duplicates: the first of each name and type, and no dangling observation or relation."""

    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    observations: list[dict[str, Any]] = field(default_factory=list)
    relations: list[dict[str, Any]] = field(default_factory=list)
    dropped: int = 0


def read_memory(path: Path) -> Memory:
    memory, seen = Memory(), set()
    rest: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines():
        value = _line(line)
        if value is None:
            memory.dropped += bool(line.strip())
        elif value.get("type") != "entity":
            rest.append(value)
        elif (value.get("name"), value.get("entityType")) in seen or not isinstance(value.get("id"), str):
            memory.dropped += 1
        else:
            seen.add((value.get("name"), value.get("entityType")))
            memory.entities[value["id"]] = value
    # After all entities: an observation or relation may come before the entity it refers to.
    for value in rest:
        _attach(memory, value)
    return memory


def _line(line: bytes) -> dict[str, Any] | None:
    try:
        value, _ = masked(orjson.loads(line))
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _attach(memory: Memory, value: dict[str, Any]) -> None:
    known = memory.entities
    if value.get("type") == "observation" and value.get("entity_id") in known:
        memory.observations.append(value)
    elif value.get("type") == "relation" and value.get("from_id") in known and value.get("to_id") in known:
        memory.relations.append(value)
    else:
        memory.dropped += 1


def import_memory(ctx: Context, memory: Memory) -> dict[str, int]:
    """Write one pattern for each entity; existing patterns are not changed."""
    added = already = 0
    for entity in memory.entities.values():
        pattern = _pattern(ctx, memory, entity)
        if find_pattern(ctx, pattern.id) is None:
            write_pattern(ctx, pattern)
            added += 1
        else:
            already += 1
    return {
        "entities": len(memory.entities),
        "added": added,
        "already": already,
        "observations": len(memory.observations),
        "relations": len(memory.relations),
        "dropped": memory.dropped,
    }


def _pattern_id(entity: dict[str, Any]) -> str:
    name, kind = storable(entity.get("name") or "unnamed"), storable(entity.get("entityType") or "entity")
    return f"{slug(name, 40) or 'entity'}-{slug(kind, 20) or 'entity'}"


def _observations(memory: Memory, entity: Any) -> list[str]:
    found = [item for item in memory.observations if item["entity_id"] == entity]
    return [f"- {storable(item.get('content') or '')}" for item in found]


def _relations(memory: Memory, entity: Any) -> list[str]:
    found = [item for item in memory.relations if item["from_id"] == entity]
    return [
        f"- {storable(item.get('relationType') or 'RELATES_TO')} {storable(memory.entities[item['to_id']].get('name'))}"
        for item in found
    ]


def _pattern(ctx: Context, memory: Memory, entity: dict[str, Any]) -> Pattern:
    name, kind = storable(entity.get("name") or "unnamed"), storable(entity.get("entityType") or "entity")
    lines = [f"# {name}", "", storable(entity.get("label") or ""), ""]
    for heading, entries in (
        ("## Observations", _observations(memory, entity["id"])),
        ("## Relations", _relations(memory, entity["id"])),
    ):
        lines += [heading, *entries, ""] if entries else []
    created = time_ms(entity.get("created_at"))
    return Pattern(
        id=_pattern_id(entity),
        title=name,
        description=storable(entity.get("label") or name),
        content="\n".join(lines),
        tags=("thoughtbox", kind.lower()),
        sessions=(),
        created_by=storable(entity["created_by"]) if isinstance(entity.get("created_by"), str) else None,
        created_at_ms=created if created is not None else ctx.now_ms,
        updated_at_ms=time_ms(entity.get("updated_at")) or created or ctx.now_ms,
    )


def keep_graph(ctx: Context, project: str, text: str) -> None:
    """Store the file that patterns were created from; they have no fields for ids, properties and times."""
    if kept_versions(ctx, GRAPH).get(project) == text:
        return
    keep_version(ctx, GRAPH, project, text)


def graph_lines(ctx: Context, text: str) -> Iterator[str]:
    """The lines of a graph without those about an entity whose pattern was deleted here."""
    # By line feeds alone: a text in JSON may contain other characters that end a line elsewhere.
    lines = [(line, _line(line.encode()) or {}) for line in text.split("\n")]
    entities = [value for _, value in lines if value.get("type") == "entity"]
    gone = {str(value.get("id")) for value in entities if find_pattern(ctx, _pattern_id(value)) is None}
    for line, value in lines:
        about = (value.get(name) for name in ("id", "entity_id", "from_id", "to_id"))
        if line.strip() and not gone & {str(id) for id in about if id is not None}:
            yield line


def write_graph(path: Path, lines: list[str]) -> None:
    """Write a graph. The file is append-only: lines that another program added are kept."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    there = [line for line in text.split("\n") if line.strip()]
    known = set(there)
    fresh = [line for line in lines if line not in known]
    if not fresh:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{line}\n" for line in [*there, *fresh]).encode())
