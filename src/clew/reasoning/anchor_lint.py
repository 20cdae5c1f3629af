"""Checks of the anchor map: dangling names, cycles, anchors that nothing is tied to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from clew.reasoning.anchor_registry import Anchor, all_anchors
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, operation

EVERY = 1_000_000
_HINTS = {
    "ALIAS_DANGLING": "Register the anchor it stands for, or rename it away.",
    "SELF_PARENT": "Take the parent away.",
    "UNKNOWN_PARENT": "Register the parent or name another one.",
    "SELF_DEPENDS_ON": "Take the dependency away.",
    "UNKNOWN_DEPENDS_ON": "Register the other anchor or take the dependency away.",
    "PARENT_CYCLE": "Give one anchor of the circle another parent.",
    "ALIAS_COLLIDES_WITH_ANCHOR_ID": "Drop the alias or merge the two anchors.",
    "RELATION_USES_ALIAS": "Name the anchor by its present id.",
    "ORPHAN_ANCHOR": "Tie a card to it, relate it to another anchor, or deprecate it.",
}
_WARNINGS = frozenset({"ALIAS_COLLIDES_WITH_ANCHOR_ID", "RELATION_USES_ALIAS", "ORPHAN_ANCHOR"})


@dataclass(frozen=True, slots=True)
class Issue:
    code: str
    anchor: str
    message: str

    @property
    def severity(self) -> str:
        return "warning" if self.code in _WARNINGS else "error"

    def rank(self) -> tuple[str, str, str, str]:
        return (self.severity, self.code, self.anchor, self.message)

    def to_json(self) -> dict[str, str]:
        found = {"severity": self.severity, "code": self.code, "anchor": self.anchor, "message": self.message}
        return {**found, "hint": _HINTS[self.code]}


class AnchorsLint(Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most issues.")] = 50


@operation(
    "anchors_lint",
    budget=Budget((Trim("issues", drop="last", count="count", more="has_more"),), None, keep=("workspace", "count")),
)
def anchors_lint(ctx: Context, args: AnchorsLint) -> dict[str, Any]:
    """Check the anchors for dangling names, cycles and orphans."""
    issues = sorted(_issues(ctx), key=Issue.rank)
    shown = issues[: args.limit]
    return {
        "workspace": ctx.workspace,
        "issues": [issue.to_json() for issue in shown],
        "count": len(shown),
        "has_more": len(issues) > len(shown),
        "truncated": False,
    }


def _issues(ctx: Context) -> Iterator[Issue]:
    anchors = {anchor.id: anchor for anchor in all_anchors(ctx, EVERY)}
    rows = ctx.tx.all("SELECT alias, anchor FROM anchor_alias WHERE workspace = ? ORDER BY alias", ctx.workspace)
    aliases = {row["alias"]: row["anchor"] for row in rows}
    for alias, owner in aliases.items():
        if owner not in anchors:
            yield Issue("ALIAS_DANGLING", alias, f"{alias} stands for {owner}, which is not registered")
        if alias in anchors:
            yield Issue("ALIAS_COLLIDES_WITH_ANCHOR_ID", alias, f"{alias} is an anchor and an alias of {owner}")
    for anchor in anchors.values():
        yield from _relation_issues(anchor, anchors, aliases)
    yield from _cycles(anchors)
    used = _tied(ctx, aliases) | _related(anchors, aliases)
    for anchor in anchors.values():
        if anchor.status == "active" and anchor.id not in used:
            yield Issue("ORPHAN_ANCHOR", anchor.id, f"{anchor.id} has no cards and no relations")


def _relation_issues(anchor: Anchor, anchors: dict[str, Anchor], aliases: dict[str, str]) -> Iterator[Issue]:
    named = [("PARENT", value) for value in [anchor.parent_id] if value]
    named += [("DEPENDS_ON", value) for value in anchor.depends_on]
    for relation, value in named:
        if value == anchor.id:
            yield Issue(f"SELF_{relation}", anchor.id, f"{anchor.id} names itself")
        elif value in anchors:
            continue
        elif value in aliases:
            yield Issue("RELATION_USES_ALIAS", anchor.id, f"{anchor.id} names {value}, now {aliases[value]}")
        else:
            yield Issue(f"UNKNOWN_{relation}", anchor.id, f"{anchor.id} names {value}, which is not registered")


def _cycles(anchors: dict[str, Anchor]) -> Iterator[Issue]:
    """One issue for each circle of parents, at its smallest id."""
    seen: set[str] = set()
    for start in sorted(anchors):
        path: list[str] = []
        at: str | None = start
        while at in anchors and at not in seen and at not in path:
            path.append(at)
            at = anchors[at].parent_id
        if at in path and len(path) - path.index(at) > 1:
            circle = path[path.index(at) :]
            yield Issue("PARENT_CYCLE", min(circle), f"{' > '.join([*circle, circle[0]])}")
        seen.update(path)


def _tied(ctx: Context, aliases: dict[str, str]) -> set[str]:
    rows = ctx.tx.all(
        "SELECT DISTINCT node_tag.tag FROM node_tag JOIN node ON node.workspace = node_tag.workspace"
        " AND node.seq = node_tag.seq WHERE node_tag.workspace = ? AND substr(node_tag.tag, 1, 2) = 'a:'"
        " AND node.until IS NULL AND node.deleted = 0",
        ctx.workspace,
    )
    return {aliases.get(tag, tag) for tag in (str(row["tag"]) for row in rows)}


def _related(anchors: dict[str, Anchor], aliases: dict[str, str]) -> set[str]:
    related: set[str] = set()
    for anchor in anchors.values():
        others = [value for value in (anchor.parent_id, *anchor.depends_on) if value]
        if others:
            related.update([anchor.id, *(aliases.get(value, value) for value in others)])
    return related
