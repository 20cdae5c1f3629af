"""Detection of contradictions: when a record changes, from the verdicts on it and its neighbours.

The model never runs inside a write transaction. `remember` compares a new record with its nearest
neighbours before its transaction (`read_ahead`); the remaining pairs, and records written in any other
way, are queued and compared after the commit (`worker`). Everything here uses the stored verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import NamedTuple

from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions import entries, neighbours, queue, verdicts
from clew.memory.contradictions.assertions import (
    COMPARED,
    HEARD,
    LEARNED,
    MOST_CHARS,
    Assertion,
    assertion_of,
    heard,
    live,
    saying,
    statement_as,
)
from clew.memory.contradictions.judgement import Clash, Pair, graded, ordered
from clew.memory.contradictions.names import Naming, lookup_words
from clew.memory.contradictions.neighbours import Wording, words_of
from clew.memory.contradictions.verdicts import Odds
from clew.memory.files.markdown import listed, one_line, parse_block
from clew.memory.governance.patches import ProposalDraft
from clew.memory.kinds import prefix_of
from clew.memory.marks import normal_words
from clew.registry.context import Context

AT_ONCE = 2
"""Neighbours that a new record is compared with while its author waits: five in six contradictions are
with one of them. Each pair takes as long as the rest of the call; the others are reported with the next
response."""
NEAREST = 8
"""Maximum number of neighbours that a record is compared with."""
LEAST = 4
"""Neighbours that a record which was applied singly is compared with, however many others are queued:
an import takes longer than people wait, and records that agents store meanwhile must be compared too."""
MANY = 50
"""If more records change at once, as in an import, they are only compared after the commit."""
REPEATED = 0.6
"""Share of common words from which a statement is a near duplicate of another: three of five."""
FEWEST, RELATED = 2, 0.4
"""A record is related if it contains two in five of the content words of a statement."""
NOT_READ: Odds = {}


def follow(ctx: Context, ids: Sequence[str], written: Mapping[str, Block] | None = None) -> None:
    """After blocks changed: settle their entries, index their words, and queue them for comparison.

    `written` has the newest version of each; without it they are read.
    """
    wanted = [id for id in dict.fromkeys(ids) if prefix_of(id) in (*COMPARED, *LEARNED)]
    if not wanted:
        return
    newest = blocks.current(ctx, ids=wanted, status=HEARD) if written is None else [written[id] for id in wanted]
    assertions = {block.id: assertion_of(block) for block in heard(newest)}
    entries.settle(ctx, set(wanted))
    neighbours.learn(ctx, wanted, [assertion.wording for assertion in assertions.values()])
    changed = [assertion for assertion in assertions.values() if assertion.is_live]
    if len(changed) > MANY:
        queue.add(ctx, changed)
        return
    compared = compare(ctx, changed)
    entries.enter(ctx, compared.found)
    queue.add(ctx, compared.unread)


class Comparison(NamedTuple):
    """Results for changed records: certain contradictions, and pairs that have no verdict yet."""

    found: list[entries.Found]
    unread: list[Assertion]
    missing: list[Pair]


def compare(ctx: Context, changed: Sequence[Assertion], odds: Odds = NOT_READ, most: int = NEAREST) -> Comparison:
    """Compare records with their nearest neighbours, the nearest of all records first. Reads only."""
    near = _near(ctx, changed, most)
    turns = zip_longest(*([(assertion, other) for other in near[assertion.id]] for assertion in changed))
    pairs = [pair for pair in chain.from_iterable(turns) if pair is not None]
    known = {**verdicts.known(ctx, [one.pair(other) for one, other in pairs]), **odds}
    found = [clash for one, other in pairs if (clash := entries.contradiction(one, other, known)) is not None]
    unread = {one.id: one for one, other in pairs if ordered(one.pair(other)) not in known}
    missing = [pair for one, other in pairs if (pair := ordered(one.pair(other))) not in known]
    return Comparison(_each_once(found), list(unread.values()), list(dict.fromkeys(missing)))


def _near(ctx: Context, changed: Sequence[Assertion], most: int) -> dict[str, list[Assertion]]:
    """The nearest live neighbours of each record, and the other sides of its open entries."""
    if not changed:
        return {}
    held = {assertion.id: assertion for assertion in changed}
    found = neighbours.nearest(ctx, [assertion.wording for assertion in changed])
    against = _open_against(ctx, set(held))
    reach = {id: max(most, LEAST) if held[id].block.origin == "apply" else most for id in held}
    ids = {id: list(dict.fromkeys([*against[id], *found[id][: reach[id]]])) for id in held}
    others = live(ctx, set(chain.from_iterable(ids.values())))
    near = {id: [others[other] for other in ids[id] if other in others] for id in held}
    return {id: [other for other in near[id] if other.may_meet(held[id])] for id in held}


def _open_against(ctx: Context, ids: set[str]) -> dict[str, list[str]]:
    """For each of these records, the other sides of its open entries."""
    found: dict[str, list[str]] = {id: [] for id in ids}
    for entry in entries.open_about(ctx, ids):
        sides = entries.objects(entry)
        for id in ids.intersection(sides):
            found[id] += [other for other in sides if other != id]
    return found


def _each_once(found: Iterable[entries.Found]) -> list[entries.Found]:
    return list({(item.first, item.second): item for item in found}.values())


@dataclass(frozen=True, slots=True)
class Clashing:
    """A live record that a new statement would contradict, or may contradict if that is uncertain."""

    block: Block
    reason: str
    sure: bool


class NewStatement(NamedTuple):
    """The statement that a record of a kind would make."""

    prefix: str
    text: str

    @property
    def claimed(self) -> str:
        return statement_as(self.prefix, self.text)

    @property
    def wording(self) -> Wording:
        return Wording("", words_of(self.claimed) | lookup_words(self.claimed))


def read_ahead(ctx: Context, statements: Iterable[NewStatement]) -> Odds:
    """Run the model on statements and their nearest neighbours, outside of any transaction of the
    caller's. Returns the verdicts that the store does not have yet."""
    with ctx.reading() as bound:
        pairs = [pair for statement in statements for pair in _nearest_pairs(bound, statement)]
        known = verdicts.known(bound, pairs)
    return verdicts.read(pair for pair in pairs if ordered(pair) not in known)


