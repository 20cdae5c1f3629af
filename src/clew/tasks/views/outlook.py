"""A plan or task with its steps, gates and proofs, and the lines of the radar and the handoff derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from clew.canonical import Json, picked
from clew.errors import shorten
from clew.kinds import statuses
from clew.reasoning.branches import chain
from clew.reasoning.premises import any_fallen
from clew.reasoning.scope import Scope, StepFocus, scope_of
from clew.registry.context import Context
from clew.registry.envelope import one_line
from clew.tasks.gates import Gate, gates_of
from clew.tasks.leases import StepLease, lease_of
from clew.tasks.plans import ACTIVE_LIMIT, STALE_AFTER_MS, Work, qualified_id, tasks_of
from clew.tasks.proof_receipts import CLAIMED, FAILED, OVERRIDDEN, SEEN, UNPROVEN
from clew.tasks.proofs import PROVEN, STALE, Proof, proof_states, unproven_since
from clew.tasks.reasoning_gate import suspect_steps
from clew.tasks.steps import CANCELED, Step, steps_of

MOST_LINES = 20
MOST_NEXT = 3
MOST_RUNS = 6
"""Maximum number of paths, or ranges of them, in one line."""
LINE = 200


@dataclass(frozen=True, slots=True)
class Subject:
    """The plan or task that a view is about, read once for the call."""

    work: Work
    qualified_id: str
    scope: Scope
    steps: list[Step] = field(default_factory=list)
    gates: dict[str, Gate] = field(default_factory=dict)
    lease: StepLease | None = None
    """The lease of the first open step."""
    proofs: dict[str, Proof] = field(default_factory=dict)
    """How far each done step is proven, by step id."""

    @property
    def open_steps(self) -> list[Step]:
        """The open steps in the order in which they are worked on."""
        left = [step for step in self.steps if not step.completed]
        # By age, not by path: a step that was added later comes later, even if it is higher in the tree.
        return sorted(left, key=lambda step: (step.canceled, step.created_seq, step.id))

    @property
    def first_open(self) -> Step | None:
        return next(iter(self.open_steps), None)

    @property
    def step_focus(self) -> StepFocus | None:
        step = self.first_open
        return StepFocus(step.task, step.id, step.path) if step else None


def subject_of(ctx: Context, work: Work) -> Subject:
    steps = steps_of(ctx, work.id) if work.is_task else []
    # Only for done steps: comparing covered files takes milliseconds, and views need only these.
    proofs = proof_states(ctx, [step for step in steps if step.completed])
    scope = scope_of(ctx, work.id)
    subject = Subject(work, qualified_id(ctx, work.id), scope, steps, gates_of(ctx, steps), proofs=proofs)
    step = subject.first_open
    return replace(subject, lease=lease_of(ctx, step.id)) if step else subject


@dataclass(frozen=True, slots=True)
class Horizon:
    """The tasks of a plan counted by state. A parked task whose time has come counts as backlog again."""

    active: int
    backlog: int
    parked: int
    stale: int
    done: int
    total: int
    next_wake: Json | None = None

    @property
    def over_limit(self) -> bool:
        return self.active > ACTIVE_LIMIT

    def to_json(self) -> Json:
        limits = {"active_limit": ACTIVE_LIMIT, "over_active_limit": self.over_limit}
        wake = {"next_wake": self.next_wake} if self.next_wake else {}
        return {**picked(self, *HORIZON), **limits, **wake}


HORIZON = ("active", "backlog", "parked", "stale", "done", "total")
# One pass over the plan's tasks. A parked task whose time has come counts as backlog, as in the contract.
_COUNTS = """
SELECT count(*) AS total,
  sum(CASE WHEN status = 'ACTIVE' THEN 1 ELSE 0 END) AS active,
  sum(CASE WHEN status = 'DONE' THEN 1 ELSE 0 END) AS done,
  sum(CASE WHEN status = 'PARKED' AND (parked_until_ts_ms IS NULL OR parked_until_ts_ms > ?) THEN 1 ELSE 0 END)
    AS parked,
  sum(CASE WHEN status = 'TODO' OR (status = 'PARKED' AND parked_until_ts_ms <= ?) THEN 1 ELSE 0 END) AS backlog,
  sum(CASE WHEN status IN ('TODO', 'ACTIVE', 'PARKED') AND updated_at_ms + COALESCE(stale_after_ms, ?) <= ?
    THEN 1 ELSE 0 END) AS stale
