"""Items linked to the best results (supports, supersedes, depends on, mentions), followed to a bounded depth."""

from __future__ import annotations

from dataclasses import dataclass

from clew.index.item_reads import items_by_ref, links_of, links_to
from clew.kinds.statuses import PROPOSED
from clew.reasoning.graph.reads import edges_beside
from clew.recall.corpus import Corpus
from clew.registry.context import Context

# From how many results links are followed, how many items they may add, and how much a score fades with each link.
SEEDS = 8
MOST_LINKED = 50
DECAY = 0.5
MOST_REPLACED = 8
"""A chain of replacements is followed this far."""
PROPOSING = frozenset({"supersedes", "replaces"})
SUCCEEDED = frozenset({"superseded_by", "supersedes (from)", "replaces (from)", "replaced_by"})
MOST_EDGES = 200
"""Edges read for each end of the nodes of one document, so that one hub does not fill the answer."""


@dataclass(frozen=True)
class Way:
    """How an item was reached from a result: by which relation and over how many links."""

    slot: int
    relation: str
    start: int
    depth: int

    @property
    def share(self) -> float:
        return float(DECAY**self.depth)


def linked(ctx: Context, corpus: Corpus, seeds: list[int], depth: int) -> dict[int, Way]:
    """Slots within `depth` links of the seeds, each with its shortest way."""
    found: dict[int, Way] = {}
    origin = {slot: slot for slot in seeds[:SEEDS]}
    frontier = list(origin)
    for step in range(1, depth + 1):
        reached: list[int] = []
        for start, relation, slot in _neighbours(ctx, corpus, frontier):
            # A result that contradicts another result keeps its way too: `beside_opposites` shows the two together.
            opposed = step == 1 and relation.startswith("contradicts") and slot not in found
            if (slot in origin and not opposed) or len(found) >= MOST_LINKED:
                continue
            found[slot] = Way(slot, relation, origin[start], step)
            if slot not in origin:
                origin[slot] = origin[start]
                reached.append(slot)
        frontier = reached
        if not frontier:
            break
    return found


def successors(ctx: Context, corpus: Corpus, outdated: list[int]) -> dict[int, int]:
    """For each of these slots, the end of its chain of replacements: the current record.

    A proposed replacement does not count until it is accepted.
    """
    after: dict[int, int] = {}
    frontier = outdated
    for _ in range(MOST_REPLACED):
        near = [item for item in _neighbours(ctx, corpus, frontier) if corpus.status_of(item[2]) != PROPOSED]
        found = {start: slot for start, relation, slot in near if relation in SUCCEEDED}
        found = {start: slot for start, slot in found.items() if start not in after and slot != start}
        if not found:
            break
        after |= found
        frontier = [slot for slot in found.values() if slot not in after]
    return {slot: last for slot in outdated if (last := _last(slot, after)) != slot}


def proposed_instead(ctx: Context, corpus: Corpus, slots: list[int]) -> dict[int, int]:
    """For each of these slots, the newest record that is proposed in its place and not yet decided."""
    place = {corpus.refs[slot]: slot for slot in slots}
    found: dict[int, int] = {}
    rows = links_to(ctx.tx, ctx.workspace, list(place))
    slot_by_id = corpus.slot_by_id([row["id"] for row in rows])
    for row in rows:
        slot = slot_by_id.get(row["id"])
        if slot is not None and row["relation"] in PROPOSING and corpus.status_of(slot) == PROPOSED:
            found[place[row["target"]]] = max(slot, found.get(place[row["target"]], slot))
    return found


def _last(slot: int, after: dict[int, int]) -> int:
    """The end of a chain. A chain that runs in a circle ends before it repeats."""
    seen = {slot}
    while slot in after and after[slot] not in seen:
        slot = after[slot]
        seen.add(slot)
    return slot


def _neighbours(ctx: Context, corpus: Corpus, slots: list[int]) -> list[tuple[int, str, int]]:
    """Links at these slots in both directions, as (from slot, relation, to slot), in a fixed order."""
    place = {corpus.refs[slot]: slot for slot in slots}
    ids = {int(corpus.ids[slot]): slot for slot in slots}
    found: list[tuple[int, str, str]] = [
        (ids[row["id"]], row["relation"], row["target"]) for row in links_of(ctx.tx, ctx.workspace, list(ids))
    ]
    pointing = links_to(ctx.tx, ctx.workspace, list(place))
    slot_by_id = corpus.slot_by_id([row["id"] for row in pointing])
    found += [
        (place[row["target"]], f"{row['relation']} (from)", corpus.refs[slot_by_id[row["id"]]])
        for row in pointing
        if row["id"] in slot_by_id
    ]
    for row in _edges(ctx, corpus, slots):
        if row["from_id"] in place:
            found.append((place[row["from_id"]], row["rel"], row["to_id"]))
        if row["to_id"] in place:
            found.append((place[row["to_id"]], f"{row['rel']} (from)", row["from_id"]))
    slot_by_ref = _slots_of(ctx, corpus, {ref for _, _, ref in found})
    return [(start, relation, slot_by_ref[ref]) for start, relation, ref in found if ref in slot_by_ref]


def _slots_of(ctx: Context, corpus: Corpus, refs: set[str]) -> dict[str, int]:
    rows = items_by_ref(ctx.tx, ctx.workspace, list(refs))
    slot_by_id = corpus.slot_by_id([row["id"] for row in rows])
    return {row["ref"]: slot_by_id[row["id"]] for row in rows if row["id"] in slot_by_id}


def _edges(ctx: Context, corpus: Corpus, slots: list[int]) -> list[dict[str, str]]:
    """Edges of the reasoning graph at these nodes, in the documents that hold them."""
    groups: dict[tuple[int, str], list[str]] = {}
    for slot in slots:
        branch, doc = corpus.place(slot) or (None, "")
        if branch is not None:
            groups.setdefault((branch, doc), []).append(corpus.refs[slot])
    return [row for (branch, doc), refs in groups.items() for row in edges_beside(ctx, branch, doc, refs, MOST_EDGES)]
