"""Importing a session, thought by thought, in one transaction.

Input of any shape is converted to drafts that the ledger can store; the report lists what had to be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from clew.canonical import without_none
from clew.errors import ClewError, shorten, suggest
from clew.ids import CHAIN, CONTROL, SESSION
from clew.ledger.chains import MAIN, MAX_DEPTH, Chain, Point
from clew.ledger.cipher import KINDS
from clew.ledger.inputs import slug
from clew.ledger.sessions import (
    ACTIVE,
    COMPLETED,
    PARTITION,
    UNTITLED,
    LedgerSession,
    NewSession,
    change_columns,
    find_session,
    partition,
    session_named,
    start_session,
)
from clew.ledger.thought_record import Past, Recorded, ThoughtDraft, add, make_findable
from clew.ledger.thought_rows import every_thought
from clew.registry.context import Context

MAX_NUMBER = 999_999_999
# Deeper nesting could be parsed but not serialised again by every store.
DEEPEST = 32
_KNOWN_DATA = frozenset(
    {
        "thought", "thoughtNumber", "totalThoughts", "nextThoughtNeeded", "isRevision", "revisesThought",
        "branchFromThought", "branchId", "timestamp", "critique", "type", "agentId",
    }
)  # fmt: skip
_KNOWN_NODE = frozenset({"id", "data", "prev", "next", "revisesNode", "branchOrigin", "branchId", "revisionMetadata"})


@dataclass
class Foreign:
    """One node with validated data; its pointers still use the ids of the source."""

    id: str
    chain: str
    label: str | None
    number: int | None
    text: str
    total: int | None
    next_needed: bool
    ts_ms: int | None
    is_revision: bool
    kind: str | None
    agent: str | None
    critique: dict[str, Any] | None
    prev: str | None
    revises: str | None
    origin: str | None
    extra: dict[str, Any] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    """The node as it was read."""


class Chains:
    """Maps the branch ids of the source, which may hold anything, to valid and unique ids."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def name(self, raw: str | None) -> tuple[str, str | None]:
        if not raw:
            return MAIN, None
        if raw not in self._given:
            wanted = raw if CHAIN.fullmatch(raw) else slug(raw) or "branch"
            taken, tries = set(self._given.values()), 2
            chosen = wanted
            while chosen in taken:
                # Truncated, so that the number fits into the 64 characters of an id.
                chosen, tries = f"{wanted[:58]}-{tries}", tries + 1
            self._given[raw] = chosen
        chosen = self._given[raw]
        return chosen, raw if raw != chosen else None


def foreign_node(node: dict[str, Any], session: str, chains: Chains, labels: dict[str, str]) -> Foreign:
    """Parse one node. No value in it is trusted to have the right type."""
    data = node["data"] if isinstance(node.get("data"), dict) else {}
    # Thoughtbox stores the branch in the node or in its data, depending on the version.
    raw = _text(node.get("branchId")) or _text(data.get("branchId")) or None
    chain, label = chains.name(raw)
    kind = _text(data.get("type"))
    return Foreign(
        id=_text(node.get("id")) or f"{session}:{raw + ':' if raw else ''}{data.get('thoughtNumber')}",
        chain=chain,
        label=label or labels.get(chain),
        number=sound_number(data.get("thoughtNumber")),
        text=storable(data.get("thought") if isinstance(data.get("thought"), str) else ""),
        total=sound_number(data.get("totalThoughts")),
        # A missing value means that more was to come: only an explicit false ends a session.
        next_needed=data.get("nextThoughtNeeded") is not False,
        ts_ms=time_ms(data.get("timestamp")),
        is_revision=data.get("isRevision") is True or _text(node.get("revisesNode")) != "",
        kind=kind if kind in KINDS else None,
        agent=_text(data.get("agentId")) or None,
        critique=_critique(data.get("critique")),
        prev=_text(node.get("prev")) or None,
        # Node ids are exact. A bare number is ambiguous: for a revision it is in its chain, for a fork the main line.
        revises=_text(node.get("revisesNode")) or _same_chain(session, raw, data.get("revisesThought")),
        origin=_text(node.get("branchOrigin")) or _main_line(session, data.get("branchFromThought")),
        extra=sound(_unused_values(node, data)),
        source=node,
    )


