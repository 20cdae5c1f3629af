"""Thoughtbox: one tool in front of every operation."""

from __future__ import annotations

from clew.contract import Contract, Toolset
from clew.registry.toolsets import STORED_DATA

_INSTRUCTIONS = (
    """\
Clew keeps your reasoning: numbered, linked thoughts in sessions that outlive this conversation.

One tool leads to everything: `thoughtbox_gateway` with an `operation`. Begin with `get_state`; `start_new` with \
`cipher: true` opens a session, or `load_context` goes on with one; then record each step with `thought`. A call that \
comes too early names the call that must come first. `session`, `notebook`, `mental_models` and `knowledge` take a \
`subOperation`.
"""
    + STORED_DATA
)


class _Thoughtbox(Contract):
    toolset = Toolset(
        "full", _INSTRUCTIONS, ("thoughtbox_gateway",), server="thoughtbox-server", resources="thoughtbox://"
    )
    offers_import = False


CONTRACT = _Thoughtbox()
