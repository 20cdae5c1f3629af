"""Which records matter to a task: those of the same files or areas, those linked with it, those its words recall."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from clew.ids import ANCHOR
from clew.index.item_reads import newest_items
from clew.ledger.thought_reads import open_hypotheses, rejected_thoughts
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.resolutions import open_entries
from clew.memory.governance.patches import read as read_ops
from clew.memory.guards.approval import unapproved as without_approval
from clew.memory.kinds import KINDS
from clew.reasoning.branches import own_branch
from clew.reasoning.graph import Node, nodes
from clew.reasoning.premises import FALLEN, suspects
from clew.reasoning.scope import Scope, scope_of
from clew.reasoning.visibility import is_draft
from clew.recall.search import Request, Search
from clew.records.brief import BriefLine
from clew.records.links import links_of, replaced_by_any, retracted_among
from clew.registry.context import Context
from clew.registry.record import successions
from clew.tasks.plans import Work
from clew.tasks.views.standing import Standing

RULES = ("rule", "preference")
DECISIONS = ("decision", "rejected")
KNOWN = ("lesson", "fact")
ENDED = frozenset({"superseded", "revoked", "retracted", "rejected", "disproved", "expired", "rolled_back", "archived"})
MOST_READ = 300
MOST_REJECTED = 10
MOST_THOUGHTS = 5
"""Newest records of a kind that are read; what the task's words recall is read however old it is."""
RECALLED = 30
MOST_QUERY = 600
LINKED, SAME_FILE, SAME_AREA, BY_RECALL, BY_WORDS = 8.0, 4.0, 3.0, 3.0, 0.5
"""A link was made on purpose and says most; a shared word says little. Two words at least, at most four count."""
OWN, OF_PLAN = 6.0, 2.0
"""Cards that were written for the task, or for its plan."""
NEW, MOST_NEW = 2.0, 5
"""The records that were written last, as far as they have to do with the task."""
ANY = 1.0
"""Where there is no task, no record has less to do with it than another."""
_PATH = re.compile(r"[\w.-]*[\w-]/[\w./-]*\w|\b[\w-]+\.[a-z]\w{0,4}\b")
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMON_WORDS = """
about after also been before both does done each every from have into just like more most must never none only other
over same shall should some such than that their them then there these they this those uses used using very want were
what when where which while will with without would your test tests step task plan file files code make made keep kept
read write
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Topic:
    """What a task is about. Without a task it is empty, and records rank by their age alone."""

    ids: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    areas: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    recalled: dict[str, float] = field(default_factory=dict)

    def rank(self, id: str, text: str) -> float:
        """How much a record has to do with the task; 0 for nothing."""
        # A record whose text names the task is as good as linked with it.
        score = LINKED if id in self.linked or any(_names(text, own) for own in self.ids) else 0.0
        score += SAME_FILE if any(_names(text, file) for file in self.files) else 0.0
        score += SAME_AREA if any(_names(text, area) for area in self.areas) else 0.0
        score += BY_RECALL * self.recalled.get(id, 0.0)
        # One shared word is chance; from four on, more words say nothing new.
        shared = len(self.words & words_of(text))
        return score + (BY_WORDS * min(shared, 4) if shared > 1 else 0.0)


def _names(text: str, name: str) -> bool:
    # Not within a longer name: `a.py` is not in `data.py`, and TASK-1 is not in TASK-10.
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def words_of(text: str) -> frozenset[str]:
    """Words that say what a text is about, without common endings."""
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(_stem(word) for word in found if word not in _COMMON)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def recall_of(ctx: Context, work: Work | None, texts: Sequence[str]) -> dict[str, float]:
    """What the task's own words recall: record -> nearness from 1 down. Opens transactions of its own."""
    query = " ".join(texts)[:MOST_QUERY].strip()
    if work is None or not query:
        return {}
    # By words alone: the answer is the same on every machine, and coming back does not wait for a model to load.
    request = Request(query, RECALLED, sources=("block", "card"), words_only=True)
    found = Search(ctx, request).run()["results"]
    return {hit["_id"]: 1.0 - place / RECALLED for place, hit in enumerate(found)}


