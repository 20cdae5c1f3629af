"""How clients are configured for this installation: the plan that `clew connect` writes, and lines to copy by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clew.faces.cli.output import say
from clew.faces.connect.clients import CLIENTS, Client, ClientPlan, hook_start, own_hook
from clew.faces.connect.listed_server import ListedServer
from clew.faces.connect.pieces import ServerPiece
from clew.faces.connect.servers import Target, this_command
from clew.faces.connect.user_folders import Places
from clew.settings import Settings
from clew.surroundings import environment, placed

USUAL_PORT = 1731
PASSED_ON = {"home": "CLEW_HOME", "workspace": "CLEW_WORKSPACE", "server": "CLEW_SERVER", "ca_file": "CLEW_CA_FILE"}
TOKEN_FILE = "CLEW_TOKEN_FILE"
PATHS = frozenset({"home", "ca_file"})
"""Settings that are written into a client's entry when `clew connect` was given them.

A client started from the desktop does not have the environment of this shell.
"""


def plan_for(settings: Settings, http: bool = False, hooks: bool = True, allow: bool = False) -> ClientPlan:
    """What this installation would write. Hooks need the program `clew-hook`, which is installed with `clew`."""
    target, program = target_for(settings, http), own_hook() if hooks else None
    return ClientPlan(Places(), target, hook_start(program, target.env) if program else None, allow)


def target_for(settings: Settings, http: bool = False) -> Target:
    if http:
        return Target(this_command(absolute=True), address_of(settings), settings.token_variable)
    # Only explicit values: a default is the same in every environment.
    given = ("flag", "SSL_CERT_FILE", *PASSED_ON.values())
    env = {
        variable: str(Path(getattr(settings, name)).absolute() if name in PATHS else getattr(settings, name))
        for name, variable in PASSED_ON.items()
        if settings.origins.get(name) in given
    }
    if settings.origins.get("token") == TOKEN_FILE and settings.server:
        env[TOKEN_FILE] = str(placed(environment()[TOKEN_FILE]))
    return Target(this_command(absolute=True), env=env)


def address_of(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}/mcp"


def lines_for(client: Client, target: Target) -> list[str]:
    """How to add Clew to one client by hand: the client's own command if it has one, and the text for its file."""
    if not client.reaches(target):
        return [f"{client.title} cannot be configured with an address and a token; connect it without --http"]
    lines = [client.by_hand(target)] if client.by_hand else []
    for piece in client.pieces(ClientPlan(Places(), target)):
        if isinstance(piece, ServerPiece):
            snippet = piece.format.put("", (*piece.table, "clew"), piece.entry).rstrip()
            lines.append(f"in {piece.file}:\n{snippet}")
        elif isinstance(piece, ListedServer):
            lines.append(f"in {piece.file}:\n{piece.snippet()}")
    return lines


def _connect_command(target: Target) -> str:
    """The command that connects all clients to this very server."""
    if not target.url:
        return "clew connect"
    port = urlsplit(target.url).port
    return "clew connect --http" if port in (None, USUAL_PORT) else f"CLEW_PORT={port} clew connect --http"


def show_connections(target: Target, clients: Iterable[Client] | None = None) -> None:
    """Print all ways to connect the named clients; without names, one line for each client that has a command."""
    if clients is None:
        for client in CLIENTS.values():
            if client.by_hand:
                say(f"{client.title}: {client.by_hand(target)}")
        say(f"All clients found here: {_connect_command(target)}")
        return
    for client in clients:
        say(client.title, "bold")
        for line in lines_for(client, target):
            say("  " + line.replace("\n", "\n  "))


def printable(target: Target, clients: Iterable[Client]) -> dict[str, Any]:
    shown = [{"client": client.name, "title": client.title, "lines": lines_for(client, target)} for client in clients]
    return {"command": [*target.command, "serve"], "url": target.url, "clients": shown}
