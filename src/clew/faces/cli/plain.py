"""The everyday commands in their plain spelling, run without the command-line library.

Loading Typer and what it checks words with takes twice as long as everything else that such a command does. So a line
that needs no explanation is read here, by the same declarations; anything else is left to Typer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from clew.surroundings import typed

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYDAY = frozenset({"start", "think", "remember", "recall", "retract", "undo", "close", "resume", "open"})


class Declared(NamedTuple):
    """An option with its spellings, or a positional argument, which has none."""

    spellings: tuple[str, ...] = ()


class Parameter(NamedTuple):
    name: str
    spellings: tuple[str, ...]
    type: str
    required: bool

    @property
    def is_switch(self) -> bool:
        return "bool" in self.type

    @property
    def is_many(self) -> bool:
        return "list" in self.type

    def read(self, words: list[str]) -> Any:
        if self.is_many:
            return words
        return int(words[-1]) if "int" in self.type else words[-1]


class Declarations:
    """A substitute for the module `typer` if only the declarations of parameters matter."""

    Context = object

    @staticmethod
    def Argument(**_: Any) -> Declared:  # Typer's name
        return Declared()

    @staticmethod
    def Option(*spellings: str, **_: Any) -> Declared:  # Typer's name
        return Declared(spellings)


class PlainContext(NamedTuple):
    """The part of Typer's context that commands use."""

    obj: dict[str, Any]


def run_plainly(argv: list[str]) -> int | None:
    """The exit code of an everyday command; None for a line that Typer has to parse."""
    if not argv or argv[0] not in EVERYDAY or "_CLEW_COMPLETE" in os.environ:
        return None
    from clew.faces.cli.commands.everyday import COMMANDS

    command = COMMANDS[argv[0]]
    given = read_plainly(parameters_of(command), argv[1:])
    if given is None:
        return None
    try:
        with typed():
            command(PlainContext({}), **given)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def parameters_of(command: Callable[..., None]) -> list[Parameter]:
    names = command.__code__.co_varnames[1 : command.__code__.co_argcount]
    required = len(names) - len(command.__defaults__ or ())
    known = {**command.__globals__, "typer": Declarations, "remembered_kinds": tuple}
    hints = get_type_hints(command, known, include_extras=True)
    return [
        Parameter(
            name,
            hints[name].__metadata__[0].spellings,
            str(hints[name].__origin__),
            place < required,
        )
        for place, name in enumerate(names)
    ]


def read_plainly(parameters: list[Parameter], line: list[str]) -> dict[str, Any] | None:
    """The value of each parameter; None if the line is not in the plain form."""
    words: dict[str, list[str]] = {}
    switches: dict[str, Any] = {}
    rest = list(line)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = _meant(parameters, name)
        if parameter is None:
            return None
        if parameter.is_switch and not equals:
            switches[parameter.name] = True
            continue
        found = _value(parameter, word, rest) if not equals else value
        if found is None or parameter.is_switch:
            return None
        words.setdefault(parameter.name, []).append(found)
    return _read(parameters, words, switches)


def _meant(parameters: list[Parameter], name: str) -> Parameter | None:
    """The option of this spelling; for any other word the positional parameter."""
    if name.startswith("-"):
        return next((parameter for parameter in parameters if name in parameter.spellings), None)
    return next((parameter for parameter in parameters if not parameter.spellings), None)


def _value(parameter: Parameter, word: str, rest: list[str]) -> str | None:
    if not parameter.spellings:
        return word
    return rest.pop(0) if rest and not rest[0].startswith("-") else None


def _read(parameters: list[Parameter], words: dict[str, list[str]], given: dict[str, Any]) -> dict[str, Any] | None:
    for parameter in parameters:
        found = words.get(parameter.name)
        if found is None and parameter.required:
            return None
        if found is None:
            continue
        if not parameter.spellings and len(found) > 1 and not parameter.is_many:
            return None
        try:
            "".join(found).encode()
            given[parameter.name] = parameter.read(found)
        except ValueError:
            return None
    return given
