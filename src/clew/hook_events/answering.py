"""Responds to a hook event of an agent's client.

The reply is empty if nothing is relevant. Nothing is written before the reply is certain to be in time, because
records marked as shown are never shown again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clew.history.keeper import keep_current
from clew.history.port import ProjectPlaces
from clew.hook_events.agent_sessions import (
    EDIT,
    FAMILIES,
    TWICE_MS,
    AgentSession,
    actions_of,
    drop_old,
    find_session,
    first_time,
    keep_session,
    public,
    session_before,
    session_of,
    shown_records,
    task_in_focus,
    was_shown,
)
from clew.hook_events.context_text import (
    PACK_TOKENS,
    fenced,
    fenced_texts,
    hit_line,
    hits_for,
    records_in,
    start_tokens,
    status_text,
    summary,
)
from clew.hook_events.event import SILENCE, HookEvent, Reply, in_time
from clew.hook_events.tools import after_tool, before_tool, step_in_focus, unproven, unproven_line
from clew.memory.guards.places import note_guards
from clew.recall.figures import count_shown
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.store.workspaces import find_workspace

WEEK_MS = 7 * 86_400_000
STARTED = "start"
"""Recorded once a session has been given the status of the work."""


@operation(
    "hook_event",
    aliases=("moment",),
    writes=True,
    mode="own",
    example={"client": "claude", "event": "prompt", "session": "s-1", "prompt": "Where does the parser stand?"},
)
def hook_event(ctx: Context, args: HookEvent) -> dict[str, Any]:
    """Answer the hook of an agent's client: what to say now, whether a tool may run. Silent when nothing fits."""
    if not ctx.settings.hooks:
        return SILENCE.to_json()
    if ctx.connection.place is not None:
        # At each event: the other machine is not notified in any other way that a guard was approved.
        with ctx.reading() as bound:
            note_guards(bound)
    # Guards apply to every edit; the rest is only for the agent that a person talks to, if Clew is in use.
    if args.event != "pre-tool" and (args.subagent or not _is_known(ctx, args.event)):
        return SILENCE.to_json()
    reply = _HANDLERS[args.event](ctx, args)
    count_shown(ctx, "hooks", len(reply.say or ""))
    return reply.to_json()


def _is_known(ctx: Context, event: str) -> bool:
    """Whether this project uses Clew at all. A hook never creates a workspace."""
    with ctx.reading() as bound:
        is_known = find_workspace(bound.tx, ctx.workspace) is not None
        # Now and then, because a guard may have been approved elsewhere: on the page, or on another machine.
        if is_known and event in ("session-start", "prompt"):
            note_guards(bound)
    return is_known


def session_start(ctx: Context, args: HookEvent) -> Reply:
    """The status of the work; after a compaction also the actions before it."""
    with ctx.reading() as bound:
        session = session_of(bound, args.session, args.client)
        task = task_in_focus(bound, session)
        extra = _remembered(bound, args, session)
    told = status_text(ctx, FAMILIES[args.client], task.id if task else None)
    text = "\n".join(part for part in (extra, told) if part)
    # Checked before the first write: records marked as shown are not shown again, and this answer would come too late.
    if not in_time(ctx, args):
        return SILENCE
    with ctx.writing() as bound:
        keep_session(bound, replace(session, ended_ms=None))
        # A compaction removes the context, however recent it was.
        key = f"{STARTED}:compact" if args.source == "compact" else STARTED
        if not text or not first_time(bound, args.session, key, TWICE_MS):
            return SILENCE
        said = fenced(bound.workspace, bound.now_ms, "where the work stands", text, start_tokens(ctx))
        _note_records(bound, args.session, said)
        return Reply(say=said)


def _note_records(ctx: Context, session: str, said: str) -> None:
    """Records that the session has read need not be shown again at a prompt."""
    for id in sorted(records_in(said)):
        first_time(ctx, session, f"record:{id}")


