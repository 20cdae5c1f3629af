"""start_new, load_context, get_state, cipher and list_sessions: starting and resuming work in a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json, without_none
from clew.errors import shorten, suggest
from clew.hooks import HookPoint
from clew.ledger.chains import MAIN, chains_of, find_chain
from clew.ledger.guides import guide
from clew.ledger.inputs import EXAMPLE, CallersSession, LedgerInput, OneSession, SessionTitle, Tags
from clew.ledger.sessions import (
    COMPLETED,
    UNTITLED,
    WORK,
    LedgerSession,
    NewSession,
    SessionQuery,
    change_columns,
    find_session,
    find_sessions,
    related,
    reopen_session,
    session_json,
    session_named,
    start_session,
    work_tags,
)
from clew.ledger.stages import GATEWAY, LEFT, STAGES, StageOfCaller, checked_domain, keep_place, moved, place_of, stored
from clew.ledger.thought_rows import newest_thoughts, thought_json
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import StrictModel, operation

RECENT = 5
RECENT_TEXT = 2000
CONTEXT_BUDGET = Budget(
    (Clip("recent[].thought", RECENT_TEXT), Drop("text"), Trim("branches", drop="last"), Clip("recent[].thought", 200)),
    32_000,
    keep=("sessionId", "stage", "nextThoughtNumber"),
    rest=lambda result: suggest("session_get", "Shows its thoughts.", "medium", sessionId=result["sessionId"]),
)
ASPECTS = ("understanding", "design", "implementing", "debugging", "reviewing", "documenting")

Part = Annotated[str, Field(min_length=1, max_length=90)]


class Work(StrictModel):
    project: Part | None = None
    task: Part | None = None
    aspect: Part | None = None
    domain: Part | None = None


class StartNew(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {**LedgerInput.synonyms, "title": "sessionTitle", "tags": "sessionTags"}

    session_title: Annotated[SessionTitle | None, Field(description="Default: the first thought's first sentence.")] = (
        None
    )
    session_tags: Annotated[Tags, Field(description="Tags of the session.")] = []
    description: Annotated[str | None, Field(max_length=10_000, description="What the session is about.")] = None
    project: Annotated[Part | None, Field(description="Kept as the tag project:...")] = None
    task: Annotated[Part | None, Field(description="Kept as the tag task:...")] = None
    aspect: Annotated[Part | None, Field(description=f"Kept as the tag aspect:..., such as {', '.join(ASPECTS)}.")] = (
        None
    )
    domain: Annotated[Part | None, Field(description="Narrows the mental models that are listed.")] = None
    new_work: Annotated[Work | None, Field(description="The same four as one object.")] = None
    cipher: Annotated[bool, Field(description="Also show the notation and open thinking.")] = False

    def work(self) -> dict[str, str | None]:
        nested = self.new_work or Work()
        return {name: getattr(self, name) or getattr(nested, name) for name in (*WORK, "domain")}


@operation("start_new", writes=True, example={"sessionTitle": "Why is search slow?"})
def start_new(ctx: Context, args: StartNew) -> Json:
    """Start a thought session and make it the current one."""
    before = place_of(ctx, None)
    work = args.work()
    # A bound directory determines the project; it takes precedence over a name in the arguments.
    if before.root and work["project"] != before.root:
        if work["project"]:
            ignored = f"Project {work['project']!r} was ignored: the bound root says {before.root!r}."
            ctx.warn("PROJECT_FROM_ROOT", ignored, "Bind another root with bind_root to change it.")
        work["project"] = before.root
    chosen = checked_domain(work.pop("domain"))
    domain = None if chosen == LEFT else chosen  # a new session does not inherit the domain of the last one
    label = " / ".join(value for value in (work[name] for name in WORK) if value)
    tags = (*args.session_tags, *work_tags(work))
    draft = replace(before, cipher=before.cipher or args.cipher, domain=domain)
    session = start_session(
        ctx, NewSession(args.session_title or label or UNTITLED, args.description, tags, place=stored(draft))
    )
    place = moved(draft, session)
    keep_place(ctx, place)
    near = related(ctx, session, limit=5)
    _next_step(ctx, place, session.id)
    return {**_stage(place), "sessionId": session.id, "session": session_json(session), "related": near} | {
        "text": _started_text(place, session, near, args.cipher)
    }


def _stage(place: StageOfCaller) -> Json:
    return {"stage": place.stage, "stageName": place.stage_name}


def _next_step(ctx: Context, place: StageOfCaller, session: str) -> None:
    handle = {} if ctx.connection.durable else {"sessionId": session}
    if place.stage < 2:
        ctx.suggest(suggest(GATEWAY, "Shows the notation and opens thinking.", "high", operation="cipher", **handle))


def _started_text(place: StageOfCaller, session: LedgerSession, near: list[Json], cipher: bool) -> str:
    lines = [
        f"Session started: {session.title}",
        f"sessionId: {session.id}",
        f"Stage: {place.stage} {place.stage_name}",
    ]
    lines += [f"Tags: {', '.join(session.tags)}"] if session.tags else []
    lines += ["Related sessions:", *(f"- {item['id']} {item['title']}" for item in near)] if near else []
    lines.append("Next: thought." if place.cipher else "Next: cipher.")
    return "\n".join(lines) + (f"\n\n{guide('cipher')}" if cipher else "")


@operation(
    "load_context",
    writes=True,
    idempotent=True,
    budget=CONTEXT_BUDGET,
    example=EXAMPLE,
)
def load_context(ctx: Context, args: OneSession) -> Json:
    """Go on with a session: makes it current and shows its state, its branches and its last thoughts."""
    session = session_named(ctx, args.session_id)
    place = moved(place_of(ctx, session.id), session)
    return restored(ctx, session, place)


def restored(ctx: Context, session: LedgerSession, place: StageOfCaller) -> Json:
    """Enter a session, reopening it if it was completed; returns everything needed to continue."""
    reopened = reopen_session(ctx, session)
    change_columns(ctx, session.id, accessed_at_ms=ctx.now_ms)
    keep_place(ctx, place)
    # Read again, because reopening and touching have changed the row.
    session = session_named(ctx, session.id)
    main = find_chain(ctx, session.id, MAIN)
    branches = [
        {"branchId": c.chain, "from": c.origin.short if c.origin else None, "length": c.length, "next": c.next_number}
        for c in chains_of(ctx, session.id, limit=50)
    ]
    recent = [thought_json(item) for item in newest_thoughts(ctx, session.id, RECENT)]
    result = {
        **_stage(place),
        "sessionId": session.id,
        "session": session_json(session),
        "reopened": reopened,
        "currentThought": main.newest if main else 0,
        "nextThoughtNumber": main.next_number if main else 1,
        "branches": branches,
        "recent": recent,
    }
    _next_step(ctx, place, session.id)
    return result | {"text": _loaded_text(place, session, result)}


def _loaded_text(place: StageOfCaller, session: LedgerSession, result: Json) -> str:
    lines = [
        f"Loaded session: {session.title}",
        f"ID: {session.id}",
        f"Thoughts: {session.thought_count}",
        f"Status: {session.status}",
        f"Current #: {result['currentThought']}",
        f"Next thought number: {result['nextThoughtNumber']}",
        f"Stage: {place.stage} {place.stage_name}",
    ]
    lines += [f"{name.capitalize()}: {value}" for name, value in session.work.items()]
    lines += [f"Branch {b['branchId']}: {b['length']} from {b['from']}, next {b['next']}" for b in result["branches"]]
    lines += ["Recent context:"] if result["recent"] else []
    for item in result["recent"]:
        where = f"{item['branchId']}:" if "branchId" in item else ""
        lines.append(f"- {where}{item['thoughtNumber']}: {shorten(item['thought'], RECENT_TEXT)}")
    lines.append("Next: thought." if place.cipher else "Next: cipher.")
    return "\n".join(lines)


@operation("get_state")
def get_state(ctx: Context, args: CallersSession) -> Json:
    """Say at which stage the caller is, in which session, and what comes next."""
    place = place_of(ctx, args.session_id)
    known = find_session(ctx, place.session) if place.session else None  # another connection may have deleted it
    # The place keeps a completed session, because a plain thought resumes it; until then none is active.
    closed = known if known and known.status == COMPLETED else None
    session = known if closed is None else None
    # A bound root is the project of later sessions, also while there is no session about it yet.
    project = place.work.get("project") or place.root
    facts = {"project": project, **place.work, "domain": place.domain, "root": place.root}
    lines = [f"Stage: {place.stage} {place.stage_name}"]
    lines += [f"{name.capitalize()}: {value}" for name, value in facts.items() if value]
    lines += [f"Active session: {session.id} {session.title}"] if session else []
    if closed:
        lines.append(
            f"No active reasoning session: {closed.id} {closed.title} is completed. A thought goes on with it."
        )
    lines.append(f"Next: {('start_new or load_context', 'cipher', 'thought', 'thought')[place.stage]}.")
    offer_import(ctx)
    if place.stage == 0:
        ctx.suggest(
            suggest(GATEWAY, "Starts a session and opens thinking.", "high", operation="start_new", cipher=True)
        )
    else:
        _next_step(ctx, place, place.session or "")
    return {
        **_stage(place),
        "stages": list(STAGES),
        "sessionId": session.id if session else None,
        "session": session_json(session) if session else None,
        "closedSessionId": closed.id if closed else None,
        "project": project,
        "task": place.work.get("task"),
        "aspect": place.work.get("aspect"),
        "domain": place.domain,
        "boundRoot": place.root,
        "text": "\n".join(lines),
    }


@operation("cipher", writes=True, mode="own", idempotent=True)
def cipher(ctx: Context, args: CallersSession) -> Json:
    """Show the notation for thoughts; the gateway then accepts thoughts."""
    if ctx.connection.durable:
        place = replace(place_of(ctx, None), cipher=True)
        keep_place(ctx, place)
    # A stateless caller has no connection to keep the stage in; the session row keeps it.
    elif args.session_id is not None:
        with ctx.writing() as bound:
            session = session_named(bound, args.session_id)
            place = replace(place_of(bound, session.id), cipher=True)
            keep_place(bound, place)
    else:
        place = StageOfCaller(cipher=True)
    return {**_stage(place), "uri": "thoughtbox://cipher", "text": guide("cipher")}


sessions_elsewhere: HookPoint[Callable[[Context], object]] = HookPoint("sessions_elsewhere")
"""Suggests an import if another program has left sessions that the store does not have."""


def offer_import(ctx: Context) -> None:
    for offer in sessions_elsewhere.all():
        offer(ctx)


class Filters(StrictModel):
    project: Part | None = None
    task: Part | None = None
    aspect: Part | None = None
    search: Annotated[str | None, Field(max_length=1000)] = None
    limit: Annotated[int | None, Field(ge=1, le=100)] = None


class ListSessions(LedgerInput):
    project: Part | None = None
    task: Part | None = None
    aspect: Part | None = None
    search: Annotated[str | None, Field(max_length=1000, description="Part of title, description or tag.")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="Most sessions to list.")] = 20
    filters: Annotated[Filters | None, Field(description="The same as one object.")] = None


@operation("list_sessions")
def list_sessions(ctx: Context, args: ListSessions) -> Json:
    """List sessions, the last changed first, before one is chosen."""
    nested = args.filters or Filters()
    work = {name: getattr(args, name) or getattr(nested, name) for name in WORK}
    search = args.search or nested.search
    found = find_sessions(ctx, SessionQuery(tuple(work_tags(work)), search, limit=nested.limit or args.limit))
    offer_import(ctx)
    given = {**{name: value for name, value in work.items() if value}, **without_none(search=search or None)}
    filters = ", ".join(f"{name}={value}" for name, value in given.items()) or "none"
    lines = [f"Found {found.total} sessions (filters: {filters})"]
    lines += [f"- {s.id} {s.title} ({s.thought_count} thoughts, {s.status})" for s in found.sessions]
    left = found.total - len(found.sessions)
    if left:
        lines.append(f"{left} more are not shown: raise limit (at most 100), narrow the filters, or page session.list.")
    return {
        "sessions": [session_json(session) for session in found.sessions],
        "count": len(found.sessions),
        "total": found.total,
        "hasMore": found.has_more,
        "text": "\n".join(lines),
    }
