"""The operation `thought`, which records one step of reasoning and returns the parsed parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import orjson
from pydantic import Field

from clew.canonical import Json, without_none
from clew.errors import invalid
from clew.ledger import critique
from clew.ledger.chains import MAIN, Chain, Point, chains_of, has_thought, session_and_chain
from clew.ledger.cipher import described, kind_letter
from clew.ledger.exchange.session_documents import export_json, write_whole
from clew.ledger.guides import guide
from clew.ledger.inputs import Id, Kind, LedgerInput, MaybeSession, Number, SessionTitle, Tags
from clew.ledger.sessions import (
    COMPLETED,
    UNTITLED,
    LedgerSession,
    NewSession,
    change_session,
    complete_session,
    one_line,
    reopen_session,
    session_named,
    start_session,
    tag_list,
    work_tags,
)
from clew.ledger.stages import StageOfCaller, moved, place_of, seat
from clew.ledger.thought_links import node_id
from clew.ledger.thought_record import Recorded, ThoughtDraft, record
from clew.ledger.thought_rows import thought_by_seq
from clew.registry.context import Context
from clew.registry.operation import Text, operation

COOKBOOK = "patterns-cookbook"


class ThoughtInput(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {**LedgerInput.synonyms, "content": "thought"}

    thought: Annotated[Text, Field(min_length=1, description="The reasoning; cipher notation or plain words.")]
    next_thought_needed: Annotated[bool, Field(description="false completes the session.")]
    thought_number: Annotated[Number | None, Field(description="Default: the chain's next number.")] = None
    total_thoughts: Annotated[Number | None, Field(description="Estimate; raised to the number when smaller.")] = None
    is_revision: Annotated[bool | None, Field(description="The thought revises an earlier one.")] = None
    revises_thought: Annotated[Number | None, Field(description="Number of the thought it revises.")] = None
    branch_from_thought: Annotated[Number | None, Field(description="Fork point of a new branch.")] = None
    branch_from_branch: Annotated[Id | None, Field(description="Branch of the fork point; default: main line.")] = None
    branch_id: Annotated[Id | None, Field(description="Branch to write to: lower-case letters, digits, '-'.")] = None
    needs_more_thoughts: Annotated[bool | None, Field(description="More thoughts are needed than planned.")] = None
    type: Annotated[Kind | None, Field(description="Kind of thought; default: as the notation says.")] = None
    critique: Annotated[bool, Field(description="Ask the client's own model for a critique.")] = False
    verbose: Annotated[bool, Field(description="Tell more than number, session and what was understood.")] = False
    include_guide: Annotated[bool, Field(description="Add the cookbook of reasoning patterns.")] = False
    session_id: MaybeSession = None
    session_title: Annotated[SessionTitle | None, Field(description="Title, from a session's first thought.")] = None
    session_tags: Annotated[Tags | None, Field(description="Tags, from a session's first thought.")] = None
    agent_id: Annotated[Id | None, Field(description="Who thinks.")] = None


@operation(
    "thought",
    writes=True,
    mode="own",
    example={"thought": "S1|O|Page loads take 4 s since Monday", "nextThoughtNeeded": True},
)
def thought(ctx: Context, args: ThoughtInput) -> Json:
    """Record a thought in the current session; the server numbers it.

    Without a session one is started, named after the first sentence. Text such as `S3|E|S2|logs show it` is read as
    cipher: its type, references and revision become links. branchId with branchFromThought starts a branch.
    """
    _check(args)
    # A stateless client repeats the whole call with its model's reply; the thought must not be written twice.
    written = _resumed(ctx, args) or write_thought(ctx, args)
    if args.critique:
        written.answer["critique"] = critique.critique(ctx, written.seq)
    if not args.next_thought_needed:
        written.answer.update(closing(ctx, written.session))
    if args.include_guide:
        written.answer["guide"] = guide(COOKBOOK)
    return written.answer


@dataclass(frozen=True)
class WrittenThought:
    session: str
    seq: int
    answer: Json


def _check(args: ThoughtInput) -> None:
    if not args.thought.strip():
        raise invalid("thought", "must not be empty", "Say what you think.", kind="non_empty")
    if args.is_revision is False and args.revises_thought is not None:
        raise invalid("isRevision", "is false although revisesThought is given", "Leave isRevision out.")
    if args.branch_from_branch is not None and args.branch_from_thought is None:
        raise invalid("branchFromThought", "is required with branchFromBranch", kind="missing_required")


def _resumed(ctx: Context, args: ThoughtInput) -> WrittenThought | None:
    """The thought that the first round of a stateless call wrote before the request to the client's model."""
    seq = critique.resumed(ctx) if args.critique else None
    if seq is None:
        return None
    with ctx.reading() as bound:
        found = thought_by_seq(bound, seq)
    if found is None:
        return None
    return WrittenThought(found.session, seq, _small(found.point.number, found.session, found.point.chain))