FROM work WHERE workspace = ? AND parent = ?
"""
_WAKE = """
SELECT id, title, parked_until_ts_ms FROM work
WHERE workspace = ? AND parent = ? AND status = 'PARKED' AND parked_until_ts_ms > ?
ORDER BY parked_until_ts_ms, number LIMIT 1
"""


def horizon_of(ctx: Context, plan: str) -> Horizon:
    now = ctx.now_ms
    row = ctx.tx.one(_COUNTS, now, now, STALE_AFTER_MS, now, ctx.workspace, plan) or {}
    # Usually no task is parked, which the count shows without a second query.
    wake = ctx.tx.one(_WAKE, ctx.workspace, plan, now) if row.get("parked") else None
    counts = {name: int(row.get(name) or 0) for name in HORIZON}
    return Horizon(**counts, next_wake=wake)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The lines of the radar. Lists are complete here; `to_json` cuts them."""

    now: str
    why: str
    verify: list[str]
    next: list[str]
    blockers: list[str]
    suspects: list[str] = field(default_factory=list)
    """Steps, done or not, that depend on a card which was withdrawn since."""
    horizon: Horizon | None = None
    """Only for a plan."""
    unproven: list[str] = field(default_factory=list)
    """Done steps that are claimed, unproven, overridden, failed or stale: listed until they are proven."""
    proof: str = ""
    """How far the done steps are proven, in a line: `3 proven; s:1 stale, s:4 claimed`."""

    def to_json(self) -> Json:
        shown: Json = {
            **picked(self, "now", "why"),
            "verify": self.verify[:MOST_LINES],
            "next": self.next[:MOST_NEXT],
            "blockers": self.blockers[:MOST_LINES],
        }
        rest = {
            "suspects": self.suspects[:MOST_LINES],
            "unproven": self.unproven[:MOST_LINES],
            "proof": self.proof,
            "horizon": self.horizon.to_json() if self.horizon else None,
        }
        return shown | {name: value for name, value in rest.items() if value}


def outlook_of(ctx: Context, subject: Subject) -> Outlook:
    if not subject.work.is_task:
        return _of_plan(ctx, subject.work)
    task = subject.work
    return Outlook(
        _now(subject),
        _line(task.description or task.context or task.title),
        _verify(subject),
        _next(subject),
        _blockers(subject),
        _suspects(ctx, subject),
        unproven=[_line(f"{step.path} {step.title}: {proof.line()}") for step, proof in _unproven(subject)],
        proof=_grades(subject),
    )


def _now(subject: Subject) -> str:
    step = subject.first_open
    if step is not None:
        return _line(f"{step.path} {step.title}")
    if not subject.work.is_open:
        return f"{subject.work.id} is {subject.work.status}"
    return "every step is done" if subject.steps else "no steps yet"


def _verify(subject: Subject) -> list[str]:
    """What the first open step still has to show before it closes."""
    step = subject.first_open
    if step is None:
        return []
    gate, written = subject.gates[step.id], {"criteria": step.success_criteria, "tests": step.tests}
    lines = [f"{name}: {line}" for name in gate.missing for line in written.get(name, ("to be confirmed",))]
    return [_line(line) for line in lines + [f"proof: of {name}" for name in gate.missing_proof]]


def _next(subject: Subject) -> list[str]:
    """What to do next, in order."""
    if not subject.work.is_open:
        return []
    left = subject.open_steps
    if not left:
        return [f"finish {subject.work.id}" if subject.steps else f"add steps to {subject.work.id}"]
    first = left[0]
    return [_line(first.next_action or f"close {first.path} {first.title}")] + [
        _line(f"then {step.path} {step.title}") for step in left[1:]
    ]


def _blockers(subject: Subject) -> list[str]:
    """The blockers of the open steps. A canceled one waits for nothing."""
    found = []
    for step in subject.open_steps:
        if step.blocked and not step.canceled:
            found.append(_line(f"{step.path}: {step.block_reason or 'blocked'}"))
        found += [_line(f"{step.path}: {line}") for line in step.blockers]
    return found


