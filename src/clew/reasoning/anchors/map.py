"""The map of anchors: operations that list, draw and register them, and check for dangling names and cycles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import check_anchor
from clew.kinds import statuses
from clew.reasoning.anchors.registry import (
    ANCHOR_DEFAULT,
    Anchor,
    all_anchors,
    canonical,
    find_anchor,
    note_call,
    owner_of,
    save_anchor,
    with_aliases,
)
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.envelope import argument, command, item_lines, one_line
from clew.registry.operation import Bounded, Name, StrictModel, View, operation

Kind = Literal["boundary", "component", "contract", "data", "test-surface", "ops"]
Status = Literal["active", "deprecated"]
AnchorTitle = Annotated[str, Field(min_length=1, max_length=120, description="What the area is called.")]
Description = Annotated[str, Field(max_length=280, description="What belongs to it.")]
Refs = Annotated[list[Annotated[str, Field(max_length=220)]], Field(max_length=32, description="Files, links, ids.")]
AnchorIds = Annotated[list[Annotated[str, Field(max_length=80)]], Field(max_length=32)]

MOST_ANCHORS = 200
LISTED = 20


class AnchorsList(Bounded):
    text: Annotated[Name | None, Field(description="Part of id or title, in any case.")] = None
    kind: Annotated[Kind | None, Field(description="Only this kind.")] = None
    status: Annotated[Status | None, Field(description="Only this status.")] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Most anchors.")] = 50


def list_lines(result: Json, default_workspace: str) -> list[str]:
    if "anchors" not in result:
        return ["anchors"]
    where, shown = {"workspace": result["workspace"]}, result["anchors"][:LISTED]
    lines = [f"anchors count={result['count']} more={argument(result['has_more'])}"]
    lines += item_lines(result, shown, _anchor_line)
    if len(shown) < result["count"] or result["has_more"]:
        lines.append("MORE: anchors; narrow with kind=, status= or text=")
    first = shown[0] if shown else {"id": "a:core", "title": "Core", "kind": "component"}
    note = note_call(first["id"], first["title"], first["kind"])["params"]
    look = ("anchor_snapshot", {"anchor": first["id"]}) if shown else ("anchors_lint", {})
    calls = [look, ("anchors_export", {}), ("macro_anchor_note", note)]
    return lines + [command(name, {**params, **where}, default_workspace) for name, params in calls]


def _anchor_line(anchor: Json) -> str:
    title = argument(shorten(one_line(anchor["title"]), 72))
    return f"- {anchor['id']} kind={anchor['kind']} status={anchor['status']} title={title}"


LIST_BUDGET = Budget(
    (Trim("anchors", drop="last", count="count", more="has_more"),), ANCHOR_DEFAULT, keep=("workspace", "count")
)


@operation("anchors_list", budget=LIST_BUDGET, view=View(in_lines=True, lines=list_lines))
def anchors_list(ctx: Context, args: AnchorsList) -> Json:
    """List the anchors: named areas of the system that knowledge hangs on."""
    parts, params = ["workspace = ?"], [ctx.workspace]
    for column in ("kind", "status"):
        if getattr(args, column) is not None:
            parts.append(f"{column} = ?")
            params.append(getattr(args, column))
    # The text is compared in Python, because the two engines fold the case of non-ASCII letters differently.
    rows = ctx.tx.all(f"SELECT * FROM anchor WHERE {' AND '.join(parts)} ORDER BY id", *params)
    needle = (args.text or "").strip().casefold()
    found = [row for row in rows if needle in row["id"] or needle in row["title"].casefold()]
    shown = with_aliases(ctx, found[: args.limit])
    return {
        "workspace": ctx.workspace,
        "anchors": [anchor.to_json() for anchor in shown],
        "count": len(shown),
        "has_more": len(found) > len(shown),
    }


class AnchorsExport(Bounded):
    format: Annotated[Literal["mermaid", "text"], Field(description="mermaid draws a flowchart.")] = "mermaid"


def export_lines(result: Json, default_workspace: str) -> list[str]:
    if "anchors_count" not in result:
        return ["export"]
    return [f"export format={result['format']} anchors={result['anchors_count']}", *result.get("text", "").split("\n")]


@operation(
    "anchors_export",
    budget=Budget(
        tuple(Clip("text", most) for most in (20_000, 4000, 800, 160, 40)),
        ANCHOR_DEFAULT,
        keep=("text", "workspace", "format", "anchors_count"),
    ),
    view=View(in_lines=True, lines=export_lines),
)
def anchors_export(ctx: Context, args: AnchorsExport) -> Json:
    """Draw the map of anchors as a mermaid flowchart or as text."""
    anchors = all_anchors(ctx, MOST_ANCHORS + 1)
    shown = anchors[:MOST_ANCHORS]
    return {
        "workspace": ctx.workspace,
        "format": args.format,
        "anchors_count": len(shown),
        "text": mermaid(shown) if args.format == "mermaid" else plain(shown),
        "truncated": len(anchors) > len(shown),
    }


def mermaid(anchors: list[Anchor]) -> str:
    lines = ["flowchart TD"]
    lines += [f'  {_node(a.id)}["{a.id}\\n{_quoted(a.title)}"]' for a in anchors]
    for anchor in anchors:
        if anchor.parent_id:
            lines.append(f"  {_node(anchor.parent_id)} -->|contains| {_node(anchor.id)}")
        lines += [f"  {_node(anchor.id)} -->|depends_on| {_node(other)}" for other in anchor.depends_on]
    return "\n".join(lines)


def _node(anchor_id: str) -> str:
    return "A_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in anchor_id)


def _quoted(title: str) -> str:
    return one_line(title).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def plain(anchors: list[Anchor]) -> str:
    return "\n".join(
        f"{a.id} | kind={a.kind} status={a.status} parent={a.parent_id or '-'} depends_on=[{', '.join(a.depends_on)}]"
        for a in anchors
    )


class AnchorInput(StrictModel):
    id: Annotated[str, Field(max_length=80, description="a: and a slug.")]
    title: AnchorTitle
    kind: Kind
    status: Status = statuses.ACTIVE
    description: Description | None = None
    refs: Refs = []
    aliases: AnchorIds = []
    parent_id: Annotated[str, Field(max_length=80)] | None = None
    depends_on: AnchorIds = []


class AnchorsBootstrap(Bounded):
    anchors: Annotated[list[AnchorInput], Field(min_length=1, max_length=MOST_ANCHORS)]


@operation(
    "anchors_bootstrap",
    writes=True,
    idempotent=True,
    budget=Budget(
        (Trim("anchors", drop="last"),),
        None,
        keep=("workspace", "count", "created", "updated"),
        rest=lambda result: suggest("anchors_list", "Shows the anchors.", "medium", limit=200),
    ),
    example={"anchors": [{"id": "a:core", "title": "Core", "kind": "component"}]},
)
def anchors_bootstrap(ctx: Context, args: AnchorsBootstrap) -> Json:
    """Register or replace many anchors at once, all or none."""
    wanted = sorted((checked(_anchor(item)) for item in args.anchors), key=lambda anchor: anchor.id)
    twice = sorted({a.id for a, b in pairwise(wanted) if a.id == b.id})
    if twice:
        raise invalid("anchors", f"{', '.join(twice)} is given twice", "Give each anchor once.", kind="duplicate")
    # In the order of ids, so that the order in the call does not change the events.
    done = [{"id": anchor.id, "created": upsert(ctx, anchor)} for anchor in wanted]
    created = sum(1 for item in done if item["created"])
    counts = {"count": len(done), "created": created, "updated": len(done) - created}
    return {"workspace": ctx.workspace, "anchors": done, **counts}


def _anchor(item: AnchorInput) -> Anchor:
    given: Json = item.model_dump()
    lists = {name: tuple(given[name]) for name in ("refs", "aliases", "depends_on")}
    return Anchor(**(given | lists))


def checked(anchor: Anchor) -> Anchor:
    """The anchor in its normal form: ids in lower case, lists without duplicates, no reference to itself."""
    own = check_anchor(anchor.id, "id")
    parent = check_anchor(anchor.parent_id, "parent_id") if anchor.parent_id else None
    depends = tuple(dict.fromkeys(check_anchor(value, "depends_on") for value in anchor.depends_on))
    aliases = tuple(sorted({check_anchor(value, "aliases") for value in anchor.aliases}))
    for field, values in {"parent_id": (parent,), "depends_on": depends, "aliases": aliases}.items():
        if own in values:
            raise invalid(field, f"{own} cannot name itself", f"Leave {own} out of {field}.")
    if not anchor.title.strip() or "\n" in anchor.title.strip():
        raise invalid("title", "must be one non-empty line", "Give the area a name.", kind="non_empty")
    refs = tuple(dict.fromkeys(ref.strip() for ref in anchor.refs if ref.strip()))
    return replace(
        anchor, id=own, title=anchor.title.strip(), parent_id=parent, depends_on=depends, aliases=aliases, refs=refs
    )


def upsert(ctx: Context, anchor: Anchor) -> bool:
    """Save a checked anchor; returns whether it is new. An unchanged one is not written."""
    current = find_anchor(ctx, anchor.id)
    _refuse_taken_names(ctx, anchor)
    if current is not None:
        anchor = replace(anchor, created_at_ms=current.created_at_ms, updated_at_ms=current.updated_at_ms)
        if anchor == current:
            return False
    save_anchor(ctx, anchor)
    ctx.emit("reasoning", "anchor_updated" if current else "anchor_created", anchor.id, {"kind": anchor.kind})
    return current is None


def _refuse_taken_names(ctx: Context, anchor: Anchor) -> None:
    if canonical(ctx, anchor.id) != anchor.id:
        owner = canonical(ctx, anchor.id)
        raise _taken("id", anchor.id, f"is an alias of {owner}", owner)
    for alias in anchor.aliases:
        other = owner_of(ctx, alias)
        if find_anchor(ctx, alias) is not None:
            raise _taken("aliases", alias, "is an anchor itself", alias)
        if other is not None and other != anchor.id:
            raise _taken("aliases", alias, f"belongs to {other}", other)


def _taken(field: str, name: str, why: str, look_at: str) -> ClewError:
    recovery = "Choose another name, or merge the two anchors."
    hints = [{"kind": "conflict", "field": field}]
    ways = [suggest("open", "Shows the anchor that has the name.", "high", id=look_at)]
    return ClewError("INVALID_INPUT", f"{field}: {name} {why}", recovery, hints, ways)


# Large enough for all anchors: a check of the map must see the whole map.
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
class MapIssue:
    code: str
    anchor: str
    message: str

    @property
    def severity(self) -> str:
        return "warning" if self.code in _WARNINGS else "error"

    def rank(self) -> tuple[str, str, str, str]:
        return (self.severity, self.code, self.anchor, self.message)

    def to_json(self) -> Json:
        return {**picked(self, "severity", "code", "anchor", "message"), "hint": _HINTS[self.code]}


class AnchorsLint(Bounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most issues.")] = 50


@operation(
    "anchors_lint",
    budget=Budget((Trim("issues", drop="last", count="count", more="has_more"),), None, keep=("workspace", "count")),
)
def anchors_lint(ctx: Context, args: AnchorsLint) -> Json:
    """Check the anchors for dangling names, cycles and orphans."""
    issues = sorted(_issues(ctx), key=MapIssue.rank)
    shown = issues[: args.limit]
    return {
        "workspace": ctx.workspace,
        "issues": [issue.to_json() for issue in shown],
        "count": len(shown),
        "has_more": len(issues) > len(shown),
    }


def _issues(ctx: Context) -> Iterator[MapIssue]:
    anchors = {anchor.id: anchor for anchor in all_anchors(ctx, EVERY)}
    rows = ctx.tx.all("SELECT alias, anchor FROM anchor_alias WHERE workspace = ? ORDER BY alias", ctx.workspace)
    aliases = {row["alias"]: row["anchor"] for row in rows}
    for alias, owner in aliases.items():
        if owner not in anchors:
            yield MapIssue("ALIAS_DANGLING", alias, f"{alias} stands for {owner}, which is not registered")
        if alias in anchors:
            yield MapIssue("ALIAS_COLLIDES_WITH_ANCHOR_ID", alias, f"{alias} is an anchor and an alias of {owner}")
    for anchor in anchors.values():
        yield from _relation_issues(anchor, anchors, aliases)
    yield from _cycles(anchors)
    used = _tied(ctx, aliases) | _related(anchors, aliases)
    for anchor in anchors.values():
        if anchor.status == statuses.ACTIVE and anchor.id not in used:
            yield MapIssue("ORPHAN_ANCHOR", anchor.id, f"{anchor.id} has no cards and no relations")


def _relation_issues(anchor: Anchor, anchors: dict[str, Anchor], aliases: dict[str, str]) -> Iterator[MapIssue]:
    named = [("PARENT", value) for value in [anchor.parent_id] if value]
    named += [("DEPENDS_ON", value) for value in anchor.depends_on]
    for relation, value in named:
        if value == anchor.id:
            yield MapIssue(f"SELF_{relation}", anchor.id, f"{anchor.id} names itself")
        elif value in anchors:
            continue
        elif value in aliases:
            yield MapIssue("RELATION_USES_ALIAS", anchor.id, f"{anchor.id} names {value}, now {aliases[value]}")
        else:
            yield MapIssue(f"UNKNOWN_{relation}", anchor.id, f"{anchor.id} names {value}, which is not registered")


def _cycles(anchors: dict[str, Anchor]) -> Iterator[MapIssue]:
    """One issue for each cycle of parents, reported at its smallest id."""
    seen: set[str] = set()
    for start in sorted(anchors):
        path: list[str] = []
        at: str | None = start
        while at in anchors and at not in seen and at not in path:
            path.append(at)
            at = anchors[at].parent_id
        # A cycle of one is SELF_PARENT, which is reported elsewhere.
        if at in path and len(path) - path.index(at) > 1:
            circle = path[path.index(at) :]
            yield MapIssue("PARENT_CYCLE", min(circle), f"{' > '.join([*circle, circle[0]])}")
        # Visited anchors lead nowhere new, so each anchor is visited once and each cycle is reported once.
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
