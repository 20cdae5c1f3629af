"""Thoughtbox's entity graph (`memory/graph.jsonl`) as patterns: what was noted of a thing, and what it relates to."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from clew.ledger.foreign import storable, time_ms
from clew.ledger.garden import Pattern, find_pattern, write_pattern
from clew.ledger.titles import slug
from clew.registry.context import Context


@dataclass
class Memory:
    """The graph without its ghosts: the first of each name and type, nothing that points nowhere."""

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
    for value in rest:
        _attach(memory, value)
    return memory


def _line(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
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
    """One pattern for each entity; one that is there already stays as it is."""
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


def _pattern(ctx: Context, memory: Memory, entity: dict[str, Any]) -> Pattern:
    name, kind = storable(entity.get("name") or "unnamed"), storable(entity.get("entityType") or "entity")
    noted = [item for item in memory.observations if item["entity_id"] == entity["id"]]
    lines = [f"# {name}", "", storable(entity.get("label") or ""), ""]
    lines += ["## Observations", *(f"- {storable(item.get('content') or '')}" for item in noted), ""] if noted else []
    related = [
        f"- {storable(item.get('relationType') or 'RELATES_TO')} {storable(memory.entities[item['to_id']].get('name'))}"
        for item in memory.relations
        if item["from_id"] == entity["id"]
    ]
    lines += ["## Relations", *related, ""] if related else []
    created = time_ms(entity.get("created_at"))
    return Pattern(
        id=f"{slug(name, 40) or 'entity'}-{slug(kind, 20) or 'entity'}",
        title=name,
        description=storable(entity.get("label") or name),
        content="\n".join(lines),
        tags=("thoughtbox", kind.lower()),
        sessions=(),
        created_by=storable(entity["created_by"]) if isinstance(entity.get("created_by"), str) else None,
        created_at_ms=created if created is not None else ctx.now_ms,
        updated_at_ms=time_ms(entity.get("updated_at")) or created or ctx.now_ms,
    )
