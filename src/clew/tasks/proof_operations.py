"""tasks_proofs: every proof of a plan or task, and whether it is still valid for the current files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from clew.canonical import Json, picked, sha256_hex
from clew.errors import ClewError, shorten
from clew.ids import confined
from clew.registry.budget import Budget, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import item_lines
from clew.registry.operation import AgentForm, Bounded, View, operation
from clew.tasks.commands import named_commands
from clew.tasks.evidence import Evidence, evidence_of
from clew.tasks.proofs import STALE, Proof, current_proofs, proof_states
from clew.tasks.steps import Step, steps_of
from clew.tasks.targets import OfWork, target_work

MOST_FILES = 2_000


MOST_BYTES = 5_000_000


PROOFS_BUDGET = Budget(
    (
        Trim("evidence", drop="last", floor=1),
        Drop("evidence[].text"),
        Trim("evidence", drop="last"),
        Trim("steps", drop="first"),
    ),
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


def proofs_lines(result: Json, default_workspace: str) -> list[str]:
    """A line for each step and each piece of evidence, with the files that changed."""
    steps = item_lines(result, result["steps"], _step_line)
    evidence = item_lines(result, result["evidence"], _evidence_line)
    stale = [f"stale: {', '.join(result['stale'])}"] if result["stale"] else []
    head = f"{result['target']['id']}: {len(steps)} steps, {len(evidence)} pieces of evidence"
    return [head, *steps, *evidence, *stale]


def _step_line(row: Json) -> str:
    return f"{row['path']} {'done' if row['completed'] else 'open'}, {row['line']}"


def _evidence_line(row: Json) -> str:
    said = shorten(" ".join((row["command"] or row.get("text", "")).split()), 120)
    code = f" -> exit {row['exit_code']}" if row["exit_code"] is not None else ""
    changed = f"; changed since: {', '.join(row['changed'][:5])}" if row["changed"] else ""
    proves = "" if row["proves"] else "; proves nothing"
    return f"{row['id']} {row['path'] or 'task'} {said}{code}{proves}{changed}"


@operation(
    "tasks_proofs",
    mode="own",
    budget=PROOFS_BUDGET,
    example={"task": "TASK-001"},
    view=View(agent=AgentForm(("task", "limit"), proofs_lines)),
)
def tasks_proofs(ctx: Context, args: Proofs) -> Json:
    """List the evidence of a plan or task, and say which proofs are stale because a file under them has changed."""
    with ctx.reading() as bound:
        work = target_work(bound, args)
        found = evidence_of(bound, work.id, args.limit)
        current = current_proofs(bound, work.id)
        steps = steps_of(bound, work.id)
        states = proof_states(bound, steps)
    look = Given(args.files) if args.files is not None else Project(ctx)
    verdicts = {proof.id: _verdict(proof, look) for proof in current}
    changed = _changed_by_step(current, verdicts)
    # For a long list of files only the receipt has the digests, so steps that are stale by their receipt are included.
    seen = [proof.receipt.evidence for proof in states.values() if proof.state == STALE and proof.receipt]
    stale = [id for id, verdict in verdicts.items() if False in verdict.values()]
    return {
        "workspace": ctx.workspace,
        "target": {"id": work.id, "kind": work.kind},
        "evidence": [_evidence_row(item, verdicts.get(item.id, {})) for item in found],
        "stale": [*stale, *(id for id in seen if id is not None and id not in stale)],
        "steps": [_step_json(step, states[step.id], changed.get(step.id, set())) for step in steps],
    }


def _changed_by_step(current: Sequence[Evidence], verdicts: Mapping[str, Mapping[str, bool]]) -> dict[str, set[str]]:
    """The files that changed under the evidence of each step."""
    changed: dict[str, set[str]] = {}
    for proof in current:
        changed.setdefault(proof.entity, set()).update(path for path, same in verdicts[proof.id].items() if not same)
    return changed


def _step_json(step: Step, proof: Proof, changed: set[str]) -> Json:
    # Files that changed under any evidence of the step: an empty row next to stale evidence would contradict it.
    shown = replace(proof, changed=tuple(sorted({*proof.changed, *changed})))
    # The proof of the step is not weaker for an older claim whose files changed.
    line = (proof if proof.settled else shown).line()
    names = {"tests": named_commands(step.tests), "completed": step.completed, "began_ms": step.created_at_ms}
    return {**shown.to_json(), "line": line, **names}


def _verdict(proof: Evidence, look: Given | Project) -> dict[str, bool]:
    """Whether each file that can be checked is unchanged."""
    judged = {path: look.same(path, digest) for path, digest in sorted((proof.files or {}).items())}
    return {path: same for path, same in judged.items() if same is not None}


def _evidence_row(item: Evidence, verdict: dict[str, bool]) -> Json:
    changed = [path for path, same in verdict.items() if not same]
    return {
        **picked(item, "id", "path", "kind", "text", "command", "exit_code", "proves"),
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
    """The current files, only in the project that the server runs in: elsewhere a path means another file."""

    def __init__(self, ctx: Context) -> None:
        self._root = ctx.project
        self._read: dict[str, bytes | None] = {}

    def same(self, path: str, digest: str) -> bool | None:
        """None if it cannot be determined: another kind of digest, a file that cannot be read."""
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
    """A SHA-256, whole or a prefix of at least 8 digits, or git's blob id of the content."""
    if _GIT.fullmatch(digest):
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == digest
    return sha256_hex(data).startswith(digest.removeprefix("sha256:"))