def _remembered(ctx: Context, args: HookEvent, session: AgentSession) -> str:
    if args.source == "compact":
        return f"before the compaction: {session.checkpoint}" if session.checkpoint else ""
    before = session_before(ctx, args.session) if args.source in ("", "startup", "new") else None
    if before is None or ctx.now_ms - before.seen_ms > WEEK_MS:
        return ""
    # Not every client reports the end of a session, and a killed one cannot.
    did = before.checkpoint or summary(actions_of(ctx, before.id))
    return f"last session ({before.client}, {before.id[:8]}): {did}" if did else ""


def prompt(ctx: Context, args: HookEvent) -> Reply:
    """On the first prompt a pack of records; later only a strong, new match. Nothing on commands of the client."""
    asked = public(args.prompt).strip()
    with ctx.reading() as bound:
        session = session_of(bound, args.session, args.client)
        started = was_shown(bound, args.session, STARTED)
        task = task_in_focus(bound, session)
    parts: list[str] = []
    if not started:  # the start event was missed, or the client has none
        told = status_text(ctx, FAMILIES[args.client], task.id if task else None)
        parts += [told] if told else []
    with ctx.reading() as bound:
        seen = set(shown_records(bound, args.session))
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
    """The text for a prompt. Only records that fit into it are marked as shown."""
    fresh = [hit for hit in found if not was_shown(ctx, session, f"record:{hit['_id']}")]
    named = records_in("\n".join(parts))
    fresh = [hit for hit in fresh if hit["_id"] not in named]
    texts = [*parts, *(hit_line(hit, None if ctx.connection.place else ctx.root) for hit in fresh)]
    if not texts:
        return ""
    tokens = (start_tokens(ctx) if parts else 0) + (PACK_TOKENS if fresh else 0)
    said, told = fenced_texts(ctx.workspace, ctx.now_ms, "the prompt", texts, tokens)
    for hit in fresh[: told - len(parts)]:
        first_time(ctx, session, f"record:{hit['_id']}")
    if parts:
        _note_records(ctx, session, said)
    return said


def before_compaction(ctx: Context, args: HookEvent) -> Reply:
    _checkpoint(ctx, args, ended=False)
    return SILENCE


def session_end(ctx: Context, args: HookEvent) -> Reply:
    _checkpoint(ctx, args, ended=True)
    if ctx.project is not None:
        keep_current(ctx, ProjectPlaces.of(ctx.project))
    return SILENCE


def _checkpoint(ctx: Context, args: HookEvent, ended: bool) -> None:
    """Store a summary of the session's actions, for the next session start."""
    with ctx.writing() as bound:
        session = session_of(bound, args.session, args.client)
        said = summary(actions_of(bound, args.session))
        end = bound.now_ms if ended else None
        keep_session(bound, replace(session, checkpoint=said or session.checkpoint, ended_ms=end))
        # Once for each session, at its end, when no agent waits for an answer.
        if ended:
            drop_old(bound)


def stop(ctx: Context, args: HookEvent) -> Reply:
    """Report once that the step in focus is not proven, if this session worked on it. Block only if configured."""
    if ctx.settings.hook_stop == "off":
        return SILENCE
    with ctx.reading() as bound:
        session = find_session(bound, args.session)
        step = step_in_focus(bound, session) if session is not None else None
        proof = unproven(bound, step) if step is not None else None
        worked = any(action.kind == EDIT for action in actions_of(bound, args.session))
    if step is None or proof is None or not worked or not in_time(ctx, args):
        return SILENCE
    line = unproven_line(step, proof)
    with ctx.writing() as bound:
        # Once for each step and session: an agent that has decided to stop must not be held in a loop.
        if not first_time(bound, args.session, f"unproven:{step.id}"):
            return SILENCE
    return Reply(decision="block", reason=line) if ctx.settings.hook_stop == "block" else Reply(notice=line)


_HANDLERS: dict[str, Callable[[Context, HookEvent], Reply]] = {
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
