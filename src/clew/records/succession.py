"""Succession: which record replaced which, and what is restored when a successor is withdrawn.

At most one successor of a record is in force. A record is in force while it was not withdrawn itself
and none of its successors, direct or indirect, is in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clew.ids import kind_by_form
from clew.index import item_reads
from clew.kinds.catalogue import state_of_item
from clew.kinds.kind import BLOCK
from clew.kinds.state import LIVE, State
from clew.memory.governance.restoring import bring_back, give_way, has_held
from clew.records.links import keep_retraction, kind_of, lift_retractions, retraction_of
from clew.registry.context import Context
from clew.registry.record import REPLACES, Retracted, Retraction, restorer, retracter, withdrawn
from clew.store.database import Row, placeholders

ANSWERS = "answers"
LONGEST = 50
"""Maximum length of a line of replacements that is followed."""
_SUCCEEDS = ("supersedes", REPLACES)
_HOLDS = (State.IN_FORCE, State.OPEN, State.SETTLED)
"""States of an heir: an answered question still takes the place of its predecessor."""


def states_of(ctx: Context, ids: Iterable[str]) -> dict[str, State]:
    """The states of those that are in the search index."""
    rows = item_reads.items_by_ref(ctx.tx, ctx.workspace, list(ids))
    return {row["ref"]: state_of_row(row) for row in rows}


def state_of_row(row: Row) -> State:
    return state_of_item(row["source"], row["kind"], row["status"])


def state_of(ctx: Context, id: str) -> State | None:
    return states_of(ctx, [id]).get(id)


def predecessors(ctx: Context, id: str) -> list[str]:
    """The records that a record replaced, by its own fields or by the retraction that replaced them."""
    own = [row["id"] for row in item_reads.items_by_ref(ctx.tx, ctx.workspace, [id])]
    named = [row["target"] for row in item_reads.links_of(ctx.tx, ctx.workspace, own) if row["relation"] in _SUCCEEDS]
    sql = "SELECT to_id FROM record_link WHERE workspace = ? AND from_id = ? AND rel = ? ORDER BY seq"
    linked = [row["to_id"] for row in ctx.tx.all(sql, ctx.workspace, id, REPLACES)]
    return [other for other in dict.fromkeys([*named, *linked]) if other != id]


def earlier(ctx: Context, id: str) -> list[str]:
    """The predecessors of a record in its line of replacements, nearest first."""
    found: list[str] = []
    frontier = [id]
    while frontier and len(found) < LONGEST:
        frontier = list(
            dict.fromkeys(old for new in frontier for old in predecessors(ctx, new) if old not in (*found, id))
        )
        found += frontier
    return found


def later(ctx: Context, id: str) -> list[str]:
    """The successors of a record in its line of replacements, nearest first."""
    found: list[str] = []
    frontier = [id]
    while frontier and len(found) < LONGEST:
        following = successors_of(ctx, frontier)
        named = (new for old in frontier for new in following[old])
        frontier = [new for new in dict.fromkeys(named) if new not in (*found, id)]
        found += frontier
    return found


def successors_of(ctx: Context, ids: Sequence[str]) -> dict[str, list[str]]:
    """For each of these records, those that replaced it, or were meant to."""
    found: dict[str, list[str]] = {id: [] for id in ids}
    named = [row for row in item_reads.links_to(ctx.tx, ctx.workspace, list(found)) if row["relation"] in _SUCCEEDS]
    items = item_reads.items_by_id(ctx.tx, ctx.workspace, sorted({row["id"] for row in named}))
    for row in named:
        if row["id"] in items:
            found[row["target"]].append(items[row["id"]]["ref"])
    for row in _linked_to(ctx, list(found), (REPLACES,)):
        found[row["to_id"]].append(row["from_id"])
    return {id: [other for other in dict.fromkeys(others) if other != id] for id, others in found.items()}


def _linked_to(ctx: Context, ids: Sequence[str], relations: Sequence[str]) -> list[Row]:
    """Stored links of calls to these records, in the order in which they were created."""
    if not ids:
        return []
    sql = (
        f"SELECT from_id, to_id FROM record_link WHERE workspace = ? AND to_id IN ({placeholders(len(ids))})"
        f" AND rel IN ({placeholders(len(relations))}) ORDER BY seq"
    )
    return ctx.tx.all(sql, ctx.workspace, *ids, *relations)


def replaced_among(ctx: Context, ids: Sequence[str]) -> list[str]:
    """Those that were replaced by something else, or answered."""
    return [id for id, state in states_of(ctx, ids).items() if state in (State.REPLACED, State.SETTLED)]


def heir_of(ctx: Context, id: str) -> str | None:
    """The record that is in force today in the place of another."""
    return heirs_of(ctx, [id]).get(id)


def heirs_of(ctx: Context, ids: Iterable[str]) -> dict[str, str]:
    """For those of the records that have one, the heir in force today; follows all lines one step at a time."""
    heirs: dict[str, str] = {}
    seen = {id: {id} for id in ids}
    frontiers = {id: [id] for id in seen}
    while frontiers:
        lines = _next_along(ctx, frontiers, seen)
        states = states_of(ctx, {new for line in lines.values() for new in line})
        for id, line in lines.items():
            holding = [new for new in line if states.get(new) in _HOLDS]
            if holding:
                heirs[id] = holding[0]
            seen[id].update(line)
        frontiers = {id: line for id, line in lines.items() if line and id not in heirs and len(seen[id]) < LONGEST}
    return heirs


def _next_along(ctx: Context, frontiers: dict[str, list[str]], seen: dict[str, set[str]]) -> dict[str, list[str]]:
    following = successors_of(ctx, list(dict.fromkeys(old for line in frontiers.values() for old in line)))
    return {
        id: [new for old in line for new in following[old] if new not in seen[id]] for id, line in frontiers.items()
    }


def answers_to(ctx: Context, ids: Sequence[str]) -> dict[str, str]:
    """For each answered question, the newest record in force that answers it."""
    named = _linked_to(ctx, ids, (ANSWERS, REPLACES))
    states = states_of(ctx, {row["from_id"] for row in named})
    holding = [row for row in named if row["from_id"] in states and not states[row["from_id"]].is_over]
    return {row["to_id"]: row["from_id"] for row in holding}


def precedes(ctx: Context, old: str, new: str) -> bool:
    """Whether a record comes before another in a line of replacements."""
    seen, frontier = {new}, [new]
    while frontier and len(seen) < LONGEST:
        frontier = [item for id in frontier for item in predecessors(ctx, id) if item not in seen]
        if old in frontier:
            return True
        seen.update(frontier)
    return False


@withdrawn("records")
def restore_predecessors(ctx: Context, ids: Sequence[str]) -> list[str]:
    """Restore what these records had replaced, unless it was withdrawn for its own reason meanwhile."""
    restored: list[str] = []
    waiting, seen = list(ids), set(ids)
    while waiting and len(seen) < LONGEST:
        successor = waiting.pop()
        for old in predecessors(ctx, successor):
            if old in seen:
                continue
            seen.add(old)
            state = state_of(ctx, old)
            # An answered question is settled; a done block of work stays done.
            is_block = kind_by_form(old) == BLOCK
            # A record that was replaced before approval was never in force, and is not restored.
            ended = (state is State.REPLACED and (not is_block or has_held(ctx, old))) or (
                state is State.SETTLED and not is_block
            )
            if ended and heir_of(ctx, old) is None:
                if bring_back_any(ctx, old, f"{successor} was withdrawn"):
                    restored.append(old)
            elif state is not None and state.is_over:
                waiting.append(old)
    return restored


def bring_back_any(ctx: Context, id: str, why: str) -> bool:
    """Restore a record of any store without approval; false if its kind cannot be restored."""
    kind = kind_by_form(id) or kind_of(ctx, id)
    if kind == "block":
        bring_back(ctx, id, why)
    else:
        restore = restorer.find(kind or "")
        ended = retraction_of(ctx, id)
        if restore is None or ended is None or ended.replaced_by is None:
            return False  # it was not replaced by a call, so it ended for its own reason
        restore(ctx, id, why, ended.was)
    lift_retractions(ctx, id)
    ctx.emit("records", "record_restored", id, {"why": why})
    return True


def replace_again(ctx: Context, id: str) -> list[str]:
    """A successor was restored: what it had replaced, and what is in force since then, is marked as replaced again."""
    again = []
    for old in predecessors(ctx, id):
        if state_of(ctx, old) in LIVE:
            _give_way(ctx, old, id)
            again.append(old)
    return again


def _give_way(ctx: Context, old: str, successor: str) -> None:
    kind = kind_by_form(old) or kind_of(ctx, old) or ""
    why = Retraction(f"{successor} was restored", successor)
    was = status_of(ctx, old)
    if kind == "block":
        done = Retracted(give_way(ctx, old, successor).status or "")
    else:
        take = retracter.find(kind)
        done = take(ctx, old, why) if take is not None else Retracted(was or "")
    keep_retraction(ctx, old, kind, why, done, was)


def status_of(ctx: Context, id: str) -> str | None:
    row = item_reads.item_named(ctx.tx, ctx.workspace, id)
    return row["status"] if row is not None else None
