"""How resources and prompts are declared.

A resource has one address, or an RFC 6570 template with simple names. A prompt has a name, arguments, and the function
that writes it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from clew.registry.context import Context

Completer = Callable[[Context, str], list[str]]


class Resource(NamedTuple):
    uri: str
    name: str
    title: str
    mime_type: str
    summary: str
    module: str
    function: Callable[..., str]
    completers: dict[str, Completer]
    own: bool = False
    rest: bool = False

    @property
    def template(self) -> bool:
        return "{" in self.uri

    def match(self, uri: str) -> dict[str, str] | None:
        """Match an address and return the template's values; None if it does not match."""
        found = re.fullmatch(_pattern(self.uri, self.rest), uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None


_declared: dict[str, Resource] = {}

Fn = TypeVar("Fn", bound=Callable[..., str])
PromptFn = TypeVar("PromptFn", bound=Callable[[Context, dict[str, str]], str])


def resource(
    uri: str,
    *,
    name: str,
    title: str,
    mime_type: str = "text/markdown",
    completers: dict[str, Completer] | None = None,
    own: bool = False,
    rest: bool = False,
) -> Callable[[Fn], Fn]:
    """Declare a function `(ctx, **template values) -> text` as a resource; it may only read.

    With `own` the function opens its transaction itself, because it looks at files first. With `rest` the last value
    takes the rest of the address, so that a client need not escape its slashes.
    """

    def declare(function: Fn) -> Fn:
        summary = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
        _declared[uri] = Resource(
            uri, name, title, mime_type, summary, function.__module__, function, completers or {}, own, rest
        )
        return function

    return declare


def declared() -> dict[str, Resource]:
    return _declared


def _pattern(uri: str, rest: bool) -> str:
    """`{name}` matches one path segment; the last one, if the resource says so, the rest of the address."""
    parts = [part for part in re.split(r"(\{\w+\})", uri) if part]
    last = len(parts) - 1
    return "".join(_part(part, rest and at == last) for at, part in enumerate(parts))


def _part(part: str, rest: bool) -> str:
    if not part.startswith("{"):
        return re.escape(part)
    return rf"(?P<{part.strip('{}')}>{'.+' if rest else '[^/]+'})"


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


_declared_prompts: dict[str, Prompt] = {}


def prompt(name: str, *, title: str, arguments: tuple[Argument, ...] = ()) -> Callable[[PromptFn], PromptFn]:
    """Declare a function `(ctx, arguments) -> text` as a prompt; the text becomes one user message."""

    def declare(function: PromptFn) -> PromptFn:
        summary = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
        _declared_prompts[name] = Prompt(name, title, summary, function.__module__, arguments, function)
        return function

    return declare


def declared_prompts() -> dict[str, Prompt]:
    return _declared_prompts
