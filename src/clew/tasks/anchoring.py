"""How work hangs on anchors: by the tags of its cards."""

from __future__ import annotations

import re
import unicodedata

from clew.registry.context import Context

DEFAULT = "a:core"
MAX_SLUG = 64


def has_anchor(ctx: Context, id: str) -> bool:
    """Whether any live card of a plan or task is tagged with an anchor."""
    return (
        ctx.tx.value(
            "SELECT 1 FROM reasoning_ref JOIN node_tag ON node_tag.workspace = reasoning_ref.workspace"
            " AND node_tag.branch = reasoning_ref.branch AND node_tag.doc = reasoning_ref.graph_doc"
            " JOIN node ON node.workspace = node_tag.workspace AND node.seq = node_tag.seq"
            # A range instead of a prefix test, so that the index over (branch, doc, tag) is used.
            " WHERE reasoning_ref.workspace = ? AND reasoning_ref.id = ?"
            " AND node_tag.tag >= 'a:' AND node_tag.tag < 'a;' AND node.until IS NULL AND node.deleted = 0 LIMIT 1",
            ctx.workspace,
            id,
        )
        is not None
    )


def anchor_for(title: str) -> str:
    """The anchor that a title suggests: what stands before its colon, else all of it, as a plain name."""
    head, colon, _ = title.partition(":")
    plain = unicodedata.normalize("NFKD", head if colon else title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")
    return f"a:{slug}" if slug else DEFAULT
