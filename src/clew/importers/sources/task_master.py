"""Task Master: the open tasks of .taskmaster/tasks/tasks.json, under tags or without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.importers.json_lines import json_document
from clew.importers.port import CandidateStep, Finding, Malformed, Provenance, Roots, TaskCandidate, files_matching

_CLOSED = frozenset({"done", "completed", "cancelled"})


class TaskMaster:
    name = "task_master"
    title = "Open tasks of Task Master"

    def detect(self, roots: Roots) -> list[Path]:
        return files_matching(roots.project, [".taskmaster/tasks/tasks.json", "tasks/tasks.json"])

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        found = json_document(roots, path)
        if isinstance(found, Malformed):
            yield found
            return
        lists = list(_task_lists(found))
        if not lists:
            yield Malformed(roots.shown(path), 1, "has no list `tasks`")
        for tag, tasks in lists:
            for number, task in enumerate(tasks, 1):
                yield from _of_task(roots.shown(path), tag, number, task)


def _task_lists(found: Any) -> Iterator[tuple[str, list[Any]]]:
    """The lists of tasks with their tags; files from before there were tags hold one list."""
    if not isinstance(found, dict):
        return
    if isinstance(found.get("tasks"), list):
        yield "", found["tasks"]
        return
    for tag, part in found.items():
        if isinstance(part, dict) and isinstance(part.get("tasks"), list):
            yield str(tag), part["tasks"]


def _of_task(shown: str, tag: str, number: int, task: Any) -> Iterator[Finding]:
    title = task.get("title") if isinstance(task, dict) else None
    if not isinstance(title, str) or not title.strip():
        yield Malformed(shown, 0, f"task {number}{f' of {tag}' if tag else ''} has no title")
        return
    if task.get("status") in _CLOSED:
        return
    origin = Provenance("task_master", shown, 0, f"{f'{tag} ' if tag else ''}{task.get('id', number)}")
    parts = (str(task.get(name) or "") for name in ("description", "details"))
    yield TaskCandidate(title.strip(), _steps(task), origin, "\n\n".join(part for part in parts if part))


def _steps(task: dict[str, Any]) -> tuple[CandidateStep, ...]:
    subtasks = task.get("subtasks")
    listed = [one for one in subtasks if isinstance(one, dict)] if isinstance(subtasks, list) else []
    open_ones = [one for one in listed if one.get("title") and one.get("status") not in _CLOSED]
    return tuple(
        CandidateStep(str(one["title"]), tuple(filter(None, [str(one.get("testStrategy") or "")])))
        for one in open_ones or [task]
    )
