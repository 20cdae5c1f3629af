"""What records are called: titles for many ids at once, whichever store keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from clew.errors import shorten
from clew.ids import kind_by_form
from clew.index import search
from clew.ledger import cipher
from clew.records.links import SOURCES
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.registry.record import Named, namer

LONGEST = 160
MOST = 200
STEP_PREFIX = "STEP-"
EVIDENCE_PREFIX = "EV-"


def names_of(ctx: Context, ids: Iterable[str]) -> dict[str, Named]:
    """Names by id. Each kind is asked once; what no kind knows by its form is looked up in the index.

    An id that nothing is known about is called after itself, so every id that was given has a name.
    """
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Named] = {}
    for kind, own in _by_kind(wanted).items():
        ask = namer.find(kind)
        if ask is not None:
            found |= {named.id: named for named in ask(ctx, own)}
    rest = [id for id in wanted if id not in found]
    found |= {named.id: named for named in _indexed(ctx, rest)}
    return {id: found.get(id) or Named(id, kind_by_form(id) or "record", id) for id in wanted}


def _by_kind(ids: list[str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for id in ids:
        formed = kind_by_form(id)
        # Steps and evidence have a form of their own, but cards may be called like that too.
        kind = formed or (
            "step" if id.startswith(STEP_PREFIX) else "evidence" if id.startswith(EVIDENCE_PREFIX) else ""
        )
        kinds.setdefault(kind, []).append(id)
    kinds.pop("", None)
    return kinds


def _indexed(ctx: Context, ids: list[str]) -> list[Named]:
    """What search knows: cards, notes, thoughts, evidence, patterns."""
    rows = search.items_by_ref(ctx.tx, ctx.workspace, ids)
    return [
        Named(
            row["ref"], SOURCES.get(row["source"], str(row["source"])), _title(row["title"], row["body"]), row["status"]
        )
        for row in rows
    ]


def _title(title: str | None, body: str | None) -> str:
    """One line; a thought without its notation."""
    said = title or (cipher.read(body).content if body else "") or ""
    return shorten(" ".join(said.split()), LONGEST)


class RecordNames(Input):
    ids: Annotated[list[Name], Field(min_length=1, max_length=MOST, description="Ids of any records.")]


@operation("record_names", example={"ids": ["TASK-001", "D-20261112-001"]})
def record_names(ctx: Context, args: RecordNames) -> dict[str, Any]:
    """Say what many records are called: kind, title and status for each id, whichever store keeps it."""
    names = names_of(ctx, args.ids)
    return {"workspace": ctx.workspace, "names": [named.to_json() for named in names.values()]}
