"""why: what a record rests on and what it replaced, with the given reasons, as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from clew.clock import rfc3339
from clew.errors import shorten
from clew.index import item_reads
from clew.kinds.catalogue import kind_of_item
from clew.memory import blocks
from clew.records.open import unknown_record
from clew.records.succession import predecessors
from clew.records.verdicts import direct_premises, verdicts
from clew.registry.context import Context
from clew.registry.operation import Input, Name, View, operation

DEEPEST = 5
MOST_REASONS = 40
LONGEST = 300
_REASONS = ("Rationale", "Why", "Reason")


class Why(Input):
    id: Name


@dataclass
class Reason:
    """A record with its text, and below it the records that it rests on or replaced."""

    id: str
    relation: str
    kind: str = ""
    label: str = ""
    text: str = ""
    because: str = ""
    by: str = ""
    at: str = ""
    below: list[Reason] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        shown = {name: value for name, value in vars(self).items() if name != "below" and value}
        return {**shown, "below": [reason.to_json() for reason in self.below]} if self.below else shown


def why_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    return list(_lines(result["reason"], 0))


def _lines(reason: dict[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    relation = f"{reason['relation']} " if reason.get("relation") else ""
    what = ", ".join(filter(None, (reason.get("kind"), reason.get("label"))))
    yield f"{indent}{relation}{reason['id']} ({what or 'not in this workspace'}): {reason.get('text', '')}"
    if reason.get("because"):
        yield f"{indent}  because: {reason['because']}"
    if depth == 0 and reason.get("by"):
        yield f"{indent}  by {reason['by']}, {reason['at']}"
    for below in reason.get("below", ()):
        yield from _lines(below, depth + 1)


@operation("why", example={"id": "CARD-1"}, view=View(in_lines=True, lines=why_lines))
def why(ctx: Context, args: Why) -> dict[str, Any]:
    """Show why a record holds: its reason, what it rests on, what it replaced and why, down to the ground."""
    root = Reason(args.id.strip(), "")
    if not item_reads.items_by_ref(ctx.tx, ctx.workspace, [root.id]):
        raise unknown_record(root.id)
    met, level = {root.id: root}, [root]
    for _ in range(DEEPEST):
        level = [reason for above in level for reason in _below(ctx, above, met)]
    _describe(ctx, met)
    return {"workspace": ctx.workspace, "reason": root.to_json()}


def _below(ctx: Context, above: Reason, met: dict[str, Reason]) -> list[Reason]:
    """What a record rests on and what it replaced, each shown once, however often it is named."""
    named = [("rests on", id) for id in direct_premises(ctx, [above.id]).get(above.id, [])]
    named += [("replaced", id) for id in predecessors(ctx, above.id)]
    for relation, id in named:
        if id not in met and len(met) < MOST_REASONS:
            met[id] = Reason(id, relation)
            above.below.append(met[id])
    return above.below


def _describe(ctx: Context, met: dict[str, Reason]) -> None:
    rows = {row["ref"]: row for row in item_reads.items_by_ref(ctx.tx, ctx.workspace, list(met))}
    found = verdicts(ctx, list(rows))
    texts = {block.id: block for block in blocks.current(ctx, ids=list(rows))}
    for id, row in rows.items():
        reason, kind = met[id], kind_of_item(row["source"], row["kind"])
        reason.kind = kind.name if kind else row["kind"] or row["source"]
        reason.label = found[id].label
        reason.text = shorten(" ".join((row["title"] or row["body"] or "").split()), LONGEST)
        block = texts.get(id)
        if block is not None:
            reason.because = shorten(next(filter(None, map(block.get, _REASONS)), ""), LONGEST)
            reason.by, reason.at = block.get("Author") or block.agent or "", rfc3339(block.ts_ms)[:10]