def _unused_values(node: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Invalid values are stored with the thought, so that an export returns them."""
    extra = {name: value for name, value in data.items() if name not in _KNOWN_DATA}
    if data.get("thoughtNumber") is not None and sound_number(data["thoughtNumber"]) is None:
        extra["originalNumber"] = data["thoughtNumber"]
    more = {name: value for name, value in node.items() if name not in _KNOWN_NODE}
    return extra | without_none(nodeFields=more or None)


def _same_chain(session: str, raw: str | None, number: Any) -> str | None:
    return f"{session}:{raw + ':' if raw else ''}{number}" if sound_number(number) else None


def _main_line(session: str, number: Any) -> str | None:
    return f"{session}:{number}" if sound_number(number) else None


def _critique(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    kept: dict[str, Any] = sound(value)
    return kept if "status" in kept else {"status": "ok", **kept}


def _text(value: Any) -> str:
    return storable(value) if isinstance(value, str) else ""


def storable(text: Any) -> str:
    """The text without characters that a store refuses: null characters and lone surrogates."""
    plain = str(text).replace("\x00", "\ufffd")
    return plain.encode("utf-8", "replace").decode() if not plain.isascii() else plain


def sound(value: Any, depth: int = 0) -> Any:
    """JSON that the store can hold: texts cleaned by `storable`, and an ellipsis for what is nested too deeply."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, (dict, list)) and depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {storable(name): sound(item, depth + 1) for name, item in value.items()}
    return [sound(item, depth + 1) for item in value] if isinstance(value, list) else value


def sound_number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= MAX_NUMBER:
        return None
    return int(value) if value == int(value) else None


def time_ms(value: Any) -> int | None:
    """Convert an ISO time or a number to milliseconds; None if it is neither."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Up to the end of the year 9999, the last that `datetime` can show.
        return int(value) if 0 <= value < 253_402_300_800_000 else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    ms = round(aware.timestamp() * 1000)
    return ms if ms >= 0 else None


_SESSION_FIELDS = frozenset(
    {
        "id", "title", "description", "tags", "status", "thoughtCount", "branchCount", "createdAt", "updatedAt",
        "lastAccessedAt", "completedAt", "partitionPath", "critiqueCount", "branchNames",
    }
)  # fmt: skip
_TAG_SIGNS = str.maketrans("", "", "|")


@dataclass
class ImportReport:
    session: str
    added: int = 0
    already: int = 0
    problems: list[str] = field(default_factory=list)
    fresh: bool = True
    written: dict[Point, dict[str, Any]] = field(default_factory=dict)
    """The added nodes, as they were read."""

    def to_dict(self) -> dict[str, Any]:
        return {"sessionId": self.session, "added": self.added, "already": self.already, "problems": self.problems}


def import_session(ctx: Context, exported: dict[str, Any], merge: bool = False, as_copy: bool = False) -> ImportReport:
    """Write a session from its export. With `merge`, missing thoughts are added to an existing session."""
    head = exported.get("session") if isinstance(exported.get("session"), dict) else {}
    assert isinstance(head, dict)
    key = str(head.get("id") or "")
    # A deleted session is not restored under its old id, because its deletion was intended.
    existing = _existing(ctx, key, merge, as_copy)
    session = existing or start_session(ctx, _new_session(head, None if as_copy or not key else key))
    report = ImportReport(session.id, fresh=existing is None)
    nodes = exported.get("nodes") if isinstance(exported.get("nodes"), list) else []
    assert isinstance(nodes, list)
    given = head.get("branchNames")
    labels = {name: storable(label) for name, label in given.items()} if isinstance(given, dict) else {}
    chains = Chains()
    found = [foreign_node(node, key, chains, labels) for node in nodes if isinstance(node, dict)]
    _write(ctx, session, found, report)
    _finish(ctx, session, head, fresh=existing is None)
    payload = {"added": report.added, "already": report.already, "problems": len(report.problems)}
    ctx.emit("ledger", "session_imported", session.id, payload)
    return report


def _existing(ctx: Context, key: str, merge: bool, as_copy: bool) -> LedgerSession | None:
    if not key or as_copy:
        return None
    if not SESSION.fullmatch(key):
        raise ClewError(
            "INVALID_INPUT",
            f"export.session.id: {shorten(key, 60)!r} is not a session id",
            "Import with asCopy, which gives the session a new id.",
            [{"kind": "value", "field": "export.session.id"}],
        )
    found = find_session(ctx, key)
    gone = found is None and ctx.tx.value(
        "SELECT 1 FROM ledger_session WHERE workspace = ? AND id = ?", ctx.workspace, key
    )
    if gone or (found is not None and not merge):
        raise ClewError(
            "CONFLICT",
            f"session {key} {'was deleted' if gone else 'exists already'}",
            "Import with asCopy to make another one." if gone else "Import with merge to add what is missing.",
            suggestions=[suggest("list_sessions", "Shows the sessions there are.")],
        )
    return found


def _new_session(head: dict[str, Any], key: str | None) -> NewSession:
    title = storable(head.get("title") or "").strip()
    description = head.get("description")
    tags = head.get("tags") if isinstance(head.get("tags"), list) else []
    return NewSession(
        title=shorten(title, 200) or UNTITLED,
        description=storable(description) if isinstance(description, str) else None,
        tags=tuple(
            " ".join(CONTROL.sub(" ", storable(tag)).translate(_TAG_SIGNS).split())[:200]
            for tag in tags or []
            if isinstance(tag, str)
        ),
        id=key,
        created_at_ms=time_ms(head.get("createdAt")),
        extra=_kept(head),
    )


def _kept(head: dict[str, Any]) -> dict[str, Any]:
    """The session fields without a column, so that an export returns them."""
    kept = {name: value for name, value in head.items() if name not in _SESSION_FIELDS}
    place, created = head.get("partitionPath"), time_ms(head.get("createdAt"))
    # Thoughtbox chose the directory by the clock of its machine, so the month need not be that of `createdAt`.
    if isinstance(place, str) and PARTITION.fullmatch(place) and (created is None or place != partition(created)):
        kept["partitionPath"] = place
    found: dict[str, Any] = sound(kept)
    return found


def _write(ctx: Context, session: LedgerSession, found: list[Foreign], report: ImportReport) -> None:
    # Read once, because every thought is looked up, and a session may have tens of thousands.
    stored = {thought.point: thought.text for thought in every_thought(ctx, session.id)}
    _assign_numbers(found, report)
    by_id = {node.id: node for node in found}
    follow_forks(found, by_id)
    places: dict[str, Point] = {}
    chains: dict[str, Chain] = {}
    added: list[Recorded] = []
    now = session.created_at_ms
    # Pointers are resolved while writing, so their targets must be written first.
    for node in ordered(found, by_id):
        assert node.number is not None
        # A thought without a time gets the time of the one before it.
        now = now if node.ts_ms is None else node.ts_ms
        point = Point(node.chain, node.number)
        places[node.id] = point
        if point in stored:
            report.already += 1
            if stored[point] != node.text:
                report.problems.append(f"thought {point.short}: another text is stored under this number and was kept")
            continue
        draft = _draft(node, now, places, stored, report)
        added.append(add(ctx, session, draft, chains.get(node.chain)))
        chains[node.chain] = added[-1].chain
        stored[point] = node.text
        report.written[point] = node.source
    make_findable(ctx, added)
    report.added += len(added)


def _assign_numbers(found: list[Foreign], report: ImportReport) -> None:
    """Give thoughts without a valid number, or with a duplicate one, a number at the end of their chain."""
    highest: dict[str, int] = {}
    for node in found:
        highest[node.chain] = max(highest.get(node.chain, 0), node.number or 0)
    seen: set[Point] = set()
    for node in found:
        point = Point(node.chain, node.number) if node.number else None
        if point is None or point in seen:
            # Above all used numbers, so that no thought with a valid number loses it to one without.
            highest[node.chain] += 1
            node.number = highest[node.chain]
            given = node.extra.get("originalNumber", point.number if point else None)
            report.problems.append(f"thought {given}: the number cannot be kept; it is {node.number} now")
        seen.add(Point(node.chain, node.number or 0))


def follow_forks(found: list[Foreign], by_id: dict[str, Foreign]) -> None:
    """Resolve a revision of a thought that is not on its own branch to the one before the fork, as a live call does.

    Thoughtbox writes the branch into `revisesNode` even if the number is one of the main line.
    """
    # Backwards, so that the first fork point of a branch is the final one.
    forks = {node.chain: fork.chain for node in reversed(found) if (fork := by_id.get(node.origin or ""))}
    by_number = {(node.chain, node.id.rpartition(":")[2]): node.id for node in found}
    for node in found:
        lost = node.revises is not None and (node.revises not in by_id or node.revises == node.id)
        if node.chain and lost and _is_neighbour(node.id, node.revises or ""):
            node.revises = _before_fork(node, forks, by_number) or node.revises


def _is_neighbour(id: str, other: str) -> bool:
    """Whether two node ids differ only in the number, so that they are of the same chain."""
    return id.rpartition(":")[0] == other.rpartition(":")[0]


def _before_fork(node: Foreign, forks: dict[str, str], by_number: dict[tuple[str, str], str]) -> str | None:
    """The node id of the revised number on the nearest chain that this one forked from."""
    number, chain = (node.revises or "").rpartition(":")[2], node.chain
    # Bounded, because a damaged export may contain a cycle of forks.
    for _ in range(MAX_DEPTH):
        if not chain:
            return None
        # A branch without its fork point began on the main line: Thoughtbox knows no other.
        chain = forks.get(chain, MAIN)
        found = by_number.get((chain, number))
        if found is not None and found != node.id:
            return found
    return None


def ordered(found: list[Foreign], by_id: dict[str, Foreign]) -> Iterator[Foreign]:
    """The nodes in the given order, but the targets of forks and revisions first. Cycles are cut where entered.

    A stack replaces recursion, because chains of revisions may be long.
    """
    done: set[str] = set()
    for first in found:
        stack = [first]
        entered: set[str] = set()
        while stack:
            node = stack[-1]
            entered.add(node.id)
            needed = [by_id[key] for key in (node.origin, node.revises) if key in by_id]
            waiting = [item for item in needed if item.id not in done and item.id not in entered]
            if waiting:
                stack.append(waiting[0])
                continue
            stack.pop()
            if node.id not in done:
                done.add(node.id)
                yield node


def _draft(
    node: Foreign, ts_ms: int, places: dict[str, Point], stored: dict[Point, str], report: ImportReport
) -> ThoughtDraft:
    origin = _target(node, node.origin, "fork point", "branchFromThought", places, stored, report)
    revised = _target(node, node.revises, "revised thought", "revisesThought", places, stored, report)
    prev = places.get(node.prev or "")
    own = Point(node.chain, node.number or 0)
    past = Past(
        ts_ms=ts_ms,
        prev=prev if prev in stored and prev != own else None,
        origin=origin,
        revised=revised,
        label=node.label,
        agent=node.agent,
        critique=node.critique,
    )
    return ThoughtDraft(
        text=node.text,
        next_needed=node.next_needed,
        number=node.number,
        total=node.total,
        is_revision=node.is_revision,
        chain=node.chain,
        kind=node.kind,
        extra=node.extra,
        past=past,
    )


def _target(
    node: Foreign,
    key: str | None,
    what: str,
    name: str,
    places: dict[str, Point],
    stored: dict[Point, str],
    report: ImportReport,
) -> Point | None:
    """The thought that a pointer refers to. A dangling pointer is kept in `extra` and reported."""
    point = places.get(key or "")
    if key is None or (point in stored and key != node.id):
        return point
    own, other = (name.removeprefix(f"{report.session}:") for name in (node.id, key))
    report.problems.append(f"thought {shorten(own, 80)}: its {what} {shorten(other, 80)} is not there")
    number = key.rpartition(":")[2]
    node.extra[name] = int(number) if number.isdecimal() and len(number) < 10 else number
    return None


def _ended_ms(ctx: Context, session: LedgerSession) -> int | None:
    """When the newest thought was written, if it ends the session; else None."""
    sql = "SELECT next_needed, ts_ms FROM thought WHERE workspace = ? AND session = ? ORDER BY ts_ms DESC, seq DESC"
    newest = ctx.tx.one(f"{sql} LIMIT 1", ctx.workspace, session.id)
    return int(newest["ts_ms"]) if newest is not None and not newest["next_needed"] else None


def _finish(ctx: Context, session: LedgerSession, head: dict[str, Any], fresh: bool) -> None:
    """Set status, times and counts of a new session, which only the export contains."""
    if not fresh:
        return
    now = session_named(ctx, session.id)
    completed = time_ms(head.get("completedAt")) or _ended_ms(ctx, session)
    # Thoughtbox stores no status: a session counts as completed if its newest thought ends it.
    given = head.get("status", COMPLETED if completed is not None else ACTIVE)
    status = COMPLETED if given == COMPLETED else ACTIVE
    change_columns(
        ctx,
        session.id,
        status=status,
        completed_at_ms=completed if status == COMPLETED else None,
        updated_at_ms=time_ms(head.get("updatedAt")) or now.updated_at_ms,
        accessed_at_ms=time_ms(head.get("lastAccessedAt")) or now.accessed_at_ms,
        critique_count=sound_number(head.get("critiqueCount")) or 0,
        title=now.title if session.title == UNTITLED else session.title,
    )