def topic_of(ctx: Context, standing: Standing, recalled: dict[str, float]) -> Topic:
    work, steps = standing.work, standing.subject.steps
    texts = [work.title, work.description or "", *(text for step in steps for text in (step.title, *step.tests))]
    criteria = [line for step in steps for line in step.success_criteria]
    covered = {path for proof in standing.proofs.values() if proof.receipt for path in proof.receipt.files or {}}
    files = covered | {path for text in [*texts, *criteria] for path in _PATH.findall(text)}
    own = nodes(ctx, standing.subject.scope.branch, standing.subject.scope.graph, limit=MOST_READ).nodes
    areas = {tag for card in own for tag in card.tags if ANCHOR.fullmatch(tag)} | set(work.tags)
    ids = {work.id, *(step.id for step in steps)}
    linked: set[str] = set()
    # Bounded, because each costs a few queries; the links that count are those of the task and of its first steps.
    for id in (work.id, *(step.id for step in steps[:8])):
        links = links_of(ctx, id)
        linked |= {link.start for link in links.incoming} | {link.end for link in links.outgoing}
    words = words_of(" ".join([*texts, *criteria]))
    return Topic(frozenset(ids), frozenset(linked), frozenset(files), frozenset(areas), words, recalled)


@dataclass(frozen=True, slots=True)
class Records:
    """Records in force, those that matter most first."""

    rules: tuple[BriefLine, ...]
    decisions: tuple[BriefLine, ...]
    known: tuple[BriefLine, ...]
    open: tuple[BriefLine, ...]
    doubts: tuple[BriefLine, ...]
    unread: dict[str, int]
    unapproved: tuple[str, ...]
    """Those whose check waits for a person."""
    staged: tuple[Block, ...]
    """Proposals that wait for a person."""
    proposed: dict[str, str]
    """Of each of them what it would do, where that is known: `to replace D-3`."""
    thoughts: tuple[BriefLine, ...]
    """Hypotheses that were only thought, and that nothing has settled since."""


def records_of(ctx: Context, work: Work | None, topic: Topic) -> Records:
    clashes = open_entries(ctx)
    against: dict[str, str] = {}
    for _, sides in clashes:
        for one, other in permutations(sides, 2):
            against[one] = other
    staged = blocks.current(ctx, prefix="P", status="staged")
    pending = _pending(staged)
    standing, unread, unapproved = _standing(ctx, topic, against, pending)
    if work is None:
        standing = [_at_least(entry, ANY) for entry in standing]
    cards = _cards(ctx, work, topic)
    # Rules bind whatever the task is about, so no rule ranks as one that has nothing to do with it.
    rules = [_at_least(entry, 1.0) for entry in standing if entry.kind in RULES]
    decisions = [entry for entry in [*standing, *cards, *_rejected(ctx, topic)] if entry.kind in DECISIONS]
    return Records(
        _ranked(rules),
        _ranked(decisions),
        _ranked(entry for entry in standing if entry.kind in KNOWN),
        _ranked(entry for entry in cards if entry.kind in ("question", "hypothesis")),
        tuple(_clash(entry, list(sides)) for entry, sides in clashes),
        unread,
        unapproved,
        tuple(staged),
        {change.proposal: change.words(id) for id, change in pending.items()},
        _ranked(_thoughts(ctx, topic)),
    )


def _ranked(entries: Iterable[BriefLine]) -> tuple[BriefLine, ...]:
    """The highest rank first; of one rank, what came in first: the newest."""
    return tuple(sorted(entries, key=lambda entry: -entry.rank))


def _at_least(entry: BriefLine, rank: float) -> BriefLine:
    return replace(entry, rank=max(entry.rank, rank))


def _clash(entry: Block, sides: list[str]) -> BriefLine:
    return BriefLine(
        "contradiction", entry.id, " against ".join(sides) or entry.headline, rank=1.0, alarm="CONTRADICTED"
    )


