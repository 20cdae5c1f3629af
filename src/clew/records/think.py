"""think: one step of reasoning, in the caller's thought session. A thought is a record like any other."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from clew.canonical import Json
from clew.errors import ClewError, Suggestion, invalid, shorten, suggest
from clew.ids import chain_like
from clew.ledger.chains import MAIN, find_chain
from clew.ledger.inputs import Kind as ThoughtKind
from clew.ledger.stages import leave_session, own_session, place_of
from clew.ledger.thought_rows import thought_by_seq
from clew.ledger.thoughts import ThoughtInput, WrittenThought, write_thought
from clew.records.focus import open_focus
from clew.records.links import add_link
from clew.registry.arguments import parse
from clew.registry.context import Context
from clew.registry.lookup import find_operation
from clew.registry.operation import Input, Name, Text, View, Whole, operation

_NUMBER = re.compile(r"(?:\S*:|s)?(\d{1,9})", re.IGNORECASE)


def thought_number(given: Any) -> Any:
    """The number of a thought: 2 for `S2`, as texts refer to it, and for `SESSION:2`, as it is opened."""
    match = _NUMBER.fullmatch(given.strip()) if isinstance(given, str) else None
    return int(match[1]) if match is not None else given


ThoughtNumber = Annotated[Whole, BeforeValidator(thought_number)]


class ThinkInput(Input):
    synonyms: ClassVar[dict[str, str]] = {"thought": "text", "content": "text", "type": "kind", "session_id": "session"}

    text: Annotated[Text, Field(min_length=1, description="The thought, in plain words.")]
    kind: Annotated[ThoughtKind | None, Field(description="hypothesis, evidence, question, conclusion, ...")] = None
    session: Annotated[Name | None, Field(description="Session id; default: the one you think in.")] = None
    branch: Annotated[Name | None, Field(description="Think on a branch of this name.")] = None
    branch_from: Annotated[ThoughtNumber | None, Field(description="Thought where a new branch starts.")] = None
    revises: Annotated[ThoughtNumber | None, Field(description="Number of the thought that this one replaces.")] = None


def think_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    about = [result["kind"]] if result.get("kind") else []
    about += result.get("links", [])
    branch = f" on {result['branch']}" if result.get("branch") else ""
    said = f" ({shorten(', '.join(about), 60)})" if about else ""
    # The session is the caller's own, so its id is reported only once.
    session = f", session {result['session']}" if result["number"] == 1 else ""
    lines = [f"thought {result['number']}{branch}{said}{session}"]
    if result.get("unresolved"):
        lines.append(f"not found: {shorten(', '.join(result['unresolved']), 60)}")
    return lines


@operation(
    "think",
    writes=True,
    mode="own",
    example={"text": "Reads after a write see old rows, so the cache is the suspect."},
    view=View(in_lines=True, lines=think_lines),
)
def think(ctx: Context, args: ThinkInput) -> dict[str, Any]:
    """Record one thought in your session. Refer to earlier ones as S1, S2; revise one, or branch off."""
    if not args.text.strip():
        raise invalid("text", "must not be empty", "Say what you think.", kind="non_empty")
    given = {
        "thought": args.text,
        "nextThoughtNeeded": True,
        "type": args.kind,
        "sessionId": args.session,
        "branchId": args.branch,
        "branchFromThought": args.branch_from,
        "revisesThought": args.revises,
        "isRevision": True if args.revises is not None else None,
    }
    try:
        thought = parse(find_operation("thought"), {name: value for name, value in given.items() if value is not None})
        assert isinstance(thought, ThoughtInput)
        written = _written(ctx, thought)
    except ClewError as refusal:
        raise _in_own_words(ctx, args, refusal) from None
    answer = written.answer
    understood = answer.get("parsed", {})
    if understood.get("type") == HYPOTHESIS:
        _belongs(ctx, written)
    return {
        "number": answer["thoughtNumber"],
        "session": answer["sessionId"],
        "branch": answer.get("branchId"),
        "kind": understood.get("type"),
        "links": understood.get("links", []),
        "unresolved": understood.get("unresolved", []),
    }


def _written(ctx: Context, thought: ThoughtInput) -> WrittenThought:
    """Write the thought into the caller's own session; into a new one if a restore or a deletion removed that."""
    try:
        return write_thought(ctx, thought)
    except ClewError as refusal:
        if refusal.code != "SESSION_NOT_FOUND" or thought.session_id or not ctx.connection.durable:
            raise
    gone = leave_session(ctx)
    written = write_thought(ctx, thought)
    ctx.warn(
        "SESSION_GONE",
        f"session {gone}, in which you thought, is not in the store any more: this thought begins {written.session}",
        "The store was restored or replaced, or the session was deleted.",
    )
    return written


