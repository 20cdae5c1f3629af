"""The MCP clients of this machine: do they know Clew."""

from __future__ import annotations

from collections.abc import Iterator

from clew.faces.cli.checks.finding import Finding, note, ok
from clew.faces.cli.clients import CLIENTS, Client, Registration, Target, registrations, this_command
from clew.settings import Settings


def check_clients(settings: Settings) -> Iterator[Finding]:
    found = list(registrations(settings.project_root))
    for client in CLIENTS.values():
        own = [entry for entry in found if entry.client is client]
        yield from (note(client.name, entry.problem) for entry in own if entry.problem)
        yield _client(client, [entry for entry in own if not entry.problem])


def _client(client: Client, files: list[Registration]) -> Finding:
    knowing = [str(entry.file) for entry in files if entry.registered]
    if knowing:
        return ok(client.name, f"{client.title} knows Clew: {', '.join(knowing)}")
    seen = ", ".join(str(entry.file) for entry in files)
    detail = f"{client.title} does not know Clew ({seen})" if seen else f"{client.title}: no configuration found here"
    return note(client.name, detail, client.lines(Target(this_command()))[0])
