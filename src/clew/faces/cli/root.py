"""The Typer application: options that every command shares, and the commands found in commands/."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clew.errors import ClewError
from clew.faces.cli.exits import Exit
from clew.faces.cli.group import CommandGroup

if TYPE_CHECKING:
    from typer._click import Command

Home = Annotated[str | None, typer.Option(help="Data directory, instead of CLEW_HOME.", metavar="DIR")]
Workspace = Annotated[
    str | None, typer.Option(help="Workspace, instead of CLEW_WORKSPACE or the directory's name.", metavar="ID")
]

app = typer.Typer(
    name="clew",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 refused, 2 not understood, 3 store unusable, 4 cannot listen. See docs/cli.md.",
)


@app.callback()
def root(ctx: typer.Context, home: Home = None, workspace: Workspace = None) -> None:
    """A durable memory for AI agents: what was thought, decided, proven, and what is next.

    Examples:

    - `clew serve` is what an MCP client starts
    - `clew connect claude` says how to tell it so
    - `clew call notes_commit content="Retries need jitter"` writes from the shell
    - `clew doctor` says what works, what does not, and how to mend it
    """
    ctx.obj = {"home": home, "workspace": workspace}


def run_command(argv: list[str]) -> int:
    """Run one command line; the exit code, as Typer would have exited with it."""
    command = typer.main.get_command(app)
    try:
        if "--json" in argv:
            return _run_for_program(command, argv)
        command.main(argv, prog_name="clew", complete_var="_CLEW_COMPLETE")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None  # for Typer that is a failure, for us the reader's right
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return Exit.OK


def _run_for_program(command: Command, argv: list[str]) -> int:
    """The same, but a line that is not understood becomes an error of ours, which is printed as JSON."""
    try:
        code = command.main(argv, prog_name="clew", standalone_mode=False)
    except typer.TyperException as problem:
        raise ClewError("INVALID_INPUT", problem.format_message(), "Run the command with --help.") from problem
    return code if isinstance(code, int) else Exit.OK
