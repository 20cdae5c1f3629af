"""open: one call that resolves every id that Clew prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clew.canonical import canonical
from clew.clock import rfc3339
from clew.errors import ClewError, shorten, suggest, unknown_id
from clew.ids import CONTROL, kind_by_form, normal_id
from clew.index.item_reads import item_named, items_by_ref
from clew.kinds.builtin import TASK
from clew.kinds.catalogue import shown_label, state_of
from clew.kinds.state import ENDED, State, Verdict
from clew.kinds.statuses import BLOCKED, CANCELED, REOPENED, meaning
from clew.ledger.cipher import KINDS
from clew.ledger.thought_reads import open_hypotheses
from clew.reasoning.activity import history_of
from clew.reasoning.documents import branch_name
from clew.reasoning.openers import open_card, summary
from clew.records.activity import history_lines
from clew.records.doubts import doubts_about, said_by
from clew.records.focus import step_named
from clew.records.links import SOURCES, RetractionRow, holds_again, links_of, retracted_among, retraction_of
from clew.records.verdicts import verdicts
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.operation import AgentForm, Bounded, Name, Verbosity, View, operation
from clew.registry.record import REPLACES, Opened, opener, refresh, successions
from clew.store.database import Row
from clew.store.erasing import RECORD_ERASED
from clew.store.events import last_of_type
from clew.tasks.views.cuts import CAPSULE

RECORD_PARTS = ("history", "incoming", "outgoing", "rests_on_it", "may_contradict")
THINGS = ("card", "block", "entry", "item", "receipt", "step")
"""The key under which a response holds the record itself, if it is not the name of its kind."""
OPEN_BUDGET = Budget(
    (
        *(Clip(f"{path}.text", 4000) for path in ("card", "state")),
        Clip("entry.content", 4000),
        Clip("block.text", 8000),
        Trim("history", drop="last", floor=3),
        Trim("outline", drop="last", floor=3),
        Trim("notes", drop="last", floor=1),
        Trim("thoughts", drop="last", floor=1),
        *(Trim(f"record.{part}", drop="last", floor=3) for part in RECORD_PARTS),
        Drop("block.fields"),
        Trim("cards", drop="last", floor=3),
        Trim("events", drop="last", floor=3, count="count", more="has_more_events"),
        *(Drop(f"{name}.meta") for name in ("card", "state", "entry")),
        *(Clip(f"{path}.text", 400) for path in ("card", "state")),
        *(Clip(path, 400) for path in ("entry.content", "block.text", "item.body", "prompt", "cards[].text")),
        Trim("history", drop="last"),
        Drop("record.history"),
        Drop("links"),
        *(Drop(name) for name in ("outline", "notes", "thoughts")),
        *(Drop(name) for name in ("state", "context")),
        Trim("events", drop="last", count="count", more="has_more_events"),
        *(Trim(name, drop="last") for name in ("cards", "edges.supports", "edges.blocks")),
        *(Drop(name) for name in ("conflict", "edges", "head", "record")),
        *(Drop(name) for name in ("signals", "steps", "target", "radar", "step_focus")),
        # The next call and the location of the reasoning are dropped last: they are why a plan or task is opened.
        *(Drop(f"capsule.{name}") for name in ("reasoning_ref", "counts", "handoff")),
        *CAPSULE,
        Drop("step"),
        *(Clip(path, 100) for path in ("card.text", "entry.content", "block.text", "item.body", "prompt")),
    ),
    keep=("kind", "id", "ref", "summary", "reasoning_ref", *THINGS, "job", "anchor"),
)


class Open(Bounded):
    synonyms: ClassVar[dict[str, str]] = {
        "all_lanes": "include_drafts",
        **dict.fromkeys(("ref", "record_id", "record", "block_id", "card_id", "task"), "id"),
    }

    id: Annotated[
        Name,
        Field(min_length=1, description="Any id: CARD-1, notes@12, a:core, TASK-001, JOB-001, D-20260213-001, ..."),
    ]
    limit: Annotated[int, Field(ge=1, le=50, description="Most cards, events or edges to show with it.")] = 20
    include_drafts: Annotated[bool, Field(description="Show drafts, a job's prompt, a task's whole lens.")] = False
    verbosity: Annotated[Verbosity, Field(description="compact shows what it is, not all it says.")] = None


TEXT = 1_500
MOST_STEPS = 20
"""Maximum number of a task's steps in the text form of a response."""
MOST_THOUGHTS = 50
"""Open hypotheses that are searched for those of a task."""
MOST_SHOWN, MOST_OF_THOUGHT = 12, 160
"""Thoughts of a session in the text form of a response, and how much of each."""
TOLD = 8
"""Links and events in the text form of a response; the rest is counted."""


