"""Before and after a tool: guards, proof, and known failures.

A run that a hook observed counts as proof of the step in focus; this module also reports whether that step is proven.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clew.canonical import sha256_hex
from clew.errors import ClewError, shorten
from clew.hook_events import dead_ends
from clew.hook_events.agent_sessions import (
    TWICE_MS,
    AgentSession,
    bare_command,
    find_session,
    first_time,
    keep_edit,
    keep_run,
    keep_session,
    last_edit,
    programs,
    public,
    session_of,
    task_in_focus,
    was_shown,
)
from clew.hook_events.context_text import NOTE_TOKENS, fenced, fenced_texts
from clew.hook_events.event import SILENCE, HookEvent, Reply, in_time
from clew.hook_events.failures import read_failure
from clew.ids import TASK
from clew.memory.guards.approval import Objection, log_override, objections
from clew.memory.guards.check import GuardedAction
from clew.memory.guards.places import guarding_workspaces
from clew.project_files import changed_since, git_state, scope_of_run, take_snapshot
from clew.registry.context import Context
from clew.registry.envelope import one_line
from clew.store.workspaces import declare_events
from clew.surroundings import clew_command
from clew.tasks.commands import hides_failure, named_commands, same_command
from clew.tasks.proof_receipts import SEEN, latest_receipts
from clew.tasks.proofs import Proof, proof_state
from clew.tasks.steps import Step, first_open, steps_of
from clew.unrecorded import proven_command


def before_tool(ctx: Context, args: HookEvent) -> Reply:
    """The objections of the guards to an edit or a command."""
    if args.tool not in ("edit", "command"):
        return SILENCE
    root = ctx.root
    paths = tuple(inside(root, path) for path in args.paths)
    folder = inside(root, args.folder) if args.folder else ""
    place = ctx.connection.place
    action = GuardedAction(
        paths,
        args.text,
        args.before,
        args.whole,
        args.command,
        "" if folder == "." else folder,
        "" if place is not None else str(root),
        place.written if place is not None else None,
    )
    with ctx.reading() as bound:
        places = [_within(ctx, name) for name in guarding_workspaces(bound)]
    replies = [reply for place in places if (reply := _judged(place, args, action)) is not SILENCE]
    # The strictest; of several the one of the project's own workspace, which comes first.
    return max(replies, key=lambda reply: _STRICTNESS.index(reply.decision), default=SILENCE)


def _within(ctx: Context, workspace: str) -> Context:
    """The same call in another workspace of this project. The caller did not choose it, so it needs no permission."""
    return ctx if workspace == ctx.workspace else Context(ctx.dispatcher, ctx.connection, workspace, ctx.agent)


def _judged(ctx: Context, args: HookEvent, action: GuardedAction) -> Reply:
    """The response of the guards of one workspace."""
    with ctx.reading() as bound:
        found = objections(bound, action)
    return _objected(ctx, args, found) if found else SILENCE


_STRICTNESS = ("", "inform", "ask", "deny")


def _objected(ctx: Context, args: HookEvent, found: list[Objection]) -> Reply:
    # Objections are sorted, the strictest first; weaker ones next to a refusal would only be noise.
    strictest = found[0].response
    named = shorten(args.command or ", ".join(args.paths), 200)
    with ctx.writing() as bound:
        # A remark is shown once; a refusal applies every time.
        if strictest == "inform":
            return _informed(bound, args, found)
        found = [it for it in found if it.response == strictest]
        for objection in found:
            if strictest == "ask":
                first_time(bound, args.session, f"asked:{_call_key(args)}:{objection.id}", 0)
            else:
                # An event needs a seq of its own; the rest of this call writes nothing that takes one.
                bound.ws.next_seq()
                bound.emit("memory", "guard_denied", objection.id, {"action": public(named), "client": args.client})
        reason = "\n".join([*(_guard_line(it) for it in found), *_ways(ctx, found)])
        return Reply(decision=strictest, reason=reason, rules=tuple(it.id for it in found))


def _informed(ctx: Context, args: HookEvent, found: list[Objection]) -> Reply:
    """Remarks that are new to the session; those that do not fit are not marked and follow with the next action."""
    fresh = [it for it in found if not was_shown(ctx, args.session, f"guard:{it.id}")]
    if not fresh:
        return SILENCE
    said, told = fenced_texts(ctx.workspace, ctx.now_ms, "guard", [_guard_line(it) for it in fresh], NOTE_TOKENS)
    for objection in fresh[:told]:
        first_time(ctx, args.session, f"guard:{objection.id}")
    if not args.speaks:  # this client reads our output after the tool only
        session = session_of(ctx, args.session, args.client)
        keep_session(ctx, replace(session, pending="\n".join(filter(None, (session.pending, said)))))
    return Reply(say=said if args.speaks else "", rules=tuple(it.id for it in fresh[:told]))


def _guard_line(objection: Objection) -> str:
    return f"{objection.id} (check approved by {objection.by}, {objection.since}): {objection.says}"


def _ways(ctx: Context, found: list[Objection]) -> list[str]:
    """The options of the user. A guard of another workspace is named with its workspace."""
    where = "" if ctx.workspace == ctx.settings.workspace else f"--workspace {ctx.workspace} "
    run = clew_command(f'{where}guards override {found[0].id} --why "..."')
    ways = [f"The user can let it pass in a terminal: {run}"]
    gone = next((it for it in found if it.gone), None)
    if gone is not None:
        ways.append(f"{gone.id}: {gone.gone}; the user ends it with: {clew_command(f'{where}guards revoke {gone.id}')}")
    return ways


def _call_key(args: HookEvent) -> str:
    return args.tool_id or public(args.command)[:200] or ",".join(args.paths)[:200]


def after_tool(ctx: Context, args: HookEvent) -> Reply:
    """Store a run or an edit: as proof of the step in focus, and to recognise failures."""
    said = SILENCE
    if args.tool == "edit":
        _edited(ctx, args)
    elif args.tool == "clew":
        _learn_focus(ctx, args)
    elif args.tool == "command" and args.command and args.exit_code is not None:
        said = _ran(ctx, args, args.exit_code)
    return said if said.say or not args.speaks else _pending(ctx, args)


def _pending(ctx: Context, args: HookEvent) -> Reply:
    """Text that could not be added at the prompt, because this client adds nothing to prompts."""
    with ctx.reading() as bound:
        session = find_session(bound, args.session)
    if session is None or not session.pending or not in_time(ctx, args):
        return SILENCE
    with ctx.writing() as bound:
        keep_session(bound, replace(session, pending=None))
    return Reply(say=session.pending)


def _edited(ctx: Context, args: HookEvent) -> None:
    root = ctx.root
    with ctx.writing() as bound:
        if not _once(bound, args):
            return
        session = session_of(bound, args.session, args.client)
        keep_session(bound, session)
        for path in args.paths:
            place = inside(root, path)
            keep_edit(bound, args.session, place, f"{args.before}\n{args.text}")
            mark_outdated(bound, session, place)
        _log_asked(bound, args)


def _once(ctx: Context, args: HookEvent) -> bool:
    """Whether this tool call is new: hooks may be installed twice, and a spool may repeat them."""
    if args.tool_id:
        return first_time(ctx, args.session, f"done:{args.tool}:{_call_key(args)}")
    # Without an id of the call: the same command with the same result is new once something was edited.
    since = last_edit(ctx, args.session) if args.tool == "command" else 0
    result = sha256_hex(f"{args.exit_code}\n{args.output}\n{args.text}")[:16]
    return first_time(ctx, args.session, f"done:{args.tool}:{_call_key(args)}:{since}:{result}", TWICE_MS)


def _log_asked(ctx: Context, args: HookEvent) -> None:
    """The tool ran although a guard asked first: the person that the client asked has agreed."""
    key = f"asked:{_call_key(args)}:"
    rows = ctx.tx.all(
        "SELECT told FROM agent_told WHERE workspace = ? AND session = ? AND told >= ? AND told < ?",
        ctx.workspace,
        args.session,
        key,
        # A range instead of LIKE, because the key holds what the agent ran, with % and _ in it.
        f"{key}\uffff",
    )
    for row in rows:
        rule = row["told"].rpartition(":")[2]
        named = public(shorten(args.command or ", ".join(args.paths), 200))
        log_override(ctx, rule, "allowed when the client asked", f"the user of {args.client}", 0, named)
        ctx.tx.run(
            "DELETE FROM agent_told WHERE workspace = ? AND session = ? AND told = ?",
            ctx.workspace,
            args.session,
            row["told"],
        )


def _learn_focus(ctx: Context, args: HookEvent) -> None:
    """The answer to a session's own call of Clew names the task that it works on."""
    found = TASK.search(args.output)
    if found is None:
        return
    with ctx.writing() as bound:
        keep_session(bound, replace(session_of(bound, args.session, args.client), focus=found.group()))