def _small(number: int, session: str, chain: str) -> Json:
    return {"thoughtNumber": number, "sessionId": session, **without_none(branchId=chain or None)}


def write_thought(ctx: Context, args: ThoughtInput) -> WrittenThought:
    with _first_come(ctx, args):
        with ctx.writing() as bound:
            place = place_of(bound, args.session_id)
            session, chain = _session(bound, args, place)
            # Computed before the place moves: afterwards every session would be the caller's own.
            started = session.id not in (args.session_id, place.session)
            # A thought after the final one resumes the session.
            reopened = reopen_session(bound, session)
            recorded = record(bound, session, _draft(args), chain)
            if args.critique:
                critique.count(bound, session)
            if not args.next_thought_needed:
                complete_session(bound, _session_after(recorded))
            answer = _answer(bound, args, recorded, reopened)
        # After the commit, because the session would not exist if the transaction failed.
        if started and ctx.connection.durable:
            seat(ctx).places[ctx.workspace] = moved(place, session)
    return WrittenThought(session.id, recorded.seq, answer)


@contextmanager
def _first_come(ctx: Context, args: ThoughtInput) -> Iterator[None]:
    """Lock the connection for its first thought: two concurrent ones must not start two sessions."""
    known = args.session_id or (ctx.connection.durable and seat(ctx).places.get(ctx.workspace, StageOfCaller()).session)
    if known or not ctx.connection.durable:
        yield
        return
    # Only while no session is known; later thoughts of a connection do not wait for each other.
    with seat(ctx).lock:
        yield


def _session(ctx: Context, args: ThoughtInput, place: StageOfCaller) -> tuple[LedgerSession, Chain | None]:
    """The session for the thought, a new one if there is none, and the chain if it exists."""
    wanted = args.session_id or place.session
    if wanted is not None:
        session, chain = session_and_chain(ctx, wanted, args.branch_id or MAIN)
        if args.session_id or not _begins_anew(ctx, session, args):
            return _named_by_first(ctx, session, args), chain
    tags = (*(args.session_tags or ()), *work_tags(dict(place.work)))
    return start_session(ctx, NewSession(args.session_title or UNTITLED, tags=tags)), None


def _begins_anew(ctx: Context, session: LedgerSession, args: ThoughtInput) -> bool:
    """Whether to start a new session: after a final thought, another title or a second number 1 means so."""
    if session.status != COMPLETED or args.branch_id:
        return False
    if args.session_title is not None and one_line(args.session_title) != session.title:
        return True
    return args.thought_number == 1 and has_thought(ctx, session.id, Point(MAIN, 1))


def _named_by_first(ctx: Context, session: LedgerSession, args: ThoughtInput) -> LedgerSession:
    """Let the first thought name and tag its session; later ones get a warning, since session_update does that."""
    if not (args.session_title or args.session_tags):
        return session
    if session.thought_count:
        if args.session_title not in (None, session.title) or not set(args.session_tags or ()) <= set(session.tags):
            ctx.warn(
                "TITLE_IGNORED",
                "The session has its title and tags from its first thought.",
                "Change them with session.update.",
            )
        return session
    tags = tag_list([*session.tags, *(args.session_tags or ())])
    return change_session(ctx, session, args.session_title or session.title, session.description, tags)


