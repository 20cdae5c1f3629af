"""Verdicts of the pair model on two statements, cached by their digests: each pair is evaluated once,
by any process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from clew.canonical import sha256_hex
from clew.memory.contradictions.judgement import MAY, Pair, ordered, read_odds
from clew.model.files import file_id
from clew.registry.context import Context
from clew_memory_model import PAIRS

DIGEST_CHARS = 32
Odds = Mapping[Pair, float | None]
"""By ordered pair; None if the model cannot read the two."""


class Opponent(NamedTuple):
    """Another statement, by its digest, that may contradict one."""

    digest: str
    odds: float | None


def model_id() -> str:
    """The model that the verdicts are from."""
    return file_id(PAIRS)


@lru_cache(maxsize=4_000)
def digest_of(statement: str) -> str:
    return sha256_hex(statement, DIGEST_CHARS)


def read(pairs: Iterable[Pair]) -> Odds:
    """Run the model on pairs. It takes some milliseconds for each, so never inside a write transaction."""
    wanted = list(dict.fromkeys(map(ordered, pairs)))
    found = read_odds(wanted) if wanted else {}
    return {pair: found.get(pair) for pair in wanted}


def known(ctx: Context, pairs: Iterable[Pair]) -> Odds:
    """The stored verdicts of these pairs."""
    wanted = list(dict.fromkeys(map(ordered, pairs)))
    asked = [(ctx.workspace, *_key(pair), model_id()) for pair in wanted]
    found = ctx.tx.batch(_GET, asked) if asked else []
    return {pair: rows[0]["odds"] for pair, rows in zip(wanted, found, strict=True) if rows}


def keep(ctx: Context, odds: Odds) -> None:
    rows = [(ctx.workspace, *_key(pair), model_id(), value) for pair, value in odds.items()]
    if rows:
        ctx.tx.many(_PUT, rows)


def opponents(ctx: Context, statement: str) -> list[Opponent]:
    """The statements that may contradict this one as far as there are verdicts, most probable first."""
    own = digest_of(statement)
    rows = ctx.tx.tuples(_AGAINST, *(ctx.workspace, own, model_id(), MAY) * 2)
    found = [Opponent(digest, odds) for digest, odds in rows]
    return sorted(found, key=lambda item: (-(item.odds if item.odds is not None else MAY), item.digest))


def _key(pair: Pair) -> Sequence[str]:
    return sorted(map(digest_of, pair))


_GET = "SELECT odds FROM verdict WHERE workspace = ? AND one = ? AND other = ? AND model = ?"
_PUT = (
    "INSERT INTO verdict (workspace, one, other, model, odds) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, one, other, model) DO UPDATE SET odds = excluded.odds"
)
_AGAINST = (
    "SELECT other, odds FROM verdict WHERE workspace = ? AND one = ? AND model = ? AND (odds IS NULL OR odds >= ?)"
    " UNION ALL"
    " SELECT one, odds FROM verdict WHERE workspace = ? AND other = ? AND model = ? AND (odds IS NULL OR odds >= ?)"
)
