"""The words that stores write as status, and what each means where its kind says nothing else.

No other module spells a status; `tests/kinds/test_one_table.py` reads the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.kinds.state import State

ACTIVE: Final = "active"
PROPOSED: Final = "proposed"
STAGED: Final = "staged"
PENDING: Final = "pending"
PENDING_REVIEW: Final = "pending-review"
DEFERRED: Final = "deferred"
OPEN: Final = "open"
TODO: Final = "todo"
DOING: Final = "doing"
BLOCKED: Final = "blocked"
BACKLOG: Final = "backlog"
PARKED: Final = "parked"
QUEUED: Final = "queued"
RUNNING: Final = "running"
ACCEPTED: Final = "accepted"
APPLIED: Final = "applied"
CONFIRMED: Final = "confirmed"
ANSWERED: Final = "answered"
RESOLVED: Final = "resolved"
CLOSED: Final = "closed"
DONE: Final = "done"
COMPLETED: Final = "completed"
MERGED: Final = "merged"
FAILED: Final = "failed"
SUPERSEDED: Final = "superseded"
RETRACTED: Final = "retracted"
REVOKED: Final = "revoked"
REJECTED: Final = "rejected"
DISPROVED: Final = "disproved"
DISOWNED: Final = "disowned"
WITHDRAWN: Final = "withdrawn"
CANCELED: Final = "canceled"
ROLLED_BACK: Final = "rolled_back"
DEPRECATED: Final = "deprecated"
ARCHIVED: Final = "archived"
DELETED: Final = "deleted"
REMOVED: Final = "removed"
EXPIRED: Final = "expired"
REOPENED: Final = "reopened"
"""What became of finished work that was withdrawn: it is open again."""

WORK_TODO: Final = "TODO"
WORK_ACTIVE: Final = "ACTIVE"
WORK_DONE: Final = "DONE"
WORK_PARKED: Final = "PARKED"
WORK_CANCELED: Final = "CANCELED"
JOB_QUEUED: Final = "QUEUED"
JOB_RUNNING: Final = "RUNNING"
JOB_FAILED: Final = "FAILED"
"""Plans, tasks and jobs write theirs in capitals."""

MEANING: Mapping[str, State] = {
    **dict.fromkeys((PROPOSED, STAGED, PENDING, PENDING_REVIEW), State.PROPOSED),
    **dict.fromkeys((ACTIVE, ACCEPTED), State.IN_FORCE),
    **dict.fromkeys((OPEN, TODO, DOING, "in_progress", BLOCKED, BACKLOG, PARKED), State.OPEN),
    **dict.fromkeys((QUEUED, RUNNING, DEFERRED, REOPENED), State.OPEN),
    **dict.fromkeys((APPLIED, CONFIRMED, ANSWERED, RESOLVED, CLOSED), State.SETTLED),
    **dict.fromkeys((DONE, COMPLETED, MERGED, FAILED), State.SETTLED),
    SUPERSEDED: State.REPLACED,
    **dict.fromkeys((RETRACTED, REVOKED, REJECTED, DISPROVED, DISOWNED), State.WITHDRAWN),
    **dict.fromkeys((WITHDRAWN, CANCELED, "cancelled", ROLLED_BACK), State.WITHDRAWN),
    **dict.fromkeys((DEPRECATED, ARCHIVED, DELETED, REMOVED), State.WITHDRAWN),
    EXPIRED: State.EXPIRED,
}
"""People may write any word into a file or as the status of a card; these are understood."""


def meaning(status: str | None) -> State | None:
    """What a status means whatever the kind; None for an undeclared word."""
    return MEANING.get((status or "").strip().lower())


def words_for(*states: State) -> tuple[str, ...]:
    """The words, in small letters, that mean one of these states."""
    return tuple(word for word, state in MEANING.items() if state in states)
