"""Mind-Mem: a folder of Markdown files that its clients also access directly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from clew.contract import Contract, Toolset
from clew.errors import ClewError
from clew.registry.toolsets import STORED_DATA

if TYPE_CHECKING:
    from clew.settings import Settings

CONFIGURATION = "mind-mem.json"
TOOLS = (
    "recall",
    "propose_update",
    "approve_apply",
    "rollback_proposal",
    "scan",
    "list_contradictions",
    "hybrid_search",
    "find_similar",
    "intent_classify",
    "index_stats",
    "reindex",
    "memory_evolution",
    "list_mind_kernels",
    "get_mind_kernel",
    "category_summary",
    "prefetch",
)
_INSTRUCTIONS = (
    """\
Governed memory in Markdown files. Use `recall` to search it. Use `propose_update` to suggest decisions and tasks; it \
never writes to the source of truth. A person reviews proposals before `approve_apply` applies them.
"""
    + STORED_DATA
)


class _MindMem(Contract):
    toolset = Toolset(
        "full",
        _INSTRUCTIONS,
        TOOLS,
        server="mind-mem",
        resources="mind-mem://",
        lists_prompts=False,  # the original has none, and ours refer to tools that it does not list
        # The original has only its files, and its clients open the file and line of every hit.
        defaults=MappingProxyType({name: {"sources": ["blocks"]} for name in ("recall", "hybrid_search")}),
    )
    offers_import = False
    shares_files = True
    serves_older_http = True

    def default_settings(self, given: Mapping[str, object], here: Path) -> dict[str, str]:
        # Mind-Mem's own default is the directory that it is started in.
        own = {"memory_dir": str(here)} if (here / CONFIGURATION).is_file() else {}
        return {"port": "8765", **own}

    def check_settings(self, values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
        """Clients name an existing workspace; a typo must not create another one."""
        folder = values["memory_dir"]
        named = origins["memory_dir"] in ("MIND_MEM_WORKSPACE", "flag")
        if named and folder is not None and not folder.is_dir():
            raise ClewError(
                "NOT_FOUND",
                f"memory_dir: Workspace not found at {folder}",
                "Name a directory that exists, or make it: Clew lays the workspace out in it.",
            )

    def named_place(self, memory_dir: Path | None, root: Path) -> Path:
        """A client names its workspace by the directory of the files.

        It is one workspace from wherever the server is started, because two that alternate on the same files would
        each import the other's changes again.
        """
        return memory_dir if memory_dir is not None else root

    def notice(self, settings: Settings) -> str:
        """The notice for a client whose workspace is not here."""
        # A caller who names a workspace of Clew knows where it is stored.
        if settings.memory_dir is not None or settings.workspace_chosen:
            return ""
        kept = "in the database" if settings.database_url else f"in {settings.home}"
        return (
            f"Workspace not found: MIND_MEM_WORKSPACE is not set, and the directory that the server was started in has"
            f" no {CONFIGURATION}. Memory is read and kept {kept} instead, under the name {settings.workspace}."
        )

    def structured(self, value: Any) -> dict[str, Any] | None:
        # As the framework of the original does with every response.
        return {"result": value} if isinstance(value, list) else super().structured(value)


CONTRACT = _MindMem()
