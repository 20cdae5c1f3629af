"""remember: one call to store any record. The agent chooses the kind; Clew chooses the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import ANCHOR, CARD
from clew.memory.blocks import Block
from clew.memory.durable_records import Kept, Record, keep_within, read_ahead
from clew.memory.files.governed_write import governed_transaction
from clew.memory.guards.check import Check, read_check
from clew.reasoning.branches import own_branch
from clew.reasoning.cards.card import write_card
from clew.reasoning.cards.forms import Card
from clew.reasoning.documents import GRAPH, NOTES, TRACE
from clew.reasoning.graph import nodes
from clew.reasoning.scope import Scope, StepFocus, resolve_step, scope_of
from clew.records.doubts import keep_beside
from clew.records.focus import open_focus, step_name, step_titled
from clew.records.links import add_link, kind_of
from clew.records.open import Open, bare_id, find_record, unknown_record
from clew.records.retract import retract_within, retraction, writing_about
from clew.records.review_date import review_date
from clew.records.think import ThinkInput, think
from clew.records.verdicts import verdict_of
from clew.registry.context import Context
from clew.registry.operation import Input, Name, Names, Text, Title, View, operation
from clew.registry.vocabulary import DURABLE, KINDS, THOUGHT, read_kind
from clew.surroundings import clew_command
from clew.tasks.plans import Work, work_by_id
from clew.tasks.steps import first_open

SHOWN = 3
MOST_RELATED = 2
LOOKED_AT = 200
"""Cards of a task that are compared with a new one: more than any task has open."""


class Remember(Input):
    synonyms: ClassVar[dict[str, str]] = {
        "content": "text",
        "statement": "text",
        "message": "text",
        "note": "text",
        **dict.fromkeys(("type", "category"), "kind"),
        "reason": "why",
        "rationale": "why",
        "files": "about",
        "areas": "about",
        "tags": "about",
        "supersedes": "replaces",
        "depends_on": "rests_on",
        "beside": "coexists_with",
        **dict.fromkeys(("expires", "expires_at", "valid_until", "review_at"), "review_by"),
    }

    @model_validator(mode="before")
    @classmethod
    def _named_by_kind(cls, given: Any) -> Any:
        """`decision: "Use zstd"` is the text of a decision."""
        named = [] if not isinstance(given, dict) or "text" in given else sorted(set(given) & set(KINDS))
        if len(named) != 1 or not isinstance(given[named[0]], str):
            return given
        rest = {name: value for name, value in given.items() if name != named[0]}
        return {"kind": named[0], **rest, "text": given[named[0]]}

    text: Annotated[Text, Field(min_length=1, description="What to keep, in a sentence or two.")]
    kind: Annotated[
        Name,
        Field(
            description="rule, preference, decision, rejected, fact, lesson, question, hypothesis, test, evidence, note"
        ),
    ] = "note"
    why: Annotated[Text | None, Field(description="The reason.")] = None
    title: Annotated[Title | None, Field(description="A short name.")] = None
    replaces: Annotated[
        Names, Field(description="Ids of records that this replaces, or of the question it answers.")
    ] = []
    coexists_with: Annotated[Names, Field(description="Ids that it seems to contradict, but both hold.")] = []
    about: Annotated[Names, Field(description="Files and areas that it concerns.")] = []
    task: Annotated[Name | None, Field(description="Default: the task you work on.")] = None
    step: Annotated[Name | None, Field(description="A step of that task.")] = None
    rests_on: Annotated[Names, Field(description="Ids of records that it falls with.")] = []
    review_by: Annotated[Name | None, Field(description="When to look again: a date, next friday.")] = None
    guard: Annotated[
        dict[str, Any] | None,
        Field(
            description="Checks edits or commands once the user approved it: {paths: ['*.sql'], commands:"
            " ['git push *'], must: [text], must_not: [text], action: inform|ask|deny, message}."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Noted:
    """The outcome for a record: `state` is kept or proposed."""

    id: str
    kind: str
    state: str = "kept"
    reason: str = ""
    contradicts: tuple[tuple[str, str], ...] = ()
    may_contradict: tuple[tuple[str, str], ...] = ()
    repeats: tuple[tuple[str, str], ...] = ()
    related: tuple[tuple[str, str], ...] = ()
    """Others about the same subject. The author, who can see both, judges whether they agree."""
    proposal: str | None = None
    written: bool = True
    settled: tuple[str, ...] = ()
    """Ids with which the record, which was there already, coexists from now on."""


_TOLD = {"contradicts": "contradicts", "may_contradict": "may contradict", "repeats": "nearly repeats"}


def remember_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    if result.get("settled"):
        others = ", ".join(result["settled"])
        return [f"{result['id']} already says this. Noted that it coexists with {others}."]
    if not result["written"]:
        return [f"{result['id']} already says this. Nothing new was stored."]
    lines = [f"{result['id']} {result['kind']} {_became(result)}"]
    if result.get("reason"):
        lines.append(f"because {shorten(result['reason'], 100)}")
    lines += _near_lines(result)
    if result.get("suspect"):
        lines.append(result["suspect"])
    if result.get("replaced"):
        lines.append(f"replaces {result['replaced']}")
    if result.get("guard"):
        lines.append(f"its check waits for the user: {clew_command('guards approve ' + result['id'])}")
    return lines


def _became(result: dict[str, Any]) -> str:
    if result["state"] == "kept":
        return "kept, findable now"
    run = f" ({clew_command('approve ' + result['proposal'])})" if result.get("proposal") else ""
    return f"proposed: waits for a person{run}, findable as proposed"


def _near_lines(result: dict[str, Any]) -> list[str]:
    """Conflicts and duplicates, the author's options for them, and records about the same subject."""
    lines = []
    for name, word in _TOLD.items():
        # Next to a certain contradiction, possible ones would only hide it.
        told = [] if name == "may_contradict" and result["contradicts"] else result.get(name, [])
        lines += [f"{word} {item['id']}: {shorten(item['text'], 80)}" for item in told[:SHOWN]]
    if result["state"] == "proposed" and result["contradicts"]:
        lines.append(_ways_on(result, [item["id"] for item in result["contradicts"][:SHOWN]]))
    return lines + [f"see also {item['id']}: {shorten(item['text'], 80)}" for item in result.get("related", [])]


