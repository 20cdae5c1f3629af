"""One moment of an agent's session: what its client's hook tells, and what Clew answers.

Silent when nothing fits. Nothing is written before the answer is certain to be in time, because what was noted as told
is never told again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clew.moments.agent_sessions import (
    EDIT,
    FAMILIES,
    TWICE_MS,
    AgentSession,
    deeds_of,
    drop_old,
    find_session,
    first_time,
    keep_session,
    public,
    session_before,
    session_of,
    task_in_focus,
    told_records,
    was_told,
)
from clew.moments.event import SILENCE, Moment, Reply, in_time
from clew.moments.speech import PACK_TOKENS, START_TOKENS, fenced, fenced_texts, hit_line, hits_for, standing, summary
from clew.moments.tools import after_tool, before_tool, step_in_focus, unproven, unproven_line
from clew.recall.figures import note_told
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.store.workspaces import find_workspace

WEEK_MS = 7 * 86_400_000
STARTED = "start"
"""What a session was told when it knows where the work stands."""


@operation(
    "moment",
    writes=True,
    mode="own",
    example={"client": "claude", "event": "prompt", "session": "s-1", "prompt": "Where does the parser stand?"},
)
def moment(ctx: Context, args: Moment) -> dict[str, Any]:
    """Answer the hook of an agent's client: what to say now, whether a tool may run. Silent when nothing fits."""
    if not ctx.settings.hooks or not _is_known(ctx):
        return SILENCE.to_json()
    # Guards hold for everybody who edits; the rest is said to the agent that a person talks to.
    if args.subagent and args.event != "pre-tool":
        return SILENCE.to_json()
    reply = _HANDLERS[args.event](ctx, args)
    note_told(ctx, "hooks", len(reply.say or ""))
    return reply.to_json()


def _is_known(ctx: Context) -> bool:
    """Whether this project uses Clew at all. A hook never makes a workspace."""
    with ctx.database.read() as tx:
        return find_workspace(tx, ctx.workspace) is not None


def session_start(ctx: Context, args: Moment) -> Reply:
    """Where the work stands; after a compaction also what was done before it."""
    with ctx.reading() as bound:
        session = session_of(bound, args.session, args.client)
        task = task_in_focus(bound, session)
        extra = _remembered(bound, args, session)
    told = standing(ctx, FAMILIES[args.client], task.id if task else None)
    text = "\n".join(part for part in (extra, told) if part)
    # Asked before the first write: what is noted as told is not told again, and this answer would come too late.
    if not in_time(ctx, args):
        return SILENCE
    with ctx.writing() as bound:
        keep_session(bound, replace(session, ended_ms=None))
        # A compaction takes away what was said, however short a time before it was.
        key = f"{STARTED}:compact" if args.source == "compact" else STARTED
        if not text or not first_time(bound, args.session, key, TWICE_MS):
            return SILENCE
        return Reply(say=fenced(bound.workspace, bound.now_ms, "where the work stands", text, START_TOKENS))


def _remembered(ctx: Context, args: Moment, session: AgentSession) -> str:
    if args.source == "compact":
        return f"before the compaction: {session.checkpoint}" if session.checkpoint else ""
    before = session_before(ctx, args.session) if args.source in ("", "startup", "new") else None
    if before is None or not before.checkpoint or ctx.now_ms - before.seen_ms > WEEK_MS:
        return ""
    return f"last session ({before.client}, {before.id[:8]}): {before.checkpoint}"


def prompt(ctx: Context, args: Moment) -> Reply:
    """On the first prompt one pack; later only a strong match that was not shown. Nothing on commands of the client."""
    asked = public(args.prompt).strip()
    with ctx.reading() as bound:
        session = session_of(bound, args.session, args.client)
        started = was_told(bound, args.session, STARTED)
        task = task_in_focus(bound, session)
    parts: list[str] = []
    if not started:  # the start was missed, or the client has no such event
        told = standing(ctx, FAMILIES[args.client], task.id if task else None)
        parts += [told] if told else []
    with ctx.reading() as bound:
        seen = set(told_records(bound, args.session))
    found = [] if asked.startswith("/") else hits_for(ctx, asked, session.prompts == 0, lambda id: id in seen)
    if not in_time(ctx, args):
        return SILENCE
    with ctx.writing() as bound:
        # Read again inside the write: another hook of the same session may have changed it since the read above.
        session = session_of(bound, args.session, args.client)
        if parts and not first_time(bound, args.session, STARTED, TWICE_MS):
            parts = []
        said = _pack(bound, args.session, parts, found)
        keep_session(
            bound, replace(session, prompts=session.prompts + 1, pending=None if args.speaks else said or None)
        )
        return Reply(say=said) if args.speaks else SILENCE


def _pack(ctx: Context, session: str, parts: list[str], found: list[dict[str, Any]]) -> str:
    """What is said at a prompt. Only those records are noted as told that found room in it."""
    fresh = [hit for hit in found if not was_told(ctx, session, f"record:{hit['_id']}")]
    texts = [*parts, *(hit_line(hit) for hit in fresh)]
    if not texts:
        return ""
    tokens = (START_TOKENS if parts else 0) + (PACK_TOKENS if fresh else 0)
    said, told = fenced_texts(ctx.workspace, ctx.now_ms, "the prompt", texts, tokens)
    for hit in fresh[: told - len(parts)]:
        first_time(ctx, session, f"record:{hit['_id']}")
    return said


def before_compaction(ctx: Context, args: Moment) -> Reply:
    _checkpoint(ctx, args, ended=False)
    return SILENCE


def session_end(ctx: Context, args: Moment) -> Reply:
    _checkpoint(ctx, args, ended=True)
    return SILENCE


def _checkpoint(ctx: Context, args: Moment, ended: bool) -> None:
    """Keep in words what the session has done, for the start that follows."""
    with ctx.writing() as bound:
        session = session_of(bound, args.session, args.client)
        said = summary(deeds_of(bound, args.session))
        end = bound.now_ms if ended else None
        keep_session(bound, replace(session, checkpoint=said or session.checkpoint, ended_ms=end))
        # Once for each session, at its end, when no agent waits for an answer.
        if ended:
            drop_old(bound)


def stop(ctx: Context, args: Moment) -> Reply:
    """Say once that the step in focus is not proven, when this session worked on it. Block only where it is set so."""
    if ctx.settings.hook_stop == "off":
        return SILENCE
    with ctx.reading() as bound:
        session = find_session(bound, args.session)
        step = step_in_focus(bound, session) if session is not None else None
        proof = unproven(bound, step) if step is not None else None
        worked = any(deed.kind == EDIT for deed in deeds_of(bound, args.session))
    if step is None or proof is None or not worked or not in_time(ctx, args):
        return SILENCE
    line = unproven_line(step, proof)
    with ctx.writing() as bound:
        # Once for each step and session: an agent that has decided to stop must not be held in a loop.
        if not first_time(bound, args.session, f"unproven:{step.id}"):
            return SILENCE
    return Reply(decision="block", reason=line) if ctx.settings.hook_stop == "block" else Reply(notice=line)


_HANDLERS: dict[str, Callable[[Context, Moment], Reply]] = {
    "session-start": session_start,
    "prompt": prompt,
    "pre-tool": before_tool,
    "post-tool": after_tool,
    "tool-failed": after_tool,
    "pre-compact": before_compaction,
    "stop": stop,
    "task-completed": stop,
    "session-end": session_end,
}
