"""Hooks: functions that a module offers to a place which must not import it.

A place is declared once, where everyone concerned may import it: `opener: HookPoint[Opener] = HookPoint("opener")`.
A module offers a function by decorating it: `@opener("task", "plan")`. The generated index knows which modules do so,
hence looking a hook up imports those modules and no others, and starting imports none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Hook(NamedTuple):
    point: str
    key: str
    order: int
    module: str
    function: Callable[..., Any]


_declared: dict[tuple[str, str], Hook] = {}
_lookup: Callable[[str, str | None], Iterable[str]] | None = None


def modules_from(lookup: Callable[[str, str | None], Iterable[str]]) -> None:
    """Say who knows the modules that offer something: `lookup(point, key)`, or for all keys with None.

    The catalogue does. It lies above this module, so it makes itself known here when it is loaded.
    """
    global _lookup
    _lookup = lookup


def _load(point: str, key: str | None) -> None:
    for module in _lookup(point, key) if _lookup is not None else ():
        import_module(module)


def declared() -> list[Hook]:
    """Every hook whose module has been imported, in a fixed order."""
    return sorted(_declared.values(), key=lambda hook: (hook.point, hook.order, hook.key))


class HookPoint(Generic[F]):
    """A place where other modules may hook in functions of one type, each under a key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._all: list[F] = []
        self._counted = -1

    def __call__(self, *keys: str, order: int = 0) -> Callable[[F], F]:
        """Offer the decorated function under each of the keys; without one, under its own name.

        Where all functions of a point are called, lower `order` comes first and the key decides between equals.
        """

        def declare(function: F) -> F:
            for key in keys or (function.__name__,):
                self._declare(key, order, function)
            return function

        return declare

    def find(self, key: str) -> F | None:
        """The function offered under this key."""
        _load(self.name, key)
        hook = _declared.get((self.name, key))
        return hook.function if hook is not None else None  # type: ignore[return-value]  # checked when it was offered

    def all(self) -> list[F]:
        """Every function offered here, in order."""
        # Asked after every write: the answer is kept until another hook is declared anywhere.
        if self._counted != len(_declared):
            _load(self.name, None)
            self._all = [hook.function for hook in declared() if hook.point == self.name]  # type: ignore[misc]
            self._counted = len(_declared)
        return self._all

    def _declare(self, key: str, order: int, function: F) -> None:
        known = _declared.get((self.name, key))
        if known is not None and known.function.__qualname__ != function.__qualname__:
            raise ValueError(f"two functions are offered as {self.name} {key}")
        _declared[self.name, key] = Hook(self.name, key, order, function.__module__, function)
