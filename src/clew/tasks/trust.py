"""Whether what a task has proven and concluded still stands: proofs over changed files, steps over fallen cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clew.reasoning.branches import chain
from clew.reasoning.graph import nodes
from clew.reasoning.premises import Suspect, any_fallen, suspects
from clew.reasoning.scope import Scope, scope_of
from clew.registry.context import Context
from clew.tasks.evidence import Evidence
from clew.tasks.projection import step_node
from clew.tasks.records import load
from clew.tasks.steps import Step, step_tag

DECISIONS = 200


@dataclass(frozen=True, slots=True)
class StaleProof:
    """A proof, and the files that changed under it."""

    evidence: Evidence
    changed: tuple[str, ...]


def stale_proofs(ctx: Context, owner: str, files: Mapping[str, str]) -> list[StaleProof]:
    """The proofs of a plan or task that cover a file whose digest is now another; `files` is path -> digest.

    A file that `files` does not name is not judged. Running a command again replaces its earlier proof.
    """
    found = []
    for proof in current_proofs(ctx, owner):
        covered = proof.files or {}
        changed = tuple(sorted(path for path, digest in covered.items() if files.get(path, digest) != digest))
        if changed:
            found.append(StaleProof(proof, changed))
    return found


def current_proofs(ctx: Context, owner: str) -> list[Evidence]:
    """What covers files, oldest first; of the runs of one command for one step only the last."""
    rows = ctx.tx.all(
        "SELECT * FROM evidence WHERE workspace = ? AND owner = ? AND files IS NOT NULL ORDER BY number",
        ctx.workspace,
        owner,
    )
    last: dict[tuple[str, str], Evidence] = {}
    for item in (load(Evidence, row) for row in rows):
        last[item.entity, item.command or item.id] = item
    return sorted((item for item in last.values() if item.proves), key=lambda item: item.number)


def suspect_steps(ctx: Context, task: str, steps: list[Step]) -> dict[str, Suspect]:
    """Steps that rest on a fallen card, by step id: through edges of their own or through their decisions."""
    scope = scope_of(ctx, task)
    decisions = nodes(ctx, scope.branch, scope.graph, types=("decision",), limit=DECISIONS).nodes
    ids = [*(step_node(step.id) for step in steps), *(card.id for card in decisions)]
    doubts = suspects(ctx, scope, ids)
    if not doubts:
        return {}
    found: dict[str, Suspect] = {}
    for step in steps:
        own = [card.id for card in decisions if step_tag(step) in card.tags]
        for id in (step_node(step.id), *own):
            if id in doubts:
                found.setdefault(step.id, doubts[id])
    return found


def reopened_steps(ctx: Context, task: str, steps: list[Step]) -> dict[str, Suspect]:
    """Done steps whose premise fell after they were closed: their gate stands open again, by step id.

    What had fallen before was known to whoever closed the step, and the strict gate let it pass by an override.
    """
    done = [step for step in steps if step.completed]
    scope = scope_of(ctx, task)
    if not done or not any_fallen(ctx, scope, chain(ctx, scope.branch)):
        return {}
    doubts = suspect_steps(ctx, task, done)
    fallen = sorted({doubt.path[-1] for doubt in doubts.values()})
    seqs = {card.id: card.last_seq for card in nodes(ctx, scope.branch, scope.graph, ids=fallen, limit=DECISIONS).nodes}
    return {
        step.id: doubts[step.id]
        for step in done
        if step.id in doubts and seqs.get(doubts[step.id].path[-1], 0) > _closed_at(ctx, scope, step)
    }


def _closed_at(ctx: Context, scope: Scope, step: Step) -> int:
    """The seq at which the step last became done."""
    sql = (
        "SELECT max(seq) FROM entry WHERE workspace = ? AND branch = ? AND doc = ? AND path = ?"
        " AND event_type IN ('step_done', 'undo_applied', 'redo_applied')"
    )
    return int(ctx.tx.value(sql, ctx.workspace, scope.branch.id, scope.trace, step.path) or 0)