def _standing(
    ctx: Context, topic: Topic, against: dict[str, str], pending: dict[str, PendingChange]
) -> tuple[list[BriefLine], dict[str, int], tuple[str, ...]]:
    """Rules, preferences, decisions, rejected alternatives, lessons and facts, newest first."""
    found: list[Block] = []
    unread: dict[str, int] = {}
    kinds = {kind.prefix: kind.name for kind in KINDS.values() if kind.name in (*RULES, *DECISIONS, *KNOWN)}
    for prefix, read in blocks.newest(ctx, list(kinds), MOST_READ, topic.recalled).items():
        live = [block for block in read if (block.status or "").lower() not in ENDED]
        # Only then can there be more than was read; counting costs two queries for each kind.
        if len(read) >= MOST_READ:
            in_force = blocks.count(ctx, prefix) - blocks.count(ctx, prefix, ENDED)
            unread[kinds[prefix]] = in_force - len(live)
        found += live
    ids = [block.id for block in found]
    newest = {block.id for block in sorted(found, key=lambda block: -block.seq)[:MOST_NEW]}
    gone, overdue = retracted_among(ctx, ids), blocks.overdue(ctx, ids)
    replaced = _succeeded(ctx, ids, pending)
    entries = []
    for block in sorted(found, key=lambda block: -block.seq):
        if block.id not in gone:
            alarm = f"CONTRADICTED by {against[block.id]}" if block.id in against else ""
            alarm = alarm or (f"STALE: review was due {overdue[block.id]}" if block.id in overdue else "")
            rank = topic.rank(block.id, block.text)
            # Of two that say as much about the task, the newer one is less likely to be known.
            rank += NEW if rank and block.id in newest else 0.0
            entries.append(_block_entry(block, rank, alarm, _old(block, replaced, pending)))
    return _with_pending(entries, pending), unread, tuple(without_approval(ctx, found))


def _old(block: Block, replaced: dict[str, str], pending: dict[str, PendingChange]) -> str:
    """What a record took the place of, by its own field or by a retraction that named it; not what it only may."""
    named = ", ".join(id for id in block.replaces if id not in pending)
    return f"replaces {named}" if named else replaced.get(block.id, "")


def _succeeded(ctx: Context, ids: list[str], pending: dict[str, PendingChange]) -> dict[str, str]:
    """Of some records, how each took the place of another when that was taken back."""
    pairs = [(new, old) for new, old in replaced_by_any(ctx, ids).items() if old not in pending]
    return {new: f"{how} {old}" for (new, old), how in successions(ctx, pairs).items()}


@dataclass(frozen=True, slots=True)
class PendingChange:
    """What a proposal that waits would do to a record."""

    proposal: str
    status: str
    instead: str | None = None
    """What it would put in its place."""

    def words(self, id: str) -> str:
        return f"to replace {id}" if self.instead else f"to retract {id}"

    def alarm(self) -> str:
        doing = f"{self.instead} would replace it" if self.instead else f"to be {self.status}"
        return f"{doing}: {self.proposal}"


def _pending(staged: Iterable[Block]) -> dict[str, PendingChange]:
    """Of records that a proposal would change: which one, and to what."""
    found: dict[str, PendingChange] = {}
    for proposal in staged:
        for op in read_ops(proposal.fields.get("Ops")):
            if op.target and op.op == "replace_block":
                found[op.target] = PendingChange(proposal.id, "superseded", op.value)
            elif op.target and op.op == "set_status" and (op.status or "") in ENDED:
                found[op.target] = PendingChange(proposal.id, op.status or "")
    return found


def _with_pending(entries: list[BriefLine], pending: dict[str, PendingChange]) -> list[BriefLine]:
    """Each record that is to be replaced with what would replace it in one line; that has no line of its own then."""
    known = {entry.id: entry for entry in entries}
    told: dict[str, BriefLine] = {}
    folded: set[str] = set()
    for entry in entries:
        change = pending.get(entry.id)
        new = known.get(change.instead or "") if change is not None else None
        if change is None:
            told[entry.id] = entry
        # One that is to be replaced itself, or that stands under another heading, keeps its own line.
        elif new is not None and new.id not in pending and _heading(new) == _heading(entry) and new.id not in folded:
            told[entry.id] = replace(entry, instead=replace(new, label=""), rank=max(entry.rank, new.rank))
            folded.add(new.id)
        else:
            told[entry.id] = replace(entry, alarm=entry.alarm or change.alarm())
    return [entry for entry in told.values() if entry.id not in folded]


def _heading(entry: BriefLine) -> tuple[str, ...]:
    return next(kinds for kinds in (RULES, DECISIONS, KNOWN) if entry.kind in kinds)


def _block_entry(block: Block, rank: float, alarm: str, replaced: str) -> BriefLine:
    kind = block.kind.name
    why, says = block.get("Rationale"), block.headline
    if why.lower() == "not given":
        why = ""
    if kind == "rejected" and why:
        says, why = f"{says}: {why}", ""  # what was given up is proposed again unless the reason is seen
    if replaced:
        says = f"{says} ({replaced})"
    named = {"rejected": "REJECTED", "decision": "", "rule": ""}.get(kind, kind)
    unsettled = block.status if block.status and block.status not in ("active", "accepted") else ""
    label = ", ".join(part for part in (named, unsettled) if part)
    waits = block.status == "proposed"
    return BriefLine(kind, block.id, says, label, rank, alarm, why, block.get("Title"), proposed=waits)


