"""What lint rules say: issues, edits that mend them, and calls that look closer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clew.errors import shorten
from clew.tasks.anchoring import anchor_for
from clew.tasks.plans import Work
from clew.tasks.steps import Step
from clew.tasks.trust import StaleProof

SEVERITIES = ("error", "warning")


@dataclass(frozen=True, slots=True)
class Issue:
    code: str
    kind: str
    message: str
    recovery: str
    target: dict[str, str]
    severity: str = "warning"

    def rank(self) -> tuple[int, str, str, str]:
        return (SEVERITIES.index(self.severity), self.kind, self.code, self.target.get("step_id", ""))

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "kind": self.kind,
            "message": self.message,
            "recovery": self.recovery,
            "target": self.target,
        }


@dataclass(frozen=True, slots=True)
class Patch:
    """A call that changes a little; `arguments` run as they stand."""

    id: str
    purpose: str
    tool: str
    arguments: dict[str, Any]
    notes: str | None = None

    def to_json(self) -> dict[str, Any]:
        apply = {"tool": self.tool, "arguments": self.arguments}
        shown = {"id": self.id, "purpose": self.purpose, "apply": apply}
        return {**shown, "notes": self.notes} if self.notes else shown


@dataclass(slots=True)
class Found:
    issues: list[Issue] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    actions: list[Patch] = field(default_factory=list)


def work_target(work: Work) -> dict[str, str]:
    return {"kind": work.kind, "id": work.id}


def step_target(step: Step) -> dict[str, str]:
    return {"kind": "step", "id": step.task, "step_id": step.id, "path": step.path}


def attach_patch(work: Work, id: str) -> Patch:
    """Ties a task to an anchor; the kind is always one that anchors have."""
    arguments = {
        "anchor": anchor_for(work.title),
        "title": shorten(work.title, 120),
        "kind": "component",
        "content": f"{work.title}: invariants, risks, tests.",
        "target": work.id,
        "visibility": "canon",
    }
    return Patch(id, f"Tie {work.id} to an anchor", "macro_anchor_note", arguments, "Choose an anchor that exists.")


def field_patch(task: Work, step: Step, name: str, field: str, value: Any, purpose: str, op: str = "set") -> Patch:
    """One edit of one field of a step, valid for the revision that was looked at."""
    arguments = {
        "task": task.id,
        "step_id": step.id,
        "kind": "step",
        "expected_revision": task.revision,
        "ops": [{"op": op, "field": field, "value": value}],
    }
    return Patch(f"patch:step:{step.id}:{name}", purpose, "tasks_patch", arguments, "Put it in your own words.")


def stale_issue(work: Work, stale: StaleProof) -> Issue:
    """A proof over files that have changed; only running it again makes it one."""
    proof = stale.evidence
    target = {**work_target(work), "evidence": proof.id}
    if proof.path is not None:
        target |= {"kind": "step", "step_id": proof.entity, "path": proof.path}
    message = f"{proof.id} covers files that have changed since: {', '.join(stale.changed[:3])}"
    again = f"Run {proof.command!r} again and capture the result." if proof.command else "Prove it again."
    return Issue("STALE_PROOF", "unproveable", message, again, target)
