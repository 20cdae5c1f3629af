"""What is like a given item: its own words and meaning asked as a question, and what was shown with it before."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import suggest, unknown_id
from clew.memory.files.sync import sync
from clew.memory.files.writes import failing
from clew.recall.search import Request, Search
from clew.recall.uses import flush_uses, shown_with
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Input, Name, operation
from clew.store.database import Row

ASKED_CHARS = 600
SHOWN_BONUS = 2.0


class FindSimilar(Input):
    block_id: Annotated[Name, Field(min_length=1, description="Id of a block, card, note or anything else found.")]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most results, 1 to 50.")] = 5


@operation("find_similar", mode="own", bare=lambda result: result, example={"block_id": "D-20260213-001"})
def find_similar(ctx: Context, args: FindSimilar) -> dict[str, Any]:
    """Find what is like a block: by what it says, and by what was found together with it."""
    sync(ctx)
    flush_uses(ctx.database)
    limit = min(max(args.limit, 1), 50)
    with failing(block_id=args.block_id), ctx.reading() as bound:
        row = _item(bound, args.block_id)
        together = {
            found["other"]: int(found["uses"]) for found in shown_with(bound.tx, bound.workspace, row["ref"], 100)
        }
    results = Search(ctx, Request(_question(row), limit=min(limit * 3, 100), sources=(row["source"],))).run()["results"]
    scores = {hit["_id"]: float(hit["score"]) for hit in results if hit["_id"] != row["ref"]}
    most = max(together.values(), default=1)
    for ref, uses in together.items():
        scores[ref] = scores.get(ref, 0.0) + SHOWN_BONUS * uses / most
    with ctx.reading() as bound:
        present = _present(bound, list(scores))
    ranked = sorted((ref for ref in scores if ref in present), key=lambda ref: (-scores[ref], ref))[:limit]
    return {
        "source": row["ref"],
        "similar": ranked,
        "method": "content and co-occurrence" if together else "content",
        "scores": {ref: round(scores[ref], 4) for ref in ranked},
    }


def _item(ctx: Context, ref: str) -> Row:
    row = ctx.tx.one("SELECT * FROM item WHERE workspace = ? AND ref = ?", ctx.workspace, ref)
    if row is None:
        raise unknown_id(
            "block",
            ref,
            "Give an id that recall returns.",
            [suggest("recall", "Finds ids by words.", "high", query=ref, sources=["all"])],
        )
    return row


def _present(ctx: Context, refs: list[str]) -> set[str]:
    return {
        ref for ref in refs if ctx.tx.value("SELECT 1 FROM item WHERE workspace = ? AND ref = ?", ctx.workspace, ref)
    }


def _question(row: Row) -> str:
    return " ".join(part for part in (row["title"], row["body"]) if part)[:ASKED_CHARS]
