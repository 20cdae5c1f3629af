"""Loads of the MCP SDK what a server needs: half of a start was spent on the rest.

The packages `mcp` and `mcp.server` import a client, an HTTP client, an authorization server and a second way to write
servers. They are registered without being executed; the first access to a name loads the module as usual.
The types of the protocol build their validators when they are first used, and most never are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict

PACKAGES = ("mcp", "mcp.server")
_running = threading.RLock()


class LazyPackage(ModuleType):
    """A package that runs its `__init__` when it is first asked for a name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        with _running:
            if not self.__dict__.get("_has_run"):
                self._has_run = True
                assert self.__spec__ is not None and self.__spec__.loader is not None
                self.__spec__.loader.exec_module(self)
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


def load_lazily() -> None:
    """Before anything else of the SDK is imported; what is there already stays as it is."""
    if any(name in sys.modules for name in PACKAGES):
        return
    for name in PACKAGES:
        _place(name)
    with _deferred():
        import mcp_types.methods  # noqa: F401


def _place(name: str) -> None:
    spec = find_spec(name)
    if spec is None:
        return
    package = module_from_spec(spec)
    package.__class__ = LazyPackage
    sys.modules[name] = package


@contextmanager
def _deferred() -> Iterator[None]:
    """Models that are declared inside take this setting from the class that they inherit."""
    before = BaseModel.model_config
    BaseModel.model_config = ConfigDict(defer_build=True)
    try:
        yield
    finally:
        BaseModel.model_config = before
