"""Contracts: programs in whose place a server can be started, so that their clients find what they know.

Each is a package in `contracts` and serves the toolset of its name. Nothing imports these packages: whoever needs what
a contract says asks `contract_of`, and a client of Clew gets a `Contract` that changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clew.settings import Settings

CONTRACTS = ("branchmind", "thoughtbox", "mind-mem")
"""The one place where they are registered."""


class Toolset(NamedTuple):
    """What a server offers under one name: which tools it lists, what it calls itself, what it takes for granted."""

    tier: str
    """Whose budgets, answers in lines and rewritten suggestions it has."""
    instructions: str
    tools: tuple[str, ...] | None = None
    """What it lists, in this order; None for the list of the tier."""
    server: str = "clew"
    """What the server calls itself in the handshake."""
    resources: str = ""
    """What the addresses of listed resources begin with."""
    lists_prompts: bool = True
    defaults: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """By operation: values of arguments that the caller leaves out, where they differ from the declared ones."""


class Contract:
    """What the clients of another program expect. The defaults: what clients of Clew expect."""

    toolset: Toolset | None = None
    offers_import: bool = True
    """Whether a store of BranchMind in the project is offered for import."""
    shares_files: bool = False
    """Whether the original program may work on the same memory folder."""
    serves_older_http: bool = False
    """Whether its clients speak the older HTTP transport of two addresses."""

    def default_settings(self, given: Mapping[str, object], here: Path) -> dict[str, str]:
        """Settings whose defaults differ from ours, where `given` are the ones that were chosen explicitly."""
        return {}

    def check_settings(self, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
        """Refuse what a client of the program would be refused."""

    def named_place(self, memory_dir: Path | None, root: Path) -> Path:
        """The directory that a workspace is named after: the project's."""
        return root

    def notice(self, settings: Settings) -> str:
        """Problems that a client must know before it calls anything; empty if there are none."""
        return ""

    def is_compact(self, settings: Settings) -> bool:
        """Whether answers use few words where the call says nothing about that."""
        return False

    def structured(self, value: Any) -> dict[str, Any] | None:
        """An answer without an envelope as structured content, which must be an object."""
        return value if isinstance(value, dict) else None


_OURS = Contract()


@cache
def contract_of(toolset: str) -> Contract:
    if toolset not in CONTRACTS:
        return _OURS
    found: Contract = import_module(f"clew.contracts.{toolset.replace('-', '_')}").CONTRACT
    return found
