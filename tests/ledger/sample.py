"""A Thoughtbox directory as the documented layout describes it, with every trap an importer has met."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PLAIN = "11111111-1111-4111-8111-111111111111"
BRANCHED = "22222222-2222-4222-8222-222222222222"
ODD = "33333333-3333-4333-8333-333333333333"
EMPTY = "44444444-4444-4444-8444-444444444444"
EXPORTED = "55555555-5555-4555-8555-555555555555"
LEGACY = "66666666-6666-4666-8666-666666666666"
LOST = "77777777-7777-4777-8777-777777777777"

SESSIONS = 7
THOUGHTS = {PLAIN: 1001, BRANCHED: 9, ODD: 8, EMPTY: 0, EXPORTED: 2, LEGACY: 1, LOST: 1}


def node(session: str, number: float, text: str, at: int, **options: Any) -> dict[str, Any]:
    branch = options.pop("branch", None)
    prev, revises, origin = (options.pop(name, None) for name in ("prev", "revises", "origin"))
    prefix = f"{session}:{branch}:" if branch else f"{session}:"
    data = {
        "thought": text,
        "thoughtNumber": number,
        "totalThoughts": max(number, 1),
        "nextThoughtNeeded": True,
        "timestamp": f"2025-12-07T10:{at // 60 % 60:02d}:{at % 60:02d}.000Z",
        **({"branchId": branch} if branch else {}),
        **options,
    }
    return {
        "id": f"{prefix}{number:g}",
        "data": data,
        "prev": prev,
        "next": [],  # on disk always empty
        "revisesNode": revises,
        "branchOrigin": origin,
        "branchId": branch,
    }


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), encoding="utf-8")


def manifest(
    folder: Path, session: str, title: str, names: list[str], branches: dict[str, list[str]], **more: Any
) -> None:
    metadata = {
        "title": title,
        "tags": ["sample"],
        "createdAt": "2025-12-07T10:00:00.000Z",
        "updatedAt": "2025-12-07T11:00:00.000Z",
    }
    value = {
        "id": session,
        "version": "1.0.0",
        "thoughtFiles": sorted(names),
        "branchFiles": branches,
        "metadata": metadata,
    }
    write(folder / "manifest.json", {**value, **more})


def build(base: Path) -> None:
    sessions = base / "projects" / "_default" / "sessions" / "2025-12"
    write(base / "config.json", {"installId": "x"})
    _plain(sessions / PLAIN)
    _branched(sessions / BRANCHED)
    _odd(sessions / ODD, base)
    manifest(sessions / EMPTY, EMPTY, "Nothing thought", [], {}, runs=[{"id": "r1"}])
    _exports(base)
    write(base / "sessions" / LEGACY / "001.json", node(LEGACY, 1, "from before 1.2", 0))
    manifest(base / "sessions" / LEGACY, LEGACY, "Old layout", ["001.json"], {})
    write(base / "projects" / "other" / "sessions" / "2025-W50" / LOST / "001.json", node(LOST, 1, "manifest gone", 0))
    write(base / "projects" / "other" / "sessions" / "2025-W50" / LOST / "manifest.json", "{ half a mani")
    _memory(base / "projects" / "_default" / "memory" / "graph.jsonl")
    write(base / "mental-models" / "debugging" / "five-whys.md", "generated")


def _plain(folder: Path) -> None:
    """A long main line: names sort as text in the manifest, and the newest wrote its file just before a crash."""
    previous = None
    for number in range(1, 1002):
        item = node(PLAIN, number, f"S{number}|O|step {number}", number, prev=previous)
        write(folder / f"{number:03d}.json", item)
        previous = item["id"]
    write(folder / "1002.json.tmp", "{")
    manifest(folder, PLAIN, "A thousand steps", [f"{number:03d}.json" for number in range(1, 1001)], {})


def _branched(folder: Path) -> None:
    """Raw branch ids, one of which tries to leave, revisions of what is not there and of itself, newer fields."""
    main = [
        node(BRANCHED, 1, "S1|Q|where to cut?", 1),
        node(
            BRANCHED,
            2,
            "S2|H|S1|at the queue",
            2,
            prev=f"{BRANCHED}:1",
            critique={"text": "hm", "model": "m", "timestamp": "t"},
        ),
        node(BRANCHED, 3, "self", 3, isRevision=True, revisesThought=3, revises=f"{BRANCHED}:3", prev=f"{BRANCHED}:2"),
        node(
            BRANCHED,
            4,
            "of nobody",
            4,
            isRevision=True,
            revisesThought=77,
            revises=f"{BRANCHED}:77",
            thoughtType="reasoning",
        ),
    ]
    for item in main:
        write(folder / f"{item['data']['thoughtNumber']:03d}.json", item)
    _forks(folder)


def _forks(folder: Path) -> None:
    odd = "Weird ID/../x"
    forks = [
        (
            folder / "branches" / "x",
            node(
                BRANCHED, 3, "raw id", 5, branch=odd, branchFromThought=2, origin=f"{BRANCHED}:2", prev=f"{BRANCHED}:2"
            ),
        ),
        (
            folder / "branches" / "x",
            node(
                BRANCHED,
                4,
                "hangs off the fork",
                6,
                branch=odd,
                branchFromThought=2,
                origin=f"{BRANCHED}:2",
                prev=f"{BRANCHED}:2",
            ),
        ),
        (
            folder / "branches" / "a-b",
            node(BRANCHED, 3, "plain id", 7, branch="a-b", branchFromThought=2, origin=f"{BRANCHED}:2"),
        ),
        (
            folder / "branches" / "lost",
            node(BRANCHED, 100, "fork point is gone", 8, branch="lost", branchFromThought=99, origin=f"{BRANCHED}:99"),
        ),
        (
            folder / "seedlike",
            node(
                BRANCHED, 5, "as the seed draws it", 9, branch="seedlike", branchFromThought=4, origin=f"{BRANCHED}:4"
            ),
        ),
    ]
    for place, item in forks:
        write(place / f"{item['data']['thoughtNumber']:03d}.json", item)
    listed = {
        odd: ["003.json", "004.json"],
        "a-b": ["003.json"],
        "lost": ["100.json"],
        "../../../ESCAPE": ["006.json"],
        "gone": ["009.json"],
    }
    manifest(folder, BRANCHED, "Branches", [f"{n:03d}.json" for n in (1, 2, 3, 4)], listed)


def _odd(folder: Path, base: Path) -> None:
    """Numbers that are none, a broken file, a missing one, times that run backwards, a circle of links."""
    write(base / "ESCAPE" / "006.json", node(ODD, 6, "written outside by a bad branch id", 6))
    items = {
        "005.json": node(ODD, 5, "goal first", 1, prev=None),
        "004.json": node(ODD, 4, "then backwards", 2, prev=f"{ODD}:5"),
        "0-4.json": node(ODD, -4, "negative", 3, prev=f"{ODD}:4"),
        "000.json": node(ODD, 0, "zero", 4),
        "2.5.json": node(ODD, 2.5, "between", 5),
        "006.json": node(ODD, 6, "circle a", 6, prev=f"{ODD}:7"),
        "007.json": node(ODD, 7, "circle b", 7, prev=f"{ODD}:6"),
        "008.json": node(ODD, 8, "no time", 8, timestamp="yesterday"),
    }
    for name, item in items.items():
        write(folder / name, item)
    write(folder / "009.json", "not json")
    write(folder / "010.json", {"no": "thought"})
    manifest(folder, ODD, "Odd numbers", [*items, "009.json", "011.json"], {})


def _exports(base: Path) -> None:
    """Two exports of one session of which the directory is gone, one of a session that has more, one that is none."""
    first, second = node(EXPORTED, 1, "only here", 1), node(EXPORTED, 2, "newer export", 2, prev=f"{EXPORTED}:1")
    head = {"id": EXPORTED, "title": "From an export", "tags": [], "createdAt": "2025-12-07T10:00:00.000Z"}
    write(
        base / "exports" / f"{EXPORTED}-2025-12-07T11-00-00-000Z.json",
        {"version": "1.0", "session": head, "nodes": [first]},
    )
    write(
        base / "exports" / f"{EXPORTED}-2025-12-07T12-00-00-000Z.json",
        {"version": "1.0", "session": head, "nodes": [first, second]},
    )
    stale = {**node(PLAIN, 1, "an older text of step 1", 1)}
    write(
        base / "exports" / f"{PLAIN}-x.json",
        {"version": "1.0", "session": {"id": PLAIN, "title": "x"}, "nodes": [stale]},
    )
    write(base / "exports" / "broken.json", "[")
    write(base / "2025-12" / PLAIN / "001.json", stale)
    manifest(base / "2025-12" / PLAIN, PLAIN, "stale copy", ["001.json"], {})


def _memory(path: Path) -> None:
    entity = {
        "type": "entity",
        "name": "Queue",
        "entityType": "Concept",
        "label": "holds jobs",
        "created_at": "2025-12-07T10:00:00Z",
    }
    lines = [
        {**entity, "id": "e1"},
        {**entity, "id": "e2"},
        {**entity, "id": "e3", "name": "Worker", "label": "takes jobs"},
        {"type": "observation", "id": "o1", "entity_id": "e1", "content": "is in order"},
        {"type": "observation", "id": "o2", "entity_id": "e2", "content": "of a ghost"},
        {"type": "relation", "id": "r1", "from_id": "e3", "to_id": "e1", "relationType": "DEPENDS_ON"},
        {"type": "relation", "id": "r2", "from_id": "e3", "to_id": "nobody", "relationType": "DEPENDS_ON"},
    ]
    write(path, "\n".join(json.dumps(line) for line in lines) + "\n{ half a li")
