"""Disputes: a record and the records in force that it contradicts, with all related proposals and entries.

A person decides a dispute once. It can include the proposal that would put the newer record into force,
an open contradiction for each pair, and proposals of a scan to withdraw one side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clew.kinds import statuses
from clew.memory import block_lists, blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.entries import MAKER
from clew.memory.contradictions.resolutions import open_entries
from clew.memory.files.markdown import listed
from clew.memory.governance import proposals
from clew.registry.context import Context
from clew.store.events import first_seqs

_NAMED = re.compile(r"^(?:contradicts )?(\S+) \((.*)\)$")
"""`D-3 (five times against ten times)`. Proposals that an older version staged have it only in their reason."""
MOST = 1_000
"""Maximum number of proposals that are searched for disputes, oldest first."""
LONGEST_CHAIN = 20
"""Maximum number of successors followed from a record to the one in force."""


@dataclass(frozen=True, slots=True)
class Dispute:
    newer: str
    older: tuple[str, ...]
    """The records in force that `newer` contradicts."""
    reasons: Mapping[str, str]
    """Why it contradicts each of them, if known."""
    proposal: str | None = None
    """The proposal that would put `newer` into force; None: both are in force."""
    entries: tuple[Block, ...] = ()
    """The open contradictions that it includes."""
    advised: tuple[str, ...] = ()
    """Proposals of a scan to withdraw one side."""

    @property
    def id(self) -> str:
        """The id in the Inbox."""
        return self.proposal or self.entries[0].id

    @property
    def covers(self) -> tuple[str, ...]:
        """All proposals and contradictions that are resolved with it."""
        return (*filter(None, [self.proposal]), *(entry.id for entry in self.entries), *self.advised)


def open_disputes(ctx: Context) -> list[Dispute]:
    """All current disputes, by the newer record."""
    staged = block_lists.oldest(ctx, "P", proposals.OPEN, MOST)
    return [*_proposed(ctx, staged), *_in_force(ctx, staged)]


def find_dispute(ctx: Context, id: str) -> Dispute | None:
    """The dispute that a proposal, a contradiction or a record belongs to."""
    found = open_disputes(ctx)
    named = next((dispute for dispute in found if id in dispute.covers), None)
    return named or next((dispute for dispute in found if id in (dispute.newer, *dispute.older)), None)


def contradicted(ctx: Context, proposal: Block) -> dict[str, str]:
    """The records in force that a proposed record contradicts, each with the reason. One that was
    replaced is represented by its successor."""
    stated = listed(proposal.fields.get("Contradicts")) or [proposal.get("Rationale")]
    named = [match.groups() for match in map(_NAMED.match, stated) if match]
    heads = [(_head(ctx, id), reason) for id, reason in named]
    own = proposal.get("TargetBlock")
    return {head.id: reason for head, reason in heads if head and head.status == statuses.ACTIVE and head.id != own}


def _head(ctx: Context, id: str) -> Block | None:
    found = blocks.find(ctx, id)
    for _ in range(LONGEST_CHAIN):
        successor = found.get("SupersededBy") if found is not None and found.status == statuses.SUPERSEDED else ""
        following = blocks.find(ctx, successor) if successor else None
        if following is None:
            break
        found = following
    return found


def _proposed(ctx: Context, staged: Sequence[Block]) -> list[Dispute]:
    records = [proposal for proposal in staged if proposal.get("Type") == "record"]
    against = [(proposal, contradicted(ctx, proposal)) for proposal in records]
    return [
        Dispute(proposal.get("TargetBlock"), tuple(reasons), reasons, proposal.id)
        for proposal, reasons in against
        if reasons
    ]


def _in_force(ctx: Context, staged: Sequence[Block]) -> list[Dispute]:
    """Pairs that are both in force, grouped by the newer record."""
    entries = [(entry, list(sides)) for entry, sides in open_entries(ctx) if len(sides) == 2]
    born = first_seqs(ctx.tx, ctx.workspace, sorted({id for _, sides in entries for id in sides}))
    pairs: dict[str, dict[str, Block]] = {}
    for entry, sides in entries:
        older, newer = sorted(sides, key=lambda id: (born.get(id, 0), id))
        pairs.setdefault(newer, {}).setdefault(older, entry)
    return [_pairs_of(staged, newer, found) for newer, found in pairs.items()]


def _pairs_of(staged: Sequence[Block], newer: str, found: Mapping[str, Block]) -> Dispute:
    reasons = {older: entry.get("Evidence") for older, entry in found.items()}
    entries = tuple(found.values())
    return Dispute(newer, tuple(found), reasons, None, entries, _advised(staged, {entry.id for entry in entries}))


def _advised(staged: Sequence[Block], entries: set[str]) -> tuple[str, ...]:
    made = [proposal for proposal in staged if proposal.get("ProposedBy") == MAKER]
    return tuple(item.id for item in made if entries.intersection(listed(item.fields.get("Evidence"))))
