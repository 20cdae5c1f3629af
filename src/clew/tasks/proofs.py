"""How far each step is proven: which of its receipts decides, and whether it is still valid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import filterfalse
from operator import attrgetter
from typing import Any

from clew.canonical import picked
from clew.errors import shorten
from clew.project_files import changed_files, git_head, is_inside, take_snapshot
from clew.registry.context import Context
from clew.registry.record import Preview, previewer
from clew.store.rows import find_many, load
from clew.tasks.commands import covers_command, doubt, named_commands, never_fails, same_command
from clew.tasks.evidence import Evidence, without_receipt
from clew.tasks.plans import finished_tasks
from clew.tasks.proof_receipts import (
    CLAIMED,
    DISOWNED,
    FAILED,
    OVERRIDDEN,
    SEEN,
    UNPROVEN,
    WAIVERS,
    ProofReceipt,
    latest_receipts,
    receipt_json,
    write_receipt,
)
from clew.tasks.steps import Step, done_steps


@dataclass(frozen=True, slots=True)
class StaleProof:
    """A proof, and the files that changed under it."""

    evidence: Evidence
    changed: tuple[str, ...]


def stale_proofs(ctx: Context, owner: str, files: Mapping[str, str]) -> list[StaleProof]:
    """The proofs of a plan or task that cover a file whose digest has changed; `files` is path -> digest.

    Files that `files` does not contain are not judged. Running a command again replaces its earlier proof.
    """
    found = []
    for proof in current_proofs(ctx, owner):
        covered = proof.files or {}
        changed = tuple(sorted(path for path, digest in covered.items() if files.get(path, digest) != digest))
        if changed:
            found.append(StaleProof(proof, changed))
    return found


def current_proofs(ctx: Context, owner: str) -> list[Evidence]:
    """Evidence that covers files, oldest first; of the runs of one command for one step only the last."""
    sql = "SELECT * FROM evidence WHERE workspace = ? AND owner = ? AND files IS NOT NULL ORDER BY number"
    rows = ctx.tx.all(sql, ctx.workspace, owner)
    last: dict[tuple[str, str], Evidence] = {}
    for item in (load(Evidence, row) for row in rows):
        # Evidence without a command cannot be run again, so each piece is grouped under its own id.
        last[item.entity, item.command or item.id] = item
    return sorted((item for item in last.values() if item.proves), key=lambda item: item.number)


_OWN = re.compile(r"sha256:[0-9a-f]{64}")
"""A digest in the format of `take_snapshot`."""
PROVEN, STALE = "proven", "stale"
STATES = (PROVEN, CLAIMED, UNPROVEN, FAILED, STALE, OVERRIDDEN)
MOST_STEPS = 500
MOST_LOOKED_AT = 20_000
"""Maximum number of covered files checked per call: two full receipts, some 40 ms if nothing was touched."""


@dataclass(frozen=True, slots=True)
class Proof:
    """How far a step is proven, and the receipt that decides: its state is one of STATES."""

    step: str
    path: str
    state: str
    receipt: ProofReceipt | None = None
    changed: tuple[str, ...] = ()
    """The covered files that changed since."""
    reason: str | None = None
    """Why it was closed without proof, or what contradicts the receipt."""
    repeat: tuple[str, ...] = ()
    """The seen receipts whose commands have to run again to prove it: the stale ones, the failed one, or all."""
    commands: tuple[str, ...] = ()
    """What `clew prove` has to run for the step, if no seen receipt can be repeated; empty if no command is known."""

    @property
    def settled(self) -> bool:
        """Whether it needs no further attention."""
        return self.state == PROVEN

    @property
    def reported_failure(self) -> bool:
        """Whether a failed run was reported that Clew did not observe."""
        return self.state == FAILED and self.receipt is not None and not self.receipt.witnessed

    @property
    def of_another_command(self) -> bool:
        """Whether it is claimed by a run of a command that the step does not name as its test."""
        ran = self.receipt.command or "" if self.receipt is not None else ""
        named = self.state == CLAIMED and self.commands
        return bool(named) and not any(covers_command(ran, name) for name in self.commands)

    def line(self) -> str:
        """Such as `STALE: pytest -q -> exit 0, 3 files changed since`; the state first, because lines are truncated."""
        parts = [self.outcome()] if self.receipt is not None and self.state not in WAIVERS else []
        if self.changed:
            parts.append(f"{len(self.changed)} file{'s' if len(self.changed) > 1 else ''} changed since")
        if self.reason:
            parts.append(shorten(self.reason, 120))
        state = f"{self.state.upper()} (reported)" if self.reported_failure else self.state.upper()
        return f"{state}: {', '.join(parts)}" if parts else state

    def to_json(self) -> dict[str, Any]:
        receipt = self.receipt
        return {
            "step_id": self.step,
            "path": self.path,
            "state": self.state,
            "receipt": receipt.id if receipt else None,
            "grade": receipt.grade if receipt else None,
            "command": receipt.command if receipt else None,
            "exit_code": receipt.exit_code if receipt else None,
            "ts_ms": receipt.ts_ms if receipt else None,
            "changed": list(self.changed[:20]),
            **picked(self, "reason", "repeat", "commands"),
        }

    def outcome(self) -> str:
        """The command and its outcome."""
        assert self.receipt is not None
        what = shorten(self.receipt.command or self.receipt.text, 80)
        return what if self.receipt.exit_code is None else f"{what} -> exit {self.receipt.exit_code}"


def proof_state(ctx: Context, step: Step) -> Proof:
    """How far one step is currently proven."""
    return proof_states(ctx, [step])[step.id]


def proof_states(ctx: Context, steps: Sequence[Step]) -> dict[str, Proof]:
    """How far each step is currently proven, by step id; compares covered files if this process has access to them."""
    ids = [step.id for step in steps]
    receipts, older = latest_receipts(ctx, ids), without_receipt(ctx, ids)
    # One for all steps: the limit of checked files applies to the whole call.
    checkout = ProjectFiles(ctx)
    return {
        step.id: _with_commands(step, _judge(step, receipts.get(step.id, []), step.id in older, checkout))
        for step in steps
    }


@previewer("step")
def step_previews(ctx: Context, ids: list[str]) -> dict[str, Preview]:
    """The requirements of each step, its parent, its status, and how far it is proven."""
    steps = find_many(ctx.tx, ctx.workspace, Step, ids)
    proofs = proof_states(ctx, steps)
    return {step.id: Preview(_wish(step), ", ".join(state_words(step, proofs[step.id]))) for step in steps}


def _wish(step: Step) -> str:
    parts = [
        f"{step.title} ({step.path} of {step.task})",
        *(f"done when: {line}" for line in step.success_criteria if line != step.title),
        *(f"test: {line}" for line in step.tests),
    ]
    return "; ".join(parts)


def state_words(step: Step, proof: Proof) -> list[str]:
    """Such as `done`, `seen`, `stale`: a step's status and proof, in the same words wherever it is shown."""
    told = [step.state]
    if step.completed or proof.state != UNPROVEN:
        told += [SEEN if proof.state in (PROVEN, STALE) else proof.state, *(["stale"] if proof.changed else [])]
    return told


