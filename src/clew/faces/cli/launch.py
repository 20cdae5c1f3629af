"""`clew serve`: starts a server from parsed flags and prints its addresses once it listens.

This module does not load the command-line library (Typer): every MCP client waits for this start.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from clew.app import Clew, open_clew
from clew.errors import ClewError
from clew.faces.cli.main import Exit
from clew.fast_imports import without_collection
from clew.settings import Settings, load_settings
from clew.shim.options import Plain

if TYPE_CHECKING:
    from clew.faces.connect.servers import Target


def serve(plain: Plain) -> int:
    settings = load_settings(plain.settings)
    clew = open_clew(settings)
    if settings.notice:
        sys.stderr.write(f"clew: {settings.notice}\n")
        sys.stderr.flush()
    if settings.observatory_enabled:
        open_observatory(clew)
    try:
        if plain.http or settings.transport == "http":
            return _serve_http(clew, settings, plain.as_json)
        with without_collection():
            from clew.faces.mcp.stdio import run_stdio

        run_stdio(clew)
        return Exit.OK
    finally:
        clew.close()


NEXT_PORTS = 100
"""Two editors may each start a server with an Observatory; the second one takes the next free port."""


def open_observatory(clew: Clew) -> None:
    """Serve the page next to the MCP server, in a thread that ends with the process.

    Its messages go to standard error, because standard output carries the MCP protocol.
    """

    # Imported before the thread starts: two threads that import the same library at once can deadlock.
    importlib.import_module("clew.faces.mcp.stdio")
    from clew.faces.mcp.endpoint import run_http
    from clew.faces.web.api import web_routes

    def announce(address: str) -> None:
        sys.stderr.write(f"Observatory: {address}/\n")
        sys.stderr.flush()

    def run() -> None:
        settings = clew.settings
        try:
            run_http(
                clew, settings.host, settings.observatory_port, web_routes(clew), tries=NEXT_PORTS, on_ready=announce
            )
        except ClewError as error:
            # The page is optional: without a port for it, the MCP server continues.
            sys.stderr.write(f"Observatory: {error.message}\n")

    threading.Thread(target=run, name="clew-observatory", daemon=True).start()


def _serve_http(clew: Clew, settings: Settings, as_json: bool) -> int:
    if settings.server:
        raise ClewError(
            "INVALID_INPUT",
            f"server: the memory is kept by {settings.server}, and this would serve nothing of its own",
            "Unset CLEW_SERVER to serve a store of this machine; clients here need `clew serve` without --http.",
        )

    def announce(address: str) -> None:
        show_addresses(clew, address, as_json)

    farewell = "Clew has stopped; everything it acknowledged is stored.\n"
    return serve_until_stopped(clew, settings.port, announce, farewell, as_json)


def serve_until_stopped(
    clew: Clew, port: int, announce: Callable[[str], None], farewell: str, as_json: bool, tries: int = 1
) -> int:
    """Serve MCP and the page until Ctrl-C, and return the exit code."""
    from clew.faces.mcp.endpoint import run_http
    from clew.faces.web.api import web_routes

    try:
        run_http(clew, clew.settings.host, port, web_routes(clew), tries=tries, on_ready=announce)
    except KeyboardInterrupt:
        sys.stderr.write(farewell)
    except ClewError as error:
        # These two codes mean that the server cannot listen, which has its own exit code.
        if error.code not in ("UNAVAILABLE", "NOT_ALLOWED"):
            raise
        from clew.faces.cli.output import show_error

        show_error(error, as_json)
        return Exit.ADDRESS
    return Exit.OK


def show_addresses(clew: Clew, address: str, as_json: bool) -> None:
    from clew.faces.cli.output import show_json_line
    from clew.faces.connect.servers import Target, this_command

    settings = clew.settings
    target = Target(this_command(), f"{address}/mcp", settings.token_variable)
    if as_json:
        show_json_line({"mcp": target.url, "health": f"{address}/health", "workspace": settings.workspace})
    else:
        _describe(clew, address, target)
    # A script may wait for this line; on a pipe Python would keep it in its buffer.
    sys.stdout.flush()


def _describe(clew: Clew, address: str, target: Target) -> None:
    from clew.faces.cli.client_plan import show_connections
    from clew.faces.cli.commands.identity import sign_in_link
    from clew.faces.cli.output import say

    settings = clew.settings
    store = "PostgreSQL" if settings.database_url else str(settings.database_file)
    say("Clew is listening.", "bold green")
    say(f"  MCP        {target.url}")
    say(f"  page       {address}/")
    if link := sign_in_link(clew, address):
        say(f"  sign in    {link} (once, within 15 minutes; later: clew login)")
    say(f"  health     {address}/health")
    say(f"  store      {store}")
    say(f"  workspace  {settings.workspace}")
    say(f"  token      {'required: send it as a bearer token' if settings.token else 'none; this machine only'}")
    say()
    show_connections(target)
