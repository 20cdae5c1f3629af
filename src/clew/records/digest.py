"""digest: what was done in a period, by author and by plan, in sentences and complete at any size.

Every event of the period is read; bookkeeping events are left out. Each sentence counts all of its
subjects and names the first few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.errors import invalid
from clew.kinds import statuses
from clew.kinds.state import OVER
from clew.kinds.statuses import words_for
from clew.memory.files.sync import sync
from clew.memory.kinds import kind_of as block_kind
from clew.recall.search import moment_of
from clew.records.record_view import names_of
from clew.records.verdicts import verdicts
from clew.registry.budget import Budget, Trim
from clew.registry.callers import families
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, Title, View, operation
from clew.registry.record import Named
from clew.store.events import EventRow, events_after, first_seqs, last_event_until
from clew.tasks.plans import INBOX, Work, find_work
from clew.tasks.proofs import Proof, proof_states
from clew.tasks.steps import steps_of

PAGE = 2_000
NAMED = 5
"""Subjects that a sentence names; the rest is counted."""
MOST_TASKS = 200
"""Maximum number of tasks whose steps are graded."""
BUDGET = Budget(
    (
        Trim("authors[].sentences[].things", drop="last", floor=1),
        Trim("plans", drop="last", floor=5),
        Trim("authors[].sentences", drop="last", floor=5),
        Trim("authors", drop="last", floor=3),
    ),
    {"core": 8_000, "daily": 16_000, "full": 200_000},
    keep=("workspace", "from", "to"),
)
KEPT = {
    "decision": "decided",
    "rule": "set the rule",
    "preference": "kept the preference",
    "lesson": "learned",
    "rejected": "ruled out",
    "fact": "noted the fact",
}
"""What keeping a record of each kind is called."""


def kept(kind: str) -> str:
    return KEPT.get(kind, f"kept the {kind}")


def is_kept(verb: str) -> bool:
    return verb in KEPT.values() or verb.startswith("kept the ")


CARDS = {"question": "asked", "hypothesis": "supposed", "test": "planned the test"}
"""The verb for writing a card, by kind; other kinds use `wrote`."""
THOUGHT = "thought on"
TOLD = {
    "proposal_applied": "approved",
    "proposal_rejected": "rejected",
    "dispute_decided": "settled the dispute over",
    "proposal_staged": "proposed",
    "record_retracted": "withdrew",
    "proposal_rolled_back": "rolled back",
    "job_failed": "failed at",
    "evidence_captured": "failed at",
    "step_done": "closed",
    "step_reopened": "reopened",
    "step_blocked": "was blocked at",
    "task_created": "started",
    "plan_created": "planned",
    "job_completed": "completed",
    "session_completed": "completed the reasoning",
    "card_written": "wrote",
    "note_committed": "noted",
}
ENDED = {
    statuses.WORK_DONE: "finished",
    statuses.WORK_PARKED: "parked",
    statuses.WORK_CANCELED: "canceled",
}
"""The verb for each new status of a task. To-do and reopened are no endings."""
ORDER = (
    *KEPT.values(),
    *(
        "changed",
        "settled the dispute over",
        "withdrew",
        "approved",
        "rejected",
        "rolled back",
        "proposed",
        "failed at",
    ),
    *("closed", "reopened", "was blocked at", "started", "planned", "finished", "parked", "canceled", "completed"),
    *("completed the reasoning", *CARDS.values(), THOUGHT, "wrote", "noted"),
)
"""Decisions, rules, lessons, failures and proofs first."""


def _rank(verb: str) -> int:
    """Records of a plugged kind come behind those of our own kinds."""
    return ORDER.index(verb) if verb in ORDER else len(KEPT)


STEP_EVENTS = ("step_done", "step_reopened", "step_blocked", "evidence_captured")
"""Their subject is a task and the path of a step in it."""
WITHDRAWN = frozenset(words_for(*OVER)) - {statuses.SUPERSEDED}
THOUGHTS = ("thought_added", "thought_revised", "thought_branched")
UNNAMED = "an unnamed agent"
_BACK = re.compile(r"(\d{1,4}) ?(hour|day|week)s?")


class Digest(Bounded):
    since: Annotated[Title, Field(description="yesterday, today, '7 days', or an ISO date or time.")] = "yesterday"
    until: Annotated[Name | None, Field(description="An ISO date or time; default: now.")] = None


@dataclass
class Sentence:
    """A verb with all of its subjects."""

    verb: str
    place: str = ""
    """The task or session that it happened in, if the sentence mentions it."""
    things: dict[str, int] = field(default_factory=dict)
    """Ids in order, with the number of occurrences."""
    replaced: dict[str, str] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)

    @property
    def total(self) -> int:
        return len(self.paths) or (sum(self.things.values()) if self.verb == THOUGHT else len(self.things))


Told = dict[tuple[str, str], Sentence]


def digest_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    return [line.strip() for line in lines(result, PLAIN)]


@operation("digest", mode="own", budget=BUDGET, example={"since": "yesterday"}, view=View(lines=digest_lines))
def digest(ctx: Context, args: Digest) -> dict[str, Any]:
    """Tell what was done in a period, by author and by plan: decisions, lessons, proofs and work, in sentences."""
    sync(ctx)
    with ctx.reading() as bound:
        start, end = _period(bound, args)
        authors = _gathered(bound, start, end)
        proofs = _proofs(bound, authors)
        authors = {who: _without_passed(own, proofs) for who, own in authors.items()}
        names = names_of(bound, _named(authors))
        unproven = {place for place, proof in proofs.items() if not proof.settled}
        told = {who: [_sentence(one, names, unproven) for one in _ordered(own)] for who, own in authors.items()}
        ordered = sorted(told, key=lambda who: (-sum(row["total"] for row in told[who]), who))
        result = {
            "workspace": bound.workspace,
            "from": rfc3339(start),
            "to": rfc3339(end),
            "authors": [{"name": who, "sentences": told[who]} for who in ordered if told[who]],
            "plans": _plans(bound, authors, unproven),
            "truncated": False,
        }
    return {**result, "markdown": "\n".join(lines(result))}


def _period(ctx: Context, args: Digest) -> tuple[int, int]:
    end = _moment(ctx, args.until, "until") if args.until else ctx.now_ms
    start = _moment(ctx, args.since, "since")
    if start >= end:
        raise invalid("since", "must lie before the end of the period", "Name an earlier day.")
    return start, end


def _moment(ctx: Context, text: str, field: str) -> int:
    """A timestamp in milliseconds; a date without a time is the start of that day."""
    said = text.strip().lower()
    today = datetime.fromtimestamp(ctx.now_ms / 1000, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": 0, "yesterday": 1}.get(said)
    if days is not None:
        return int((today - timedelta(days=days)).timestamp() * 1000)
    match = _BACK.fullmatch(said)
    if match:
        hours = int(match[1]) * {"hour": 1, "day": 24, "week": 168}[match[2]]
        return ctx.now_ms - hours * 3_600_000
    if said.isdigit():
        raise invalid(field, f"{text!r} is no day", "Write yesterday, '7 days', 2026-05-01 or 2026-05-01T12:00:00Z.")
    _, moment = moment_of(f"{text.strip()}T00:00:00" if len(text.strip()) == 10 else text, ctx.now_ms)
    return moment


def _gathered(ctx: Context, start: int, end: int) -> dict[str, Told]:
    """Sentences by author; reads all events of the period, page by page."""
    known = families(ctx)
    after = last_event_until(ctx.tx, ctx.workspace, "ts_ms", start - 1)
    found: dict[str, Told] = {}
    all_events = list(_events(ctx, after, end))
    events = _once(all_events)
    fresh = _born(ctx, events, after)
    for event in events:
        who = known.get(event.agent or "", event.agent or UNNAMED)
        told = _told(event, fresh)
        if told is not None:
            _add(found.setdefault(who, {}), told, event)
    _name_replaced(ctx, found, all_events)
    return found


def _name_replaced(ctx: Context, found: Mapping[str, Told], events: Iterable[EventRow]) -> None:
    """Adds to each record that was stored or approved in the period what it replaced."""
    replaced = [event.subject for event in events if event.subject and _is_superseding(event)]
    heirs = {verdict.replaced_by: id for id, verdict in verdicts(ctx, replaced).items() if verdict.replaced_by}
    heirs |= _of_proposals(events, heirs)
    sentences = [one for own in found.values() for one in own.values()]
    for one in sentences:
        if is_kept(one.verb) or one.verb == "approved":
            one.replaced |= {id: heirs[id] for id in one.things if id in heirs}


def _is_superseding(event: EventRow) -> bool:
    return event.type == "block_written" and event.payload.get("status") == statuses.SUPERSEDED


def _of_proposals(events: Iterable[EventRow], heirs: Mapping[str, str]) -> dict[str, str]:
    """By applied proposal, what the first of its records replaced."""
    found = {}
    for event in events:
        made = [block for block in event.payload.get("blocks") or () if block in heirs]
        if event.type == "proposal_applied" and event.subject and made:
            found[event.subject] = heirs[made[0]]
    return found


def _once(events: list[EventRow]) -> list[EventRow]:
    """Removes redundant events: the records that an approval wrote; proposals that ended with the
    decision of a dispute; and proposals that only their author decided, because the records already say
    what was done."""
    applied = [event for event in events if event.type == "proposal_applied"]
    own = _decided_by_their_author(events, applied)
    of_others = [event for event in applied if event.subject not in own]
    approved = {block for event in of_others for block in event.payload.get("blocks") or ()}
    left_out = {"block_written": approved, "proposal_staged": own, "proposal_applied": own}
    # All events of one decision have the same timestamp.
    settled = {(event.agent, event.ts_ms) for event in events if event.type == "dispute_decided"}
    return [
        event
        for event in events
        if event.subject not in left_out.get(event.type, ())
        and not (event.type in ("proposal_applied", "proposal_rejected") and (event.agent, event.ts_ms) in settled)
    ]


def _decided_by_their_author(events: list[EventRow], applied: list[EventRow]) -> set[str | None]:
    authors = {event.subject: event.agent for event in events if event.type == "proposal_staged"}
    return {
        event.subject
        for event in applied
        if event.payload.get("automatic") or authors.get(event.subject, "") == event.agent
    }


def _events(ctx: Context, after: int, end: int) -> Iterator[EventRow]:
    while True:
        page = events_after(ctx.tx, ctx.workspace, after, PAGE)
        yield from (event for event in page if event.ts_ms <= end)
        if len(page) < PAGE or page[-1].ts_ms > end:
            return
        after = page[-1].seq


def _born(ctx: Context, events: Iterable[EventRow], after: int) -> set[str]:
    """Records created in the period: later events about them are part of their creation."""
    written = {event.subject for event in events if event.type == "block_written" and event.subject}
    born = first_seqs(ctx.tx, ctx.workspace, sorted(written))
    return {id for id, seq in born.items() if seq > after}


def _told(event: EventRow, fresh: set[str]) -> tuple[str, str, str] | None:
    """Verb, place and subject of an event; None for bookkeeping."""
    subject = event.subject or ""
    if event.type in THOUGHTS:
        return THOUGHT, subject, subject
    if event.type == "block_written":
        return _written(event, subject, fresh)
    if event.type == "task_completed":
        ended = ENDED.get(str(event.payload.get("status") or statuses.WORK_DONE))
        return (ended, "", subject) if ended else None
    if event.type == "plan_created" and event.payload.get("title") == INBOX:
        return None  # the Inbox plan: it is created automatically for tasks started without a plan
    verb = TOLD.get(event.type)
    if event.type == "card_written":
        verb = CARDS.get(str(event.payload.get("type")), verb)
    if verb is None or not subject or (verb == "withdrew" and event.payload.get("status") == statuses.PROPOSED):
        return None
    return verb, subject if event.type in STEP_EVENTS else "", subject


def _written(event: EventRow, subject: str, fresh: set[str]) -> tuple[str, str, str] | None:
    kind = block_kind(subject)
    verb = kept(kind.name) if kind.is_durable else None
    if verb is None or event.payload.get("origin") in ("rollback", "undo", "review"):
        return None
    status = event.payload.get("status")
    if status in (statuses.PROPOSED, statuses.SUPERSEDED) or status in WITHDRAWN:
        # Nothing was decided yet, or it ended: its proposal, successor or withdrawal is reported instead.
        return None
    return (verb if subject in fresh else "changed"), "", subject


def _add(own: Told, told: tuple[str, str, str], event: EventRow) -> None:
    verb, place, thing = told
    if verb == "changed" and any(thing in own[key].things for key in own if is_kept(key[0])):
        return
    sentence = own.setdefault((verb, place), Sentence(verb, place))
    sentence.things[thing] = sentence.things.get(thing, 0) + 1
    if event.type in STEP_EVENTS and event.path:
        sentence.paths.add(event.path)
    if verb == "settled the dispute over" and event.payload.get("verdict") == "replace":
        sentence.replaced[thing] = next(iter(event.payload.get("others") or ()), "")


def _ordered(own: Told) -> list[Sentence]:
    return sorted(own.values(), key=lambda one: (_rank(one.verb), -one.total))


def _named(authors: Mapping[str, Told]) -> list[str]:
    """The names that the sentences need: of their first subjects, and of where it happened."""
    sentences = [one for own in authors.values() for one in own.values()]
    ids = [id for one in sentences for id in (one.place, *list(one.things)[:NAMED], *one.replaced.values()) if id]
    return list(dict.fromkeys(ids))


Place = tuple[str, str]
"""A task and the path of a step in it."""


def _proofs(ctx: Context, authors: Mapping[str, Told]) -> dict[Place, Proof]:
    """The current grade of the steps that were closed or failed."""
    judged = ("closed", "failed at")
    tasks = {one.place for own in authors.values() for one in own.values() if one.place and one.verb in judged}
    steps = [step for task in sorted(tasks)[:MOST_TASKS] for step in steps_of(ctx, task)]
    proofs = proof_states(ctx, steps) if steps else {}
    return {(step.task, step.path): proofs[step.id] for step in steps}


def _without_passed(own: Told, proofs: Mapping[Place, Proof]) -> Told:
    """Of the steps with a failed run, keeps only those that still count as failed."""
    for one in own.values():
        if one.verb == "failed at" and one.place:
            states = {path: proofs.get((one.place, path)) for path in one.paths}
            one.paths = {path for path, proof in states.items() if proof is not None and proof.state == statuses.FAILED}
    return {key: one for key, one in own.items() if one.paths or key[0] != "failed at" or not one.place}


def _sentence(one: Sentence, names: Mapping[str, Named], unproven: set[Place]) -> dict[str, Any]:
    things = [] if one.place else [names[id].to_json() for id in list(one.things)[:NAMED]]
    for thing in things:
        instead = one.replaced.get(thing["id"])
        thing["replacing"] = names[instead].to_json() if instead else None
    return {
        "verb": one.verb,
        "total": one.total,
        "unproven": _doubtful(one, unproven) if one.verb == "closed" else 0,
        "things": things,
        "more": max(0, one.total - len(things)) if things else 0,
        "place": names[one.place].to_json() if one.place else None,
    }


def _doubtful(one: Sentence, unproven: set[Place]) -> int:
    return sum((one.place, path) in unproven for path in one.paths)


def _plans(ctx: Context, authors: Mapping[str, Told], unproven: set[Place]) -> list[dict[str, Any]]:
    """For each plan: how many steps were closed, by which authors, and how many are unproven."""
    works: dict[str, Work | None] = {}
    found: dict[str, dict[str, Any]] = {}
    for who, own in authors.items():
        for one in own.values():
            if one.verb != "closed":
                continue
            work = works.setdefault(one.place, find_work(ctx, one.place))
            plan = work.parent if work is not None and work.parent else one.place
            row = found.setdefault(plan, {"closed": 0, "unproven": 0, "by": []})
            row["closed"] += len(one.paths)
            row["unproven"] += _doubtful(one, unproven)
            row["by"] += [who] if who not in row["by"] else []
    names = names_of(ctx, list(found))
    return [{**names[id].to_json(), **row} for id, row in found.items()]


@dataclass(frozen=True)
class Form:
    """The markup of the digest: headings and emphasis."""

    heading: str
    name: str

    def head(self, level: int, text: str) -> str:
        return f"{self.heading * level} {text}".lstrip()

    def named(self, record: Mapping[str, Any]) -> str:
        return self.name.format(record["title"])


MARKDOWN, PLAIN = Form("#", "*{}*"), Form("", "“{}”")


def lines(result: Mapping[str, Any], form: Form = MARKDOWN) -> Iterator[str]:
    """The digest as lines; also what `clew digest` prints."""
    start, end = (result[name][:16].replace("T", " ") for name in ("from", "to"))
    yield form.head(1, f"{result['workspace']}: {start} to {end} UTC")
    if not result["authors"]:
        yield "\nNothing was done in this time."
    for author in result["authors"]:
        yield f"\n{form.head(2, author['name'])}\n"
        yield from (f"- {spoken(sentence, form)}" for sentence in author["sentences"])
    if result["plans"]:
        yield f"\n{form.head(2, 'Plans')}\n"
    for plan in result["plans"]:
        doubt = f" ({plan['unproven']} unproven)" if plan["unproven"] else ""
        yield f"- {form.named(plan)}: {_steps(plan['closed'])} closed{doubt} by {', '.join(plan['by'])}"


def spoken(sentence: Mapping[str, Any], form: Form) -> str:
    """For example `closed 2 steps of *Relay drops messages* (1 unproven)`."""
    verb, total, place = sentence["verb"], sentence["total"], sentence["place"]
    if verb == THOUGHT:
        return f"noted {total} thought{'' if total == 1 else 's'} on {form.named(place)}"
    if place:
        doubt = f" ({sentence['unproven']} unproven)" if sentence["unproven"] else ""
        return f"{verb} {_steps(total)} of {form.named(place)}{doubt}"
    named = ", ".join(_thing(thing, form) for thing in sentence["things"])
    more = f" and {sentence['more']} more" if sentence["more"] else ""
    return f"{verb} {named}{more}"


def _thing(thing: Mapping[str, Any], form: Form) -> str:
    instead = f", replacing {form.named(thing['replacing'])}" if thing.get("replacing") else ""
    return f"{form.named(thing)}{instead}"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
