"""`clew observatory`: serves the live page by itself, on its own port. `clew demo` uses it too."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from clew.faces.cli.launch import serve_until_stopped
from clew.faces.cli.output import say, show_json_line
from clew.faces.cli.root import opened, settings_of
from clew.settings import Settings

TRIES = 100
"""How many ports are tried, starting with the wanted one, before the system chooses a free one."""


def register(app: typer.Typer) -> None:
    app.command()(observatory)


def observatory(
    ctx: typer.Context,
    port: Annotated[str | None, typer.Option(help="Port, default 1729; the next free one if it is taken.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Announce the addresses as JSON.")] = False,
) -> None:
    """Serve the Observatory: what agents think, plan and remember, as it happens, also in other processes.

    Examples:

    - `clew observatory` serves the page on 127.0.0.1:1729 and opens it
    - `clew observatory --port 8080 --no-browser` only serves it
    - `clew observatory --port 0 --no-browser --json` takes any free port and prints it for a script
    """
    settings = settings_of(ctx, observatory_port=port)
    raise typer.Exit(serve_page(settings, browser and not as_json, as_json))


def serve_page(settings: Settings, browser: bool, as_json: bool) -> int:
    def announce(address: str) -> None:
        show(settings, address, as_json)
        if browser:
            open_browser(address)

    farewell = "The Observatory is closed; everything that was acknowledged is stored.\n"
    with opened(settings) as clew:
        return serve_until_stopped(clew, settings.observatory_port, announce, farewell, as_json, TRIES)


def show(settings: Settings, address: str, as_json: bool) -> None:
    socket = address.replace("http", "ws", 1) + "/ws"
    if as_json:
        show_json_line({"page": f"{address}/", "socket": socket, "workspace": settings.workspace})
    else:
        say("The Observatory is open.", "bold green")
        say(f"  page       {address}/")
        say(f"  socket     {socket}")
        say(f"  workspace  {settings.workspace}")
        say("Ctrl-C closes it.")
    # A script may wait for this line; on a pipe Python would keep it in its buffer.
    sys.stdout.flush()


def open_browser(address: str) -> None:
    """Open the page in a browser, if there is one. In a thread, because some browsers return only when closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(f"{address}/",), daemon=True).start()
