"""The sources that `clew backfill` knows, in the order in which it shows them.

A new source is one module here with a class that keeps the port, and a line in this table.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from clew.importers.port import ImportSource

SOURCES = {
    "instructions": "InstructionFiles",
    "decision_records": "DecisionRecords",
    "specifications": "Specifications",
    "spec_tasks": "SpecTasks",
    "task_master": "TaskMaster",
    "backlog_md": "BacklogMd",
    "git_history": "GitHistory",
    "claude_memory": "ClaudeMemory",
    "codex_memory": "CodexMemory",
    "serena": "SerenaMemories",
    "memory_server": "MemoryServer",
    "mem0": "Mem0Export",
    "basic_memory": "BasicMemory",
    "obsidian": "ObsidianVault",
    "claude_mem": "ClaudeMem",
    "beads": "Beads",
    "chat_exports": "ChatExports",
    "session_prompts": "SessionPrompts",
}
"""Module -> class; imported only when sources are looked for."""


def load_sources(names: list[str] | None = None) -> list[ImportSource]:
    wanted = [name for name in SOURCES if not names or name in names]
    return [_load(name) for name in wanted]


def _load(name: str) -> ImportSource:
    module = import_module(f"clew.importers.sources.{name}")
    return cast(ImportSource, getattr(module, SOURCES[name])())
