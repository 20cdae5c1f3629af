"""What a proposal or a contradiction says to a person: one sentence in words, never in ids."""

from __future__ import annotations

from collections.abc import Iterable

from clew.errors import ClewError, shorten
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.markdown import listed, parse_block
from clew.memory.governance.patches import Op, read
from clew.registry.context import Context
from clew.registry.record import Named, namer

LONGEST = 200
Titles = dict[str, str]


@namer("block")
def block_names(ctx: Context, ids: list[str]) -> list[Named]:
    """What blocks are called; a proposal is called after what it would do."""
    found = blocks.current(ctx, ids=ids)
    said = sentences(ctx, found)
    return [Named(block.id, block.kind.name, said[block.id], block.status) for block in found]


def sentences(ctx: Context, found: Iterable[Block]) -> Titles:
    """One sentence for each block. Blocks that others name are read together, in one question."""
    listed_blocks = list(found)
    titles = _titles(ctx, {id for block in listed_blocks for id in _named(block)})
    return {block.id: shorten(_sentence(block, titles), LONGEST) for block in listed_blocks}


def _titles(ctx: Context, ids: Iterable[str]) -> Titles:
    return {block.id: shorten(block.headline or block.id, 120) for block in blocks.current(ctx, ids=ids)}


def _named(block: Block) -> list[str]:
    """The blocks that its sentence names."""
    if block.kind.name == "proposal":
        return [op.target for op in _ops(block) if op.target]
    return sides(block) if block.kind.name == "contradiction" else []


def sides(contradiction: Block) -> list[str]:
    """The two blocks that a contradiction is about."""
    return listed(contradiction.fields.get("Objects"))


def _ops(proposal: Block) -> list[Op]:
    try:
        return read(proposal.fields.get("Ops"))
    except ClewError:  # a person broke it by hand; approving it says how
        return []


def _sentence(block: Block, titles: Titles) -> str:
    if block.kind.name == "proposal":
        said = [_op_sentence(op, titles) for op in _ops(block)]
        more = f" (and {len(said) - 1} more changes)" if len(said) > 1 else ""
        return said[0] + more if said else "A proposal that cannot be read"
    if block.kind.name == "contradiction":
        both = [f"“{titles[id]}”" for id in sides(block) if id in titles]
        return " against ".join(both) if len(both) == 2 else block.headline
    return block.headline or block.id


def _op_sentence(op: Op, titles: Titles) -> str:
    about = f"“{titles.get(op.target, op.target)}”" if op.target else op.file
    new = blocks.headline(parse_block(op.patch).fields) if op.patch else ""
    sentences = {
        "append_block": new or f"Add to {op.file}",
        "insert_after_block": f"{new} (after {about})",
        "update_field": f"Change {op.field} of {about} to: {op.value}",
        "append_list_item": f"Add to {op.list} of {about}: {op.item}",
        "set_status": f"Mark {about} as {op.status}",
        "replace_range": f"Rewrite lines of {about}",
        "supersede_decision": f"{new} (instead of {about})",
        "replace_block": f"Let {titles.get(op.value, op.value)} replace {about}",
    }
    return sentences.get(op.op, f"{op.op} {about}")