def open_lines(result: Opened, default_workspace: str) -> list[str]:
    """The record as text: kind, content, how it ended, and its links in both directions."""
    inner, kind, record = inner_of(result), result["kind"], result.get("record", {})
    facts = [str(fact) for fact in (inner.get("type") or kind, record.get("label") or _status(result, inner)) if fact]
    head = f"{result.get('id') or result.get('ref')} ({', '.join(facts)}): {result.get('summary', '')}"
    lines = [head, *_text_lines(kind, inner, head)]
    if kind == "session":
        return lines + _thought_lines(result) + _record_lines(_without_owner(record))
    return lines + _work_lines(result) + _record_lines(record)


def _status(result: Opened, inner: dict[str, Any]) -> str | None:
    status = inner.get("status") or inner.get("grade") or result.get("status")
    target = result.get("target")
    if result["kind"] == "task" and target:
        return f"{status} {target['steps_completed']}/{target['steps_count']}"
    return status


def _text_lines(kind: str, inner: dict[str, Any], head: str) -> list[str]:
    """The text of the record, as far as the title line does not contain it."""
    text = next((inner[name] for name in ("text", "content", "body", "thought") if inner.get(name)), None)
    if not isinstance(text, str) or " ".join(text.split()) in head:
        return []
    shown = [line for line in shorten(text, TEXT).splitlines() if line.strip()]
    return [line for line in shown if _tells(line, head)] if kind == "block" else shown


def _thought_lines(result: Opened) -> list[str]:
    """The thoughts of a session, one line each, newest last, and where to read the others."""
    shown = result.get("thoughts", [])[-MOST_SHOWN:]
    left = result["session"]["thoughtCount"] - len(shown)
    call = f"op_read name=session_get arguments={canonical({'session_id': result['id']})}"
    earlier = [f"{left} earlier thought{'s' * (left != 1)} left out: {call}"] if left > 0 else []
    return [*earlier, *(_thought_line(thought) for thought in shown)]


def _thought_line(thought: dict[str, Any]) -> str:
    """`alt:2 (hypothesis, from 1): ...`: the number that `open` accepts behind the session's id."""
    branch = f"{thought['branchId']}:" if thought.get("branchId") else ""
    facts = [
        KINDS.get(thought.get("type", ""), ""),
        f"revises {thought['revisesThought']}" if thought.get("revisesThought") else "",
        f"from {thought['branchFromThought']}" if thought.get("branchFromThought") else "",
    ]
    told = ", ".join(fact for fact in facts if fact)
    says = shorten(" ".join(thought["thought"].split()), MOST_OF_THOUGHT)
    return f"{branch}{thought['thoughtNumber']}{f' ({told})' if told else ''}: {says}"


def _without_owner(record: dict[str, Any]) -> dict[str, Any]:
    """The related records without the links that its own lines already show."""
    return {**record, "incoming": [link for link in record.get("incoming", []) if link["rel"] != "part_of"]}


