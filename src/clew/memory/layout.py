"""The tree that a new workspace begins with; nothing that exists is touched."""

from __future__ import annotations

from clew.memory import places, plain
from clew.memory.kernel_defaults import DEFAULTS, kernel_text
from clew.memory.state import STATE_FILE, default_state_text
from clew.memory.templates import TREE, preamble
from clew.registry.context import Context


def ensure(ctx: Context) -> None:
    """Lay the tree out inside the transaction of the first write."""
    sql = "SELECT 1 FROM plain_file WHERE workspace = ? AND path = ? LIMIT 1"
    if ctx.tx.value(sql, ctx.workspace, STATE_FILE) is not None:
        return
    known = {row["path"] for row in ctx.tx.all("SELECT path FROM block_file WHERE workspace = ?", ctx.workspace)}
    for path in TREE:
        if path not in known:
            places.set_preamble(ctx, path, preamble(path))
    for name in DEFAULTS:
        if not plain.text(ctx, f"mind/{name}.mind"):
            plain.write(ctx, f"mind/{name}.mind", kernel_text(name), "init")
    plain.write(ctx, STATE_FILE, default_state_text(), "init")
