"""BranchMind: its tools are the list of our tier `daily`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from clew.contract import Contract, Toolset
from clew.registry.toolsets import REDUCED

if TYPE_CHECKING:
    from clew.settings import Settings

_CHOICES = {"workspace", "workspace_lock", "workspace_allowlist", "project_guard", "agent_id", "dx"}
"""With one of them BranchMind neither locks the workspace nor shortens responses automatically."""


class _BranchMind(Contract):
    toolset = Toolset("daily", REDUCED, server="branchmind-rust-mcp")

    def default_settings(self, given: Mapping[str, object], here: Path) -> dict[str, str]:
        # BranchMind's mode without arguments.
        return {} if _CHOICES & given.keys() else {"workspace_lock": "true", "dx": "true"}

    def is_compact(self, settings: Settings) -> bool:
        return settings.dx


CONTRACT = _BranchMind()
