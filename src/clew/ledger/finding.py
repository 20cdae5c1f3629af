"""Which items hold the words that a list is filtered by."""

from __future__ import annotations

from clew.index.search import last_change, matching
from clew.index.terms import terms
from clew.registry.context import Context
from clew.store.database import Row

SMALL = 2_000
"""As many changes are looked through sooner than an index is read."""


def items_holding(ctx: Context, text: str, limit: int, source: str) -> list[Row]:
    """Items of a source that hold any word of the text, by stem; those with most of the words first, then by ref."""
    words = terms(text)
    # What this transaction has written may still be undone, so that no index may learn of it.
    if ctx.tx.writable or last_change(ctx.tx, ctx.workspace) < SMALL:
        return matching(ctx.tx, ctx.workspace, words, limit, (source,))
    from clew.recall.library import holding

    return holding(ctx, words, limit, (source,))