_WORDS = {
    "branchFromThought": "branch_from",
    "revisesThought": "revises",
    "branchId": "branch",
    "sessionId": "session",
}
"""The arguments of `think` by their names in `thought`, which does the work."""


def _in_own_words(ctx: Context, args: ThinkInput, refusal: ClewError) -> ClewError:
    """Translates an error to this tool's arguments, with the corrected call first."""

    def own(said: str) -> str:
        for theirs, ours in _WORDS.items():
            said = said.replace(theirs, ours)
        return said

    hints = [{own(name): own(value) if name == "field" else value for name, value in h.items()} for h in refusal.hints]
    field = hints[0].get("field", "") if hints else ""
    ways = _ways_out(ctx, args, refusal, str(field))
    recovery = own(refusal.recovery) if refusal.recovery else None
    details = {name: value for name, value in refusal.details.items() if name != "example"}
    return ClewError(refusal.code, own(refusal.message), recovery, hints, ways, details)


def _ways_out(ctx: Context, args: ThinkInput, refusal: ClewError, field: str) -> list[Suggestion]:
    given = args.model_dump(exclude_none=True)
    if refusal.code == "SESSION_NOT_FOUND" or field == "session":
        others = refusal.suggestions if refusal.code == "SESSION_NOT_FOUND" else []
        return [suggest("think", "Thinks in your own session.", "high", **_without(given, "session")), *others]
    if refusal.code == "THOUGHT_NOT_FOUND":
        return _known_thoughts(ctx, args, refusal, given)
    if field == "branch_from":
        return [_branch_from(ctx, args, given)]
    if field == "branch" and args.branch is not None:
        fixed = {**given, "branch": chain_like(args.branch)}
        return [suggest("think", "The same on a branch with an allowed name.", "high", **fixed)]
    return refusal.suggestions


def _known_thoughts(ctx: Context, args: ThinkInput, refusal: ClewError, given: Json) -> list[Suggestion]:
    if args.session is None and own_session(ctx) is None:
        # The session would begin with this thought: there is none to refer to.
        repaired = _without(given, "revises", "branch_from", "branch")
        return [suggest("think", "Begins your session; there is no earlier thought.", "high", **repaired)]
    known = [way["params"].get("sessionId") for way in refusal.suggestions]
    return [suggest("open", "Shows the thoughts there are, by number.", "high", id=id) for id in known if id]


def _without(given: Json, *names: str) -> Json:
    return {name: value for name, value in given.items() if name not in names}


def _branch_from(ctx: Context, args: ThinkInput, given: dict[str, Any]) -> Suggestion:
    if args.branch_from is None:
        return _branched(ctx, args, given)
    return suggest("think", "Goes on with the branch where it is.", "high", **_without(given, "branch_from"))


def _branched(ctx: Context, args: ThinkInput, given: Json) -> Suggestion:
    """A new branch starts at the last thought; without one there is nothing to branch from."""
    with ctx.reading() as reading:
        session = args.session or place_of(reading, None).session
        main = find_chain(reading, session, MAIN) if session is not None else None
    if main is None or not main.length:
        reason = "The first thought of a session is on no branch."
        return suggest("think", reason, "high", **_without(given, "branch"))
    return suggest("think", "Branches off at your last thought.", "high", **given, branch_from=main.newest)


HYPOTHESIS = "H"


def _belongs(ctx: Context, written: WrittenThought) -> None:
    """Link a hypothesis with its task, because it stays open for whichever agent continues it; other
    thoughts are not linked."""
    with ctx.writing() as bound:
        task, thought = open_focus(bound), thought_by_seq(bound, written.seq)
        if task is not None and thought is not None:
            add_link(bound, thought.node_id, "about", task)