_EMPTY_FIELDS = frozenset({"none", "untagged", "global", "not given", "-", ""})
_FIELDS_ABOVE = ("[", "Status:", "Sources:", "- remember")


def _tells(line: str, head: str) -> bool:
    """Whether a line of a block adds to the title: not a repeated statement, not an empty field."""
    name, colon, value = line.partition(":")
    if line.startswith(_FIELDS_ABOVE) or (colon and value.strip().lower() in _EMPTY_FIELDS):
        return False
    return not (name == "Statement" and " ".join(value.split()) in head)


def inner_of(result: Opened) -> dict[str, Any]:
    """The part of a response that holds the record itself; its key is the kind."""
    named = [result.get(name) for name in (result["kind"], *THINGS)]
    return next((part for part in named if isinstance(part, dict)), {})


def _work_lines(result: Opened) -> list[str]:
    if result["kind"] == "step":
        return _step_lines(result)
    if result["kind"] not in ("task", "plan"):
        return []
    handoff = (result.get("capsule") or {}).get("handoff") or {}
    if result["kind"] == "plan":
        return [f"{name}: {'; '.join(handoff[name][:TOLD])}" for name in HANDED_ON if handoff.get(name)]
    # The grade of each step is shown on its own line.
    risks = [risk for risk in handoff.get("risks", []) if not risk.startswith("not proven: ")]
    return [
        *([result["progress"]] if result.get("progress") else []),
        *_first_steps(result.get("outline", [])),
        *(f"note on {shorten(' '.join(note.split()), 200)}" for note in result.get("notes", [])[:TOLD]),
        *(f"open thought {item['id']}: {shorten(item['text'], 200)}" for item in result.get("thoughts", [])[:TOLD]),
        *_counted("risks", risks, "; "),
        *([f"resume task={result['id']}"] if state_of(TASK.name, result["status"]).is_live else []),
    ]


HANDED_ON = ("done", "remaining", "risks")


def _step_lines(result: Opened) -> list[str]:
    """A step's requirements, its grade, and the notes about it."""
    step = result.get("step") or {}
    return [
        f"{result['path']} of {result['task']}",
        *(f"done when: {line}" for line in step.get("success_criteria", []) if line != step.get("title")),
        *(f"test: {line}" for line in step.get("tests", [])),
        *([f"proof: {result['proof']}"] if result.get("proof") else []),
        *([f"blocked: {step.get('block_reason') or 'yes'}"] if result["status"] == BLOCKED else []),
        *(f"note: {shorten(' '.join(note.split()), 300)}" for note in result.get("notes", [])[:3]),
    ]


def _first_steps(steps: list[str]) -> list[str]:
    more = [f"and {len(steps) - MOST_STEPS} more steps"] if len(steps) > MOST_STEPS else []
    return [*steps[:MOST_STEPS], *more]


def _record_lines(record: dict[str, Any]) -> list[str]:
    lines = _ending_lines(record)
    lines += [f"disputed with {other['id']}: {_short(other['text'])}" for other in record.get("disputed", [])[:TOLD]]
    lines += _suspect_lines(record)
    lines += [
        f"{old.get('how', REPLACES)} {old['id']}{': ' + old['why'] if old['why'] else ''}"
        for old in record.get("replaces", [])
    ]
    lines += _doubt_lines(record.get("may_contradict", []))
    for name, word in (("outgoing", "links to"), ("incoming", "linked from")):
        links = [f"{link['id']} ({link['rel']})" for link in record.get(name, []) if link["rel"] != "replaces"]
        lines += _counted(word, links)
    lines += _counted("rests on it", record.get("rests_on_it", []))
    return lines + _counted("history", history_lines(record.get("history", [])))


