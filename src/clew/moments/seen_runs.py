"""Runs that a hook saw as proof of the step in focus, and whether that step is proven."""

from __future__ import annotations

from dataclasses import dataclass

from clew.canonical import sha256_hex
from clew.errors import ClewError, shorten
from clew.files import changed_since, git_state, scope_of_run, take_snapshot
from clew.moments.agent_sessions import AgentSession, first_time, programs, task_in_focus
from clew.registry.context import Context
from clew.registry.envelope import one_line
from clew.store.workspaces import declare_events
from clew.tasks.commands import hides_failure, named_commands, same_command
from clew.tasks.proof_receipts import SEEN, latest_receipts
from clew.tasks.proofs import Proof, proof_state
from clew.tasks.steps import Step, first_open, steps_of

declare_events(
    {"proof_outdated": "A file was edited that a seen run covers: the proof is stale until it is run again."}
)

MOST_OUTPUT = 60_000
_CHECKERS = frozenset(
    "pytest tox nox ctest rspec jest vitest mypy pyright ruff flake8 eslint tsc phpunit".split()  # noqa: SIM905
)
_VERBS = frozenset("test tests check lint build verify typecheck vet clippy nextest".split())  # noqa: SIM905
_TOOLS = frozenset("make just npm pnpm yarn bun cargo go deno gradle gradlew mvn dotnet mix swift rake".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class HookRun:
    command: str
    exit_code: int
    output: str
    duration_ms: int | None
    at_ms: int | None = None
    """When it ended, where the hook tells of it later."""


def is_check(command: str) -> bool:
    """Whether a command is run to see if something works. Looking around (`ls`, `grep`) proves nothing."""
    for words in programs(command):
        name, rest = words[0], words[1:]
        if name in _CHECKERS or (name in _TOOLS and any(word in _VERBS for word in rest[:2])):
            return True
        if name.startswith("python") and rest[:1] == ["-m"] and rest[1:2] and rest[1] in {*_CHECKERS, "unittest"}:
            return True
    return False


def step_in_focus(ctx: Context, session: AgentSession) -> Step | None:
    task = task_in_focus(ctx, session)
    return first_open(ctx, task.id) if task is not None else None


def keep_receipt(ctx: Context, session: AgentSession, run: HookRun) -> str | None:
    """Keep what the client's own tool result shows as a receipt of the step in focus; its id, if it proves anything."""
    if ctx.connection.witness is None or hides_failure(run.command):
        return None
    with ctx.reading() as bound:
        step = step_in_focus(bound, session)
    if step is None or not _counts(step, run.command):
        return None
    root = ctx.settings.project_root
    paths = scope_of_run(root, (), step.created_at_ms).covered(None)
    # A run that is told later proves what the files held then, which nobody can tell of a file that changed since.
    if run.at_ms is not None and changed_since(root, paths, run.at_ms):
        return None
    snapshot = take_snapshot(root, paths)
    given = {
        "task": step.task,
        "step_id": step.id,
        "command": run.command,
        "exit_code": max(-255, min(255, run.exit_code)),
        "duration_ms": run.duration_ms,
        "output_digest": f"sha256:{sha256_hex(run.output)}",
        "output_tail": run.output[-MOST_OUTPUT:],
        "files": snapshot.files,
        "stamps": snapshot.stamps,
        **git_state(root),
    }
    try:
        with ctx.writing() as bound:
            kept = ctx.dispatcher.invoke(bound, "tasks_receipt_record", given)
    except ClewError:
        return None  # another agent holds the step, or it was closed meanwhile: nothing of this session's to prove
    return str(kept["receipt"]["id"])


def _counts(step: Step, command: str) -> bool:
    return any(same_command(command, name) for name in named_commands(step.tests)) or is_check(command)


def mark_outdated(ctx: Context, session: AgentSession, path: str) -> list[str]:
    """Say once of each seen run of the task in focus that covers an edited file that it no longer proves anything."""
    task = task_in_focus(ctx, session)
    if task is None:
        return []
    found = latest_receipts(ctx, [step.id for step in steps_of(ctx, task.id)])
    covering = [it for receipts in found.values() for it in receipts if it.grade == SEEN and path in (it.files or {})]
    fresh = [it for it in covering if first_time(ctx, "", f"outdated:{it.id}")]
    for receipt in fresh:
        ctx.ws.next_seq()
        ctx.emit("tasks", "proof_outdated", receipt.id, {"file": path, "task": task.id}, receipt.path)
    return [receipt.id for receipt in fresh]


def unproven(ctx: Context, step: Step) -> Proof | None:
    """How far the step is from being proven; None when it is."""
    proof = proof_state(ctx, step)
    return None if proof.settled else proof


def unproven_line(step: Step, proof: Proof) -> str:
    named = named_commands(step.tests)
    way = f"clew prove -- {named[0]}" if named else "clew prove -- the command that shows it"
    title = shorten(one_line(step.title), 80)
    return f"{step.task} {step.path} ({title}) is not proven: {shorten(proof.line(), 120)}. {way} proves it."
