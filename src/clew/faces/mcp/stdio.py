"""MCP over standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

from clew.faces.mcp.pipes import Framing, Lines, Output, claimed
from clew.faces.mcp.server import build_server
from clew.faces.mcp.streams import Debts, Incoming, Outgoing
from clew.logs import configure_logs

if TYPE_CHECKING:
    from clew.app import Clew


def run_stdio(clew: Clew) -> None:
    """Serves one client until it closes our input."""
    configure_logs(clew.settings)
    anyio.run(_serve, clew)


async def _serve(clew: Clew) -> None:
    server = build_server(clew)
    with claimed() as (source, sink):
        framing = Framing()
        output = Output(sink, framing)
        # The SDK's loop needs no more of a file than to give lines and to take text.
        files: Any = Lines(source, framing), output
        async with stdio_server(*files) as (incoming, outgoing):
            debts = Debts()
            answers = Outgoing(outgoing, debts)
            await server.run(Incoming(incoming, answers, debts), answers, server.create_initialization_options())
        output.close()
