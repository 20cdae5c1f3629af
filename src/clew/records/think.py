"""think: one step of reasoning, in the caller's thought session. A thought is a record like any other."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from clew.errors import invalid, shorten
from clew.ledger.inputs import Kind as ThoughtKind
from clew.ledger.thought_rows import thought_by_seq
from clew.ledger.thoughts import ThoughtInput, WrittenThought, write_thought
from clew.records.links import add_link
from clew.registry.callers import own_focus
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Text, Whole, operation

_NUMBER = re.compile(r"(?:\S*:|s)?(\d{1,9})", re.IGNORECASE)


def thought_number(given: Any) -> Any:
    """`S2`, as texts refer to a thought, and `SESSION:2`, as it is opened, are 2."""
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
    # The session is the caller's own, so its id is told once.
    session = f", session {result['session']}" if result["number"] == 1 else ""
    lines = [f"thought {result['number']}{branch}{said}{session}"]
    if result.get("unresolved"):
        lines.append(f"not found: {shorten(', '.join(result['unresolved']), 60)}")
    return lines


@operation(
    "think",
    writes=True,
    mode="own",
    portal=True,
    lines=think_lines,
    example={"text": "Reads after a write see old rows, so the cache is the suspect."},
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
    thought = ThoughtInput.model_validate({name: value for name, value in given.items() if value is not None})
    written = write_thought(ctx, thought)
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


HYPOTHESIS = "H"


def _belongs(ctx: Context, written: WrittenThought) -> None:
    """A hypothesis stays open for whoever takes up the task, so it is linked with it; other thoughts are passed."""
    with ctx.writing() as bound:
        task, thought = own_focus(bound), thought_by_seq(bound, written.seq)
        if task is not None and thought is not None:
            add_link(bound, thought.node_id, "about", task)
