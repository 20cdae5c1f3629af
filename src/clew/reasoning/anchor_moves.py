"""Renaming and merging anchors. Old ids live on as aliases, so tags on cards never have to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.ids import check_anchor
from clew.reasoning.anchor_registry import Anchor, all_anchors, delete_anchor, find_anchor, owner_of, save_anchor
from clew.reasoning.anchor_snapshot import unknown_anchor
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation

EVERY = 1_000_000


class AnchorsRename(Input):
    from_: Annotated[Name, Field(alias="from", description="Present id.")]
    to: Annotated[Name, Field(description="New id.")]


@operation("anchors_rename", writes=True, example={"from": "a:core", "to": "a:kernel"})
def anchors_rename(ctx: Context, args: AnchorsRename) -> dict[str, Any]:
    """Give an anchor another id; the old one stays as an alias."""
    old, new = check_anchor(args.from_, "from"), check_anchor(args.to, "to")
    anchor = find_anchor(ctx, old)
    if anchor is None:
        raise unknown_anchor(old)
    if find_anchor(ctx, new) is not None or (owner_of(ctx, new) is not None):
        raise _taken(new)
    delete_anchor(ctx, old)
    renamed = save_anchor(ctx, replace(anchor, id=new, aliases=tuple(sorted({*anchor.aliases, old}))))
    _repoint(ctx, {old, *anchor.aliases}, new)
    ctx.emit("reasoning", "anchor_renamed", new, {"previous": old})
    return {"workspace": ctx.workspace, "from": old, "to": new, "anchor": (find_anchor(ctx, new) or renamed).to_json()}


class AnchorsMerge(Input):
    from_: Annotated[
        list[Annotated[str, Field(max_length=80)]],
        Field(alias="from", min_length=1, max_length=200, description="Anchors that become aliases."),
    ]
    into: Annotated[Name, Field(description="Anchor that stays.")]


@operation(
    "anchors_merge", writes=True, idempotent=True, destructive=True, example={"from": ["a:old"], "into": "a:core"}
)
def anchors_merge(ctx: Context, args: AnchorsMerge) -> dict[str, Any]:
    """Merge anchors into one; their ids stay as aliases of it."""
    into = check_anchor(args.into, "into")
    anchor = find_anchor(ctx, into)
    if anchor is None:
        raise unknown_anchor(into)
    given = list(dict.fromkeys(check_anchor(value, "from") for value in args.from_))
    skipped = [old for old in given if old == into or owner_of(ctx, old) == into]
    merged = [old for old in given if old not in skipped]
    for old in merged:
        anchor = _swallow(ctx, anchor, old)
    if merged:
        ctx.emit("reasoning", "anchors_merged", into, {"from": merged})
    final = find_anchor(ctx, into) or anchor
    return {
        "workspace": ctx.workspace,
        "from": given,
        "into": into,
        "merged": merged,
        "skipped": skipped,
        "anchor": final.to_json(),
    }


def _swallow(ctx: Context, into: Anchor, old: str) -> Anchor:
    source = find_anchor(ctx, old)
    if source is None:
        raise unknown_anchor(old)
    delete_anchor(ctx, old)
    aliases = {*into.aliases, *source.aliases, old} - {into.id}
    save_anchor(ctx, replace(into, aliases=tuple(sorted(aliases))))
    _repoint(ctx, {old, *source.aliases}, into.id)
    return find_anchor(ctx, into.id) or into


def _repoint(ctx: Context, old: set[str], new: str) -> None:
    """Every parent and dependency that names an old id names the new one; nothing comes to point to itself."""
    for anchor in all_anchors(ctx, EVERY):
        parent = new if anchor.parent_id in old else anchor.parent_id
        depends = dict.fromkeys(new if value in old else value for value in anchor.depends_on)
        changed = replace(
            anchor,
            parent_id=None if parent == anchor.id else parent,
            depends_on=tuple(value for value in depends if value != anchor.id),
        )
        if changed != anchor:
            save_anchor(ctx, changed)


def _taken(new: str) -> ClewError:
    return ClewError(
        "INVALID_INPUT",
        f"to: {new} is taken",
        "Choose another id, or merge the two anchors.",
        [{"kind": "conflict", "field": "to"}],
        [suggest("open", "Shows the anchor that has the name.", "high", id=new)],
    )
