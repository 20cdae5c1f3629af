"""Before and after a tool: guards, proof, and failures that are known."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from clew.errors import shorten
from clew.ids import TASK
from clew.memory.files.sync import sync
from clew.memory.guards.approval import Objection, log_override, objections
from clew.memory.guards.check import Deed
from clew.moments import dead_ends
from clew.moments.agent_sessions import (
    TWICE_MS,
    bare_command,
    find_session,
    first_time,
    keep_edit,
    keep_run,
    keep_session,
    public,
    session_of,
)
from clew.moments.event import SILENCE, Moment, Reply, in_time
from clew.moments.failures import read_failure
from clew.moments.seen_runs import HookRun, keep_receipt, mark_outdated
from clew.moments.speech import NOTE_TOKENS, fenced
from clew.registry.context import Context


def before_tool(ctx: Context, args: Moment) -> Reply:
    """What the guards say about an edit or a command."""
    if args.tool not in ("edit", "command"):
        return SILENCE
    root = ctx.settings.project_root
    paths = tuple(inside(root, path) for path in args.paths)
    folder = inside(root, args.folder) if args.folder else ""
    deed = Deed(paths, args.text, args.before, args.whole, args.command, "" if folder in (".", "/") else folder)
    sync(ctx)
    with ctx.reading() as bound:
        found = objections(bound, deed)
    if not found:
        return SILENCE
    return _objected(ctx, args, found)


def _objected(ctx: Context, args: Moment, found: list[Objection]) -> Reply:
    # Objections come sorted, the strictest first; softer ones beside a refusal would only be noise.
    strictest = found[0].response
    named = shorten(args.command or ", ".join(args.paths), 200)
    with ctx.writing() as bound:
        # A remark is made once; a refusal holds every time.
        if strictest == "inform":
            found = [it for it in found if first_time(bound, args.session, f"guard:{it.id}")]
            text = "\n".join(_guard_line(it) for it in found)
            said = fenced(bound.workspace, bound.now_ms, "guard", text, NOTE_TOKENS) if text else ""
            if said and not args.speaks:  # this client hears us after the tool only
                session = session_of(bound, args.session, args.client)
                keep_session(bound, replace(session, pending="\n".join(filter(None, (session.pending, said)))))
            return Reply(say=said if args.speaks else "", rules=tuple(it.id for it in found))
        found = [it for it in found if it.response == strictest]
        for objection in found:
            if strictest == "ask":
                first_time(bound, args.session, f"asked:{_call_key(args)}:{objection.id}", 0)
            else:
                # An event needs a seq of its own; the rest of this call writes nothing that takes one.
                bound.ws.next_seq()
                bound.emit("memory", "guard_denied", objection.id, {"action": public(named), "client": args.client})
        reason = "\n".join([*(_guard_line(it) for it in found), _way(found[0].id)])
        return Reply(decision=strictest, reason=reason, rules=tuple(it.id for it in found))


def _guard_line(objection: Objection) -> str:
    return f"{objection.id} (check approved by {objection.by}, {objection.since}): {objection.says}"


def _way(id: str) -> str:
    return f'The user can let it pass in a terminal: clew guards override {id} --why "..."'


def _call_key(args: Moment) -> str:
    return args.tool_id or public(args.command)[:200] or ",".join(args.paths)[:200]


def after_tool(ctx: Context, args: Moment) -> Reply:
    """Keep what was run or edited: as proof of the step in focus, and to know failures again."""
    said = SILENCE
    if args.tool == "edit":
        _edited(ctx, args)
    elif args.tool == "clew":
        _learn_focus(ctx, args)
    elif args.tool == "command" and args.command and args.exit_code is not None:
        said = _ran(ctx, args, args.exit_code)
    return said if said.say or not args.speaks else _pending(ctx, args)


def _pending(ctx: Context, args: Moment) -> Reply:
    """What could not be said at the prompt, because this client adds nothing to prompts."""
    with ctx.reading() as bound:
        session = find_session(bound, args.session)
    if session is None or not session.pending or not in_time(ctx, args):
        return SILENCE
    with ctx.writing() as bound:
        keep_session(bound, replace(session, pending=None))
    return Reply(say=session.pending)


def _edited(ctx: Context, args: Moment) -> None:
    root = ctx.settings.project_root
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


def _once(ctx: Context, args: Moment) -> bool:
    """Whether this tool call is news: hooks may be installed twice, and a spool may repeat them."""
    key = _call_key(args)
    return first_time(ctx, args.session, f"done:{args.tool}:{key}", None if args.tool_id else TWICE_MS)


def _log_asked(ctx: Context, args: Moment) -> None:
    """The tool has run although a guard asked first: the person whom the client asked has said yes."""
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


def _learn_focus(ctx: Context, args: Moment) -> None:
    """The answer to a session's own call of Clew names the task that it works on."""
    found = TASK.search(args.output)
    if found is None:
        return
    with ctx.writing() as bound:
        keep_session(bound, replace(session_of(bound, args.session, args.client), focus=found.group()))


def _ran(ctx: Context, args: Moment, exit_code: int) -> Reply:
    root = ctx.settings.project_root
    command = bare_command(args.command, tuple({str(root), os.path.realpath(root), "."}))
    output = public(args.output)
    with ctx.writing() as bound:
        if not _once(bound, args):
            return SILENCE
        session = session_of(bound, args.session, args.client)
        keep_session(bound, session)
        deed = keep_run(bound, args.session, command, exit_code, output)
        _log_asked(bound, args)
        if deed.passed:
            dead_ends.settle(bound, deed)
            dead_ends.follow_commit(bound, deed)
    # In a transaction of its own: it looks at the files of the project, and nobody else may have to wait for that.
    keep_receipt(ctx, session, HookRun(deed.subject, exit_code, output, args.duration_ms, args.at_ms))
    return _met_before(ctx, args, command, output) if deed.failed and args.speaks else SILENCE


def _met_before(ctx: Context, args: Moment, command: str, output: str) -> Reply:
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
