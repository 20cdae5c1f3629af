"""The next action of a plan or task, with what may come before it: preparation, and adding the work to the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clew.canonical import Json, picked
from clew.errors import Suggestion, shorten, suggest
from clew.kinds import statuses
from clew.reasoning.anchors.registry import slug_title
from clew.reasoning.cards.forms import DOUBT_PROPOSAL
from clew.reasoning.graph import Node
from clew.reasoning.pack_parts import default_workspace
from clew.registry.catalogue import catalogue
from clew.registry.context import Context
from clew.tasks.gates import ALWAYS, confirmations
from clew.tasks.plans import Work
from clew.tasks.reasoning_gate import examine, reopened_steps
from clew.tasks.steps import Step, step_tag
from clew.tasks.texts import anchor_for
from clew.tasks.views.material import UNKNOWN
from clew.tasks.views.outlook import Subject

CLOSE = "tasks_macro_close_step"
PREFLIGHT = "skeptic:preflight"
PROOF_FORM = ("CMD: <fill: what you ran>", "LINK: <fill: where it can be seen>")


@dataclass(frozen=True, slots=True)
class Action:
    """A suggested call. `kind` decides how the state line names it."""

    kind: str
    tool: str
    args: Json
    purpose: str
    path: str | None = None
    needs: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()
    do: str | None = None
    toolset: str | None = None
    """The toolset that lists the call, if the caller's own does not."""

    def to_json(self) -> Json:
        head = {**picked(self, "kind", "tool", "args"), "available": self.toolset is None, "purpose": self.purpose}
        rest = picked(self, "path", "needs", "proof", "do")
        return head | {name: value for name, value in rest.items() if value}

    def escalation(self) -> Json | None:
        if self.toolset is None:
            return None
        return {"required": True, "toolset": self.toolset, "tool": self.tool}

    def suggestion(self, priority: str = "high") -> Suggestion:
        return suggest(self.tool, self.purpose, priority, **self.args)


@dataclass(frozen=True, slots=True)
class Asker:
    """The caller of an action: their toolset, their focus (which a call may omit), and whether leases apply."""

    toolset: str
    focus: str | None = None
    agent: str | None = None
    heeds_leases: bool = True


ANYONE = Asker("full", heeds_leases=False)
"""For stored records such as the mindpack: calls name everything, because any caller may read them."""


def asker_of(ctx: Context) -> Asker:
    return Asker(ctx.connection.toolset, ctx.ws.focus, ctx.agent)


@dataclass(frozen=True, slots=True)
class Actions:
    progress: Action | None = None
    map: Action | None = None
    prep: Action | None = None
    map_first: bool = field(default=False)
    """Whether adding the work to the map comes before closing its step."""

    @property
    def primary(self) -> Action | None:
        return self.map if self.map_first else self.progress


def actions_for(ctx: Context, subject: Subject, where: str, cards: Sequence[Node], relevant: bool) -> Actions:
    """The actions for a view. `relevant` views also propose thinking before a step is closed."""
    work, asker = subject.work, asker_of(ctx)
    progress = progress_for(ctx, subject, asker)
    alive = work.is_task and work.is_open
    placed = _map_action(asker, subject, where) if alive else None
    closes = progress is not None and progress.kind in ("gate", "reason")
    prep = _prep(asker, subject, where, cards) if relevant and alive and closes else None
    placed = _offer(ctx, placed)
    # Only if the caller's toolset lists the call; otherwise the first command could not be sent.
    attach_first = closes and where == UNKNOWN and placed is not None and placed.toolset is None
    return Actions(_offer(ctx, progress), placed, _offer(ctx, prep), attach_first)


def _offer(ctx: Context, action: Action | None) -> Action | None:
    """The action as this caller can send it: with the workspace, if it must be named, and the toolset that lists it."""
    if action is None:
        return None
    workspace = default_workspace(ctx)
    args = {**action.args, "workspace": workspace} if workspace else action.args
    entry = catalogue().find(action.tool)
    listed = entry is not None and catalogue().lists(ctx.connection.toolset, entry)
    return replace(action, args=args, toolset=None if listed else entry.tier if entry else "full")


def progress_for(ctx: Context, subject: Subject, asker: Asker) -> Action | None:
    """The call that moves the plan or task forward."""
    return _task_progress(ctx, subject, asker) if subject.work.is_task else _plan_progress(ctx, subject.work)


def _target(asker: Asker, work: Work, name: str = "task") -> dict[str, str]:
    """The argument that names the work; empty if it is the focus, which keeps the command short."""
    return {} if asker.focus == work.id else {name: work.id}


def _task_progress(ctx: Context, subject: Subject, asker: Asker) -> Action | None:
    work = subject.work
    if not work.is_open:
        return None
    # A parked task whose time has come is worked on like any other.
    is_due = work.parked_until_ts_ms is not None and work.parked_until_ts_ms <= ctx.now_ms
    if work.status == statuses.WORK_PARKED and not is_due:
        args = {**_target(asker, work), "status": statuses.WORK_ACTIVE}
        return Action("wake", "tasks_complete", args, "take the parked task up again")
    again = _reopen(ctx, subject) if work.reasoning_mode == "strict" else None
    if again is not None:
        return again
    step = subject.first_open
    if step is not None:
        return _close(ctx, subject, step, asker)
    if not subject.steps:
        first = {"title": work.title, "success_criteria": [f"Done: {shorten(work.title, 200)}"]}
        return Action("plan", "tasks_decompose", {**_target(asker, work), "steps": [first]}, "give the task its steps")
    return _finish(asker, work)


