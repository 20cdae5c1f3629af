"""`clew serve`: declares the options for --help and completion; ../launch.py starts the server."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.launch import serve
from clew.shim.options import Plain


def register(app: typer.Typer) -> None:
    app.command("serve")(serve_command)


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
    dx: Annotated[bool, typer.Option("--dx", help="Let tasks_snapshot say what is new.")] = False,
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
