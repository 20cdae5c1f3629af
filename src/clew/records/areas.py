"""area_heat: how much is known about each area and file, how recent that is, and what is open there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from clew.index import item_lists
from clew.kinds.catalogue import state_of_item
from clew.kinds.state import ENDED, State
from clew.memory.contradictions.resolutions import open_entries
from clew.reasoning.anchors.registry import Anchor, all_anchors
from clew.records.record_lists import BOOKKEEPING, WORK, inside, is_file, kind_word
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.registry.vocabulary import OPEN
from clew.store.database import Row

MOST_AREAS = 500
MOST_READ = 5_000
"""Maximum number of newest records whose text is searched for files."""
_PATH = re.compile(r"(?<![\w./:@-])(?:[\w.-]+/)+[\w.-]*\w|(?<![\w./:@-])[\w-]+\.(?:[a-z]{1,5})(?![\w/.-])")
_CODE = re.compile(r"\.[a-zA-Z][a-zA-Z0-9]{0,5}$")
HEAT_BUDGET = Budget(
    (
        Trim("files", drop="last", floor=10),
        Trim("areas", drop="last", floor=20),
        Trim("files", drop="last"),
        Trim("areas", drop="last"),
    ),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace",),
)


class AreaHeat(Bounded):
    limit: Annotated[int, Field(ge=1, le=500, description="Most areas.")] = 200
    files: Annotated[int, Field(ge=0, le=500, description="Most files; 0 for none.")] = 60


@dataclass
class Heat:
    """What is known about one area or file. Each record counts once, however often it is named."""

    kinds: dict[str, set[str]] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    work: set[str] = field(default_factory=set)
    disputed: set[str] = field(default_factory=set)
    newest_ms: int = 0

    def count(self, row: Row, disputed: frozenset[str]) -> None:
        word, ref = kind_word((row["source"], row["kind"])), row["ref"]
        if word in BOOKKEEPING:
            return
        state = state_of_item(row["source"], row["kind"], row["status"])
        if word in WORK:
            if word in ("task", "plan", "job") and state is State.OPEN:
                self.work.add(ref)
            return
        self.kinds.setdefault(word, set()).add(ref)
        self.newest_ms = max(self.newest_ms, row["ts_ms"])
        if state not in ENDED:
            self.live.add(ref)
            if word in OPEN:
                self.open.add(ref)
        if ref in disputed:
            self.disputed.add(ref)

    def join(self, others: Iterable[Heat]) -> Heat:
        """Add the figures of its contents."""
        whole = Heat()
        for heat in (self, *others):
            for word, refs in heat.kinds.items():
                whole.kinds.setdefault(word, set()).update(refs)
            for name in ("live", "open", "work", "disputed"):
                getattr(whole, name).update(getattr(heat, name))
            whole.newest_ms = max(whole.newest_ms, heat.newest_ms)
        return whole

    def to_json(self) -> dict[str, Any]:
        return {
            "records": len(set().union(*self.kinds.values())),
            "holds": len(self.live),
            "open": len(self.open),
            "disputed": len(self.disputed),
            "work": len(self.work),
            "kinds": {word: len(refs) for word, refs in sorted(self.kinds.items())},
            "newest_ms": self.newest_ms or None,
        }


@operation("area_heat", budget=HEAT_BUDGET)
def area_heat(ctx: Context, args: AreaHeat) -> dict[str, Any]:
    """Show for every area, and for the files that records name, how much is known there, how fresh, and what is open.

    An area counts what is tagged with it or mentions it, what names one of its files, and what lies inside of it.
    """
    anchors = all_anchors(ctx, MOST_AREAS + 1)
    disputed = frozenset(side for _, sides in open_entries(ctx) for side in sides)
    names = {name: anchor.id for anchor in anchors for name in (anchor.id, *anchor.aliases)}
    heats: dict[str, Heat] = {anchor.id: Heat() for anchor in anchors}
    for row in item_lists.in_areas(ctx.tx, ctx.workspace):
        named = [row["area"]] if row["area"] else (row["tags"] or "").split("\n")
        for name in {names[tag] for tag in named if tag in names}:
            heats[name].count(row, disputed)
    files, read = _files(ctx, anchors, heats, disputed)
    shown = sorted(files.items(), key=lambda pair: (-len(pair[1].live), pair[0]))
    return {
        "workspace": ctx.workspace,
        "areas": [_area(anchor, heats, anchors) for anchor in anchors[: args.limit]],
        "areas_total": len(anchors),
        "files": [{"path": path, **heat.to_json()} for path, heat in shown[: args.files]],
        "files_total": len(files),
        "read_for_files": read,
        "most_read_for_files": MOST_READ,
        "truncated": False,
    }


def _area(anchor: Anchor, heats: dict[str, Heat], anchors: list[Anchor]) -> dict[str, Any]:
    inner = [heats[other.id] for other in inside(anchors, anchor.id) if other.id != anchor.id]
    told = {
        "id": anchor.id,
        "title": anchor.title,
        "kind": anchor.kind,
        "status": anchor.status,
        "parent_id": anchor.parent_id,
        "depends_on": list(anchor.depends_on),
        "refs": list(anchor.refs),
    }
    return {**told, **heats[anchor.id].join(inner).to_json(), "own": len(heats[anchor.id].live)}


def _files(
    ctx: Context, anchors: list[Anchor], heats: dict[str, Heat], disputed: frozenset[str]
) -> tuple[dict[str, Heat], int]:
    """What is known about each file; records about an area's own files count for the area too."""
    owners: dict[str, set[str]] = {}
    for anchor in anchors:
        for ref in filter(is_file, anchor.refs):
            owners.setdefault(ref.rstrip("/"), set()).add(anchor.id)
    found: dict[str, Heat] = {}
    rows = item_lists.naming_files(ctx.tx, ctx.workspace, ("block", "card", "note"), MOST_READ)
    for row in rows:
        if kind_word((row["source"], row["kind"])) in BOOKKEEPING:
            continue
        for path in files_of(f"{row['title'] or ''}\n{row['body']}"):
            found.setdefault(path, Heat()).count(row, disputed)
            for area in {area for part in _upwards(path) for area in owners.get(part, ())}:
                heats[area].count(row, disputed)
    return found, len(rows)


def _upwards(path: str) -> Iterator[str]:
    """The path itself and all of its parent directories: looked up one by one, however many areas there are."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def files_of(text: str) -> set[str]:
    """File paths in a text: with an extension, or with a directory before a name that has one."""
    return {path for path in _PATH.findall(text) if _CODE.search(path) and not path[0].isdigit()}
