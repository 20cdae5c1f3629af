"""`clew serve`: declares the options for --help and completion; ../launch.py starts the server. `clew observatory`:
serves the live page by itself, on its own port. `clew demo` uses it too.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from clew.faces.cli.commands.identity import sign_in_link
from clew.faces.cli.launch import serve, serve_until_stopped
from clew.faces.cli.output import say, show_json_line
from clew.faces.cli.root import opened, settings_of
from clew.settings import Settings
from clew.shim.options import Plain


def serve_command(
    ctx: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Listen over HTTP instead of stdio.")] = False,
    host: Annotated[str | None, typer.Option(help="Address; anything but loopback needs a token.")] = None,
    transport: Annotated[str | None, typer.Option(help="stdio or http; the same as --http.")] = None,
    port: Annotated[str | None, typer.Option(help="Port; 0 takes a free one.")] = None,
    toolset: Annotated[
        str | None, typer.Option(help="Tools to list: agent, core, daily, full, branchmind, thoughtbox, mind-mem.")
    ] = None,
    workspace: Annotated[str | None, typer.Option(help="Workspace of calls that name none.")] = None,
    token: Annotated[
        str | None, typer.Option(help="Token that callers must send. Prefer CLEW_TOKEN: others can read options.")
    ] = None,
    home: Annotated[str | None, typer.Option("--home", "--storage-dir", help="Data directory.")] = None,
    agent_id: Annotated[str | None, typer.Option(help="Author of writes; auto makes and keeps a name.")] = None,
    project_guard: Annotated[str | None, typer.Option(help="Mark of the project; another's is refused.")] = None,
    workspace_lock: Annotated[str | None, typer.Option(help="true refuses calls that name another one.")] = None,
    workspace_allowlist: Annotated[str | None, typer.Option(help="Workspaces that calls may name.")] = None,
    dx: Annotated[bool | None, typer.Option("--dx/--no-dx", help="Let tasks_snapshot say what is new.")] = None,
    alone: Annotated[
        bool, typer.Option("--no-resident", help="Serve in this process, not through the resident server.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Announce the HTTP addresses as JSON.")] = False,
) -> None:
    """Serve agents over MCP: on stdio (what clients start), or over HTTP.

    Examples:

    - `clew serve` speaks MCP on standard input and output
    - `clew serve --http` listens on 127.0.0.1:1731 and prints how to connect
    - `clew serve --http --port 0 --json` takes a free port and prints it for a script
    - `clew serve --workspace acme/api --toolset full` serves one workspace with every tool listed
    """
    own = {
        "host": host,
        "transport": transport,
        "port": port,
        "toolset": toolset,
        "workspace": workspace,
        "token": token,
        "home": home,
        "agent_id": agent_id,
        "project_guard": project_guard,
        "workspace_lock": workspace_lock,
        "workspace_allowlist": workspace_allowlist,
    }
    flags = {**ctx.obj, **{name: value for name, value in own.items() if value is not None}}
    raise typer.Exit(serve(Plain(http, as_json, dx, alone, flags)))


TRIES = 100
"""How many ports are tried, starting with the wanted one, before the system chooses a free one."""


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
    farewell = "The Observatory is closed; everything that was acknowledged is stored.\n"
    with opened(settings) as clew:

        def announce(address: str) -> None:
            link = "" if as_json else sign_in_link(clew, address)
            show(settings, address, as_json, link)
            if browser:
                open_browser(link or f"{address}/")

        return serve_until_stopped(clew, settings.observatory_port, announce, farewell, as_json, TRIES)


def show(settings: Settings, address: str, as_json: bool, link: str = "") -> None:
    socket = address.replace("http", "ws", 1) + "/ws"
    if as_json:
        show_json_line({"page": f"{address}/", "socket": socket, "workspace": settings.workspace})
    else:
        say("The Observatory is open.", "bold green")
        say(f"  page       {address}/")
        if link:
            say(f"  sign in    {link}")
        say(f"  socket     {socket}")
        say(f"  workspace  {settings.workspace}")
        say("Ctrl-C closes it.")
    # A script may wait for this line; on a pipe Python would keep it in its buffer.
    sys.stdout.flush()


def open_browser(address: str) -> None:
    """Open the page in a browser, if there is one. In a thread, because some browsers return only when closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


COMMANDS = {"serve": serve_command, "observatory": observatory}