def _draft(args: ThoughtInput) -> ThoughtDraft:
    return ThoughtDraft(
        text=args.thought,
        next_needed=args.next_thought_needed,
        number=args.thought_number,
        total=args.total_thoughts,
        is_revision=args.is_revision,
        revises=args.revises_thought,
        chain=args.branch_id or MAIN,
        from_number=args.branch_from_thought,
        from_chain=args.branch_from_branch,
        kind=kind_letter(args.type),
        needs_more=args.needs_more_thoughts,
    )


def _session_after(recorded: Recorded) -> LedgerSession:
    """The session with this thought counted, computed instead of read again."""
    session, plan = recorded.session, recorded.plan
    return replace(
        session,
        thought_count=session.thought_count + 1,
        branch_count=session.branch_count + int(plan.opens_branch),
    )


def _answer(ctx: Context, args: ThoughtInput, recorded: Recorded, reopened: bool) -> Json:
    plan = recorded.plan
    answer = _small(plan.point.number, recorded.session.id, plan.point.chain)
    understood = _understood(recorded)
    if understood:
        answer["parsed"] = understood
    if reopened:
        answer["reopened"] = True
    written = plan.reading.number
    if written is not None and written != plan.point.number:
        ctx.warn(
            "NUMBER_DIFFERS",
            f"The text says S{written}; the thought is number {plan.point.number}.",
            f"Refer to it as S{plan.point.number}.",
        )
    if args.verbose:
        return answer | _counts(ctx, args, recorded) | _more(recorded) | _guidance(ctx, args, recorded)
    return answer if args.next_thought_needed else answer | _counts(ctx, args, recorded)


def _understood(recorded: Recorded) -> Json:
    plan = recorded.plan
    parts = described(plan.reading)
    if plan.kind:
        parts["type"] = plan.kind
    if plan.linked.links:
        parts["links"] = [f"{link.relation} {link.point.short}" for link in plan.linked.links]
    if plan.linked.unresolved:
        parts["unresolved"] = list(plan.linked.unresolved)
    return parts


def _counts(ctx: Context, args: ThoughtInput, recorded: Recorded) -> Json:
    """The counts in a verbose response and in the response to a final thought."""
    session = _session_after(recorded)
    return {
        "totalThoughts": recorded.plan.total,
        "nextThoughtNeeded": args.next_thought_needed,
        "branches": [chain.chain for chain in chains_of(ctx, session.id, limit=100)],
        "thoughtHistoryLength": session.thought_count,
    }


def _guidance(ctx: Context, args: ThoughtInput, recorded: Recorded) -> Json:
    """Addresses of resources that may help now. The texts are long, so only their addresses are given."""
    plan = recorded.plan
    ends = plan.point.number == 1 or (args.total_thoughts is not None and plan.point.number == plan.total)
    links = ["thoughtbox://patterns-cookbook"] if ends else []
    links += ["thoughtbox://guidance/parallel-verification"] if plan.opens_branch else []
    ctx.remarks.resources.extend(links)
    return {"resources": links} if links else {}


def _more(recorded: Recorded) -> Json:
    plan, session = recorded.plan, recorded.session
    ids = {"prev": plan.prev, "revisesNode": plan.revised, "branchOrigin": plan.origin}
    return {
        "node": {
            "id": node_id(session.id, plan.point),
            **{name: node_id(session.id, point) if point else None for name, point in ids.items()},
        },
        "seq": recorded.seq,
    }


def closing(ctx: Context, session: str) -> Json:
    """Additional fields of the response to a final thought. If the export file cannot be written, it only warns."""
    closed: Json = {"sessionId": None, "sessionClosed": True, "closedSessionId": session}
    with ctx.reading() as bound:
        exported = export_json(bound, session_named(bound, session))
    try:
        closed["exportPath"] = str(write_export(ctx.settings.home / "exports", session, exported))
    except OSError as problem:
        ctx.warn("EXPORT_FAILED", f"The copy could not be written: {problem}", "Use session_export to read it instead.")
    return closed


def write_export(folder: Path, session: str, exported: Json) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = exported["exportedAt"].replace(":", "-").replace(".", "-")
    path = folder / f"{session}-{stamp}.json"
    write_whole(path, orjson.dumps(exported, option=orjson.OPT_INDENT_2))
    return path
