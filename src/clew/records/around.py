"""record_around: the graph around a record, a few links deep in both directions, as nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.index.item_reads import items_by_ref
from clew.records.links import Links, links_of
from clew.records.open import Open, bare_id, find_record, unknown_record
from clew.records.record_lists import kind_word
from clew.records.record_view import names_of
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.registry.record import RecordLink

MOST_LINKS = 100
"""Maximum number of links read per record; one that has more is marked."""
AROUND_BUDGET = Budget(
    (Trim("nodes", drop="last", floor=10), Trim("edges", drop="last"), Trim("nodes", drop="last")),
    {"core": 8_000, "daily": 16_000, "full": 60_000},
    keep=("workspace", "id"),
)


class RecordAround(Bounded):
    synonyms: ClassVar[dict[str, str]] = dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id"), "id")

    id: Annotated[Name, Field(min_length=1, description="Any id that open takes.")]
    depth: Annotated[int, Field(ge=1, le=3, description="How many links away from it.")] = 2
    expand: Annotated[
        list[Name], Field(max_length=20, description="Records of the picture whose neighbours are shown too.")
    ] = []
    limit: Annotated[int, Field(ge=2, le=150, description="Most records; the nearest come first.")] = 40
    each: Annotated[int, Field(ge=1, le=50, description="Most neighbours that one record brings in.")] = 12


@operation("record_around", mode="own", budget=AROUND_BUDGET, example={"id": "CARD-1"})
def record_around(ctx: Context, args: RecordAround) -> dict[str, Any]:
    """Show what surrounds any record: linked records in both directions, with the links between them.

    Nearer records come first; every record says how many of its neighbours are left out, and `expand` brings them in.
    """
    id = bare_id(ctx, args.id)
    with ctx.reading() as bound:
        opened = find_record(bound, id, Open(id=id, limit=1, include_drafts=True))
        if opened is None:
            raise unknown_record(id)
        id = str(opened.get("id") or opened.get("ref") or id)
        found = Neighbourhood(bound, id, args)
        return {"workspace": ctx.workspace, "id": id, **found.to_json(), "truncated": False}


@dataclass
class Neighbourhood:
    """Breadth-first traversal; nodes that do not fit are counted at their parent."""

    ctx: Context
    start: str
    args: RecordAround
    steps: dict[str, int] = field(default_factory=dict)
    links: dict[str, Links] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps[self.start] = 0
        ring = [self.start]
        for step in range(1, self.args.depth + 1):
            ring = [other for id in ring for other in self._bring(id, step, self.args.each)]
        for given in self.args.expand:
            if given in self.steps:
                self._bring(given, self.steps[given] + 1, self.args.limit)
        for id in self.steps:
            self._links(id)

    def _links(self, id: str) -> Links:
        if id not in self.links:
            self.links[id] = links_of(self.ctx, id, MOST_LINKS)
        return self.links[id]

    def _bring(self, id: str, step: int, most: int) -> list[str]:
        """Neighbours of a record that are new to the graph, as many as there is room for."""
        new = [other for other in self._neighbours(id) if other not in self.steps]
        room = min(most, self.args.limit - len(self.steps))
        for other in new[: max(0, room)]:
            self.steps[other] = step
        return new[: max(0, room)]

    def _neighbours(self, id: str) -> list[str]:
        """Each neighbour once, alternating between outgoing and incoming links, so that neither
        direction crowds out the other."""
        links = self._links(id)
        on, back = [link.end for link in links.outgoing], [link.start for link in links.incoming]
        pairs = [pair for both in zip(_padded(on, back), _padded(back, on), strict=True) for pair in both]
        return list(dict.fromkeys(other for other in pairs if other is not None))

    def to_json(self) -> dict[str, Any]:
        names, kinds = names_of(self.ctx, self.steps), self._kinds()
        hidden = {id: len([other for other in self._neighbours(id) if other not in self.steps]) for id in self.steps}
        nodes = [
            {
                **names[id].to_json(),
                "kind": kinds.get(id, names[id].kind),
                "steps": step,
                "hidden": hidden[id],
                "more": self._is_hub(id),
            }
            for id, step in self.steps.items()
        ]
        edges = [{"from": link.start, "rel": link.rel, "to": link.end} for link in self._edges()]
        return {"nodes": nodes, "edges": edges, "left_out": sum(hidden.values())}

    def _kinds(self) -> dict[str, str]:
        """The kinds from the search index: a hypothesis is more specific than a card."""
        rows = items_by_ref(self.ctx.tx, self.ctx.workspace, list(self.steps))
        return {row["ref"]: kind_word((row["source"], row["kind"])) for row in rows}

    def _is_hub(self, id: str) -> bool:
        """Whether it has more links than were read."""
        links = self._links(id)
        return max(len(links.incoming), len(links.outgoing)) >= MOST_LINKS

    def _edges(self) -> list[RecordLink]:
        found = {link for id in self.steps for link in (*self._links(id).outgoing, *self._links(id).incoming)}
        inner = [link for link in found if link.start in self.steps and link.end in self.steps]
        order = {id: place for place, id in enumerate(self.steps)}
        return sorted(inner, key=lambda link: (order[link.start], order[link.end], link.rel))


def _padded(items: list[str], other: list[str]) -> list[str | None]:
    return [*items, *[None] * (len(other) - len(items))]
