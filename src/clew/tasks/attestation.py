"""Records the runs that Clew observed, and verifies that no receipt was changed afterwards."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import invalid, shorten
from clew.ids import RECEIPT
from clew.project_files import MOST_FILES, is_inside
from clew.registry.context import Context
from clew.registry.operation import AgentForm, Input, Name, Text, View, Whole, operation
from clew.store.events import event_id, first_broken_event
from clew.store.rows import find_many
from clew.tasks.evidence import EvidenceDraft
from clew.tasks.evidence_capture import capture
from clew.tasks.plans import Work
from clew.tasks.proof_receipts import ProofReceipt, Run, chain_heads, first_break, receipt_by_id, receipt_json
from clew.tasks.proofs import proof_state
from clew.tasks.steps import Step, first_open, select_step, step_ref
from clew.tasks.targets import OfStep, target_task

MOST_OUTPUT = 64_000
FILES_IN_EVIDENCE = 200
"""Evidence repeats the covered files for older readers; a long list is kept in the receipt only."""

Digest = Annotated[str, Field(max_length=100)]


class ReceiptRecord(OfStep):
    command: Annotated[Text, Field(min_length=1, max_length=10_000, description="What was run, as one line of shell.")]
    exit_code: Annotated[int, Field(ge=-255, le=255, description="How it ended.")]
    duration_ms: Whole | None = None
    output_digest: Digest | None = None
    output_tail: Annotated[str | None, Field(max_length=MOST_OUTPUT, description="The end of what it printed.")] = None
    git_commit: Digest | None = None
    git_dirty: bool | None = None
    files: Annotated[
        dict[str, Digest] | None, Field(max_length=MOST_FILES, description="Digests of the files it covers, by path.")
    ] = None
    stamps: Annotated[
        dict[str, list[int]] | None, Field(max_length=MOST_FILES, description="Size, times and inode of these files.")
    ] = None
    again: Annotated[Name | None, Field(description="The receipt whose command was run again.")] = None


def receipt_lines(result: Json, default_workspace: str) -> list[str]:
    """What was recorded, and the resulting state of the step."""
    receipt, proof = result["receipt"], result["proof"]
    ran = f"{shorten(receipt['command'], 200)} -> exit {receipt['exit_code']}"
    covers = f", covers {result['files']} file{'s' * (result['files'] != 1)}" if result["files"] else ""
    disputes = f", disputes {result['disputes']}" if result["disputes"] else ""
    lines = [f"{receipt['id']} {receipt['grade']}: {ran}{covers}{disputes}"]
    if proof is not None:
        lacks = f": {proof['reason']}" if proof["reason"] else ""
        lines.append(f"{result['task']} {proof['path']} is {proof['state']}{lacks}")
    return lines


@operation(
    "tasks_receipt_record",
    writes=True,
    example={"task": "TASK-001", "path": "s:0", "command": "make test", "exit_code": 0},
    view=View(agent=AgentForm(("task", "path", "command", "exit_code", "output_tail"), receipt_lines)),
)
def tasks_receipt_record(ctx: Context, args: ReceiptRecord) -> Json:
    """Keep the receipt of a command for a step. It is graded seen when Clew ran the command itself, else claimed."""
    task = target_task(ctx, args)
    step = _step(ctx, task, args)
    task, event, kept = capture(ctx, task, step, [_draft(ctx, args)], ["tests"] if step else [])
    receipt = find_many(ctx.tx, ctx.workspace, ProofReceipt, [kept[0].id], "evidence")[0]
    return {
        "task": task.id,
        "revision": task.revision,
        "step": step_ref(step) if step else None,
        "receipt": {name: value for name, value in receipt_json(receipt).items() if name != "files"},
        "files": len(receipt.files or {}),
        "proof": proof_state(ctx, step).to_json() if step else None,
        "disputes": _disputed(ctx, receipt),
        "event": event,
    }


def _step(ctx: Context, task: Work, args: ReceiptRecord) -> Step | None:
    """The named step, else the first open one: the next step of a task in focus."""
    if args.path is None and args.step_id is None:
        return first_open(ctx, task.id)
    return select_step(ctx, task, args.path, args.step_id)


def _draft(ctx: Context, args: ReceiptRecord) -> EvidenceDraft:
    outside = next((path for path in args.files or {} if not is_inside(path)), None)
    if outside is not None:
        raise invalid("files", f"{outside[:80]!r} is not a path below the project", "Give relative paths.")
    # One line, because two receipts of one command are matched by comparing it.
    command = " ".join(args.command.splitlines()).strip()
    body = {"command": command, **picked(args, "exit_code", "duration_ms")}
    run = _run(ctx, command, args)
    if run is None and args.output_tail:
        body["output"] = args.output_tail
    few = args.files if args.files and len(args.files) <= FILES_IN_EVIDENCE else None
    text = f"CMD: {command} -> exit {args.exit_code}"
    result = picked(args, "exit_code", "output_digest")
    return EvidenceDraft("artifact", text, body, command, files=few, run=run, **result)


def _run(ctx: Context, command: str, args: ReceiptRecord) -> Run | None:
    """The run as Clew observed it; None if it is only a claim."""
    # Only `clew prove`, the runner and a client's hook provide it; over MCP no caller can act as a witness.
    if ctx.connection.witness is None:
        return None
    if args.again is not None and not RECEIPT.fullmatch(args.again):
        raise invalid("again", f"{args.again[:40]!r} is not a receipt id", "Use an id such as RCPT-001.")
    names = ("exit_code", "duration_ms", "output_digest", "output_tail", "git_commit", "git_dirty", "files", "stamps")
    return Run(ctx.connection.witness, command, again=args.again, **picked(args, *names))


def _disputed(ctx: Context, receipt: ProofReceipt) -> str | None:
    """The receipt that this run contradicts: the same command with another outcome."""
    if receipt.again is None:
        return None
    before = receipt_by_id(ctx, receipt.again)
    return before.id if before.grade != receipt.grade else None


@operation("tasks_chain_verify")
def tasks_chain_verify(ctx: Context, args: Input) -> Json:
    """Check that no receipt and no event of the workspace was changed, removed or slipped in; names the first break."""
    receipts, broken = first_break(ctx)
    events, seq = first_broken_event(ctx.tx, ctx.workspace)
    breaks = [{"where": broken.where, "problem": broken.problem}] if broken else []
    if seq is not None:
        breaks.append({"where": event_id(seq), "problem": "was changed, removed or slipped in"})
    return {
        "workspace": ctx.workspace,
        "intact": not breaks,
        "receipts": receipts,
        "events": events,
        "heads": chain_heads(ctx),
        "breaks": breaks,
    }
