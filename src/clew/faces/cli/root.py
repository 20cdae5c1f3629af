"""The Typer application: options that every command shares, and the commands found in commands/."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.group import CommandGroup

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
    try:
        typer.main.get_command(app).main(argv, prog_name="clew", complete_var="_CLEW_COMPLETE")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