def _ways_on(result: dict[str, Any], against: list[str]) -> str:
    """The author's options for a contradiction. If they already said that both hold, the other is not theirs."""
    instead = f"if it takes their place, say it again with replaces=[{', '.join([*result['replaces'], *against])}]"
    if set(against) <= set(result.get("coexists_with", [])):
        return f"{instead}; whether both hold is for a person to say where a record is another's"
    both = [*result.get("coexists_with", []), *against]
    return f"{instead}; if both hold, with coexists_with=[{', '.join(both)}]"


@operation(
    "remember",
    writes=True,
    mode="own",
    example={"text": "The file named last wins.", "kind": "decision", "why": "It is what users of shells expect."},
    view=View(in_lines=True, lines=remember_lines),
)
def remember(ctx: Context, args: Remember) -> dict[str, Any]:
    """Keep a rule, preference, decision, fact, lesson, question or result for later sessions.

    recall finds it at once. The answer says what it contradicts and what it nearly repeats.
    """
    text = _checked_text(args)
    kind = read_kind(args.kind, text, args.model_dump(exclude_unset=True, by_alias=True))
    args = _with_review_date(ctx, args)
    if kind == THOUGHT:
        return _thought(ctx, args)
    if kind not in DURABLE:
        card = _card(ctx, args, kind, text)
        return _answer(args, card, _suspicion(ctx, args, card.id))
    noted = _durable(ctx, args, kind, text)
    return _answer(args, noted, _suspicion(ctx, args, noted.id))


def _suspicion(ctx: Context, args: Remember, id: str) -> str | None:
    """A premise of the new record that no longer holds, which its author may not know."""
    if not args.rests_on:
        return None
    with ctx.reading() as bound:
        doubt = verdict_of(bound, id).suspect
    return doubt.label if doubt is not None else None


def _checked_text(args: Remember) -> str:
    # Line breaks by the author stay. Whitespace within a single line is collapsed, so that the same
    # statement gives the same text.
    text = " ".join(args.text.split()) if "\n" not in args.text.strip() else args.text.strip()
    for field, value in (("text", text), ("why", args.why), ("title", args.title)):
        if value is not None and not value.strip():
            raise invalid(field, "is empty", "Say it in your own words.")
    return text


def _with_review_date(ctx: Context, args: Remember) -> Remember:
    if args.review_by is None:
        return args
    without = args.model_dump(exclude_unset=True, by_alias=True, exclude={"review_by"})
    return args.model_copy(update={"review_by": review_date(args.review_by, ctx.clock(), without)})


