"""How a prompt is declared: a name, arguments, and the function that writes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from clew.registry.context import Context
from clew.registry.resource import Completer


class Argument(NamedTuple):
    name: str
    description: str
    required: bool = False
    complete: Completer | None = None


class Prompt(NamedTuple):
    name: str
    title: str
    summary: str
    module: str
    arguments: tuple[Argument, ...]
    function: Callable[[Context, dict[str, str]], str]


_declared: dict[str, Prompt] = {}

Fn = TypeVar("Fn", bound=Callable[[Context, dict[str, str]], str])


def prompt(name: str, *, title: str, arguments: tuple[Argument, ...] = ()) -> Callable[[Fn], Fn]:
    """Declare a function `(ctx, arguments) -> text` as a prompt; the text becomes one user message."""

    def declare(function: Fn) -> Fn:
        summary = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
        _declared[name] = Prompt(name, title, summary, function.__module__, arguments, function)
        return function

    return declare


def declared() -> dict[str, Prompt]:
    return _declared
