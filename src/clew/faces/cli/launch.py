"""`clew serve`: from flags to a running server, and what it says once it listens.

Nothing here loads the command-line library, because every MCP client waits for this start.
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
from clew.imports import without_collection
from clew.settings import Settings, load_settings
from clew.shim.options import Plain

if TYPE_CHECKING:
    from clew.faces.connect.servers import Target


def serve(plain: Plain) -> int:
    settings = load_settings(plain.settings)
    clew = open_clew(settings)
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
    """The page, its socket and API beside the server until the process ends. Standard output is the protocol's."""

    # Imported here: two threads that import the same library at once may wait for each other for ever.
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
            sys.stderr.write(f"Observatory: {error.message}\n")

    threading.Thread(target=run, name="clew-observatory", daemon=True).start()


def _serve_http(clew: Clew, settings: Settings, as_json: bool) -> int:
    def announce(address: str) -> None:

        show_addresses(settings, address, as_json)

    farewell = "Clew has stopped; everything it acknowledged is stored.\n"
    return serve_until_stopped(clew, settings.port, announce, farewell, as_json)


def serve_until_stopped(
    clew: Clew, port: int, announce: Callable[[str], None], farewell: str, as_json: bool, tries: int = 1
) -> int:
    """Serves MCP and the page until Ctrl-C, the ordinary way to stop a server in a terminal."""
    from clew.faces.mcp.endpoint import run_http
    from clew.faces.web.api import web_routes

    try:
        run_http(clew, clew.settings.host, port, web_routes(clew), tries=tries, on_ready=announce)
    except KeyboardInterrupt:
        sys.stderr.write(farewell)
    except ClewError as error:
        # These two say that the address cannot be had, which has an exit code of its own.
        if error.code not in ("UNAVAILABLE", "NOT_ALLOWED"):
            raise
        from clew.faces.cli.output import show_error

        show_error(error, as_json)
        return Exit.ADDRESS
    return Exit.OK


def show_addresses(settings: Settings, address: str, as_json: bool) -> None:
    from clew.faces.cli.output import show_json_line
    from clew.faces.connect.servers import Target, this_command

    target = Target(this_command(), f"{address}/mcp", bool(settings.token))
    if as_json:
        show_json_line({"mcp": target.url, "health": f"{address}/health", "workspace": settings.workspace})
    else:
        _describe(settings, address, target)
    # Whoever started us may be waiting for this on a pipe.
    sys.stdout.flush()


def _describe(settings: Settings, address: str, target: Target) -> None:
    from clew.faces.cli.connections import show_connections
    from clew.faces.cli.output import say

    store = "PostgreSQL" if settings.database_url else str(settings.database_file)
    say("Clew is listening.", "bold green")
    say(f"  MCP        {target.url}")
    say(f"  page       {address}/")
    say(f"  health     {address}/health")
    say(f"  store      {store}")
    say(f"  workspace  {settings.workspace}")
    say(f"  token      {'required: send it as a bearer token' if settings.token else 'none; this machine only'}")
    say()
    show_connections(target)