def _ending_lines(record: dict[str, Any]) -> list[str]:
    """What replaced or answered it; why and by whom it was withdrawn."""
    lines = []
    heir, ended = record.get("successor"), record.get("retraction")
    if heir:
        lines.append(f"{heir['how']} {heir['id']}: {_short(heir['text'])}")
    # A step that was reopened and closed since is shown as done; its history has the rest.
    if ended and not (ended["status"] == REOPENED and ended.get("lifted")):
        why = f"{ended['why']} ({ended.get('by', 'unnamed')}, {ended['ts'][:10]})"
        if ended.get("lifted"):
            # An earlier ending is history: the label in the first line is the current one.
            lines.append(f"before that {_ended_word(ended)}: {why}")
        else:
            lines.append(f"why: {why}" if heir else f"{_ended_word(ended)}: {why}")
    return lines


def _ended_word(ended: dict[str, Any]) -> str:
    if ended.get("waits_for"):
        return "proposed to withdraw it"
    return ended["status"] if ended["status"] in (REOPENED, CANCELED) else State.WITHDRAWN.value


def _suspect_lines(record: dict[str, Any]) -> list[str]:
    """What it rests on that no longer holds: directly with the reason, else with the path to it."""
    fallen = record.get("fallen_premises", [])[:TOLD]
    direct = [f"suspect: rests on {ground['id']} ({ground['label']}): {ground['why']}" for ground in fallen]
    suspect = record.get("suspect")
    if suspect is None or suspect["path"][-1] in {ground["id"] for ground in fallen}:
        return direct
    way = " > ".join(suspect["path"][1:])
    return [*direct, f"{suspect['label']}{f', by {way}' if len(suspect['path']) > 2 else ''}"]


def _short(text: str) -> str:
    return shorten(" ".join(text.split()), 200)


def _doubt_lines(others: list[dict[str, str]]) -> list[str]:
    if not others:
        return []
    told = [f"may contradict {other['id']}: {shorten(' '.join(other['text'].split()), 120)}" for other in others[:TOLD]]
    left = [f"and {len(others) - TOLD} more"] if len(others) > TOLD else []
    named = ", ".join(other["id"] for other in others[:TOLD])
    return [*told, *left, f"if both hold, remember it again with coexists_with=[{named}]"]


def _counted(word: str, items: list[str], between: str = ", ") -> list[str]:
    more = f" and {len(items) - TOLD} more" if len(items) > TOLD else ""
    return [f"{word}: {between.join(items[:TOLD])}{more}"] if items else []


@operation(
    "open", mode="own", budget=OPEN_BUDGET, example={"id": "CARD-1"}, view=View(agent=AgentForm(("id",), open_lines))
)
def open_id(ctx: Context, args: Open) -> dict[str, Any]:
    """Show what an id stands for: a card, entry, anchor, task, plan, job, runner, session or block."""
    id = bare_id(ctx, args.id)
    kind = kind_by_form(id)
    catch_up = refresh.find(kind) if kind is not None else None
    if catch_up is not None:
        # Before the snapshot is taken, so that it includes the hand edits that this reads.
        catch_up(ctx)
    with ctx.reading() as bound:
        return _opened(bound, id, args)


def bare_id(ctx: Context, given: str, field: str = "id") -> str:
    """An id as stored. A qualified id names its workspace; one of another workspace remains unknown here."""
    id = given.strip().removeprefix(f"{ctx.workspace}:")
    if not id or CONTROL.search(id):
        hint = {"kind": "value", "field": field}
        raise ClewError("INVALID_INPUT", f"{field}: must be one line of text", hints=[hint])
    # Cards may have any id; every other kind is recognised by its form, in either case.
    return normal_id(id) if kind_by_form(id) is None and kind_by_form(normal_id(id)) is not None else id


def find_record(ctx: Context, id: str, args: Open) -> Opened | None:
    """Retrieve a record from any store, in the form its domain returns."""
    # Cards come last: a card may have any id, including one that has the form of another kind.
    return _by_form(ctx, id, args) or _by_source(ctx, id, args) or open_card(ctx, id, args.limit)