def keep_ahead(ctx: Context, statements: Iterable[NewStatement]) -> None:
    """Read statements ahead and store the verdicts, for a transaction that needs them."""
    found = read_ahead(ctx, statements)
    if found:
        with ctx.writing() as bound:
            verdicts.keep(bound, found)


def _nearest_pairs(ctx: Context, statement: NewStatement) -> list[Pair]:
    """The nearest neighbours by the share of common words: long records share words with everything."""
    if statement.prefix not in COMPARED:
        return []
    words = words_of(statement.claimed)
    near = [other.statement for other in _candidates(ctx, statement).values()][:NEAREST]
    likely = sorted(near, key=lambda other: -_share(words, words_of(other)))
    return [(statement.claimed, other) for other in likely[:AT_ONCE]]


def _candidates(ctx: Context, statement: NewStatement) -> dict[str, Assertion]:
    """Live records about the same subject, nearest first."""
    ids = neighbours.nearest(ctx, [statement.wording])[""]
    found = live(ctx, ids)
    return {id: found[id] for id in ids if id in found}


def clashing(
    ctx: Context, id: str, statement: NewStatement, without: Iterable[str] = (), odds: Odds = NOT_READ
) -> list[Clashing]:
    """The live records that a statement of record `id` contradicts or may contradict, as far as there are verdicts."""
    if statement.prefix not in COMPARED:
        return []
    left_out = {id, *without}
    near = _candidates(ctx, statement)
    near |= live(ctx, saying(ctx, [item.digest for item in verdicts.opponents(ctx, statement.claimed)]))
    others = [assertion for assertion in near.values() if assertion.id not in left_out]
    pairs = [(statement.claimed, assertion.statement) for assertion in others]
    known = {**verdicts.known(ctx, pairs), **odds}
    naming = Naming(statement.claimed)
    found = []
    for assertion, pair in zip(others, pairs, strict=True):
        clash = graded(pair, known[ordered(pair)]) if ordered(pair) in known else None
        reason, sure = _against(clash, naming, assertion.statement)
        if reason:
            found.append(Clashing(assertion.block, reason, sure))
    return found


def _against(found: Clash | None, naming: Naming, other: str) -> tuple[str, bool]:
    """Why a statement contradicts another, and whether that is certain; no reason if it does not."""
    return (found.reason, found.sure) if found is not None else (naming.refusal(other) or "", False)


class Similar(NamedTuple):
    """Near duplicates of a statement, and others about the same subject."""

    repeats: tuple[Block, ...]
    related: tuple[Block, ...]


def similar(ctx: Context, statement: str, without: set[str]) -> Similar:
    """Records, live or proposed, that share most words with a statement."""
    ids = [id for id in neighbours.sharing_words(ctx, statement[:MOST_CHARS]) if id not in without]
    by_id = {block.id: block for block in heard(blocks.current(ctx, ids=ids, status=HEARD))} if ids else {}
    found = [by_id[id] for id in ids if id in by_id]
    repeats = tuple(block for block in found if _repeats(statement, block.headline))
    subject = words_of(statement)
    related = (block for block in found if block not in repeats and _is_about(subject, words_of(block.headline)))
    return Similar(repeats, tuple(related))


def _repeats(one: str, other: str) -> bool:
    return _share(set(normal_words(one)), set(normal_words(other))) >= REPEATED


def _share(one: Set[str], other: Set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _is_about(subject: frozenset[str], words: frozenset[str]) -> bool:
    shared = subject & words
    return len(shared) >= FEWEST and len(shared) >= RELATED * len(subject)


class Drafted(NamedTuple):
    """A statement that a drafted change would bring into force, and what the change replaces."""

    id: str
    statement: NewStatement
    replaced: list[str]


def drafted_statements(draft: ProposalDraft) -> list[Drafted]:
    found = []
    for change in draft.changes.values():
        fields = parse_block(change.text).fields
        if one_line(fields.get("Status")) in ("", statuses.ACTIVE):
            statement = NewStatement(prefix_of(change.id), one_line(fields.get("Statement")))
            found.append(Drafted(change.id, statement, listed(fields.get("Supersedes"))))
    return found


def objections(ctx: Context, draft: ProposalDraft) -> list[str]:
    """Sentences that name the live records which a drafted change would contradict."""
    return [
        f"{change.id} would contradict {item.block.id}: {item.reason}"
        for change in drafted_statements(draft)
        for item in clashing(ctx, change.id, change.statement, draft.changes)
        if item.sure and item.block.id not in change.replaced
    ]
