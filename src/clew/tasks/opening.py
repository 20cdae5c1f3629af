"""What `open` shows of work: plans, tasks, steps and evidence. Reads only."""

from __future__ import annotations

from typing import Any

from clew.errors import shorten
from clew.registry.context import Context
from clew.tasks.evidence import evidence_by_id, evidence_json
from clew.tasks.gates import gate_of
from clew.tasks.leases import lease_json, lease_of
from clew.tasks.nodes import nodes_of
from clew.tasks.overview import rows_json
from clew.tasks.plans import work_by_id
from clew.tasks.steps import find_step
from clew.tasks.views.resume_super import Options, resume_of

Opened = dict[str, Any]
LENS = ("reasoning_ref", "radar", "steps", "step_focus", "signals", "capsule", "degradation")


def open_target(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened:
    """A plan or task through the lens of its step in focus; with drafts, of the audit view."""
    work = work_by_id(ctx, id)
    seen = resume_of(ctx, work, None, Options("audit" if include_drafts else "focus_only")).json
    return {
        "kind": work.kind,
        "id": work.id,
        "summary": shorten(work.title, 140),
        "status": work.status,
        "target": describe_target(ctx, id, limit, include_drafts),
        **{name: seen[name] for name in LENS if name in seen},
        "cards": seen["memory"]["cards"][:limit],
        "events": seen["timeline"]["events"][-limit:],
    }


def describe_target(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened:
    """A plan's or task's own fields."""
    work = work_by_id(ctx, id)
    shown = {**rows_json(ctx, [work])[0], "description": work.description}
    if work.is_task:
        return {**shown, "reasoning_mode": work.reasoning_mode}
    return {**shown, "contract": work.contract, "contract_data": work.contract_data}


def open_step(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened | None:
    step = find_step(ctx, id)
    if step is None:
        return None
    gate = gate_of(ctx, step)
    evidence = ctx.tx.all(
        "SELECT id FROM evidence WHERE workspace = ? AND entity = ? ORDER BY number DESC LIMIT ?",
        ctx.workspace,
        id,
        limit,
    )
    nodes = [node.content() for node in nodes_of(ctx, step.task) if node.step == id]
    return {
        "kind": "step",
        "id": step.id,
        "summary": shorten(step.title, 140),
        "task": step.task,
        "path": step.path,
        "step": step.content(),
        "gate": {
            "required": list(gate.required),
            "missing": list(gate.missing),
            "missing_proof": list(gate.missing_proof),
        },
        "lease": lease_json(lease_of(ctx, id)),
        "nodes": nodes[:limit],
        "evidence": [row["id"] for row in evidence],
    }


def open_evidence(ctx: Context, id: str, limit: int, include_drafts: bool) -> Opened:
    item = evidence_by_id(ctx, id)
    rows = ctx.tx.all(
        "SELECT checkpoint FROM evidence_checkpoint WHERE workspace = ? AND evidence = ? ORDER BY checkpoint",
        ctx.workspace,
        id,
    )
    return {
        "kind": "evidence",
        "id": item.id,
        "summary": shorten(item.text, 140),
        "task": item.owner,
        "checkpoints": [row["checkpoint"] for row in rows],
        "evidence": evidence_json(item),
    }
