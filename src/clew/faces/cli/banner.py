"""What `clew serve --http` says once it listens: the addresses, and the lines that connect a client."""

from __future__ import annotations

import sys

from clew.faces.cli.clients import CLIENTS, Target, this_command
from clew.faces.cli.output import say, show_json_line
from clew.settings import Settings


def show_addresses(settings: Settings, address: str, as_json: bool) -> None:
    target = Target(this_command(), f"{address}/mcp", bool(settings.token))
    if as_json:
        show_json_line({"mcp": target.url, "health": f"{address}/health", "workspace": settings.workspace})
    else:
        _show(settings, address, target)
    # Whoever started us may be waiting for this on a pipe.
    sys.stdout.flush()


def _show(settings: Settings, address: str, target: Target) -> None:
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


def show_connections(target: Target, names: list[str] | None = None) -> None:
    for name in names or list(CLIENTS):
        say(CLIENTS[name].title, "bold")
        for line in CLIENTS[name].lines(target):
            say(f"  {line}")
