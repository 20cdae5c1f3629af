"""Whether records hold, and what invalidates them: the same result for every reader of records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clew.index import item_reads
from clew.kinds import statuses
from clew.kinds.state import State, Suspicion, Verdict
from clew.memory import block_lists, blocks
from clew.memory.contradictions.entries import PREFIX, objects
from clew.reasoning.graph.reads import edges_beside
from clew.reasoning.premises import way_down
from clew.records.links import CARRIES, RESTS_ON
from clew.records.succession import answers_to, heirs_of, state_of_row, states_of
from clew.registry.context import Context
from clew.registry.record import assessor
from clew.store.database import Row, placeholders

DEEPEST = 8
"""Maximum depth of premises that is followed."""
MOST_EDGES = 400
MOST_DISPUTES = 1_000
"""Maximum number of open contradictions that are searched."""


def verdict_of(ctx: Context, id: str) -> Verdict:
    """The verdict on one record; a record that is not in the search index counts as in force."""
    return verdicts(ctx, [id]).get(id, Verdict(State.IN_FORCE))


@assessor("records")
def verdicts(ctx: Context, ids: Sequence[str]) -> dict[str, Verdict]:
    """Verdicts on those of the records that are in the search index, with queries for all of them together."""
    rows = item_reads.items_by_ref(ctx.tx, ctx.workspace, list(dict.fromkeys(ids)))
    found = {row["ref"]: Verdict(state_of_row(row)) for row in rows}
    live = [id for id, verdict in found.items() if verdict.holds]
    heirs = heirs_of(ctx, [id for id, verdict in found.items() if verdict.state is State.REPLACED])
    answers = answers_to(ctx, [id for id, verdict in found.items() if verdict.state is State.SETTLED])
    disputed, due = disputes_of(ctx, live), blocks.overdue(ctx, live) if live else {}
    suspicions = suspicions_of(ctx, [row for row in rows if found[row["ref"]].holds])
    for id, verdict in found.items():
        if verdict.state is State.REPLACED:
            found[id] = replace(verdict, replaced_by=heirs.get(id))
        elif verdict.state is State.SETTLED:
            found[id] = replace(verdict, settled_by=answers.get(id))
        elif verdict.holds:
            found[id] = replace(
                verdict,
                disputed_with=disputed.get(id, ()),
                suspect=suspicions.get(id),
                review_due=due.get(id),
            )
    return found


def disputes_of(ctx: Context, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For records in force, those in force that contradict them, until a person decides."""
    wanted = set(ids)
    if not wanted:
        return {}
    entries = block_lists.oldest(ctx, PREFIX, (statuses.OPEN, statuses.DEFERRED), MOST_DISPUTES)
    pairs = [objects(entry) for entry in entries]
    about = [pair for pair in pairs if len(pair) == 2 and not wanted.isdisjoint(pair)]
    states = states_of(ctx, {id for pair in about for id in pair})
    found: dict[str, list[str]] = {}
    for one, other in about:
        if states.get(one) is State.IN_FORCE and states.get(other) is State.IN_FORCE:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return {id: tuple(dict.fromkeys(others)) for id, others in found.items() if id in wanted}


def suspicions_of(ctx: Context, rows: Sequence[Row]) -> dict[str, Suspicion]:
    """For records in force, those that rest on something invalid, by the shortest path."""
    grounds = _premises(ctx, rows)
    states = states_of(ctx, {premise for named in grounds.values() for premise in named})
    fallen = {id for id, state in states.items() if state.is_over}
    if not fallen:
        return {}
    paths = {row["ref"]: way_down(row["ref"], grounds, fallen) for row in rows}
    ends = {path[-1] for path in paths.values() if path}
    heirs = heirs_of(ctx, [id for id in ends if states[id] is State.REPLACED])
    labels = {id: Verdict(states[id], replaced_by=heirs.get(id)).label for id in ends}
    return {id: Suspicion(path[-1], labels[path[-1]], path) for id, path in paths.items() if path}


def _premises(ctx: Context, rows: Sequence[Row]) -> dict[str, list[str]]:
    """Each record on the way down, with its direct premises."""
    found: dict[str, list[str]] = {}
    frontier = [row["ref"] for row in rows]
    for _ in range(DEEPEST):
        if not frontier:
            break
        named = _premises_of(ctx, frontier, rows)
        found |= {id: named.get(id, []) for id in frontier}
        frontier = sorted({premise for each in named.values() for premise in each} - set(found))
        rows = item_reads.items_by_ref(ctx.tx, ctx.workspace, frontier)
    return found


def direct_premises(ctx: Context, ids: Sequence[str]) -> dict[str, list[str]]:
    return _premises_of(ctx, ids, item_reads.items_by_ref(ctx.tx, ctx.workspace, list(ids)))


def _premises_of(ctx: Context, ids: Sequence[str], rows: Sequence[Row]) -> dict[str, list[str]]:
    by_id = {row["id"]: row["ref"] for row in rows}
    pairs = [(by_id[link["id"]], link["target"]) for link in _indexed(ctx, list(by_id))]
    marks = placeholders(len(ids))
    sql = f"SELECT from_id, rel, to_id FROM record_link WHERE workspace = ? AND from_id IN ({marks})"
    stored = ctx.tx.all(sql, ctx.workspace, *ids)
    pairs += [(row["from_id"], row["to_id"]) for row in stored if row["rel"] in RESTS_ON]
    pairs += _of_cards(ctx, rows)
    found: dict[str, list[str]] = {}
    for id, premise in sorted(set(pairs)):
        if id != premise:
            found.setdefault(id, []).append(premise)
    return found


def _indexed(ctx: Context, ids: list[int]) -> list[Row]:
    return [link for link in item_reads.links_of(ctx.tx, ctx.workspace, ids) if link["relation"] in RESTS_ON]


def _of_cards(ctx: Context, rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Edges of the reasoning graph: a card rests on what it depends on and on what supports it."""
    places: dict[tuple[int, str], list[str]] = {}
    for row in rows:
        if row["branch"] is not None and row["doc"] is not None:
            places.setdefault((row["branch"], row["doc"]), []).append(row["ref"])
    pairs = []
    for (branch, doc), refs in places.items():
        for edge in edges_beside(ctx, branch, doc, refs, MOST_EDGES):
            if edge["rel"] in RESTS_ON and edge["from_id"] in refs:
                pairs.append((edge["from_id"], edge["to_id"]))
            elif edge["rel"] in CARRIES and edge["to_id"] in refs:
                pairs.append((edge["to_id"], edge["from_id"]))
    return pairs