def _answer(args: Remember, noted: Noted, suspect: str | None) -> dict[str, Any]:
    optional = {
        "suspect": suspect,
        "coexists_with": args.coexists_with,
        "settled": list(noted.settled),
        "guard": "waits" if args.guard is not None else None,
        "may_contradict": _texts(noted.may_contradict),
    }
    return {
        "id": noted.id,
        "kind": noted.kind,
        "state": noted.state,
        "written": noted.written,
        "reason": noted.reason or None,
        "proposal": noted.proposal,
        "contradicts": _texts(noted.contradicts),
        "repeats": _texts(noted.repeats),
        "related": _texts(noted.related),
        "replaces": args.replaces,
        "replaced": ", ".join(args.replaces) or None if noted.state == "kept" else None,
        **{name: value for name, value in optional.items() if value},
    }


def _texts(records: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"id": id, "text": text} for id, text in records]


def _durable(ctx: Context, args: Remember, kind: str, text: str) -> Noted:
    """A record that holds until it is replaced is stored as a block in governed memory."""
    check = _check(args, kind)
    odds = read_ahead(ctx, kind, text)
    with governed_transaction(ctx) as bound:
        record, others = _record(bound, args, kind, text)
        record = replace(record, check=check)
        kept = keep_within(bound, record, odds)
        if kept.written:
            _link(bound, kept.id, record)
        # A record that is only proposed has replaced nothing yet; its approval does that.
        if kept.state == "kept":
            _take_back(bound, args, others, kept.id)
        if kept.restates is not None:
            retract_within(bound, kept.restates, retraction(bound, kept.restates, "said again", kept.id))
        settled = [] if kept.written or kept.state != "kept" else keep_beside(bound, kept.id, record.beside)
    return replace(_noted(kept), settled=tuple(settled))


def _record(ctx: Context, args: Remember, kind: str, text: str) -> tuple[Record, list[str]]:
    """The record, and what it replaces other than blocks: a question, card or thought is withdrawn with it."""
    task, step = _place(ctx, args)
    rests_on = tuple(existing(ctx, id, "rests_on") for id in args.rests_on)
    replaces = [_replaceable(ctx, args, id) for id in args.replaces]
    of_blocks = tuple(id for id in replaces if kind_of(ctx, id) == "block")
    record = Record(
        kind,
        text,
        why=args.why or "",
        title=args.title or "",
        replaces=of_blocks,
        about=tuple(args.about),
        rests_on=rests_on,
        review_by=args.review_by,
        task=task,
        step=step.path if step is not None else None,
        beside=tuple(_block(ctx, id) for id in args.coexists_with),
    )
    return record, [id for id in replaces if id not in of_blocks]


def _link(ctx: Context, id: str, record: Record) -> None:
    for premise in record.rests_on:
        add_link(ctx, id, "rests_on", premise)
    if record.task is not None:
        add_link(ctx, id, "about", record.task)


def _replaceable(ctx: Context, args: Remember, given: str) -> str:
    """The id of a record that can be replaced: it is in force, proposed or open."""
    id = existing(ctx, given, "replaces")
    verdict = verdict_of(ctx, id)
    heir = verdict.replaced_by or verdict.settled_by
    if heir is None and not verdict.state.is_over:
        return id
    others = [other for other in args.replaces if other != given]
    named = args.model_dump(exclude_defaults=True, exclude={"workspace", "replaces"})
    if heir is not None:
        way = f"Replaces {heir}, which holds in its place."
        others = list(dict.fromkeys([*others, heir]))
    else:
        way = f"Keeps the record without replacing {id}, which does not hold."
    raise ClewError(
        "CONFLICT",
        f"replaces: {id} is {verdict.label} already",
        way,
        suggestions=[suggest("remember", way, "high", **named, **({"replaces": others} if others else {}))],
    )


def _block(ctx: Context, id: str) -> str:
    """The id of a durable record: only those contradict each other."""
    found = existing(ctx, id, "coexists_with")
    if kind_of(ctx, found) != "block":
        raise invalid("coexists_with", f"{found} is no durable record", "Leave it out: nothing contradicts it.")
    return found


def _take_back(ctx: Context, args: Remember, replaced: Iterable[str], by: str) -> None:
    """Withdraw what the new record replaces, in the same transaction: both happen, or neither."""
    for old in replaced:
        retract_within(ctx, old, retraction(ctx, old, shorten(args.why or args.text, 200), by))


def _check(args: Remember, kind: str) -> Check | None:
    if args.guard is None:
        return None
    if kind not in ("rule", "decision"):
        raise invalid("guard", f"a {kind} carries no check", "Keep it as a rule or a decision.")
    return read_check(args.guard)