def _suspects(ctx: Context, subject: Subject) -> list[str]:
    # Usually nothing was withdrawn; one index lookup then avoids the walk over all premises.
    if not subject.steps or not any_fallen(ctx, subject.scope, chain(ctx, subject.scope.branch)):
        return []
    doubts = suspect_steps(ctx, subject.work.id, subject.steps)
    doubted = [step for step in subject.steps if step.id in doubts]
    return [_line(f"{step.path} {step.title}: {doubts[step.id].because}") for step in doubted]


def _unproven(subject: Subject) -> list[tuple[Step, Proof]]:
    done = [(step, subject.proofs[step.id]) for step in subject.steps if step.id in subject.proofs]
    return [(step, proof) for step, proof in done if not proof.settled]


def _grades(subject: Subject) -> str:
    doubted = [f"{step.path} {proof.state}" for step, proof in _unproven(subject)]
    proven = len(subject.proofs) - len(doubted)
    more = f" and {len(doubted) - MOST_LINES} more" if len(doubted) > MOST_LINES else ""
    parts = [f"{proven} {PROVEN}" if proven else "", ", ".join(doubted[:MOST_LINES]) + more]
    return "; ".join(part for part in parts if part)


_SEEN_RUN = {PROVEN: SEEN, STALE: SEEN}


def progress(steps: Sequence[Step], proofs: Mapping[str, Proof]) -> str:
    """How many steps are done and how they are proven, such as `8 of 10 done: 1 seen, 7 claimed, 5 stale (files changed
    since: s:0-s:3, s:6)`. No command is repeated: opening a step shows its runs."""
    done = [step for step in steps if step.completed]
    proven = [(step.path, proofs[step.id]) for step in done if step.id in proofs]
    grades: dict[str, list[str]] = {}
    for path, proof in proven:
        grades.setdefault(_SEEN_RUN.get(proof.state, proof.state), []).append(path)
    groups = [(f"{state} (", grades.get(state, [])) for state in _NAMED]
    groups.append(("canceled (", [step.path for step in steps if step.canceled]))
    groups.append(("stale (files changed since: ", [path for path, proof in proven if proof.changed]))
    told = [f"{len(grades[SEEN])} {SEEN}"] if SEEN in grades else []
    told += [f"{len(paths)} {name}{path_ranges(paths)})" for name, paths in groups if paths]
    return f"{len(done)} of {len(steps)} done" + (f": {', '.join(told)}" if told else "")


_NAMED = (CLAIMED, UNPROVEN, FAILED, OVERRIDDEN)
"""These need attention, so the line lists the steps."""


