"""The Typer application: the options that commands share, the commands by file name, and how one opens Clew.

`commands/<name>.py` with `register(app)` is the command `<name>`; commands that belong together share a file
(`commands.SHARED`). A module is imported only when its command is called or listed by --help, so that `clew call` pays
for nothing else. Underscores of a file name become hyphens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup, TyperOption

from clew.errors import ClewError
from clew.faces.cli import commands
from clew.faces.cli.main import Exit
from clew.faces.cli.plain import EVERYDAY
from clew.kinds.catalogue import remembered_kinds
from clew.surroundings import typed

if TYPE_CHECKING:
    from typer._click import Command, Context

    from clew.app import Clew
    from clew.registry.context import Progress
    from clew.registry.envelope import Answer
    from clew.settings import Settings


# The order of --help: everyday commands first. A command that is not named here is listed under the last heading.
_PANELS = {
    "Every day": (
        "resume",
        "remember",
        "recall",
        "open",
        "retract",
        "undo",
        "start",
        "prove",
        "close",
        "think",
        "next",
        "tasks",
    ),
    "Setting up": (
        "init",
        "connect",
        "serve",
        "observatory",
        "login",
        "token",
        "doctor",
        "demo",
        "tour",
        "guards",
        "trust",
        "model",
    ),
    "Looking": (
        "status",
        "workspaces",
        "digest",
        "why",
        "blame",
        "log",
        "watch",
        "audit",
        "history",
        "sessions",
        "session",
        "handoff",
        "verify",
        "jobs",
        "runner",
    ),
    "Data": ("backup", "restore", "backfill", "import", "export", "capture", "migrate", "migrate-store", "vacuum"),
    "All operations, and this program": ("call", "ops", "bench", "version"),
}
_LAST = list(_PANELS)[-1]
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}


def command_modules() -> dict[str, str]:
    """Command name -> module name, in the order of --help."""
    # From file names alone, because importing every command would slow down the start of each one.
    alone = {info.name for info in iter_modules(commands.__path__)} - set(commands.SHARED.values())
    found = {name.replace("_", "-"): name for name in alone} | commands.SHARED
    rank = {name: place for place, name in enumerate(_PANEL_OF)}
    return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def load_command(name: str) -> Command | None:
    module = command_modules().get(name)
    if module is None:
        return None
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    loaded = import_module(f"{commands.__name__}.{module}")
    if name in getattr(loaded, "GROUPS", {}):
        loaded.GROUPS[name](app)
    elif name in commands.SHARED:
        if name in EVERYDAY:
            vars(loaded).update(typer=typer, remembered_kinds=remembered_kinds)
        app.command(name)(loaded.COMMANDS[name])
    else:
        loaded.register(app)
    command = typer.main.get_command(app)
    command.name = name
    command.rich_help_panel = _PANEL_OF.get(name, _LAST)  # type: ignore[attr-defined]  # every command of Typer has it
    return command


class Commands(Mapping[str, "Command"]):
    """The commands by name, each imported on lookup."""

    def __getitem__(self, name: str) -> Command:
        command = load_command(name)
        if command is None:
            raise KeyError(name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(command_modules())

    def __len__(self) -> int:
        return len(command_modules())


class CommandGroup(TyperGroup):
    """Typer's group, filled from the files in commands/."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("MutableMapping[str, Command]", Commands())

    def list_commands(self, ctx: Context) -> list[str]:
        return list(self.commands)


def settings_of(ctx: typer.Context, **flags: Any) -> Settings:
    from clew.settings import load_settings

    return load_settings({**(ctx.obj or {}), **{name: value for name, value in flags.items() if value is not None}})


@contextmanager
def opened(settings: Settings) -> Iterator[Clew]:
    from clew.app import open_clew

    clew = open_clew(settings)
    try:
        # Before the command runs, so that it already sees the events.
        take_over(clew)
        yield clew
    finally:
        clew.close()


def take_over(clew: Clew) -> None:
    """Store the events that `clew-hook` had to spool because no server accepted them."""
    from clew.app import Clew
    from clew.faces.hooks.spool import has_any

    # The spool belongs to the SQLite store in the data directory or to a server of Clew, not to PostgreSQL.
    if has_any(str(clew.settings.home)) and not clew.settings.database_url:
        from clew.faces.hooks.service import digest

        def of_event(settings: Settings) -> Clew:
            if settings.server != clew.settings.server:
                return Clew(settings)
            return Clew(replace(settings, token=settings.token or clew.settings.token), database=clew.database)

        digest(clew.settings.home, of_event)