def _ran(ctx: Context, args: HookEvent, exit_code: int) -> Reply:
    root = ctx.root
    command = bare_command(args.command, tuple({str(root), os.path.realpath(root), "."}))
    output = public(args.output)
    command = proven_command(command, output) or command
    with ctx.writing() as bound:
        if not _once(bound, args):
            return SILENCE
        session = session_of(bound, args.session, args.client)
        keep_session(bound, session)
        action = keep_run(bound, args.session, command, exit_code, output)
        _log_asked(bound, args)
        if action.passed:
            dead_ends.settle(bound, action)
            dead_ends.follow_commit(bound, action)
    # In a separate transaction: it reads the project's files, and no other writer should wait for that.
    keep_receipt(ctx, session, HookRun(action.subject, exit_code, output, args.duration_ms, args.at_ms))
    return _met_before(ctx, args, command, output) if action.failed and args.speaks else SILENCE


def _met_before(ctx: Context, args: HookEvent, command: str, output: str) -> Reply:
    failure = read_failure(output)
    if failure is None:
        return SILENCE
    with ctx.reading() as bound:
        met = dead_ends.met_before(bound, failure, public(command))
    if met is None or not in_time(ctx, args):
        return SILENCE
    with ctx.writing() as bound:
        if not first_time(bound, args.session, f"dead-end:{failure.key}:{failure.place or ''}"[:400]):
            return SILENCE
        return Reply(say=fenced(bound.workspace, bound.now_ms, "this failure", dead_ends.told(met), NOTE_TOKENS))


