"""The options of `clew serve` in their plain spelling, read without the command-line library."""

from __future__ import annotations

SWITCHES = {"--http": "http", "--json": "as_json", "--dx": "dx", "--no-resident": "alone"}
VALUES = {
    "--host": "host",
    "--port": "port",
    "--toolset": "toolset",
    "--workspace": "workspace",
    "--token": "token",
    "--home": "home",
    "--storage-dir": "home",
    "--transport": "transport",
    "--agent-id": "agent_id",
    "--project-guard": "project_guard",
    "--workspace-lock": "workspace_lock",
    "--workspace-allowlist": "workspace_allowlist",
}


class Plain:
    """What `clew serve` was asked for; `flags` go to the settings, where they are checked."""

    def __init__(
        self,
        http: bool = False,
        as_json: bool = False,
        dx: bool = False,
        alone: bool = False,
        flags: dict[str, object] | None = None,
    ) -> None:
        self.http = http
        self.as_json = as_json
        self.dx = dx
        self.alone = alone
        """Serve in this process, without the resident server."""
        self.flags = flags if flags is not None else {}

    @property
    def settings(self) -> dict[str, object]:
        return {**self.flags, "dx": self.dx or None}


def parse_plainly(words: list[str]) -> Plain | None:
    """The plain spelling `--name value` or `--name=value`; None for anything else, which Typer then explains."""
    plain, rest = Plain(), list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in SWITCHES and not equals:
            setattr(plain, SWITCHES[name], True)
        elif name in VALUES and (equals or (rest and not rest[0].startswith("-"))):
            plain.flags[VALUES[name]] = value if equals else rest.pop(0)
        else:
            return None
    return plain
