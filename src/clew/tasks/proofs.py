"""What a plan or task has been proven with, and whether its proofs and conclusions still stand."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.ids import confined
from clew.reasoning.branches import chain
from clew.reasoning.documents import last_event_seq
from clew.reasoning.graph import nodes
from clew.reasoning.premises import Suspect, any_fallen, suspects
from clew.reasoning.scope import Scope, scope_of
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation
from clew.store.rows import load
from clew.tasks.evidence import Evidence, evidence_of
from clew.tasks.steps import Step, step_node, step_tag
from clew.tasks.targets import OfWork, target_work

DECISIONS = 200
CLOSING_EVENTS = ("step_done", "undo_applied", "redo_applied")


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
    return last_event_seq(ctx, scope.branch.id, scope.trace, step.path, CLOSING_EVENTS)


MOST_FILES = 2_000
MOST_BYTES = 5_000_000
PROOFS_BUDGET = Budget(
    (Trim("evidence", drop="last", floor=1), Drop("evidence[].text"), Trim("evidence", drop="last")),
    16_000,
    keep=("workspace", "target", "stale"),
)
_SHA256 = re.compile(r"sha256:([0-9a-f]{8,64})|([0-9a-f]{64})")
_GIT = re.compile(r"[0-9a-f]{40}")


class Proofs(OfWork, Bounded):
    files: Annotated[
        dict[str, Annotated[str, Field(max_length=256)]] | None,
        Field(max_length=10_000, description="Digests of files as they are now; default: the server looks itself."),
    ] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most evidence to show, newest first.")] = 100


@operation("tasks_proofs", mode="own", intent="proofs", budget=PROOFS_BUDGET, example={"task": "TASK-001"})
def tasks_proofs(ctx: Context, args: Proofs) -> dict[str, Any]:
    """List the evidence of a plan or task, and say which proofs are stale because a file under them has changed."""
    with ctx.reading() as bound:
        work = target_work(bound, args)
        found = evidence_of(bound, work.id, args.limit)
        current = current_proofs(bound, work.id)
    look = Given(args.files) if args.files is not None else Project(ctx)
    verdicts = {proof.id: _verdict(proof, look) for proof in current}
    return {
        "workspace": ctx.workspace,
        "target": {"id": work.id, "kind": work.kind},
        "evidence": [_shown(item, verdicts.get(item.id, {})) for item in found],
        "stale": [id for id, verdict in verdicts.items() if False in verdict.values()],
        "truncated": False,
    }


def _verdict(proof: Evidence, look: Given | Project) -> dict[str, bool]:
    """Whether each file that can be judged is what it was."""
    judged = {path: look.same(path, digest) for path, digest in sorted((proof.files or {}).items())}
    return {path: same for path, same in judged.items() if same is not None}


def _shown(item: Evidence, verdict: dict[str, bool]) -> dict[str, Any]:
    changed = [path for path, same in verdict.items() if not same]
    return {
        "id": item.id,
        "path": item.path,
        "kind": item.kind,
        "text": item.text,
        "command": item.command,
        "exit_code": item.exit_code,
        "proves": item.proves,
        "files": sorted(item.files or {}),
        "judged": bool(verdict),
        "stale": bool(changed),
        "changed": changed,
        "agent": item.agent,
        "ts_ms": item.ts_ms,
    }


@dataclass(frozen=True)
class Given:
    """The digests that the caller has."""

    files: dict[str, str]

    def same(self, path: str, digest: str) -> bool | None:
        return self.files[path] == digest if path in self.files else None


class Project:
    """The files as they are, only in the project that the server stands in: elsewhere a path means another file."""

    def __init__(self, ctx: Context) -> None:
        self._root = ctx.settings.project_root if ctx.workspace == ctx.settings.workspace else None
        self._read: dict[str, bytes | None] = {}

    def same(self, path: str, digest: str) -> bool | None:
        """None when nobody can say: another kind of digest, a file that cannot be read."""
        if self._root is None or not (_SHA256.fullmatch(digest) or _GIT.fullmatch(digest)):
            return None
        if path not in self._read and len(self._read) >= MOST_FILES:
            return None
        try:
            file = confined(self._root, path)
            if not file.exists():
                return False
            if path not in self._read:
                small = file.is_file() and file.stat().st_size <= MOST_BYTES
                self._read[path] = file.read_bytes() if small else None
        except (ClewError, OSError):
            return None
        data = self._read[path]
        return None if data is None else _fits(digest, data)


def _fits(digest: str, data: bytes) -> bool:
    """A SHA-256, whole or from its first 8 digits on, or the id that git gives the content."""
    if _GIT.fullmatch(digest):
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == digest
    return sha256_hex(data).startswith(digest.removeprefix("sha256:"))
