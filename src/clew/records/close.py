"""close: completes a step with proof, or openly without it; more proof may follow when it is done.

Acts on the caller's own focus only.
"""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BeforeValidator, Field

from clew.errors import ClewError, Suggestion, invalid, shorten, suggest
from clew.ids import STEP
from clew.kinds import statuses
from clew.kinds.builtin import RECEIPT
from clew.records.focus import open_focus, proving, step_name, step_titled, task_and_step
from clew.records.retract import retract_within
from clew.records.work import step_json
from clew.registry.callers import own_focus, set_own_focus
from clew.registry.context import Context
from clew.registry.operation import Input, Name, StrictModel, View, operation
from clew.registry.record import Retraction
from clew.surroundings import clew_command
from clew.tasks.commands import covers_command, doubt, named_commands, never_fails
from clew.tasks.creation import attempt
from clew.tasks.endings import set_status
from clew.tasks.evidence_capture import CapturedProof, capture_proof
from clew.tasks.gates import Override, proof_refused
from clew.tasks.plans import Work, known_work, open_tasks, work_by_id
from clew.tasks.proof_receipts import CLAIMED, FAILED, OVERRIDDEN, UNPROVEN, command_of, receipts
from clew.tasks.proofs import PROVEN, STALE, ProjectFiles, Proof, proof_state, waive
from clew.tasks.steps import Step, find_step, first_open, step_selector, steps_of
from clew.tasks.stepwork import close_step, note_step
from clew.tasks.texts import Prose

CONFIRMED = {"criteria": True, "tests": True}
"""Closing a step confirms that its criteria are met and its tests were looked at."""


class RunProof(StrictModel):
    """A run as the agent saw it. Clew did not see it, so it counts as claimed."""

    command: Annotated[Prose, Field(min_length=1, description="What was run.")]
    exit_code: Annotated[int, Field(ge=-255, le=255)] = 0
    output: Annotated[Prose | None, Field(description="Its last lines.")] = None
    files: Annotated[list[Name], Field(max_length=1000, description="Files that it covers.")] = []


def run_proof(given: Any) -> Any:
    """A run in the field names that other tools use, also as JSON in a string."""
    given = _object_in(given)
    if not isinstance(given, dict):
        return given
    named = {_RUN_NAMES.get(key, key): value for key, value in given.items()}
    command = named.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        named["command"] = shlex.join(command)
    ended = named.get("exit_code")
    if isinstance(ended, str) and ended.strip().lower() in _EXIT_WORDS:
        named["exit_code"] = _EXIT_WORDS[ended.strip().lower()]
    if set(named) == {"command"}:
        return named["command"]  # how it ended was not said, so it is a claim in words
    return {**named, "files": [named["files"]]} if isinstance(named.get("files"), str) else named


def _object_in(given: Any) -> Any:
    if not isinstance(given, str) or not given.lstrip().startswith("{"):
        return given
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        return given


_EXIT_WORDS = {
    **dict.fromkeys(("ok", "pass", "passed", "success", "succeeded", "green", "true"), 0),
    **dict.fromkeys(("fail", "failed", "failure", "error", "red", "false"), 1),
}
_RUN_NAMES = {
    **dict.fromkeys(("cmd", "run", "shell"), "command"),
    **dict.fromkeys(("exitCode", "exit", "code", "status", "returncode", "rc"), "exit_code"),
    **dict.fromkeys(("stdout", "result", "tail"), "output"),
    "covers": "files",
}

ProofGiven = Annotated[
    Prose | RunProof,
    BeforeValidator(run_proof),
    Field(
        description="Receipt id of `clew prove`, or {command, exit_code, output, files}.",
        json_schema_extra={"anyOf": [{"type": "string"}, {"type": "object"}]},
    ),
]


class Close(Input):
    synonyms: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("step_id", "path", "id"), "step"),
        "reason": "unproven",
        "evidence": "proof",
    }
    needs_one_of: ClassVar[tuple[str, ...]] = ("proof", "unproven")

    step: Annotated[Name | None, Field(description="s:0 or STEP-...; default: your first open step.")] = None
    proof: ProofGiven | None = None
    unproven: Annotated[Prose | None, Field(description="Why it closes without proof; stays listed.")] = None
    note: Annotated[Prose | None, Field(description="What to know about it later.")] = None
    task: Annotated[Name | None, Field(description="Default: the task you started or named last.")] = None