def _noted(kept: Kept) -> Noted:
    return Noted(
        kept.id,
        kept.kind,
        kept.state,
        kept.reason,
        _statements(clash.block for clash in kept.contradicts),
        _statements(clash.block for clash in kept.may_contradict),
        _statements(kept.repeats),
        _statements(kept.related[:MOST_RELATED]),
        kept.proposal_id,
        kept.written,
    )


def _statements(records: Iterable[Block]) -> tuple[tuple[str, str], ...]:
    return tuple((block.id, block.get("Statement") or "") for block in records)


def _place(ctx: Context, args: Remember) -> tuple[str | None, StepFocus | None]:
    """The task and step that a record belongs to; defaults to the caller's own task."""
    named = args.task.strip().upper() if args.task is not None else open_focus(ctx)
    if named is None:
        return None, None
    task = work_by_id(ctx, named)
    wanted = _step_of(ctx, task, args.step) if args.step is not None else _strict_step(ctx, task)
    step = resolve_step(ctx, scope_of(ctx, task.id), wanted) if wanted is not None else None
    return task.id, step


def _step_of(ctx: Context, task: Work, given: str) -> str:
    titled = step_titled(ctx, task, given)
    return step_name(given) if titled is None else titled.path


def _strict_step(ctx: Context, task: Work) -> str | None:
    """In a strict task the gate of a step requires its reasons, so a record is linked to the current step."""
    following = first_open(ctx, task.id) if task.is_task and task.reasoning_mode == "strict" else None
    return following.path if following is not None else None


def _card(ctx: Context, args: Remember, kind: str, text: str) -> Noted:
    """Open questions and past events are stored as cards of their task, or of the caller's branch."""
    with writing_about(ctx, *(bare_id(ctx, id, "replaces") for id in args.replaces)) as bound:
        task, step = _place(bound, args)
        scope = _scope(bound, task)
        body = text if args.why is None else f"{text}\nWhy: {args.why}"
        title = args.title or shorten(text.splitlines()[0], 120)
        card = Card(None, kind, title, None if body == title else body, tags=areas(args.about), meta=_meta(args))
        # Checked before it is written, or the card would find itself.
        repeats = same_cards(bound, scope, kind, title)
        written = write_card(bound, scope, card, supports=_supported(args, kind), step=step)
        # In the same transaction, so that an unknown id leaves no half-linked card behind.
        for id in args.rests_on:
            add_link(bound, written.card_id, "rests_on", existing(bound, id, "rests_on"))
        _take_back(bound, args, (_replaceable(bound, args, id) for id in args.replaces), written.card_id)
    return Noted(written.card_id, kind, repeats=repeats)


def _supported(args: Remember, kind: str) -> tuple[str, ...]:
    """A test or a result that names cards supports them."""
    named = [id.strip().upper() for id in args.rests_on] if kind in ("test", "evidence") else []
    return tuple(id for id in named if CARD.fullmatch(id))


def _scope(ctx: Context, task: str | None) -> Scope:
    if task is not None:
        return scope_of(ctx, task)
    return Scope(own_branch(ctx), NOTES, GRAPH, TRACE)


def areas(about: list[str]) -> tuple[str, ...]:
    """Anchors that the record is about become tags, so that queries by area find it."""
    return tuple(sorted({item.strip().lower() for item in about if ANCHOR.fullmatch(item.strip().lower())}))


def _meta(args: Remember) -> dict[str, Any]:
    given = {"about": [item.strip() for item in args.about], "review_by": args.review_by, "why": args.why}
    return {name: value for name, value in given.items() if value}


def same_cards(ctx: Context, scope: Scope, kind: str, title: str) -> tuple[tuple[str, str], ...]:
    """Cards of the scope with the same title, except for case and spelling."""
    wanted = " ".join(title.lower().split())
    found = nodes(ctx, scope.branch, scope.graph, types=(kind,), limit=LOOKED_AT).nodes
    alike = [card for card in found if " ".join((card.title or "").lower().split()) == wanted]
    return tuple((card.id, card.title or "") for card in alike[:SHOWN])


def existing(ctx: Context, id: str, field: str) -> str:
    """The id of an existing record."""
    found = bare_id(ctx, id, field)
    if find_record(ctx, found, Open(id=found, limit=1)) is None:
        raise unknown_record(found)
    return found


def _thought(ctx: Context, args: Remember) -> dict[str, Any]:
    written = think(ctx, ThinkInput(text=args.text))
    return {
        "id": f"{written['session']}:{written['number']}",
        "kind": THOUGHT,
        "state": "kept",
        "written": True,
        "contradicts": [],
        "repeats": [],
    }
