"""`clew connect`: the exact lines that tell a client about this Clew."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.errors import ClewError
from clew.faces.cli.clients import CLIENTS, Target, show_connections, this_command
from clew.faces.cli.output import show_json
from clew.faces.cli.root import settings_of
from clew.settings import Settings


def register(app: typer.Typer) -> None:
    app.command()(connect)


def _complete(incomplete: str) -> list[str]:
    return [name for name in CLIENTS if name.startswith(incomplete)]


def connect(
    ctx: typer.Context,
    client: Annotated[
        str | None, typer.Argument(help="claude, codex, cursor or vscode; all when left out.", autocompletion=_complete)
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="For a server started with `clew serve --http`.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Print the lines that connect an MCP client to Clew. Changes nothing.

    Examples:

    - `clew connect claude`
    - `clew connect cursor --http`
    - `$(clew connect codex --json | jq -r '.clients[0].lines[0]')` runs it at once
    """
    names = [_client_name(client)] if client else list(CLIENTS)
    settings = settings_of(ctx)
    target = Target(this_command(), _url(settings), bool(settings.token)) if http else Target(this_command())
    if as_json:
        found = [{"client": name, "title": CLIENTS[name].title, "lines": CLIENTS[name].lines(target)} for name in names]
        show_json({"command": [*target.command, "serve"], "url": target.url, "clients": found})
    else:
        show_connections(target, names)


def _url(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}/mcp"


def _client_name(client: str) -> str:
    if client in CLIENTS:
        return client
    raise ClewError("INVALID_INPUT", f"no client is called {client!r}", f"Use one of {', '.join(CLIENTS)}.")