def path_ranges(paths: Sequence[str]) -> str:
    """Paths of steps with consecutive ones joined: `s:0-s:3, s:6`."""
    runs: list[list[str]] = []
    for path in paths:
        before = _number(runs[-1][-1]) if runs else None
        if before is not None and _number(path) == before + 1:
            runs[-1].append(path)
        else:
            runs.append([path])
    told = [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(told[:MOST_RUNS]) + (" ..." if len(told) > MOST_RUNS else "")


def _number(path: str) -> int | None:
    """The index of a top-level step; deeper ones are not joined."""
    number = path.removeprefix("s:")
    return int(number) if number.isdigit() else None


def _of_plan(ctx: Context, plan: Work) -> Outlook:
    return Outlook(
        _checklist_now(plan),
        _line(plan.contract or plan.description or plan.title),
        [],
        _plan_next(ctx, plan),
        _plan_blockers(ctx, plan.id),
        horizon=horizon_of(ctx, plan.id),
    )


def _checklist_now(plan: Work) -> str:
    if plan.checklist_current < len(plan.checklist):
        return _line(f"{plan.checklist_current + 1}/{len(plan.checklist)} {plan.checklist[plan.checklist_current]}")
    return "the checklist is done" if plan.checklist else f"{plan.id} is {plan.status}"


def _plan_next(ctx: Context, plan: Work) -> list[str]:
    """Active tasks, then the remaining lines of the checklist."""
    active = [_line(f"{task.id} {task.title}") for task in tasks_of(ctx, plan.id, "ACTIVE")[:MOST_NEXT]]
    return active + [_line(line) for line in plan.checklist[plan.checklist_current :]]


def _plan_blockers(ctx: Context, plan: str) -> list[str]:
    """Blocked steps of the plan's active and planned tasks."""
    sql = (
        "SELECT step.task, step.path, step.block_reason FROM step JOIN work ON work.workspace = step.workspace"
        " AND work.id = step.task WHERE work.workspace = ? AND work.parent = ? AND work.status IN ('ACTIVE', 'TODO')"
        f" AND step.completed = 0 AND step.blocked = 1 AND COALESCE(step.block_reason, '') NOT LIKE '{CANCELED}%'"
        " ORDER BY work.number, step.created_seq, step.id LIMIT ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, plan, MOST_LINES)
    return [_line(f"{row['task']} {row['path']}: {row['block_reason'] or 'blocked'}") for row in rows]


@dataclass(frozen=True, slots=True)
class Handoff:
    """The handoff report: done, remaining, risks."""

    done: list[str]
    remaining: list[str]
    risks: list[str]

    def to_json(self, limit: int) -> dict[str, list[str]]:
        return {"done": self.done[-limit:], "remaining": self.remaining[:limit], "risks": self.risks[:limit]}


def handoff_of(ctx: Context, subject: Subject, outlook: Outlook) -> Handoff:
    if not subject.work.is_task:
        return _plan_handoff(ctx, subject.work, outlook)
    done = [_done_line(step, subject) for step in subject.steps if step.completed]
    remaining = [_open_line(step, subject.gates[step.id]) for step in subject.open_steps]
    return Handoff(done, remaining, _task_risks(subject, outlook))


def _done_line(step: Step, subject: Subject) -> str:
    """A done step with its proofs and their grade."""
    present, grade = subject.gates[step.id].present_proof, subject.proofs[step.id].state
    proof = f"proof: {', '.join(present)}, " if present else ""
    return _line(f"{step.path} {step.title} ({proof}{grade})")


def _open_line(step: Step, gate: Gate) -> str:
    lacks = [*gate.missing, *(f"proof of {name}" for name in gate.missing_proof)]
    return _line(f"{step.path} {step.title}" + (f" (needs {', '.join(lacks)})" if lacks else ""))


def _task_risks(subject: Subject, outlook: Outlook) -> list[str]:
    risks = [f"blocked: {line}" for line in outlook.blockers]
    risks += [f"suspect: {line}" for line in outlook.suspects]
    for step in subject.open_steps:
        risks += [f"unproven: {step.path} needs proof of {name}" for name in subject.gates[step.id].missing_proof]
    risks += [f"not proven: {line}" for line in outlook.unproven]
    for step in subject.steps:
        if step.completed:
            wished = [name for name in subject.gates[step.id].wanted_proof if name != "tests"]
            risks += [f"unproven: {step.path} was closed without proof of {name}" for name in wished]
    if not subject.steps:
        risks.append("unplanned: the task has no steps")
    return [_line(risk) for risk in risks]


def _plan_handoff(ctx: Context, plan: Work, outlook: Outlook) -> Handoff:
    tasks = tasks_of(ctx, plan.id)
    current = min(plan.checklist_current, len(plan.checklist))
    finished = [task for task in tasks if task.status == statuses.WORK_DONE]
    done = [*plan.checklist[:current], *(f"{task.id} {task.title}" for task in finished)]
    left = [task for task in tasks if task.is_open]
    # Active tasks come first.
    order = {"ACTIVE": 0, "TODO": 1, "PARKED": 2}
    left.sort(key=lambda task: (order[task.status], task.number))
    remaining = [*plan.checklist[current:], *(f"{task.id} {task.title} ({task.status})" for task in left)]
    risks = [f"blocked: {line}" for line in outlook.blockers] + _plan_risks(outlook.horizon)
    doubted = [step for step, _ in unproven_since(ctx) if step.task in {task.id for task in tasks}]
    if doubted:
        named = ", ".join(f"{step.task} {step.path}" for step in doubted[:MOST_NEXT])
        risks.append(f"not proven: {len(doubted)} steps of finished tasks, such as {named}")
    return Handoff(*([_line(text) for text in texts] for texts in (done, remaining, risks)))


def _plan_risks(horizon: Horizon | None) -> list[str]:
    risks = []
    if horizon is not None and horizon.over_limit:
        risks.append(f"scattered: {horizon.active} tasks are active at once")
    if horizon is not None and horizon.stale:
        risks.append(f"stale: {horizon.stale} open tasks have not changed for long")
    return risks


def _line(text: str) -> str:
    return shorten(one_line(text), LINE)
