"""The parts of a record that are compared: its statement, its scope, and its constraint signatures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions import neighbours
from clew.memory.contradictions.judgement import Pair
from clew.memory.contradictions.names import REJECTED
from clew.memory.contradictions.neighbours import Wording, words_of
from clew.memory.contradictions.signatures import Signature, signatures
from clew.memory.contradictions.verdicts import digest_of
from clew.memory.kinds import prefix_of, put_away
from clew.registry.context import Context

COMPARED = ("D", "R", "U", "X", "F")
"""Kinds of records that can contradict each other."""
LEARNED = ("L",)
"""Kinds that are only searched for duplicates: a lesson describes an event, and two events do not contradict."""
HEARD = (statuses.ACTIVE, statuses.PROPOSED)
"""Statuses in which a record is visible to others."""
MOST_CHARS = 4_000
"""Maximum length of a statement: longer text is prose."""


class Assertion(NamedTuple):
    """A tuple, because importing files creates thousands."""

    block: Block
    scope: str
    statement: str
    signatures: list[Signature]

    @property
    def id(self) -> str:
        return self.block.id

    @property
    def wording(self) -> Wording:
        groups = {f"signature:{item.group}" for item in self.signatures}
        return Wording(self.id, words_of(self.statement), frozenset({digest_key(self.statement), *groups}))

    @property
    def is_live(self) -> bool:
        return self.block.status == statuses.ACTIVE and prefix_of(self.id) in COMPARED

    def pair(self, other: Assertion) -> Pair:
        return self.statement, other.statement

    def may_meet(self, other: Assertion) -> bool:
        """Whether both have the same scope, and neither names the other as replaced or coexisting."""
        if "global" not in (self.scope, other.scope) and self.scope != other.scope:
            return False
        return not is_settled(self.block, other.block)


def assertion_of(block: Block) -> Assertion:
    return Assertion(block, block.get("Scope").lower() or "global", statement_of(block), signatures(block.text))


def statement_of(block: Block) -> str:
    return statement_as(prefix_of(block.id), block.get("Statement") or block.headline)


def statement_as(prefix: str, text: str) -> str:
    """The statement that a record of this kind makes: a rejected alternative negates what it names."""
    return (f"{REJECTED}{text}" if prefix == "X" else text)[:MOST_CHARS]


def is_settled(one: Block, other: Block) -> bool:
    """Whether a record names the other as superseded, and so is its successor, or as coexisting with it."""
    return other.id in (*one.replaces, *one.beside) or one.id in (*other.replaces, *other.beside)


def heard(versions: Iterable[Block]) -> list[Block]:
    """Records visible to others. An entry would reveal an agent's private notes, so these are never compared."""
    found = (item for item in versions if not item.gone and item.status in HEARD and not put_away(item.file))
    return sorted(found, key=lambda item: item.id)


def live(ctx: Context, ids: Iterable[str]) -> dict[str, Assertion]:
    """Of these records, those in force that can contradict others, by id."""
    found = heard(blocks.current(ctx, ids=ids, status=statuses.ACTIVE))
    return {block.id: assertion_of(block) for block in found if prefix_of(block.id) in COMPARED}


def saying(ctx: Context, digests: Iterable[str]) -> list[str]:
    """The ids of the records whose statements have these digests."""
    return neighbours.with_keys(ctx, [f"{_DIGEST}{digest}" for digest in digests])


def digest_key(statement: str) -> str:
    return f"{_DIGEST}{digest_of(statement)}"


_DIGEST = "digest:"
