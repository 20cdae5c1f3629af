"""vacuum: what takes up space in the store, and a person's way to reduce it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid, suggest
from clew.registry.budget import Budget
from clew.registry.context import Context
from clew.registry.operation import Input, Name, View, operation
from clew.registry.people import check_person
from clew.store.growth import AGED, by_kind, drop_old_rows, old_rows

DAY_MS = 86_400_000
FEWEST_DAYS = 7


class Vacuum(Input):
    older_than_days: Annotated[
        int | None, Field(ge=FEWEST_DAYS, le=36_500, description="Also drop rows of `kinds` that are older than this.")
    ] = None
    kinds: Annotated[
        list[Name], Field(max_length=len(AGED), description=f"Which of them: {', '.join(AGED)}; default: all four.")
    ] = []
    dry_run: Annotated[bool, Field(description="Only say what the store holds and what would go.")] = True


def vacuum_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    lines = [f"{kind}: {_size(size)}" for kind, size in result["bytes"].items()]
    word = "would go" if result["dry_run"] else "gone"
    lines += [f"{word}: {rows} rows of {kind}" for kind, rows in result["rows"].items()]
    if result["dry_run"]:
        return [f"the store takes {_size(result['size'])}", *lines]
    return [f"the store takes {_size(result['size'])}, before {_size(result['size_before'])}", *lines]


def _size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1_000:.0f} kB"


@operation("vacuum", writes=True, mode="own", budget=Budget(()), example={}, view=View(lines=vacuum_lines))
def vacuum(ctx: Context, args: Vacuum) -> dict[str, Any]:
    """Say what the store holds in bytes by kind; without dry_run, a person compacts it and drops old logs.

    Records, events, receipts and transcripts stay whatever their age: answers, authors and the way back rest on them.
    """
    kinds = _named(args)
    before_ms = ctx.clock() - (args.older_than_days or 0) * DAY_MS
    size_before = ctx.database.describe()["bytes"]
    with ctx.reading() as bound:
        rows = {kind: count for kind, count in old_rows(bound.tx, ctx.workspace, kinds, before_ms).items() if count}
    if not args.dry_run:
        check_person(ctx, "making the store smaller", "vacuum --apply")
        if rows:
            with ctx.writing(logged=False) as bound:
                drop_old_rows(bound.tx, ctx.workspace, rows, before_ms)
        ctx.database.purge(())
    size = ctx.database.describe()["bytes"]
    return {
        "workspace": ctx.workspace,
        "dry_run": args.dry_run,
        "size": size,
        "size_before": size_before,
        "bytes": by_kind(ctx.database.sizes()),
        "rows": rows,
    }


def _named(args: Vacuum) -> list[str]:
    """The kinds whose old rows are removed; none if no age is given."""
    days = args.older_than_days
    known = [kind for kind in dict.fromkeys(args.kinds) if kind in AGED]
    fixed = {"older_than_days": days or 90, **({"kinds": known} if known else {})}
    ways = [suggest("vacuum", "Says what would go.", "high", **fixed)]
    unknown = next((kind for kind in args.kinds if kind not in AGED), None)
    if unknown is not None:
        raise invalid("kinds", f"{unknown!r} does not go with age", f"Use {', '.join(AGED)}.", ways)
    if days is None and known:
        raise invalid("older_than_days", "is missing", "Say from what age rows of these kinds may go.", ways)
    return (known or list(AGED)) if days is not None else []
