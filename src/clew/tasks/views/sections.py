"""A status view as JSON: how each section of a response is rendered, and which sections each view has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clew.canonical import Json, picked
from clew.reasoning.pack_parts import lane_summary
from clew.reasoning.scope import scope_json
from clew.tasks.gates import Gate
from clew.tasks.leases import lease_json
from clew.tasks.steps import CHECKPOINTS, PROVABLE, Step, step_ref
from clew.tasks.views.status_view import StatusView

Section = Callable[[StatusView], Any]

# Criteria and tests are required for every step, so no `require_...` is shown for them.
OPTIONAL = CHECKPOINTS[2:]
CAPSULE_VERSION = 1
CAPSULE_LINES = 5


def render(view: StatusView, sections: Mapping[str, Section]) -> Json:
    """The response of a view before truncation."""
    shown = sections_json(view, sections)
    return {"workspace": view.workspace, **shown, "truncated": False, **_marks(view)}


def _marks(view: StatusView) -> Json:
    """Extra fields of a portal: whether ids are requested, what is new, and that the focus was moved."""
    marks: Json = {"refs": True} if view.names_refs else {}
    if view.since:
        marks["delta"] = view.since.to_json()
    if view.restored:
        marks |= {"focus_restored": True, "focus_previous": view.restored.previous}
    return marks


def sections_json(view: StatusView, sections: Mapping[str, Section]) -> Json:
    """The sections of a view. One without a value is left out; only `focus` may be null."""
    shown = {name: section(view) for name, section in sections.items()}
    return {name: value for name, value in shown.items() if value is not None or name == "focus"}


def target_json(view: StatusView) -> Json:
    work = view.work
    shared = {
        "id": work.id,
        "qualified_id": view.subject.qualified_id,
        **picked(work, "kind", "revision", "status", "title", "description"),
        **picked(work, "created_at_ms", "updated_at_ms"),
    }
    if work.is_task:
        return shared | picked(work, "parent", "reasoning_mode")
    return shared | picked(work, "contract", "contract_data")


def step_counts(view: StatusView) -> Json:
    """The number of open steps, and what they lack."""
    subject = view.subject
    left = subject.open_steps
    gates = [subject.gates[step.id] for step in left]
    missing = {f"missing_{name}": sum(name in gate.missing for gate in gates) for name in CHECKPOINTS}
    unproven = {f"missing_proof_{name}": sum(name in gate.missing_proof for gate in gates) for name in PROVABLE}
    first = subject.first_open
    return {
        "total": len(subject.steps),
        "open": len(left),
        "completed": len(subject.steps) - len(left),
        **missing,
        **unproven,
        "first_open": _first_open(first, subject.gates[first.id]) if first else None,
    }


def _first_open(step: Step, gate: Gate) -> Json:
    said = picked(step, "title", "next_action", "stop_criteria")
    return {**step_ref(step), **said, **_checkpoints(step, gate)}


def _checkpoints(step: Step, gate: Gate) -> Json:
    """Which checkpoints are confirmed and required, and which proofs are expected and present."""
    return {
        **picked(step, *(f"{name}_confirmed" for name in CHECKPOINTS)),
        **{f"require_{name}": name in gate.required for name in OPTIONAL},
        **picked(step, *(f"proof_{name}_mode" for name in PROVABLE)),
        **{f"proof_{name}_present": name in gate.present_proof for name in PROVABLE},
    }


def step_rows(view: StatusView) -> list[Json]:
    return [_step_row(step) for step in view.subject.steps]


def _step_row(step: Step) -> Json:
    return {
        **step_ref(step),
        **picked(step, "title", "completed", *_CONDITIONS),
        **picked(step, *(f"{name}_confirmed" for name in CHECKPOINTS)),
        **picked(step, "blocked", "block_reason", "created_at_ms", "updated_at_ms", "completed_at_ms"),
    }


_CONDITIONS = ("success_criteria", "tests", "blockers")


def step_in_focus(view: StatusView) -> Json | None:
    subject = view.subject
    step = subject.first_open
    if step is None or not view.wish.relevant:
        return None
    lease = lease_json(subject.lease)
    return {
        "step": {**step_ref(step), **picked(step, "title", "completed", "blocked", "block_reason")},
        "detail": {
            **picked(step, *_CONDITIONS, "next_action", "stop_criteria"),
            **_checkpoints(step, subject.gates[step.id]),
            **({"lease": lease} if lease else {}),
        },
    }


def degradation_json(view: StatusView) -> Json:
    """The report of a complete response; `signals` names the sections that continue beyond this page."""
    pages = view.material.pages()
    more = [f"{name}_have_more" for name, page in pages.items() if page["has_more"]]
    return {"minimal": False, "signals": more, "truncated_fields": []}


def capsule_json(view: StatusView) -> Json:
    """The capsule: a small, stable summary for taking the work over. Budgets truncate it last."""
    changes = view.changes
    return {
        "type": "handoff_capsule",
        "version": CAPSULE_VERSION,
        **picked(view, "toolset", "workspace", "focus"),
        "where": _where(view),
        "target": _capsule_target(view),
        "reasoning_ref": scope_json(view.subject.scope),
        "radar": view.outlook.to_json(),
        "handoff": view.handoff.to_json(CAPSULE_LINES),
        "counts": _counts(view),
        "last_event": view.timeline.last,
        "graph_diff": changes.summary() if changes else None,
        "map_first": view.actions.map_first,
        **_actions(view),
        "refs": view.material.refs,
    }


def _where(view: StatusView) -> Json:
    subject, horizon = view.subject, view.outlook.horizon
    shown: Json = {"lane": {"kind": "all" if view.wish.drafts else "shared"}}
    step = subject.first_open
    if step is not None:
        lease = lease_json(subject.lease)
        shown["step_focus"] = {"step_id": step.id, "path": step.path, **({"lease": lease} if lease else {})}
    shown["map"] = view.spot.to_json()
    if horizon is not None:
        shown["horizon"] = horizon.to_json()
    delegated = view.delegated.to_json() if view.delegated else {}
    return {**shown, **delegated, **({"pack": view.pack} if view.pack is not None else {})}


def _capsule_target(view: StatusView) -> Json:
    work = view.work
    named = {"id": work.id, "qualified_id": view.subject.qualified_id}
    return {**named, **picked(work, "kind", "parent", "revision", "status", "title")}


def _counts(view: StatusView) -> Json:
    pages = view.material.pages()
    counted = {name: {"count": page["count"], "has_more": page["has_more"]} for name, page in pages.items()}
    return {**counted, "signals": view.signals.stats(), "timeline_events": len(view.timeline.events)}


def _actions(view: StatusView) -> Json:
    actions = view.actions
    named = {"map_": actions.map, "prep_": actions.prep, "": actions.progress}
    shown: Json = {}
    for prefix, action in named.items():
        shown[f"{prefix}action"] = action.to_json() if action else None
        shown[f"{prefix}escalation"] = action.escalation() if action else None
    return shown


_SECTIONS: dict[str, Section] = {
    "view": lambda view: view.wish.view,
    "ref": lambda view: view.ref,
    "requested": lambda view: view.wish.requested,
    "focus": lambda view: view.focus,
    "target": target_json,
    "reasoning_ref": lambda view: scope_json(view.subject.scope),
    "radar": lambda view: view.outlook.to_json(),
    "steps": step_counts,
    "step_focus": step_in_focus,
    "timeline": lambda view: view.timeline.to_json(),
    "signals": lambda view: view.signals.to_json(),
    "memory": lambda view: view.material.to_json(),
    "engine": lambda view: view.engine or None,
    "graph_diff": lambda view: view.changes.to_json() if view.changes else None,
    "lane_summary": lambda view: lane_summary(view.material.cards.nodes) if view.wish.drafts else None,
    "degradation": degradation_json,
    "capsule": capsule_json,
}


def _pick(*names: str) -> dict[str, Section]:
    return {name: _SECTIONS[name] for name in names}


_HEAD = _pick("requested", "focus", "target", "reasoning_ref", "radar")
RADAR = {**_HEAD, **_pick("steps")}
CONTEXT_PACK = {**_pick("target", "radar", "steps"), "delta": _SECTIONS["timeline"]}
RESUME = {**_HEAD, "steps": step_rows, **_pick("timeline")}
RESUME_PACK = {**_HEAD, **_pick("steps", "timeline", "signals")}
RESUME_SUPER = _SECTIONS
OPENED = _pick("reasoning_ref", "radar", "steps", "step_focus", "signals", "capsule", "degradation")


def handoff_sections(limit: int) -> dict[str, Section]:
    return {
        **_pick("target"),
        "handoff": lambda view: view.handoff.to_json(limit),
        **_pick("radar", "steps"),
    }