def _opened(ctx: Context, id: str, args: Open) -> Opened:
    id = step_named(ctx, id) or id
    erased = tombstone_of(ctx, id)
    if erased is not None:
        return {"workspace": ctx.workspace, **erased}
    opened = find_record(ctx, id, args)
    if opened is None:
        raise unknown_record(id)
    if opened["kind"] == "task":
        opened = {**opened, "thoughts": _open_thoughts(ctx, opened["id"], args.limit)}
    around = surroundings(ctx, str(opened.get("id") or id), opened, args.limit)
    shown = {"workspace": ctx.workspace, **opened, **({"record": around} if around else {})}
    return _compact(shown) if ctx.is_compact(args.verbosity) else shown


def tombstone_of(ctx: Context, id: str) -> Opened | None:
    """The tombstone of a record that a person erased: its id, when, and by whom."""
    found = last_of_type(ctx.tx, ctx.workspace, id, RECORD_ERASED)
    if found is None:
        return None
    when, who = rfc3339(found.ts_ms), found.agent or "a person"
    summary = f"erased by {who} on {when[:10]}"
    return {"kind": "erased", "id": id, "summary": summary, "was": found.payload["kind"], "by": who, "ts": when}


def _open_thoughts(ctx: Context, task: str, limit: int) -> list[dict[str, str]]:
    """Hypotheses from work on a task that are still unresolved."""
    own = {link.start for link in links_of(ctx, task).incoming}
    found = [(id, text) for id, text in open_hypotheses(ctx, MOST_THOUGHTS) if id in own]
    gone = retracted_among(ctx, [id for id, _ in found])
    return [{"id": id, "text": text} for id, text in found if id not in gone][:limit]


def _replaced(
    ctx: Context, id: str, replacing: list[str], withdrawn: Mapping[str, RetractionRow]
) -> list[dict[str, Any]]:
    how = successions(ctx, [(id, old) for old in replacing])
    return [
        {"id": old, "why": withdrawn[old].why if old in withdrawn else None}
        | ({"how": how[id, old]} if how[id, old] != REPLACES else {})
        for old in replacing
    ]


def surroundings(ctx: Context, id: str, opened: Opened, limit: int) -> dict[str, Any]:
    """The context of a record: its retraction, links in both directions, dependents, and history."""
    links, ended = links_of(ctx, id, limit), retraction_of(ctx, id)
    replacing = [link.end for link in links.outgoing if link.rel == "replaces"]
    taken_back = retracted_among(ctx, [*replacing, *links.premises()])
    history = [] if "history" in opened else events_of(ctx, id, opened, limit)
    verdict = verdicts(ctx, [id]).get(id)
    parts = {
        **(_verdict_parts(ctx, id, verdict) if verdict is not None else {}),
        "retraction": _as_it_stands(ended, opened) if ended is not None else None,
        "replaces": _replaced(ctx, id, replacing, taken_back),
        "incoming": [{"rel": link.rel, "id": link.start} for link in links.incoming],
        "outgoing": [{"rel": link.rel, "id": link.end} for link in links.outgoing],
        "may_contradict": [{"id": other.id, "text": said_by(other)} for other in doubts_about(ctx, id)[:limit]],
        "rests_on_it": links.resting(),
        "fallen_premises": _fallen(ctx, links.premises(), taken_back),
        "history": history if len(history) > 1 else [],
    }
    return {name: part for name, part in parts.items() if part}


def _verdict_parts(ctx: Context, id: str, verdict: Verdict) -> dict[str, Any]:
    """Whether it holds, its label, and the records that the label names with their text."""
    row = item_named(ctx.tx, ctx.workspace, id)
    label = shown_label(row["source"], row["kind"], verdict) if row is not None else ""
    heir = verdict.replaced_by or verdict.settled_by
    how = "replaced by" if verdict.replaced_by else "answered by"
    says = _sayings(ctx, [*verdict.disputed_with, *([heir] if heir else [])])
    suspect = verdict.suspect
    return {
        "label": label,
        "successor": {"id": heir, "how": how, "text": says.get(heir, "")} if heir else None,
        "disputed": [{"id": other, "text": says.get(other, "")} for other in verdict.disputed_with],
        "suspect": {"label": suspect.label, "path": list(suspect.path)} if suspect is not None else None,
    }


