"""digest: what was done in a period, by author and by plan, in sentences and complete at any size.

Every event of the period is read; what only keeps the books is left out. Each sentence counts all that it is about and
names the first few of them.
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
from clew.memory.files.sync import sync
from clew.memory.kinds import kind_of as block_kind
from clew.recall.search import moment_of
from clew.records.record_view import names_of
from clew.registry.budget import Budget, Trim
from clew.registry.callers import families
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, Title, View, operation
from clew.registry.record import Named
from clew.store.events import EventRow, events_after, first_seqs, last_event_until
from clew.tasks.plans import INBOX, Work, find_work
from clew.tasks.proofs import proof_states
from clew.tasks.steps import steps_of

PAGE = 2_000
NAMED = 5
"""Things that a sentence names; the others are counted."""
MOST_TASKS = 200
"""Tasks whose closed steps are judged."""
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
CARDS = {"question": "asked", "hypothesis": "supposed", "test": "planned the test"}
"""What writing a card of a kind is called; of other kinds it is written."""
THOUGHT = "thought on"
TOLD = {
    "proposal_applied": "approved",
    "proposal_rejected": "rejected",
    "dispute_decided": "decided between",
    "proposal_staged": "proposed",
    "record_retracted": "withdrew",
    "proposal_rolled_back": "rolled back",
    "job_failed": "failed at",
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
"""What it is called when a task gets a status. That it is to do or in work again is no end."""
ORDER = (
    *KEPT.values(),
    *("changed", "decided between", "withdrew", "approved", "rejected", "rolled back", "proposed", "failed at"),
    *("closed", "reopened", "was blocked at", "started", "planned", "finished", "parked", "canceled", "completed"),
    *("completed the reasoning", *CARDS.values(), THOUGHT, "wrote", "noted"),
)
"""Decisions, rules, lessons, failures and proofs first."""
STEPS = ("closed", "reopened", "was blocked at")
THOUGHTS = ("thought_added", "thought_revised", "thought_branched")
UNNAMED = "an unnamed agent"
_BACK = re.compile(r"(\d{1,4}) ?(hour|day|week)s?")


class Digest(Bounded):
    since: Annotated[Title, Field(description="yesterday, today, '7 days', or an ISO date or time.")] = "yesterday"
    until: Annotated[Name | None, Field(description="An ISO date or time; default: now.")] = None


@dataclass
class Sentence:
    """One verb with everything that it was done to."""

    verb: str
    place: str = ""
    """The task or session in which, where that belongs to the sentence."""
    things: dict[str, int] = field(default_factory=dict)
    """Ids, in their order, with how often."""
    replaced: dict[str, str] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)

    @property
    def total(self) -> int:
        return len(self.paths) or (sum(self.things.values()) if self.verb == THOUGHT else len(self.things))


Told = dict[tuple[str, str], Sentence]


def digest_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    return [line for line in result["markdown"].splitlines() if line.strip()]


@operation("digest", mode="own", budget=BUDGET, example={"since": "yesterday"}, view=View(lines=digest_lines))
def digest(ctx: Context, args: Digest) -> dict[str, Any]:
    """Tell what was done in a period, by author and by plan: decisions, lessons, proofs and work, in sentences."""
    sync(ctx)
    with ctx.reading() as bound:
        start, end = _period(bound, args)
        authors = _gathered(bound, start, end)
        names = names_of(bound, _named(authors))
        unproven = _unproven(bound, authors)
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
    return {**result, "markdown": "\n".join(markdown(result))}


def _period(ctx: Context, args: Digest) -> tuple[int, int]:
    end = _moment(ctx, args.until, "until") if args.until else ctx.now_ms
    start = _moment(ctx, args.since, "since")
    if start >= end:
        raise invalid("since", "must lie before the end of the period", "Name an earlier day.")
    return start, end


def _moment(ctx: Context, text: str, field: str) -> int:
    """A moment in milliseconds; a bare date is the beginning of that day."""
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
    """Sentences by author; all events of the period are read, page by page."""
    known = families(ctx)
    after = last_event_until(ctx.tx, ctx.workspace, "ts_ms", start - 1)
    found: dict[str, Told] = {}
    events = _once(list(_events(ctx, after, end)))
    fresh = _born(ctx, events, after)
    for event in events:
        who = known.get(event.agent or "", event.agent or UNNAMED)
        told = _told(event, fresh)
        if told is not None:
            _add(found.setdefault(who, {}), told, event)
    return found


def _once(events: list[EventRow]) -> list[EventRow]:
    """Without the records that an approval wrote: that it was approved says so."""
    approvals = (event for event in events if event.type == "proposal_applied" and not event.payload.get("automatic"))
    approved = {block for event in approvals for block in event.payload.get("blocks") or ()}
    return [event for event in events if event.type != "block_written" or event.subject not in approved]


def _events(ctx: Context, after: int, end: int) -> Iterator[EventRow]:
    while True:
        page = events_after(ctx.tx, ctx.workspace, after, PAGE)
        yield from (event for event in page if event.ts_ms <= end)
        if len(page) < PAGE or page[-1].ts_ms > end:
            return
        after = page[-1].seq


def _born(ctx: Context, events: Iterable[EventRow], after: int) -> set[str]:
    """The records that came to be in the period: what happened to them later is part of that."""
    written = {event.subject for event in events if event.type == "block_written" and event.subject}
    born = first_seqs(ctx.tx, ctx.workspace, sorted(written))
    return {id for id, seq in born.items() if seq > after}


def _told(event: EventRow, fresh: set[str]) -> tuple[str, str, str] | None:
    """Verb, place and thing of an event; None for what only keeps the books."""
    subject = event.subject or ""
    if event.type in THOUGHTS:
        return THOUGHT, subject, subject
    if event.type == "block_written":
        return _written(event, subject, fresh)
    if event.type == "task_completed":
        ended = ENDED.get(str(event.payload.get("status") or statuses.WORK_DONE))
        return (ended, "", subject) if ended else None
    if event.type == "plan_created" and event.payload.get("title") == INBOX:
        return None  # nobody planned it: it keeps the tasks that were started without a plan
    verb = TOLD.get(event.type)
    if event.type == "card_written":
        verb = CARDS.get(str(event.payload.get("type")), verb)
    if verb is None or not subject or (verb == "withdrew" and event.payload.get("status") == statuses.PROPOSED):
        return None
    return verb, subject if verb in STEPS else "", subject


def _written(event: EventRow, subject: str, fresh: set[str]) -> tuple[str, str, str] | None:
    verb = KEPT.get(block_kind(subject).name)
    if verb is None or event.payload.get("origin") in ("rollback", "undo", "review"):
        return None
    if event.payload.get("status") == statuses.PROPOSED:
        return None  # nothing was decided yet: that it was proposed is told by its proposal
    return (verb if subject in fresh else "changed"), "", subject


def _add(own: Told, told: tuple[str, str, str], event: EventRow) -> None:
    verb, place, thing = told
    if verb == "changed" and any(thing in own[key].things for key in own if key[0] in KEPT.values()):
        return
    sentence = own.setdefault((verb, place), Sentence(verb, place))
    sentence.things[thing] = sentence.things.get(thing, 0) + 1
    if verb in STEPS and event.path:
        sentence.paths.add(event.path)
    if verb == "decided between" and event.payload.get("verdict") == "replace":
        sentence.replaced[thing] = next(iter(event.payload.get("others") or ()), "")


def _ordered(own: Told) -> list[Sentence]:
    return sorted(own.values(), key=lambda one: (ORDER.index(one.verb), -one.total))


def _named(authors: Mapping[str, Told]) -> list[str]:
    """What the sentences name: the first things of each, and where it was."""
    sentences = [one for own in authors.values() for one in own.values()]
    ids = [id for one in sentences for id in (one.place, *list(one.things)[:NAMED], *one.replaced.values()) if id]
    return list(dict.fromkeys(ids))


def _unproven(ctx: Context, authors: Mapping[str, Told]) -> dict[tuple[str, str], bool]:
    """Of the steps that were closed, by task and path, whether nothing proves them now."""
    closed = {one.place for own in authors.values() for one in own.values() if one.verb == "closed"}
    steps = [step for task in sorted(closed)[:MOST_TASKS] for step in steps_of(ctx, task) if step.completed]
    proofs = proof_states(ctx, steps) if steps else {}
    return {(step.task, step.path): not proofs[step.id].settled for step in steps}


def _sentence(one: Sentence, names: Mapping[str, Named], unproven: Mapping[tuple[str, str], bool]) -> dict[str, Any]:
    things = [] if one.verb in (*STEPS, THOUGHT) else [names[id].to_json() for id in list(one.things)[:NAMED]]
    for thing in things:
        instead = one.replaced.get(thing["id"])
        thing["replacing"] = names[instead].to_json() if instead else None
    doubtful = sum(unproven.get((one.place, path), False) for path in one.paths) if one.verb == "closed" else 0
    return {
        "verb": one.verb,
        "total": one.total,
        "unproven": doubtful,
        "things": things,
        "more": max(0, one.total - len(things)) if things else 0,
        "place": names[one.place].to_json() if one.place else None,
    }


def _plans(ctx: Context, authors: Mapping[str, Told], unproven: Mapping[tuple[str, str], bool]) -> list[dict[str, Any]]:
    """For each plan how many of its steps were closed, by whom, and how many nothing proves."""
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
            row["unproven"] += sum(unproven.get((one.place, path), False) for path in one.paths)
            row["by"] += [who] if who not in row["by"] else []
    names = names_of(ctx, list(found))
    return [{**names[id].to_json(), **row} for id, row in found.items()]


def markdown(result: Mapping[str, Any]) -> Iterator[str]:
    """The digest as Markdown; also what `clew digest` prints."""
    yield f"# {result['workspace']}: {result['from'][:16]} to {result['to'][:16]}"
    if not result["authors"]:
        yield "\nNothing was done in this time."
    for author in result["authors"]:
        yield f"\n## {author['name']}\n"
        yield from (f"- {spoken(sentence)}" for sentence in author["sentences"])
    if result["plans"]:
        yield "\n## Plans\n"
    for plan in result["plans"]:
        doubt = f" ({plan['unproven']} unproven)" if plan["unproven"] else ""
        yield f"- *{plan['title']}*: {_steps(plan['closed'])} closed{doubt} by {', '.join(plan['by'])}"


def spoken(sentence: Mapping[str, Any]) -> str:
    """Such as `closed 2 steps of *Relay drops messages* (1 unproven)`."""
    verb, total, place = sentence["verb"], sentence["total"], sentence["place"]
    if verb == THOUGHT:
        return f"noted {total} thought{'' if total == 1 else 's'} on *{place['title']}*"
    if verb in STEPS:
        doubt = f" ({sentence['unproven']} unproven)" if sentence["unproven"] else ""
        return f"{verb} {_steps(total)} of *{place['title']}*{doubt}"
    named = ", ".join(_thing(thing) for thing in sentence["things"])
    more = f" and {sentence['more']} more" if sentence["more"] else ""
    return f"{verb} {named}{more}"


def _thing(thing: Mapping[str, Any]) -> str:
    instead = f", replacing *{thing['replacing']['title']}*" if thing.get("replacing") else ""
    return f"*{thing['title']}*{instead}"


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