def close_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    if result["was"] is None:
        shown = [f"{result['task']} {result['step']} closed {result['closed']}/{result['of']}: {result['proof']}"]
    else:
        before = f" (was {shorten(result['was'], 100)})" if result["was"] != result["proof"] else ""
        shown = [f"proof of {result['step']} is now {result['proof']}{before}"]
    if result["next"] is not None:
        following = result["next"]
        run = f"; in a shell: {proving(result['task'], following['tests'][0])}" if following["tests"] else ""
        shown.append(f"next: {following['path']} {shorten(following['title'], 60)}{run}")
    else:
        shown.append(f"{result['task']} {result['status']}")
    return shown


@operation(
    "close", writes=True, example={"step": "s:0", "unproven": "prose only"}, view=View(in_lines=True, lines=close_lines)
)
def close(ctx: Context, args: Close) -> dict[str, Any] | ClewError:
    """Close a step with proof: a run that Clew saw, or one you report. Without proof it says so and stays listed.

    With proof for a step that is done already, the proof is added, and the better one counts; with `unproven` what was
    only claimed is taken back. A run that is reported as failed closes nothing and is kept.
    """
    task, step = _meant_step(ctx, args)
    if args.unproven is not None and not args.unproven.strip():
        raise invalid("unproven", "must say why", "Give the reason.", kind="non_empty")
    _check_words(ctx, step, args)
    if step.completed:
        return _after_the_end(ctx, task, step, args)
    if args.note is not None:
        task, _ = note_step(ctx, task, step, args.note)
    # Before the state is read, so that the proof of this very call counts.
    if args.proof is not None:
        task = _keep_proof(ctx, task, step, args.proof)
    proof, strict = proof_state(ctx, step), task.reasoning_mode == "strict"
    if proof.reported_failure and (strict or args.unproven is None):
        return _failed(step, proof, strict)
    if args.unproven is None:
        _check_proof(step, proof, strict)
    override = None if args.unproven is None else _without_proof(ctx, step, proof, args.unproven, strict)
    task, step, _ = close_step(ctx, task, step, CONFIRMED, override)
    proof = proof_state(ctx, step)
    set_own_focus(ctx, task.id)
    return _closed(ctx, task, step, proof)


def _check_words(ctx: Context, step: Step, args: Close) -> None:
    """Only a run clears a failure; a claim is refused, and nothing of it is stored."""
    if (
        not isinstance(args.proof, str)
        or re.fullmatch(RECEIPT.form, args.proof.strip(), re.IGNORECASE)
        or args.unproven is not None
    ):
        return
    proof = proof_state(ctx, step)
    if proof.receipt is not None and proof.receipt.grade == FAILED:
        raise _failed(step, proof, strict=False)


def _check_proof(step: Step, proof: Proof, strict: bool) -> None:
    if proof.state == UNPROVEN:
        raise _nothing_proves(step, proof.reason)
    # Stricter than the gate of the step, which accepts a step that names no test and requires no proof.
    if strict and not proof.settled:
        raise proof_refused(step, proof)


def _without_proof(ctx: Context, step: Step, proof: Proof, why: str, strict: bool) -> Override | None:
    """A strict task stores the reason as an override with a risk; any other marks the step as unproven."""
    if proof.settled:
        return None
    if strict:
        return Override(reason=why, risk="closed without proof that Clew saw")
    if proof.state == UNPROVEN or proof.reported_failure:
        waive(ctx, step, UNPROVEN, why)
    return None


def _after_the_end(ctx: Context, task: Work, step: Step, args: Close) -> dict[str, Any] | ClewError:
    """Add proof to a step that is done: of several proofs the better one counts, whichever came first."""
    before = proof_state(ctx, step)
    if args.proof is None and args.unproven is None:
        raise _done_already(step, before)
    if args.note is not None:
        task, _ = note_step(ctx, task, step, args.note)
    if args.proof is None:
        _withdraw_claims(ctx, step, before, str(args.unproven))
    else:
        task = _keep_proof(ctx, task, step, args.proof)
    proof, strict = proof_state(ctx, step), task.reasoning_mode == "strict"
    if proof.reported_failure:
        return _failed(step, proof, strict)
    # Evidence that the work is wrong, and in a strict task anything that Clew did not see, cannot improve a proof.
    if args.proof is not None and (proof.state == FAILED or (strict and not proof.settled)):
        raise proof_refused(step, proof)
    set_own_focus(ctx, task.id)
    # Without its claim a step that closes with proof only is open again, and its task with it.
    return {**_closed(ctx, work_by_id(ctx, task.id), step, proof), "was": before.line()}


