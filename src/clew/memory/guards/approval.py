"""Approved checks: which ones exist, what they say about an action, and how a person overrides one.

Agents may write a check into a rule; only a person turns it into a guard, at the shell (`clew guards
approve`) or in the rule's panel on the page. From then on the approved check fires until a person
revokes it, whatever is written into the block later, and even if the rule is withdrawn: agents can
write those files, and withdraw rules.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from clew.canonical import canonical
from clew.clock import rfc3339
from clew.errors import ClewError, invalid, shorten, suggest, unknown_id
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import clean, set_field
from clew.memory.files.sync import sync
from clew.memory.guards.check import (
    GUARDING,
    RESPONSES,
    Check,
    GuardedAction,
    Response,
    check_in,
    read_check,
    stored_check,
)
from clew.memory.guards.doubt import is_doubtful
from clew.memory.guards.places import note_guards
from clew.memory.kinds import prefix_of
from clew.registry.connection import OBSERVATORY
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Names, Text, operation
from clew.registry.people import check_person
from clew.store.rows import TableRow, delete, find, insert, select, upsert
from clew.store.workspaces import declare_events
from clew.surroundings import clew_command

declare_events(
    {
        "guard_approved": "A person approved the check of a rule or decision: it fires from now on.",
        "guard_revoked": "A person took the approval of a check back.",
        "guard_overridden": "A guard was let pass, by whom and why.",
        "guard_denied": "A guard refused an edit or command.",
    }
)
MOST_MINUTES = 24 * 60
MOST_GUARDS = 500
HOLDING = ("active",)
WITHDRAWN = "guards, rule withdrawn"
_GONE = "the rule itself was changed or withdrawn since"


@dataclass(frozen=True, slots=True)
class Guard(TableRow):
    TABLE: ClassVar[str] = "guard"

    id: str
    fields: str
    digest: str
    approved_by: str
    seq: int
    ts_ms: int

    @property
    def check(self) -> Check:
        return stored_check(self.fields)


@dataclass(frozen=True, slots=True)
class GuardOverride(TableRow):
    TABLE: ClassVar[str] = "guard_override"
    KEY: ClassVar[tuple[str, ...]] = ("number",)

    number: int
    id: str
    why: str
    action: str | None
    by_whom: str
    until_ms: int
    ts_ms: int


@dataclass(frozen=True, slots=True)
class Objection:
    """The response of one guard to an action."""

    id: str
    response: Response
    says: str
    """The message of the check, or the statement of the rule."""
    since: str
    """The day on which the check was approved."""
    by: str
    """Who approved it."""
    gone: str | None = None
    """A note that the rule is no longer in force, and how to revoke the check."""


def _asks_in_doubt(check: Check, action: GuardedAction) -> bool:
    return check.action != "inform" and is_doubtful(check, action)


def objections(ctx: Context, action: GuardedAction) -> list[Objection]:
    """The responses of the guards that fire at an action and are not overridden, strictest first."""
    guards = _armed(ctx)
    fired = [guard for guard in guards if guard.check.fires(action)]
    unclear = [guard for guard in guards if guard not in fired and _asks_in_doubt(guard.check, action)]
    fired += unclear
    if not fired:
        return []
    passed = _passed(ctx, [guard.id for guard in fired])
    # Only read for the guards that fired: this runs before each tool call of an agent.
    rules = {block.id: block for block in blocks.current(ctx, ids=[guard.id for guard in fired])}
    found = [_objection(guard, rules.get(guard.id), guard in unclear) for guard in fired if guard.id not in passed]
    return sorted(found, key=lambda item: (-RESPONSES.index(item.response), item.id))


def _armed(ctx: Context) -> list[Guard]:
    return select(ctx.tx, ctx.workspace, Guard, "TRUE ORDER BY id LIMIT ?", MOST_GUARDS)


def _objection(guard: Guard, rule: Block | None, is_unclear: bool) -> Objection:
    stated = (rule.get("Statement") or rule.headline) if rule is not None else ""
    says = shorten(guard.check.message or stated or guard.check.in_words(), 300)
    response = guard.check.action
    if is_unclear:
        # An undecidable case is put to the user, however strict the guard is.
        response, says = "ask", f"It cannot be told whether this command does what is guarded: {says}"
    gone = None if rule is not None and rule.status in HOLDING else _GONE
    return Objection(guard.id, response, says, blocks.day_of(guard.ts_ms), guard.approved_by, gone)


def _passed(ctx: Context, ids: Iterable[str]) -> set[str]:
    """The guards that a person currently overrides."""
    wanted = set(ids)
    rows = ctx.tx.all("SELECT id FROM guard_override WHERE workspace = ? AND until_ms > ?", ctx.workspace, ctx.now_ms)
    return {row["id"] for row in rows} & wanted


def log_override(
    ctx: Context, id: str, why: str, by: str, minutes: int = 0, action: str | None = None
) -> GuardOverride:
    """Log an override of a guard; with minutes it lasts that long."""
    until = ctx.now_ms + minutes * 60_000
    made = GuardOverride(ctx.ws.count("guard_override"), id, why, action, by, until, ctx.now_ms)
    insert(ctx.tx, ctx.workspace, made)
    ctx.ws.next_seq()
    ctx.emit("memory", "guard_overridden", id, {"why": why, "by": by, "action": action, "minutes": minutes})
    return made


class Guards(Input):
    id: Annotated[Name | None, Field(description="Only this rule or decision.")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most to show of each list.")] = 50


@operation("guards", mode="own")
def guards(ctx: Context, args: Guards) -> dict[str, Any]:
    """List the checks that rules and decisions carry: approved, waiting for a person, or unreadable; and overrides."""
    sync(ctx)
    with ctx.reading() as bound:
        armed = {guard.id: guard for guard in _armed(bound)}
        wanted = args.id.strip().upper() if args.id else None
        carrying = _carrying(bound, armed)
        rules = {block.id: block for block in carrying}
        listed = [*rules, *sorted(set(armed) - rules.keys())]
        rows = [_row(id, rules.get(id), armed.get(id)) for id in listed if wanted in (None, id)]
        newest = "TRUE ORDER BY number DESC LIMIT ?"
        overrides = select(bound.tx, ctx.workspace, GuardOverride, newest, args.limit)
    return {
        "guards": rows[: args.limit],
        "total": len(rows),
        "overrides": [
            {"id": it.id, "why": it.why, "by": it.by_whom, "action": it.action, "ts": rfc3339(it.ts_ms)}
            for it in overrides
        ],
    }


def unapproved(ctx: Context, found: Iterable[Block]) -> list[str]:
    """Of these records, those in force whose check is waiting for approval."""
    carrying = [block for block in found if block.status in HOLDING and _has_check(block)]
    armed = {guard.id: guard for guard in _armed(ctx)} if carrying else {}
    return [block.id for block in carrying if _row(block.id, block, armed.get(block.id))["state"] == "waits"]


def _has_check(block: Block) -> bool:
    return any(name.startswith("Guard") for name in block.fields)


def _carrying(ctx: Context, armed: dict[str, Guard]) -> list[Block]:
    """The blocks that have a check, or whose check was approved once."""
    listed = [block for prefix in GUARDING for block in blocks.current(ctx, prefix=prefix)]
    # Private and archived blocks are not listed; a check of theirs that was approved still fires, so it
    # must be visible.
    found = {block.id: block for block in [*listed, *blocks.current(ctx, ids=armed)]}.values()
    return [block for block in found if block.id in armed or _has_check(block)]


def _row(id: str, block: Block | None, guard: Guard | None) -> dict[str, Any]:
    """A rule and its current check, its approved check, or both; the rule may have been removed from
    its file since."""
    problem, written = None, None
    try:
        written = check_in(block.fields) if block is not None else None
    except ClewError as refused:
        problem = refused.message
    check = guard.check if guard is not None else written
    is_changed = guard is not None and written is not None and written.digest != guard.digest
    return {
        "id": id,
        "state": _state(block, guard, written, problem),
        "says": shorten(block.headline, 200) if block is not None else check.message if check else "",
        "check": check.to_json() if check else None,
        "in_words": check.in_words() if check else problem,
        "changed_to": written.in_words() if is_changed and written else None,
        "approved_by": guard.approved_by if guard else None,
        "approved": rfc3339(guard.ts_ms) if guard else None,
        "problem": problem,
    }


def _state(block: Block | None, guard: Guard | None, written: Check | None, problem: str | None) -> str:
    if guard is None:
        return "unreadable" if problem else "waits"
    if block is None or block.status not in HOLDING:
        return WITHDRAWN
    same = written is not None and written.digest == guard.digest
    return "guards" if same else "guards, changed since"


class Propose(Input):
    id: Annotated[Name, Field(description="Rule or decision, such as R-3.")]
    paths: Annotated[Names, Field(description="Globs of files whose edits it concerns.")] = []
    commands: Annotated[Names, Field(description="Commands it concerns, such as git push * --force.")] = []
    must: Annotated[Names, Field(description="What the command or written file must hold.")] = []
    must_not: Annotated[Names, Field(description="What the command or edit must not hold.")] = []
    action: Annotated[Response, Field(description="inform, ask or deny.")] = "inform"
    message: Annotated[Text, Field(max_length=500, description="What is said; default: the rule itself.")] = ""


@operation(
    "guard_propose",
    writes=True,
    mode="own",
    example={"id": "R-1", "commands": ["git push * --force"], "action": "ask"},
)
def guard_propose(ctx: Context, args: Propose) -> dict[str, Any]:
    """Write a check into a rule or decision. It guards nothing until a person approves it, at the shell or the page."""
    check = read_check(args.model_dump(exclude={"id", "workspace"}))
    with governed_transaction(ctx) as bound:
        block = _rule(bound, args.id)
        text = block.text
        for name, value in check.to_fields().items():
            text = set_field(text, name, value)
        blocks.write(bound, block.id, text, origin="guard")
    return {
        "id": block.id,
        "state": "waits",
        "in_words": check.in_words(),
        "approve": clew_command(f"guards approve {block.id}"),
    }


class Approve(Input):
    id: Annotated[Name, Field(description="Rule or decision whose check is approved.")]


@operation("guard_approve", writes=True, mode="own", example={"id": "R-1"})
def guard_approve(ctx: Context, args: Approve) -> dict[str, Any]:
    """Approve the check of a rule or decision, so that it guards. For a person only, at the shell or on the page."""
    check_person(ctx, "approving a guard", f"guards approve {_quoted(args.id)}")
    with governed_transaction(ctx) as bound:
        block = _rule(bound, args.id)
        if block.status not in HOLDING:
            raise ClewError("CONFLICT", f"{block.id} is {block.status or 'not active'}", "Approve the rule first.")
        check = check_in(block.fields)
        if check is None:
            raise ClewError("CONFLICT", f"{block.id} carries no check", "Add GuardPaths or GuardCommands to it.")
        fields = canonical(check.to_json())
        by = ctx.connection.person
        # The check itself is copied. A later edit of the block is not enforced until a person approves it too.
        upsert(bound.tx, bound.workspace, Guard(block.id, fields, check.digest, by, bound.ws.next_seq(), bound.now_ms))
        told = {"check": orjson.loads(fields), "by": by, "at": _place(bound)}
        bound.emit("memory", "guard_approved", block.id, told)
        note_guards(bound)
    return {"id": block.id, "state": "guards", "in_words": check.in_words(), "approved_by": by}


@operation("guard_revoke", writes=True, mode="own", example={"id": "R-1"})
def guard_revoke(ctx: Context, args: Approve) -> dict[str, Any]:
    """Take the approval of a check back. For a person only, at the shell or on the page."""
    check_person(ctx, "revoking a guard", f"guards revoke {_quoted(args.id)}")
    with ctx.writing() as bound:
        guard = _guard(bound, args.id)
        # The check stays in the rule and waits for approval again; only the approval is removed.
        delete(bound.tx, bound.workspace, guard)
        bound.ws.next_seq()
        bound.emit("memory", "guard_revoked", guard.id, {"by": ctx.connection.person, "at": _place(bound)})
        note_guards(bound)
    return {"id": guard.id, "state": "waits"}


class OverrideInput(Input):
    id: Annotated[Name, Field(description="Rule or decision whose guard is let pass.")]
    why: Annotated[Text, Field(min_length=1, max_length=500, description="The reason; it is kept.")]
    minutes: Annotated[int, Field(ge=1, le=MOST_MINUTES, description="For how long.")] = 15


@operation("guard_override", writes=True, mode="own", example={"id": "R-1", "why": "a hotfix for 2.1"})
def guard_override(ctx: Context, args: OverrideInput) -> dict[str, Any]:
    """Let a guard pass for some minutes, with a reason that is kept. For a person only, at the shell or on the page."""
    check_person(ctx, "letting a guard pass", f"guards override {_quoted(args.id)} --why ...")
    why = " ".join(clean(args.why).split())
    if not why:
        raise invalid("why", "must not be empty", "Say why the guard is let pass.", kind="non_empty")
    with ctx.writing() as bound:
        guard = _guard(bound, args.id)
        made = log_override(bound, guard.id, why, ctx.connection.person, args.minutes)
    return {"id": guard.id, "until": rfc3339(made.until_ms), "why": why}


def _rule(ctx: Context, id: str) -> Block:
    block = blocks.get(ctx, id.strip().upper())
    if prefix_of(block.id) not in GUARDING:
        raise invalid("id", f"{block.id} is a {block.kind.name}", "Only rules and decisions carry a check.")
    return block


def _guard(ctx: Context, id: str) -> Guard:
    found = find(ctx.tx, ctx.workspace, Guard, id.strip().upper())
    if found is None:
        raise unknown_id("guard", id, "List them.", [suggest("guards", "Lists what guards and what waits.", "high")])
    return found


def _quoted(id: str) -> str:
    """An id from a caller, quoted for a line that a person may paste into a shell."""
    return shlex.quote(shorten(id, 40))


def _place(ctx: Context) -> str:
    return "the page" if ctx.connection.client == OBSERVATORY else "the shell"
