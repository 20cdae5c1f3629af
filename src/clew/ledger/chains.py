"""Chains: the main line of a session and its branches. Each chain numbers its own thoughts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest
from clew.ledger.sessions import LedgerSession, no_session
from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.rows import TableRow, columns, find, load, select, upsert

MAIN = ""
MAX_DEPTH = 64
"""How many forks back a number is searched for, so that a damaged import with a cycle of forks still ends."""


class Point(NamedTuple):
    """The position of a thought: chain and number. A tuple, because an export creates, hashes, compares thousands."""

    chain: str
    number: int

    @property
    def short(self) -> str:
        """The form of the cipher (`S4`), with the branch before it if there is one (`alt:S4`)."""
        return f"{self.chain}:S{self.number}" if self.chain else f"S{self.number}"

    def __str__(self) -> str:
        return f"thought {self.number}" + (f" of branch {self.chain}" if self.chain else "")


@dataclass(frozen=True)
class Chain(TableRow):
    TABLE: ClassVar[str] = "ledger_chain"
    KEY: ClassVar[tuple[str, ...]] = ("session", "chain")

    session: str
    chain: str
    label: str | None = None
    origin_chain: str | None = None
    origin_number: int | None = None
    lowest: int = 0
    highest: int = 0
    newest: int = 0
    length: int = 0
    total: int = 0
    created_seq: int = 0

    @property
    def origin(self) -> Point | None:
        if self.origin_chain is None or self.origin_number is None:
            return None
        return Point(self.origin_chain, self.origin_number)

    @property
    def tail(self) -> Point | None:
        """The thought that the next one follows: the newest of the chain, or the fork point of an empty branch."""
        return Point(self.chain, self.newest) if self.length else self.origin

    def is_free(self, number: int) -> bool:
        """Whether a number is certainly free, being above the highest. If not, the store must be queried."""
        return not self.length or number > self.highest

    @property
    def next_number(self) -> int:
        """One above the highest number; a new branch continues from the number of its fork point."""
        return (self.highest if self.length else self.origin_number or 0) + 1


def empty_chain(session: str, chain: str, origin: Point | None = None, label: str | None = None) -> Chain:
    origin_chain, origin_number = origin or (None, None)
    return Chain(session, chain, label, origin_chain, origin_number)


def find_chain(ctx: Context, session: str, chain: str) -> Chain | None:
    return find(ctx.tx, ctx.workspace, Chain, session, chain)


def session_and_chain(ctx: Context, session: str, chain: str) -> tuple[LedgerSession, Chain | None]:
    """Both in one round trip. The chain is None before its first thought."""
    row = ctx.tx.one(_BOTH, chain, ctx.workspace, session)
    if row is None:
        raise no_session(ctx, session)
    return load(LedgerSession, row), load(Chain, row) if row["chain"] is not None else None


# A left join, because a chain has no row before its first thought.
_BOTH = (
    f"SELECT ledger_session.*, {', '.join(columns(Chain))} FROM ledger_session LEFT JOIN ledger_chain"
    " ON ledger_chain.workspace = ledger_session.workspace AND ledger_chain.session = ledger_session.id"
    " AND ledger_chain.chain = ? WHERE ledger_session.workspace = ? AND ledger_session.id = ? AND deleted_at_ms IS NULL"
)


def chains_of(ctx: Context, session: str, limit: int = 10_000, offset: int = 0) -> list[Chain]:
    """The session's branches in the order they were started, without the main line."""
    where = "session = ? AND chain <> '' ORDER BY created_seq, chain LIMIT ? OFFSET ?"
    return select(ctx.tx, ctx.workspace, Chain, where, session, limit, offset)


def extend_chain(ctx: Context, chain: Chain, number: int, total: int, seq: int) -> Chain:
    """Count a thought that was added to the chain; returns the updated chain."""
    grown = replace(
        chain,
        lowest=min(chain.lowest, number) if chain.length else number,
        highest=max(chain.highest, number),
        newest=number,
        length=chain.length + 1,
        total=total,
        created_seq=chain.created_seq if chain.length else seq,
    )
    upsert(ctx.tx, ctx.workspace, grown)
    return grown


def has_thought(ctx: Context, session: str, point: Point) -> bool:
    return seq_of(ctx, session, point) is not None


def seq_of(ctx: Context, session: str, point: Point) -> int | None:
    found = ctx.tx.value(_SEQ, ctx.workspace, session, point.chain, point.number)
    return int(found) if found is not None else None


_SEQ = "SELECT seq FROM thought WHERE workspace = ? AND session = ? AND chain = ? AND number = ?"


def resolve(ctx: Context, session: str, chain: Chain, number: int) -> tuple[Point, int] | None:
    """The thought that a number refers to on a chain: its own, else that of the chain it forked from, and so on."""
    return resolve_all(ctx, session, chain, [number]).get(number)


def resolve_all(ctx: Context, session: str, chain: Chain, numbers: Iterable[int]) -> dict[int, tuple[Point, int]]:
    """The same for many numbers, with one query for each chain on the way. Unknown numbers are left out."""
    found: dict[int, tuple[Point, int]] = {}
    missing = set(numbers)
    current: Chain | None = chain
    for _ in range(MAX_DEPTH):
        if current is None or not missing:
            break
        for number, seq in _seqs(ctx, session, current.chain, missing).items():
            found[number] = Point(current.chain, number), seq
        missing -= found.keys()
        # Only missing numbers are searched for further back: a branch's own number takes precedence over its origin.
        forked = current.origin_chain if missing else None
        current = find_chain(ctx, session, forked) if forked is not None else None
    return found


def _seqs(ctx: Context, session: str, chain: str, numbers: set[int]) -> dict[int, int]:
    sql = "SELECT number, seq FROM thought WHERE workspace = ? AND session = ? AND chain = ?"
    wanted = sorted(numbers)
    among = f"{sql} AND number IN ({placeholders(len(wanted))})"
    return dict(ctx.tx.tuples(among, ctx.workspace, session, chain, *wanted))


def no_thought(session: str, point: Point, field: str) -> ClewError:
    return ClewError(
        "THOUGHT_NOT_FOUND",
        f"{field}: session {session} has no {point}",
        "Read the session's structure to see which numbers there are.",
        [{"kind": "value", "field": field, "number": point.number, "branchId": point.chain or None}],
        [suggest("get_structure", "Shows the chains and their numbers.", "high", sessionId=session)],
    )


def taken(session: str, point: Point, chain: Chain, arguments: Json) -> ClewError:
    repaired = {**arguments, "thoughtNumber": chain.next_number}
    return ClewError(
        "CONFLICT",
        f"thoughtNumber: {point} exists already in session {session}; the next free number is {chain.next_number}",
        "Leave thoughtNumber out: the server assigns it.",
        [{"kind": "taken", "field": "thoughtNumber", "nextFree": chain.next_number}],
        [suggest("thought", "The same thought with the next free number.", "high", **repaired)],
        {"nextFree": chain.next_number},
    )


def check_origin(given: Point, chain: Chain) -> None:
    """Refuse a fork point that differs from the branch's own: a branch has only one."""
    if chain.origin is not None and given != chain.origin:
        raise invalid(
            "branchFromThought",
            f"branch {chain.chain} starts from {chain.origin}, not from {given}",
            "Leave branchFromThought out to go on with the branch, or choose another branchId.",
            kind="value",
        )