def _withdraw_claims(ctx: Context, step: Step, proof: Proof, why: str) -> None:
    """Disown the claims for a done step and mark it as unproven. A run that Clew saw stays: it is a
    receipt with an id, which `retract` can withdraw."""
    if proof.state in (PROVEN, STALE, OVERRIDDEN) or (proof.state == FAILED and not proof.reported_failure):
        raise _seen_to_run(step, proof, why)
    while proof.state == CLAIMED and proof.receipt is not None:
        retract_within(ctx, proof.receipt.id, Retraction(why))
        proof = proof_state(ctx, step)
    waive(ctx, step, UNPROVEN, why)


def _failed(step: Step, proof: Proof, strict: bool) -> ClewError:
    """A run was reported as failed: the step does not close, and is marked as failed."""
    refused = proof_refused(step, proof)
    ways = "" if strict else " Or unproven with a reason."
    refused.recovery = f"{refused.recovery}.{ways} The failure is kept and shown until a run passes."
    return refused


def _task_of_step(ctx: Context, step: str) -> str | None:
    found = find_step(ctx, step) if STEP.fullmatch(step) else None
    if found is not None:
        return found.task
    # With one open task, a named step can only belong to that.
    left = open_tasks(ctx, 2)
    return left[0].id if len(left) == 1 else None


def _meant_step(ctx: Context, args: Close) -> tuple[Work, Step]:
    """The named step, of the named task or the caller's own. Another caller's focus is never acted on."""
    # Not the focus of the workspace: another agent may have moved it a moment ago. A named step may
    # belong to a task that is done: more proof can be added to it.
    args = _with_task(args)
    named = args.task or (own_focus(ctx) if args.step is not None else open_focus(ctx))
    if named is None and args.step is not None:
        named = _task_of_step(ctx, args.step.strip().upper())
    if named is None:
        raise _no_task(ctx, args)
    task = work_by_id(ctx, named.strip().upper())
    if not task.is_task:
        raise invalid("task", f"{task.id} is a plan, and only steps of tasks close", "Name a task.", known_work(ctx))
    if args.step is None:
        step = first_open(ctx, task.id)
        if step is None:
            ways = [suggest("resume", "Shows where the work stands.", "high", task=task.id)]
            raise ClewError("CONFLICT", f"{task.id} has no open step", "Start another task.", suggestions=ways)
        return task, step
    titled = step_titled(ctx, task, args.step)
    if titled is not None:
        return task, titled
    try:
        return task, step_selector(ctx, task, step_name(args.step), "step")
    except ClewError as error:
        if error.code in ("UNKNOWN_ID", "INVALID_INPUT"):
            # Never a step other than the named one: a claim about one is not true of the other.
            error.unknown = None
            error.suggestions = [_step_meant(ctx, args, task)]
        raise


def _with_task(args: Close) -> Close:
    """`TASK-001 s:1` and `TASK-001/s:1` name the task with the step."""
    task, step = task_and_step(args.step or "")
    return args if task is None or args.task is not None else args.model_copy(update={"task": task, "step": step})


def _step_meant(ctx: Context, args: Close, task: Work) -> Suggestion:
    """A suggestion to repeat the call for the step with the given title; else to list the steps."""
    titled = (args.step or "").strip().casefold()
    found = [step for step in steps_of(ctx, task.id) if step.title.casefold().startswith(titled)]
    if not titled or len(found) != 1:
        return suggest("open", f"Shows the steps of {task.id}.", "high", id=task.id)
    given = args.model_dump(exclude_unset=True, exclude={"workspace", "step"})
    return suggest("close", f"{found[0].path} is {shorten(found[0].title, 60)}.", "high", **given, step=found[0].path)


def _proof(ctx: Context, given: str | RunProof) -> CapturedProof:
    if isinstance(given, str):
        return CapturedProof(receipts(given), [], [], ["tests"])
    item: dict[str, Any] = {"command": given.command, "exit_code": given.exit_code}
    if given.output is not None:
        item["output"] = given.output
    if given.files:
        item |= {"covers": given.files, "files": ProjectFiles(ctx).digests(given.files)}
    return CapturedProof([], [item], [], ["tests"])


def _closed(ctx: Context, task: Work, step: Step, proof: Proof) -> dict[str, Any]:
    steps = steps_of(ctx, task.id)
    following = first_open(ctx, task.id)
    status = statuses.DONE if following is None else statuses.OPEN
    if following is None and task.status != statuses.WORK_DONE:
        try:
            # In a savepoint: the step is closed even if the task as a whole may not be, for a stale
            # proof of another step, say.
            with attempt(ctx):
                set_status(ctx, task, statuses.WORK_DONE)
        except ClewError as error:
            status = f"stays open: {error.message}"
    return {
        "task": task.id,
        "step": step.path,
        "closed": sum(item.completed for item in steps),
        "of": len(steps),
        "state": proof.state,
        "proof": proof.line(),
        "was": None,
        "status": status,
        "next": step_json(following) if following is not None else None,
    }