def _sayings(ctx: Context, ids: list[str]) -> dict[str, str]:
    rows = items_by_ref(ctx.tx, ctx.workspace, ids)
    return {row["ref"]: row["title"] or row["body"] or "" for row in rows}


def _fallen(ctx: Context, premises: list[str], taken_back: dict[str, RetractionRow]) -> list[dict[str, str]]:
    """Direct premises that no longer hold, with the label and the reason."""
    found = {id: verdict for id, verdict in verdicts(ctx, premises).items() if verdict.state.is_over}
    why = {id: taken_back[id].why if id in taken_back else "" for id in premises}
    gone = [id for id in premises if id in found or id in taken_back]
    return [{"id": id, "label": found[id].label if id in found else "withdrawn", "why": why[id]} for id in gone]


def _as_it_stands(ended: RetractionRow, opened: Opened) -> dict[str, Any]:
    """The retraction, if it still applies: a card may be open again, a proposal applied in the meantime."""
    now = opened.get("status") or opened.get("card", {}).get("status")
    shown = ended.to_json()
    if holds_again(ended, now):
        return {**shown, "lifted": True}
    if opened["kind"] not in ("card", "block") or now == ended.status or ended.proposal is None:
        return shown
    return {**shown, "status": now, "waits_for": None} if now and meaning(now) in ENDED else shown


def events_of(ctx: Context, id: str, opened: Opened, limit: int) -> list[dict[str, Any]]:
    """The history of a record, newest first; events of a step name its task and path."""
    if opened["kind"] == "step":
        return history_of(ctx, opened["task"], limit, opened["path"])
    return history_of(ctx, id, limit)


def _by_form(ctx: Context, id: str, args: Open) -> Opened | None:
    kind = kind_by_form(id)
    show = opener.find(kind) if kind is not None else None
    return show(ctx, id, args.limit, args.include_drafts) if show is not None else None


def _by_source(ctx: Context, id: str, args: Open) -> Opened | None:
    """The search index's entry for this ref, except cards."""
    row = item_named(ctx.tx, ctx.workspace, id)
    if row is None or row["source"] == "card":
        return None
    show = opener.find(SOURCES.get(row["source"], str(row["source"])))
    return show(ctx, id, args.limit, args.include_drafts) if show is not None else _item(ctx, row)


def _item(ctx: Context, row: Row) -> Opened:
    """Any item in the search index that has no dedicated opener."""
    item = {name: row[name] for name in ("ref", "source", "kind", "title", "body", "status", "doc", "seq", "ts_ms")}
    item["branch"] = branch_name(ctx, row["branch"]) if row["branch"] is not None else None
    return {"kind": row["source"], "id": row["ref"], "summary": summary(row["title"], row["body"]), "item": item}


def _compact(opened: Opened) -> Opened:
    kept = ("workspace", "kind", "id", "ref", "summary", "head", "edges", "count", "status", "record", "truncated")
    shown = {name: opened[name] for name in kept if name in opened}
    if opened["kind"] not in ("task", "plan"):
        return shown
    action = (opened.get("capsule") or {}).get("action") or {}
    way = {"next_action": {"tool": action["tool"], "args": action.get("args", {})}} if "tool" in action else {}
    return shown | {name: opened[name] for name in ("focus", "reasoning_ref") if name in opened} | way


def unknown_record(id: str) -> ClewError:
    return unknown_id(
        "id",
        id,
        "Copy the id from a snapshot, a list or a search result.",
        [suggest("status", "Shows where you are.")],
    )
