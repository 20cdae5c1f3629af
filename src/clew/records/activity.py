"""Summaries of what others did: who did what, and to which records or steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clew.ids import STEP
from clew.kinds import statuses
from clew.records.links import RetractionRow
from clew.registry.context import Context
from clew.store.events import EventRow
from clew.store.rows import find_many
from clew.tasks.proofs import Proof, proof_states
from clew.tasks.steps import CANCELED, path_key, steps_of
from clew.tasks.views.outlook import path_ranges

PEOPLE = ("", "observatory", "clew-cli")
"""Authors that represent a person: the page, the shell, an edited file."""
RUN_KEEPERS = ("clew-prove", "clew-hook")
"""Authors of runs in a session of the reader's own client or shell; the grade of a step uses the same set."""
VERBS = {
    "step_done": "closed",
    "step_reopened": "reopened",
    "step_blocked": "blocked",
    "step_unblocked": "unblocked",
    "step_defined": "changed",
    "step_deleted": "deleted",
    "step_noted": "noted on",
    "steps_added": "added steps to",
    "task_created": "created",
    "task_completed": "set the status of",
    "task_edited": "edited",
    "task_deleted": "deleted",
    "plan_created": "created",
    "evidence_captured": "reported a run for",
    "card_written": "wrote",
    "card_changed": "changed",
    "block_written": "wrote",
    "block_removed": "removed",
    "memory_edited": "edited",
    "proposal_staged": "proposed",
    "proposal_applied": "approved",
    "proposal_rejected": "rejected",
    "proposal_rolled_back": "rolled back",
    "record_retracted": "withdrew",
    "job_completed": "completed",
    "job_failed": "failed",
}
"""Event types with a phrase to describe them; other events are bookkeeping and not shown."""
PASSIVE = {
    "wrote": "written",
    "noted on": "noted",
    "added steps to": "steps added",
    "set the status of": "status set",
    "withdrew": "withdrawn",
}
"""Phrases for a single subject, where they differ: `written by coder-1`."""
ENDINGS = {
    statuses.SUPERSEDED: "replaced",
    statuses.RESOLVED: "answered",
    statuses.DISPROVED: "disproved",
    statuses.REOPENED: "reopened",
}
"""The verb for a withdrawn record, by its current status."""
MOST_THINGS = 4
MOST_TASKS = 5
"""Maximum number of tasks whose closed steps are shown with their grade."""


class Activity(NamedTuple):
    who: str
    verb: str
    thing: str
    path: str = ""
    grade: str = ""
    """How well a closed step is proven, in brackets."""


def activity_lines(
    ctx: Context, events: Sequence[EventRow], known: Mapping[str, Proof], pending: Mapping[str, str]
) -> list[str]:
    """One line per action, grouped by author, newest first; only the first line of an author has the name.

    `known` are proofs by step id that were already graded; `pending` describes what each staged proposal would do.
    """
    describer = _Describer(ctx, events, known, pending)
    authors: dict[str, dict[tuple[str, str], list[Activity]]] = {}
    for event in events:
        activity = describer.activity(event)
        if activity is not None:
            same = authors.setdefault(activity.who, {}).setdefault((activity.verb, activity.grade), [])
            if activity not in same:
                same.append(activity)
    told = []
    for who, activities in authors.items():
        lines = [f"{verb} {_listed(same)}{grade}" for (verb, grade), same in activities.items()]
        told += [f"{who} {lines[0]}", *lines[1:]]
    return told