def inside(root: Path, path: str) -> str:
    """A path from the root of the project; one outside of it as it is."""
    base = os.path.realpath(root)
    full = os.path.realpath(Path(base) / path)  # an absolute path stays what it is
    found = os.path.relpath(full, base) if full == base or full.startswith(base + os.sep) else full
    return found.replace(os.sep, "/")


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
    """When it ended, if the hook reports it later."""


def is_check(command: str) -> bool:
    """Whether a command checks something, such as a test run. Inspection (`ls`, `grep`) proves nothing."""
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
    """Store the client's own tool result as a receipt of the step in focus; returns its id, if it proves anything."""
    if ctx.connection.witness is None or hides_failure(run.command):
        return None
    with ctx.reading() as bound:
        step = _step_shown(bound, session, run.command)
    if step is None:
        return None
    given = {
        "task": step.task,
        "step_id": step.id,
        "command": run.command,
        "exit_code": max(-255, min(255, run.exit_code)),
        "duration_ms": run.duration_ms,
        "output_digest": f"sha256:{sha256_hex(run.output)}",
        "output_tail": run.output[-MOST_OUTPUT:],
    }
    if ctx.connection.place is not None:
        # The caller's machine has the files: it adds them, and records the receipt with a call of its own.
        ctx.connection.returned[UNRECORDED] = {"given": given, "since_ms": step.created_at_ms, "at_ms": run.at_ms}
        return None
    files = files_of_run(ctx.root, step.created_at_ms, run.at_ms)
    if files is None:
        return None
    try:
        with ctx.writing() as bound:
            kept = ctx.dispatcher.invoke(bound, "tasks_receipt_record", {**given, **files})
    except ClewError:
        return None  # another agent holds the step, or it was closed meanwhile: nothing of this session's to prove
    return str(kept["receipt"]["id"])


def _step_shown(ctx: Context, session: AgentSession, command: str) -> Step | None:
    """The step that a run belongs to: one that names the command, preferably the one in focus.

    A command that no step names belongs to the one in focus if it is a check. A command that another step names does
    not.
    """
    focus = step_in_focus(ctx, session)
    if focus is None:
        return None
    naming = [step for step in (focus, *steps_of(ctx, focus.task)) if _names(step, command)]
    if naming:
        return next((step for step in naming if not step.completed), naming[0])
    return focus if is_check(command) else None


def _names(step: Step, command: str) -> bool:
    return any(same_command(command, name) for name in named_commands(step.tests))


UNRECORDED = "moments.receipt"  # sent between machines of different versions
"""The key of a returned receipt that waits for the files that it covers."""


def files_of_run(root: Path, since_ms: int, at_ms: int | None) -> dict[str, Any] | None:
    """The files that a run covers, in their present state. `at_ms`: when it ended, if it is reported later."""
    paths = scope_of_run(root, (), since_ms).covered(None)
    # A run that is reported later proves the content at that time, which is unknown for a file that changed since.
    if at_ms is not None and changed_since(root, paths, at_ms):
        return None
    snapshot = take_snapshot(root, paths)
    return {"files": snapshot.files, "stamps": snapshot.stamps, **git_state(root)}


def mark_outdated(ctx: Context, session: AgentSession, path: str) -> list[str]:
    """Report once for each observed run of the task in focus over an edited file that it no longer proves anything."""
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
    """The state of the proof of a step; None if it is proven."""
    proof = proof_state(ctx, step)
    return None if proof.settled else proof


def unproven_line(step: Step, proof: Proof) -> str:
    named = named_commands(step.tests)
    way = clew_command(f"prove -- {named[0]}" if named else "prove -- the command that shows it")
    title = shorten(one_line(step.title), 80)
    return f"{step.task} {step.path} ({title}) is not proven: {shorten(proof.line(), 120)}. {way} proves it."