def _reopen(ctx: Context, subject: Subject) -> Action | None:
    """In a strict task: reopen a closed step whose premise was withdrawn."""
    fallen = reopened_steps(ctx, subject.work.id, subject.steps)
    step = next((step for step in subject.steps if step.id in fallen), None)
    if step is None:
        return None
    args = {"task": step.task, "step_id": step.id, "completed": False}
    return Action("reopen", "tasks_progress", args, f"open again: {fallen[step.id].because}", step.path)


def _finish(asker: Asker, work: Work) -> Action:
    """Finish a task without open steps. The smaller toolsets list only the closing macro, which does it too."""
    tool = "tasks_macro_finish" if asker.toolset == "full" else CLOSE
    return Action("finish", tool, _target(asker, work), "every step is done")


def _close(ctx: Context, subject: Subject, step: Step, asker: Asker) -> Action:
    gate = subject.gates[step.id]
    lease = subject.lease if asker.heeds_leases else None
    # Closing would be refused while another caller holds the step.
    if lease is not None and lease.holder != asker.agent:
        held = {"task": step.task, "step_id": step.id}
        return Action("lease", "tasks_step_lease_get", held, f"{step.path} is leased by {lease.holder}", step.path)
    if subject.work.reasoning_mode == "strict":
        lacks = examine(ctx, subject.work, step)
        # Only the author has the missing words, so the command shows the template, and the line names the card.
        if lacks.missing:
            return Action("reason", "open", {"id": lacks.opens}, lacks.briefly(), step.path)
    args: Json = {**_target(asker, subject.work), "checkpoints": confirmations(gate)}
    purpose, form = "close the step once it holds", list(PROOF_FORM)
    if gate.missing_proof:
        # A template for the missing proof, which itself is never accepted as proof.
        purpose, whole = "close the step with its proof", {"checks": form, "checkpoint": list(gate.missing_proof)}
        args["proof"] = form if gate.missing_proof == ("tests",) else whole
    needs = tuple(name for name in gate.missing if name not in ALWAYS)
    return Action("gate", CLOSE, args, purpose, step.path, needs, proof=gate.missing_proof, do=step.next_action)


def _plan_progress(ctx: Context, plan: Work) -> Action | None:
    if not plan.is_open:
        return None
    if plan.checklist_current < len(plan.checklist):
        return Action("checklist", "tasks_plan", {"advance": True, "plan": plan.id}, "tick off the current line")
    sql = "SELECT id FROM work WHERE workspace = ? AND parent = ? AND status = ? ORDER BY number LIMIT 1"
    active = ctx.tx.value(sql, ctx.workspace, plan.id, "ACTIVE")
    if active is not None:
        return Action("task", "tasks_snapshot", {"task": active}, "go on with the active task")
    if ctx.tx.value(sql, ctx.workspace, plan.id, "TODO") is not None:
        return Action("backlog", "tasks_context", {"plan": plan.id}, "choose a task to take up")
    args = {"plan": plan.id, "task_title": "New task"}
    return Action("task", "tasks_macro_start", args, "start a task of this plan")


def _map_action(asker: Asker, subject: Subject, where: str) -> Action | None:
    """Open the area of the work; if it has none, attach the work to one."""
    if where != UNKNOWN:
        return Action("open", "open", {"id": where, "max_chars": 8000}, "see what is known about this area")
    anchor = anchor_for(subject.work.title)
    title = slug_title(anchor)
    step = {"step": "focus"} if subject.first_open is not None else {}
    text = f"{title}: what holds here, what is risky, what tests it."
    target = _target(asker, subject.work, "target")
    if asker.toolset == "full":
        args = {"anchor": anchor, "content": text, "kind": "component", "title": title, "visibility": "canon"}
        return Action("map", "macro_anchor_note", {**args, **step, **target}, "place the task on the map")
    # The smaller toolsets do not list the macro; a canonical card with the anchor's tag registers the anchor too.
    card = {"tags": [anchor, "v:canon"], "text": text}
    return Action("map", "think_card", {"card": card, **step, **target}, "place the task on the map")


def _prep(asker: Asker, subject: Subject, where: str, cards: Sequence[Node]) -> Action | None:
    """Suggest to question the step before it is closed, unless a preflight card for it exists."""
    step = subject.first_open
    if step is None or any(PREFLIGHT in card.tags and step_tag(step) in card.tags for card in cards):
        return None
    target = _target(asker, subject.work, "target")
    if asker.toolset == "full":
        frame = f"{step.path} {shorten(step.title, 120)}: what would show that it is not done?"
        return Action("prep", "think_pipeline", {"frame": frame, "step": "focus", **target}, "think before closing")
    if where == UNKNOWN:
        name = "strict" if subject.work.reasoning_mode == "strict" else "skeptic"
        return Action("prep", "think_playbook", {"name": name}, "think before closing")
    said = {"text": DOUBT_PROPOSAL, "title": f"Preflight {step.path}", "type": "hypothesis"}
    card = {"tags": [where, "v:draft", PREFLIGHT], **said}
    return Action("prep", "think_card", {"card": card, "step": "focus", **target}, "think before closing")
