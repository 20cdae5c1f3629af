"""The options of `clew serve` in their plain spelling, read without the command-line library."""

from __future__ import annotations

SWITCHES = {
    "--http": ("http", True),
    "--json": ("as_json", True),
    "--dx": ("dx", True),
    "--no-dx": ("dx", False),
    "--no-resident": ("alone", True),
}
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

# Options by which BranchMind starts and shares processes of its own. A client's configuration may hold them, and must
# not stop the server from starting when only the command in it is changed.
IDLE_SWITCHES = frozenset(
    {
        *("--shared", "--viewer", "--no-viewer", "--hot-reload", "--no-hot-reload"),
        *("--runner-autostart", "--no-runner-autostart", "--runner-autostart-dry-run"),
    }
)
IDLE_VALUES = frozenset({"--viewer-port", "--socket", "--hot-reload-poll-ms", "--response-verbosity"})


OPTIONAL_VALUES = {"--workspace-lock": "true"}
"""Options that are switches in BranchMind and take a value here: what they mean without one."""
_TRUTHS = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})


class Plain:
    """What `clew serve` was asked for; `flags` go to the settings, where they are checked."""

    def __init__(
        self,
        http: bool = False,
        as_json: bool = False,
        dx: bool | None = None,
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
        return {**self.flags, "dx": self.dx}


def parse_plainly(words: list[str]) -> Plain | None:
    """The plain spelling `--name value` or `--name=value`; None for anything else, which Typer then explains."""
    plain, rest = Plain(), list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in SWITCHES and not equals:
            setattr(plain, *SWITCHES[name])
        elif name in VALUES and (equals or (rest and not rest[0].startswith("-"))):
            plain.flags[VALUES[name]] = value if equals else rest.pop(0)
        else:
            return None
    return plain


def with_values(words: list[str]) -> list[str]:
    """The words with the value of each option that may be given as a switch."""
    found: list[str] = []
    for place, word in enumerate(words):
        follower = words[place + 1].lower() if place + 1 < len(words) else ""
        alone = word in OPTIONAL_VALUES and follower not in _TRUTHS
        found.append(f"{word}={OPTIONAL_VALUES[word]}" if alone else word)
    return found


def without_idle(words: list[str]) -> tuple[list[str], list[str]]:
    """The words without BranchMind's options that have nothing to steer here, and the names of those."""
    kept: list[str] = []
    idle: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        if name not in IDLE_SWITCHES | IDLE_VALUES:
            kept.append(word)
            continue
        idle.append(name)
        if name in IDLE_VALUES and not equals:
            rest[:1] = []
    return kept, idle