def call(
    clew: Clew, name: str, arguments: dict[str, Any], progress: Progress | None = None, toolset: str = "full"
) -> Answer:
    """Make one call. The process exits afterwards, so nothing is stored for this connection (`durable=False`).

    A shell has no tool list that must stay short: every operation counts as listed, and suggestions may name any.
    """
    from clew.registry.connection import Connection

    connection = Connection(
        toolset=toolset, agent_id=clew.settings.agent_id, client="clew-cli", durable=False, local=True
    )
    return clew.dispatcher.call(name, arguments, connection, progress)


Home = Annotated[str | None, typer.Option(help="Data directory, instead of CLEW_HOME.", metavar="DIR")]
Workspace = Annotated[
    str | None, typer.Option(help="Workspace, instead of CLEW_WORKSPACE or the directory's name.", metavar="ID")
]


def _without_types_of_switches() -> None:
    """Stop Typer from writing <bool> next to a switch, which reads as if the switch took a value."""
    shown = TyperOption.display_type_rich
    TyperOption.display_type_rich = lambda self, ctx: None if self.is_flag else shown(self, ctx)  # type: ignore[method-assign]


_without_types_of_switches()
app = typer.Typer(
    name="clew",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 refused, 2 not understood, 3 store unusable, 4 cannot listen. See docs/cli.md.",
)


def _show_version(asked: bool) -> None:
    if asked:
        from clew.faces.cli.commands.status import version

        version()
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", "-V", help="Say which Clew this is.", callback=_show_version, is_eager=True)
]


@app.callback()
def root(ctx: typer.Context, home: Home = None, workspace: Workspace = None, version: Version = False) -> None:
    """A durable memory for AI agents: what was thought, decided, proven, and what is next.

    Examples:

    - `clew connect` configures every MCP client found on this machine; `clew serve` is what they start
    - `clew remember -k decision "Retries need jitter"`, then `clew recall retries`
    - `clew help recall` explains a command, `clew tour` the whole loop in five minutes
    - `clew doctor` says what works, what does not, and how to fix it
    """
    ctx.obj = {"home": home, "workspace": workspace}


def run_command(argv: list[str]) -> int:
    """Run one command line and return the exit code that Typer would have ended the process with."""
    argv = _usual(argv)
    # The environment of a command is that of its user; a server's caller may have another.
    with nullcontext() if "serve" in argv else typed():
        return _run_typer(typer.main.get_command(app), argv)


def _run_typer(command: Command, argv: list[str]) -> int:
    try:
        # A program that asks for JSON must get errors as JSON too; Typer would print a box.
        if "--json" in argv:
            return _run_for_program(command, argv)
        command.main(argv, prog_name="clew", complete_var="_CLEW_COMPLETE")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None  # Typer treats a closed pipe as a failure; `main.run` does not
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return Exit.OK


_SHARED = ("--home", "--workspace")
_OWN_WORDS = frozenset({"serve", "prove"})
"""Commands whose words are not reordered: `serve` declares these options itself, `prove` runs another program."""


def _usual(argv: list[str]) -> list[str]:
    """The line in the form Typer accepts: `help X` becomes `X --help`, shared options move before the command."""
    if argv[:1] == ["help"]:
        return [*argv[1:], "--help"]
    place = next((number for number, word in enumerate(argv) if _is_command(argv, number)), len(argv))
    if argv[place : place + 1] and argv[place] in _OWN_WORDS:
        return argv
    # Arguments after `--` belong to another program.
    end = argv.index("--", place) if "--" in argv[place:] else len(argv)
    shared, rest, words = argv[:place], argv[place:end], argv[end:]
    for name in _SHARED:
        # From the end, so that deleting one does not shift the positions of those still to come.
        for number in reversed([number for number, word in enumerate(rest) if word.partition("=")[0] == name]):
            width = 1 if "=" in rest[number] else 2
            if number + width > len(rest):
                return [name]  # its value is missing: Typer then reports it
            shared += rest[number : number + width]
            del rest[number : number + width]
    return [*shared, *rest, *words]


def _is_command(argv: list[str], number: int) -> bool:
    """Whether a word is the command: neither an option nor the value of a shared option."""
    return not argv[number].startswith("-") and not (number and argv[number - 1] in _SHARED)


def _run_for_program(command: Command, argv: list[str]) -> int:
    """Run a command line with --json: one that Typer does not understand becomes a ClewError, printed as JSON."""
    try:
        code = command.main(argv, prog_name="clew", standalone_mode=False)
    except typer.TyperException as problem:
        raise ClewError("INVALID_INPUT", problem.format_message(), "Run the command with --help.") from problem
    return code if isinstance(code, int) else Exit.OK