class _Describer:
    """Describes events together with the current state of their subjects, so that no line overstates."""

    def __init__(
        self, ctx: Context, events: Sequence[EventRow], known: Mapping[str, Proof], pending: Mapping[str, str]
    ) -> None:
        self._pending = pending
        closed = {(event.subject, event.path) for event in events if event.type == "step_done"}
        self._grades = _grades(ctx, closed, known)
        taken = [event.subject for event in events if event.type == "record_retracted" and event.subject]
        rows = sorted(find_many(ctx.tx, ctx.workspace, RetractionRow, taken, "id"), key=lambda row: row.seq)
        self._retracted = {row.id: row for row in rows}

    def activity(self, event: EventRow) -> Activity | None:
        verb, who = VERBS.get(event.type), _who(event)
        if verb == "blocked" and _is_canceled(event.payload.get("reason")):
            verb = "canceled"
        if verb is None or self._covered_elsewhere(event):
            return None
        if event.type == "step_done":
            grade = self._grades.get((event.subject, event.path), "")
            return Activity(who, verb, event.subject or "", event.path or "", grade)
        if event.type == "record_retracted":
            return self._retraction(event, who)
        if event.type == "proposal_staged" and event.subject is not None and event.subject in self._pending:
            return Activity(who, *_split(self._pending[event.subject]))
        return Activity(who, verb, event.subject or "", event.path or "")

    def _covered_elsewhere(self, event: EventRow) -> bool:
        """Whether another event of the same time describes it better: closing a step, proposing, withdrawing."""
        if event.type == "evidence_captured":
            return event.agent in RUN_KEEPERS or (event.subject, event.path) in self._grades
        if event.type in ("block_written", "block_removed"):
            return (event.subject or "").startswith("P-")
        if event.type == "record_retracted" and STEP.fullmatch(event.subject or ""):
            return event.payload.get("status") == statuses.CANCELED
        return event.type == "card_changed" and event.subject in self._retracted

    def _retraction(self, event: EventRow, who: str) -> Activity:
        status, subject = event.payload.get("status"), event.subject or ""
        row = self._retracted.get(subject)
        if status == statuses.PROPOSED:
            # Nothing was withdrawn yet: the record holds until a person agrees.
            verb = "proposed to replace" if row is not None and row.replaced_by else "proposed to retract"
            return Activity(who, verb, subject)
        return Activity(who, ENDINGS.get(str(status), VERBS["record_retracted"]), subject)


def _is_canceled(reason: Any) -> bool:
    """Whether a step was blocked because it was canceled."""
    return isinstance(reason, str) and reason.startswith(CANCELED)


def _split(said: str) -> tuple[str, str]:
    """Splits `to replace D-3` into verb and object, so that several are reported together."""
    verb, _, thing = said.rpartition(" ")
    return f"proposed {verb}", thing


def _grades(ctx: Context, closed: set[tuple[str | None, str | None]], known: Mapping[str, Proof]) -> dict[Any, str]:
    """The grade of each of these closed steps, as text behind its path; empty if it is proven."""
    found: dict[Any, str] = dict.fromkeys(closed, "")
    for task in sorted({task for task, _ in closed if task})[:MOST_TASKS]:
        steps = [step for step in steps_of(ctx, task) if (task, step.path) in closed and step.completed]
        proofs = {**proof_states(ctx, [step for step in steps if step.id not in known]), **known}
        found |= {(task, step.path): _grade(proofs[step.id]) for step in steps}
    return found


def _grade(proof: Proof) -> str:
    return "" if proof.settled else f" ({proof.state})"


def _who(event: EventRow) -> str:
    # An event for a hand edit carries the name of the caller whose call read the file.
    by_hand = event.type == "memory_edited" or event.payload.get("by_hand")
    return "a person" if by_hand or (event.agent or "") in PEOPLE else str(event.agent)


def _listed(activities: list[Activity]) -> str:
    """The subjects as a list, steps after their task: `TASK-001 s:6-s:9, D-3 and 2 more`."""
    paths: dict[str, list[str]] = {}
    for activity in activities:
        paths.setdefault(activity.thing, []).append(activity.path)
    things = [
        f"{thing} {path_ranges(sorted(found, key=path_key))}" if any(found) else thing for thing, found in paths.items()
    ]
    more = f" and {len(things) - MOST_THINGS} more" if len(things) > MOST_THINGS else ""
    return ", ".join(things[:MOST_THINGS]) + more


def history_lines(history: Sequence[Mapping[str, Any]]) -> list[str]:
    """The history of one record in words, newest first; bookkeeping events are left out."""
    told = []
    for event in history:
        verb = VERBS.get(event["event"])
        if verb is None or event["event"] == "evidence_captured":
            continue
        verb = "canceled" if verb == "blocked" and _is_canceled(event.get("why")) else verb
        by = f" by {event['by']}" if event.get("by") else ""
        part = f"{event['path']} " if event.get("path") else ""
        told.append(f"{part}{PASSIVE.get(verb, verb)}{by} {event['ts'][:10]}")
    return told