def _with_commands(step: Step, proof: Proof) -> Proof:
    """The commands that the step names are its proof; without any, the run that was claimed."""
    claimed = proof.receipt.command if proof.receipt is not None else None
    return replace(proof, commands=tuple(named_commands(step.tests)) or ((claimed,) if claimed else ()))


RECENT = 30
"""Number of finished tasks whose proofs are checked by default."""
DOUBTED = (CLAIMED, UNPROVEN, FAILED, OVERRIDDEN)


def shown_proofs(ctx: Context, steps: Sequence[Step], limit: int) -> list[dict[str, Any]]:
    """The receipts that count for some steps, the newest first, each with the covered files that changed since."""
    checkout = ProjectFiles(ctx)
    found = [receipt for own in latest_receipts(ctx, [step.id for step in steps]).values() for receipt in own]
    found.sort(key=lambda receipt: -receipt.number)
    return [{**receipt_json(receipt), "changed": checkout.changed(receipt)[:20]} for receipt in found[:limit]]


def states_of_done_steps(ctx: Context) -> list[str]:
    """How far each of the most recently closed steps is proven."""
    sql = "SELECT * FROM step WHERE workspace = ? AND completed = 1 ORDER BY completed_at_ms DESC LIMIT ?"
    rows = ctx.tx.all(sql, ctx.workspace, MOST_STEPS)
    return [proof.state for proof in proof_states(ctx, [load(Step, row) for row in rows]).values()]