def _cards(ctx: Context, work: Work | None, topic: Topic) -> list[BriefLine]:
    """Decisions, open questions and open hypotheses: of the task, of its plan, and of the caller's own branch."""
    places: list[tuple[Scope, float]] = []
    if work is not None:
        places.append((scope_of(ctx, work.id), OWN))
        places += [(scope_of(ctx, work.parent), OF_PLAN)] if work.parent else []
    places.append((Scope(own_branch(ctx)), 0.0))
    entries: dict[str, BriefLine] = {}
    for scope, bonus in places:
        for card, alarm in _in_force(ctx, scope):
            says = " ".join([card.title or "", card.text or "", *card.tags])
            # The first place counts: a card of the task is also seen on the branches below it, with a smaller bonus.
            entries.setdefault(card.id, _card_entry(card, bonus + topic.rank(card.id, says), alarm))
    return list(entries.values())


def _rejected(ctx: Context, topic: Topic) -> list[BriefLine]:
    """What was ruled out while thinking, which an agent would otherwise try again."""
    found = rejected_thoughts(ctx, MOST_REJECTED)
    gone = retracted_among(ctx, [id for id, _ in found])
    return [BriefLine("rejected", id, text, "REJECTED", topic.rank(id, text)) for id, text in found if id not in gone]


def _thoughts(ctx: Context, topic: Topic) -> list[BriefLine]:
    found = open_hypotheses(ctx, MOST_THOUGHTS)
    gone = retracted_among(ctx, [id for id, _ in found])
    return [BriefLine("thought", id, text, rank=topic.rank(id, text)) for id, text in found if id not in gone]


def note_cards(ctx: Context, scope: Scope, most: int) -> list[Node]:
    """Notes that somebody kept as records of a task, newest first."""
    return _standing_cards(ctx, scope, ("note",), most)


def _standing_cards(ctx: Context, scope: Scope, types: tuple[str, ...], most: int) -> list[Node]:
    """Cards that were not taken back and did not fall, newest first."""
    live = [
        card
        for card in nodes(ctx, scope.branch, scope.graph, types=types, limit=most).nodes
        if card.status not in FALLEN
    ]
    gone = retracted_among(ctx, [card.id for card in live])
    return [card for card in live if card.id not in gone]


def step_of(card: Node) -> str | None:
    """The id of the step that a card was kept for."""
    placed = (card.meta or {}).get("step")
    return placed.get("step_id") if isinstance(placed, dict) else None


def open_cards(ctx: Context, most: int) -> tuple[BriefLine, ...]:
    """What is open anywhere in the workspace, of whatever task, newest first."""
    rows = newest_items(ctx.tx, ctx.workspace, "card", ("question", "hypothesis"), "open", most)
    gone = retracted_among(ctx, [row["ref"] for row in rows])
    return tuple(
        BriefLine(row["kind"], row["ref"], row["title"] or row["body"] or "", _open_label(row["kind"]), 1.0)
        for row in rows
        if row["ref"] not in gone
    )


def _open_label(kind: str) -> str:
    return "hypothesis" if kind == "hypothesis" else ""


def _in_force(ctx: Context, scope: Scope) -> list[tuple[Node, str]]:
    live = _standing_cards(ctx, scope, ("decision", "question", "hypothesis"), MOST_READ)
    # An answered question says nothing to somebody who comes back; what was decided does, whatever its status.
    live = [card for card in live if card.type == "decision" or card.status == "open"]
    doubts = suspects(ctx, scope, [card.id for card in live])
    return [(card, f"SUSPECT: {doubts[card.id].because}" if card.id in doubts else "") for card in live]


def _card_entry(card: Node, rank: float, alarm: str) -> BriefLine:
    rejected = card.type == "decision" and card.status == "rejected"
    kind = "rejected" if rejected else card.type
    label = "REJECTED" if rejected else _open_label(kind)
    label = ", ".join(part for part in (label, "draft" if is_draft(card.tags) else "") if part)
    title, text = card.title or "", card.text or ""
    # A title that was cut from the text says nothing that the text does not.
    whole = f"{title}: {text}" if title and text and not text.startswith(title.rstrip("…. ")) else text or title
    return BriefLine(kind, card.id, whole, label, rank, alarm, short=title)
