"""Commands found by file name: `commands/<name>.py` with `register(app)` is the command `<name>`.

A module is imported only when its command is called (or listed by --help), so `clew call` pays for nothing else.
A trailing underscore is dropped (`import_.py` is `clew import`), others become hyphens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperGroup

from clew.faces.cli import commands

if TYPE_CHECKING:
    from typer._click import Command, Context

# The order people meet them in; anything not named here follows by name.
_FIRST = ("serve", "connect", "call", "ops", "status", "doctor")


def command_modules() -> dict[str, str]:
    """Command name -> module name, in the order of --help."""
    found = {info.name.rstrip("_").replace("_", "-"): info.name for info in iter_modules(commands.__path__)}
    rank = {name: place for place, name in enumerate(_FIRST)}
    return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def load_command(name: str) -> Command | None:
    module = command_modules().get(name)
    if module is None:
        return None
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    import_module(f"{commands.__name__}.{module}").register(app)
    command = typer.main.get_command(app)
    command.name = name
    return command


class Commands(Mapping[str, "Command"]):
    """The commands by name, each loaded when it is looked up."""

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