def stale_evidence(ctx: Context, ids: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Evidence of observed runs that cover files changed since, with those files; for given ids, or the newest.

    Only the last run of a command counts: an older one was repeated and is history.
    """
    if ids is not None:
        known = find_many(ctx.tx, ctx.workspace, ProofReceipt, ids, "evidence")
    else:
        sql = "SELECT * FROM proof_receipt WHERE workspace = ? AND grade = ? ORDER BY number DESC LIMIT ?"
        known = [load(ProofReceipt, row) for row in ctx.tx.all(sql, ctx.workspace, SEEN, MOST_STEPS)]
    wanted = {receipt.id for receipt in known}
    latest = latest_receipts(ctx, sorted({receipt.entity for receipt in known}))
    files = ProjectFiles(ctx)
    found = [receipt for own in latest.values() for receipt in own if receipt.id in wanted and receipt.grade == SEEN]
    changed = {receipt.evidence: files.changed(receipt) for receipt in found if receipt.evidence is not None}
    return {id: paths for id, paths in changed.items() if paths}


def unproven_since(ctx: Context) -> list[tuple[Step, Proof]]:
    """Done steps without proof in the tasks that ended last, newest task first.

    Files usually change after a task was finished; so stale proofs are reported for the newest task only, on which
    work most likely continues.
    """
    tasks = [task.id for task in finished_tasks(ctx, RECENT)]
    steps = done_steps(ctx, tasks)
    states = proof_states(ctx, steps)
    found = [(step, states[step.id]) for step in steps]
    return [
        (step, proof)
        for step, proof in found
        if proof.state in DOUBTED or (proof.state == STALE and step.task == tasks[0])
    ]


def _judge(step: Step, receipts: list[ProofReceipt], older: bool, checkout: ProjectFiles) -> Proof:
    runs = [item for item in receipts if item.grade not in (*WAIVERS, DISOWNED) and not _is_idle(item)]
    waiver = next((item for item in reversed(receipts) if item.grade in WAIVERS), None)
    proof = _failure(step, runs)
    if proof is None and any(run.grade != FAILED for run in runs):
        proof = _success(step, runs, checkout)
    if proof is None:
        # Evidence from before there were receipts counts as claimed.
        state, reason = (CLAIMED, None) if older else (UNPROVEN, _nothing_left(receipts))
        proof = Proof(step.id, step.path, state, reason=reason)
    return proof if waiver is None or proof.settled else _waived(proof, waiver)


def _waived(proof: Proof, waiver: ProofReceipt) -> Proof:
    decided = proof.receipt.number if proof.receipt is not None else 0
    # Receipts are numbered in order. A waiver older than the deciding run is superseded by that run.
    if waiver.number < decided:
        return proof
    if proof.reported_failure and waiver.grade == UNPROVEN:
        # The reporter may close the step in spite of it; the report is shown with the reason.
        return replace(proof, state=waiver.grade, reason=f"{waiver.text}; reported as failed: {proof.outcome()}")
    # `unproven` explains why there is no proof, so it must not hide a claim or a stale run before it.
    if waiver.grade == OVERRIDDEN or proof.state == UNPROVEN:
        return replace(proof, state=waiver.grade, reason=waiver.text)
    return proof


def _is_idle(receipt: ProofReceipt) -> bool:
    """`true` and similar: seen or claimed, it proves nothing, and settles no failure."""
    return receipt.grade != FAILED and receipt.command is not None and never_fails(receipt.command)


def _nothing_left(receipts: list[ProofReceipt]) -> str | None:
    """Why nothing proves a step that has receipts."""
    last = next((item for item in reversed(receipts) if item.grade not in WAIVERS), None)
    if last is None:
        return None
    return last.text if last.grade == DISOWNED else f"`{shorten(last.command or '', 60)}` passes whatever is done"


def _failure(step: Step, runs: list[ProofReceipt]) -> Proof | None:
    """A failed run counts until the same command passes; one that the step does not name, until another one proves.

    An observed failure is settled only by an observed success of a command that can fail.
    """
    named = named_commands(step.tests)
    for number, run in reversed(list(enumerate(runs))):
        if run.grade != FAILED:
            continue
        # Only the last run of each command is listed, so a named command that failed has not passed since.
        required = any(same_command(run.command or "", name) for name in named)
        # A later success of another command settles this failure only if the step does not name the command that
        # failed, or if it ran the same tests and more.
        after = [later for later in runs[number + 1 :] if not required or _covers(later, run.command or "")]
        if not any(_settles(later, run) for later in after):
            return Proof(step.id, step.path, FAILED, run, repeat=(run.id,) if run.witnessed else ())
    return None


def _settles(later: ProofReceipt, failed: ProofReceipt) -> bool:
    return later.grade != FAILED and (not failed.witnessed or (later.grade == SEEN and _doubt(later) is None))


def _doubt(run: ProofReceipt) -> str | None:
    """Why an observed success proves nothing."""
    if run.files == {} and run.git_commit is None:
        return "it covers no file and no commit, so nothing ties it to this work"
    return doubt(run.command or "", run.output_tail)


def _success(step: Step, runs: list[ProofReceipt], checkout: ProjectFiles) -> Proof:
    passed = [run for run in runs if run.grade != FAILED]
    proving = [run for run in runs if run.grade == SEEN and _doubt(run) is None]
    # A row that was changed by hand proves nothing, and the step reports that instead of using an older run.
    damaged = next(filterfalse(attrgetter("intact"), proving), None)
    if damaged is not None:
        return Proof(step.id, step.path, CLAIMED, damaged, reason=f"{damaged.id} does not hold what was written")
    named = named_commands(step.tests)
    relevant = _runs_of(proving, named) if named else proving
    lacking = [name for name in named if not _runs_of(relevant, [name])]
    if relevant and not lacking:
        proven = Proof(step.id, step.path, PROVEN, relevant[-1], repeat=tuple(run.id for run in relevant))
        return _stale(step, relevant, checkout) or proven
    best = max(passed, key=lambda run: _worth(run, named))
    since = tuple(checkout.changed(best))
    return Proof(step.id, step.path, CLAIMED, best, since, reason=_unseen(best, lacking))


def _runs_of(runs: list[ProofReceipt], commands: Sequence[str]) -> list[ProofReceipt]:
    return [run for run in runs if any(_covers(run, command) for command in commands)]


def _covers(run: ProofReceipt, command: str) -> bool:
    return covers_command(run.command or "", command)


def _stale(step: Step, runs: list[ProofReceipt], checkout: ProjectFiles) -> Proof | None:
    """The proof of a step whose files changed after one of the runs that prove it."""
    changes = {run.id: changed for run in runs if (changed := checkout.changed(run))}
    if not changes:
        return None
    first = next(run for run in runs if run.id in changes)
    files = tuple(sorted({path for changed in changes.values() for path in changed}))
    return Proof(step.id, step.path, STALE, first, files, repeat=tuple(changes))


def _worth(run: ProofReceipt, named: list[str]) -> tuple[bool, bool, int]:
    """Sort key of claims: a run of what the step names, then one with an exit code, then the newest."""
    return any(_covers(run, name) for name in named), run.exit_code is not None, run.number


def _unseen(best: ProofReceipt, lacking: list[str]) -> str | None:
    """What a claim lacks, as text; None if the step names no command and nothing contradicts the run."""
    found = _doubt(best) if best.grade == SEEN or best.exit_code is not None else None
    if best.grade == SEEN and found is not None:
        return found
    if not lacking:
        return found
    if any(_covers(best, name) for name in lacking):
        return found or "Clew did not see the run"
    return f"no seen run of {lacking[0]}" if best.grade == SEEN else f"not the step's test: {lacking[0]}"


def waive(ctx: Context, step: Step, grade: str, reason: str) -> ProofReceipt:
    """Record the reason for which a step counts as done without proof (unproven) or against it (overridden)."""
    return write_receipt(ctx, step.task, step.id, step.path, grade, reason)


class ProjectFiles:
    """The current files of the project, for receipts that this project's own workspace keeps."""

    def __init__(self, ctx: Context) -> None:
        self._root = ctx.project
        self._left = MOST_LOOKED_AT

    def digests(self, paths: Sequence[str]) -> dict[str, str]:
        """The current digests of the named files: those of the project that can be read."""
        if self._root is None:
            return {}
        base = f"{self._root}/"
        inside = [path for path in (given.removeprefix(base).removeprefix("./") for given in paths) if is_inside(path)]
        return take_snapshot(self._root, inside).files

    def changed(self, receipt: ProofReceipt) -> list[str]:
        """The files that changed since the run. Files that cannot be checked from here count as unchanged."""
        if self._root is None:
            return []
        files = receipt.files or {}  # below the project by their form: tasks_receipt_record takes no others
        if not receipt.witnessed:
            # A claim may name anything; only digests that closing computed can be compared with the files.
            files = {path: digest for path, digest in files.items() if is_inside(path) and _OWN.fullmatch(digest)}
        if not files:
            # A receipt that covers no files is tied to the commit it was run on: any other commit makes it stale.
            head = git_head(self._root) if receipt.git_commit else None
            return ["HEAD"] if head is not None and head != receipt.git_commit else []
        # Receipts past the limit count as unchanged: an incomplete view is better than one that takes seconds.
        self._left -= len(files)
        return changed_files(self._root, files, receipt.stamps or {}) if self._left >= 0 else []
