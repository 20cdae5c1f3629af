"""What took the place of what, and what comes back when a successor is withdrawn.

At most one successor of a record holds. A record is in force while it was not withdrawn itself and none of its
successors, or of theirs, holds.
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
"""Records that a line of replacements is followed over."""
_SUCCEEDS = ("supersedes", REPLACES)
_HOLDS = (State.IN_FORCE, State.OPEN, State.SETTLED)
"""What an heir may be: a question that was answered still stands in the place of the one before it."""


def states_of(ctx: Context, ids: Iterable[str]) -> dict[str, State]:
    """The states of those that search knows."""
    rows = item_reads.items_by_ref(ctx.tx, ctx.workspace, list(ids))
    return {row["ref"]: state_of_row(row) for row in rows}


def state_of_row(row: Row) -> State:
    return state_of_item(row["source"], row["kind"], row["status"])


def state_of(ctx: Context, id: str) -> State | None:
    return states_of(ctx, [id]).get(id)


def predecessors(ctx: Context, id: str) -> list[str]:
    """The records whose place a record took, as it says itself or as was said when they were replaced."""
    own = [row["id"] for row in item_reads.items_by_ref(ctx.tx, ctx.workspace, [id])]
    named = [row["target"] for row in item_reads.links_of(ctx.tx, ctx.workspace, own) if row["relation"] in _SUCCEEDS]
    sql = "SELECT to_id FROM record_link WHERE workspace = ? AND from_id = ? AND rel = ? ORDER BY seq"
    linked = [row["to_id"] for row in ctx.tx.all(sql, ctx.workspace, id, REPLACES)]
    return [other for other in dict.fromkeys([*named, *linked]) if other != id]


def earlier(ctx: Context, id: str) -> list[str]:
    """The records before one in its line of replacements, the nearest first."""
    found: list[str] = []
    frontier = [id]
    while frontier and len(found) < LONGEST:
        frontier = list(
            dict.fromkeys(old for new in frontier for old in predecessors(ctx, new) if old not in (*found, id))
        )
        found += frontier
    return found


def later(ctx: Context, id: str) -> list[str]:
    """The records behind one in its line of replacements, the nearest first."""
    found: list[str] = []
    frontier = [id]
    while frontier and len(found) < LONGEST:
        following = successors_of(ctx, frontier)
        named = (new for old in frontier for new in following[old])
        frontier = [new for new in dict.fromkeys(named) if new not in (*found, id)]
        found += frontier
    return found


def successors_of(ctx: Context, ids: Sequence[str]) -> dict[str, list[str]]:
    """Of each of these records those that took its place, or were meant to."""
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
    """What calls have said points to these records, in the order in which it was said."""
    if not ids:
        return []
    sql = (
        f"SELECT from_id, to_id FROM record_link WHERE workspace = ? AND to_id IN ({placeholders(len(ids))})"
        f" AND rel IN ({placeholders(len(relations))}) ORDER BY seq"
    )
    return ctx.tx.all(sql, ctx.workspace, *ids, *relations)


def replaced_among(ctx: Context, ids: Sequence[str]) -> list[str]:
    """Those that something else took the place of, or that something answered."""
    return [id for id, state in states_of(ctx, ids).items() if state in (State.REPLACED, State.SETTLED)]


def heir_of(ctx: Context, id: str) -> str | None:
    """The record that holds today in the place of another."""
    return heirs_of(ctx, [id]).get(id)


def heirs_of(ctx: Context, ids: Iterable[str]) -> dict[str, str]:
    """Of those of the records in whose place another holds today, that one; a step along all lines at a time."""
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
    """Of each question that is answered the record that answers it and holds, the newest."""
    named = _linked_to(ctx, ids, (ANSWERS, REPLACES))
    states = states_of(ctx, {row["from_id"] for row in named})
    holding = [row for row in named if row["from_id"] in states and not states[row["from_id"]].is_over]
    return {row["to_id"]: row["from_id"] for row in holding}


def precedes(ctx: Context, old: str, new: str) -> bool:
    """Whether a record stands before another in a line of replacements."""
    seen, frontier = {new}, [new]
    while frontier and len(seen) < LONGEST:
        frontier = [item for id in frontier for item in predecessors(ctx, id) if item not in seen]
        if old in frontier:
            return True
        seen.update(frontier)
    return False


@withdrawn("records")
def restore_predecessors(ctx: Context, ids: Sequence[str]) -> list[str]:
    """What these records had replaced holds again, unless it was withdrawn for its own reason meanwhile."""
    restored: list[str] = []
    waiting, seen = list(ids), set(ids)
    while waiting and len(seen) < LONGEST:
        successor = waiting.pop()
        for old in predecessors(ctx, successor):
            if old in seen:
                continue
            seen.add(old)
            state = state_of(ctx, old)
            # A question that was answered is settled; a block of work that is done stays done.
            is_block = kind_by_form(old) == BLOCK
            # What was replaced while it waited for a person never held, and does not begin to.
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
    """Restore a record of whatever store without asking anybody; false where its kind cannot be restored."""
    kind = kind_by_form(id) or kind_of(ctx, id)
    if kind == "block":
        bring_back(ctx, id, why)
    else:
        restore = restorer.find(kind or "")
        ended = retraction_of(ctx, id)
        if restore is None or ended is None or ended.replaced_by is None:
            return False  # it was not replaced by a call, so its end is its own
        restore(ctx, id, why, ended.was)
    lift_retractions(ctx, id)
    ctx.emit("records", "record_restored", id, {"why": why})
    return True


def replace_again(ctx: Context, id: str) -> list[str]:
    """A successor came back: what it had replaced, and what holds since then, gives way again."""
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