def _keep_proof(ctx: Context, task: Work, step: Step, given: str | RunProof) -> Work:
    """Store the given proof, and report what it lacks; a proof that could never have failed is refused."""
    said = _reported(given)
    if said and all(never_fails(command) for command in said):
        raise _nothing_proves(step, f"`{shorten(said[0], 60)}` passes whatever is done")
    task, kept = capture_proof(ctx, task, step, _proof(ctx, given))
    weakness = _weakness(step, given) if kept is not None else None
    if weakness is not None:
        run = _prove_step(step)
        fix = f"Close {step.path} again with proof={{command, exit_code, output}}, or in a shell: {run}"
        ctx.warn("PROOF_WEAK", weakness, fix)
    return task


def _reported(given: str | RunProof) -> list[str]:
    """The commands that were reported as run, line by line."""
    if isinstance(given, RunProof):
        return [given.command]
    return [command_of(line) or line for line in receipts(given)]


def _weakness(step: Step, given: str | RunProof) -> str | None:
    """Why a report is weaker than a run of the step's test command; None if it is such a run."""
    named = named_commands(step.tests)
    said = shorten(_reported(given)[0], 80)
    wanted = f"; the step names `{shorten(named[0], 120)}`" if named else ""
    if isinstance(given, str):
        return f"`{said}` names no command with its exit code{wanted}"
    if named and not any(covers_command(given.command, name) for name in named):
        return f"the step names `{shorten(named[0], 120)}`; this was `{said}`"
    found = doubt(given.command, given.output)
    return f"`{said}` shows little: {found}" if found is not None else None


def _prove_step(step: Step) -> str:
    named = named_commands(step.tests) or list(step.tests) or ["COMMAND"]
    return clew_command(f"prove --step {step.id} -- {named[0]}")


def _seen_to_run(step: Step, proof: Proof, why: str) -> ClewError:
    """A claim does not override a run that was seen; retracting its receipt does."""
    receipt = proof.receipt.id if proof.receipt is not None else step.id
    return ClewError(
        "CONFLICT",
        f"{step.path} ({step.id}) is already done by more than a claim: {proof.line()}",
        f"retract id={receipt}, with why, takes that back; retract id={step.id} opens the step again.",
        [{"kind": "state", "field": "unproven"}],
        [suggest("retract", "Takes it back; the step then says so.", "high", id=receipt, why=why)],
    )


def _done_already(step: Step, proof: Proof) -> ClewError:
    claimed = " unproven, with the reason, takes the claim back;" if proof.state == CLAIMED else ""
    return ClewError(
        "INVALID_INPUT",
        f"{step.path} ({step.id}) is done already: {proof.line()}",
        f"With proof={{command, exit_code, output}} this adds a better proof;{claimed}"
        f" retract id={step.id}, with why, opens it again.",
        [{"kind": "state", "field": "step"}],
        [suggest("resume", "Shows what is next.", "high", task=step.task)],
    )


def _nothing_proves(step: Step, reason: str | None) -> ClewError:
    because = f": {reason}" if reason else ""
    return ClewError(
        "PROOF_REQUIRED",
        f"nothing proves {step.path} {shorten(step.title, 60)}{because}",
        f"In a shell: {_prove_step(step)}. Or proof={{command, exit_code, output}} of a command that can fail, or"
        " unproven with a reason.",
        # A reason for skipping the proof must not be prefilled: the suggestion only shows the requirements.
        suggestions=[suggest("open", "Shows what the step asks for.", "high", id=step.id)],
        details={"step_id": step.id, "path": step.path},
    )


def _no_task(ctx: Context, args: Close) -> ClewError:
    """Lists the open tasks with the same call for each of them."""
    given = args.model_dump(exclude_none=True, exclude={"workspace", "task"})
    ways = [
        suggest("close", f"Closes a step of {work.id} {shorten(work.title, 60)}.", "high", **given, task=work.id)
        for work in open_tasks(ctx, 3)
    ]
    return ClewError(
        "INVALID_INPUT",
        "task: you have not started or named one on this connection",
        "Name the task; resume shows what is open.",
        [{"kind": "missing_required", "field": "task"}],
        ways or [suggest("resume", "Shows what is open.")],
    )
