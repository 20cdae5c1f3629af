"""Template texts with unfilled placeholders. Write operations refuse them, so that no template is stored as content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from clew.canonical import Json
from clew.errors import ClewError, Suggestion, invalid, suggest
from clew.registry.operation import Operation

CARD_FORMS: dict[str, tuple[str, str]] = {
    "frame": ("What this is about", "Goal, limits, what counts as done, what is out of scope."),
    "hypothesis": ("What you believe", "Because ..., we expect ...; it is wrong if ..."),
    "question": ("What must be found out", "Why it matters, who or what can answer it."),
    "test": ("How it could fail", "What you do and which outcome would refute it.\nCMD: <fill: command>"),
    "evidence": ("What came out", "CMD: <fill: command>\nRESULT: <fill: outcome>\nLINK: <fill: where to see it>"),
    "decision": ("What you will do", "The reason, what was ruled out, what would change your mind."),
    "note": ("Something worth keeping", "In your own words."),
    "update": ("What changed", "Before, after, and what that means for the rest."),
}
"""The template for a card of each type: its title and its text."""

NOTE_FORMS: dict[str, tuple[tuple[str, str], ...]] = {
    "initiative": (
        ("Goal", "<fill: what shall be true when this is done>"),
        ("Scope / Non-goals", "<fill: what belongs to it, what does not>"),
        ("Constraints", "<fill: limits that must hold>"),
        ("Success criteria", "<fill: how anyone can tell that it is done>"),
        ("Risks", "<fill: what may go wrong, and the earliest sign of it>"),
        ("Plan", "<fill: the next few steps in order>"),
        ("Evidence", "<fill: what is known, with its source>"),
        ("Open questions", "<fill: what must be found out>"),
        ("Next best action", "<fill: the one thing to do first>"),
    ),
    "decision": (
        ("Context", "<fill: what forces a choice>"),
        ("Options", "<fill: what could be done instead>"),
        ("Decision", "<fill: what is chosen, and the main reason>"),
        ("Consequences", "<fill: what gets easier, what gets harder>"),
    ),
}
"""Headings of a note, and the prompt under each."""

EVERYTHING = ""
VERBATIM: dict[str, tuple[str, ...]] = {
    # Passes them to another operation, which checks them itself.
    "op_call": ("arguments",),
    "tasks_batch": ("operations",),
    "thoughtbox_gateway": ("args",),
    # Facts: a client's hook, a witness or a runner reports what was run and printed, and cannot rephrase it.
    "hook_event": (EVERYTHING,),
    "tasks_receipt_record": ("command", "output_tail", "files", "stamps"),
    "tasks_jobs_report": ("message", "meta"),
    "tasks_jobs_complete": ("summary", "meta"),
    # External content is imported unchanged.
    "session_import": ("export", "content"),
    "notebook_load": ("content",),
    # Programs and patterns may contain placeholders.
    "notebook_add_cell": ("content",),
    "notebook_update_cell": ("content",),
    "guard_propose": ("paths", "commands", "must", "must_not"),
    "remember": ("guard",),
    # The template is the work: the agent that takes the job fills it in.
    "tasks_jobs_create": ("prompt",),
    "tasks_macro_fanout_jobs": ("prompt",),
    # Templates among receipts are dropped, and the gate checks what is left, as the seed has it.
    "tasks_evidence_capture": ("items", "artifacts", "checks", "attachments"),
    "tasks_macro_close_step": ("proof",),
}
"""Arguments of write operations in which a template is allowed, with the reason."""

_PLACEHOLDER = re.compile(r"<\s*fill", re.IGNORECASE)


def _plain(text: str) -> str:
    return " ".join(text.split())


CARD_TEXTS = frozenset(_plain(text) for _, text in CARD_FORMS.values())
_BEGINNINGS = tuple({text.split()[0] for text in CARD_TEXTS})
_HEADINGS = frozenset(f"## {heading}" for form in NOTE_FORMS.values() for heading, _ in form)


def has_placeholder(text: str) -> bool:
    """Whether the text contains a `<fill` placeholder."""
    return "<" in text and _PLACEHOLDER.search(text) is not None


def is_unfilled(text: str) -> bool:
    """Whether a text is not filled in: it contains a placeholder, or is an unchanged template."""
    if has_placeholder(text):
        return True
    # Called for every text that is written, and few begin like a template.
    start = text.lstrip()
    return (start.startswith(_BEGINNINGS) and _plain(start) in CARD_TEXTS) or (
        start.startswith("## ") and _says_nothing(start)
    )


def _says_nothing(text: str) -> bool:
    """Whether it consists of the headings of a note with nothing under them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line in _HEADINGS for line in lines)


def refuse_forms(operation: Operation, arguments: Json) -> None:
    """Refuse texts that are not filled in, and suggest the same call without them if anything is left.

    For write operations only: in a query a template is allowed.
    """
    exempt = VERBATIM.get(operation.name, ())
    if EVERYTHING in exempt:
        return
    looked_at = {name: value for name, value in arguments.items() if name not in exempt}
    field = next(_unfilled(looked_at, ""), None)
    if field is not None:
        raise _refusal(operation, arguments, looked_at, field)


def _refusal(operation: Operation, arguments: Json, looked_at: Json, field: str) -> ClewError:
    rest = {**arguments, **{name: _filled(value) for name, value in looked_at.items()}}
    return invalid(
        field,
        "holds <fill: ...> or is a template unchanged: a form that nobody filled in",
        "Write it in your own words; where nothing is known yet, leave the line out.",
        [_way_out(operation, {name: value for name, value in rest.items() if value is not None})],
        kind="form",
    )


def _way_out(operation: Operation, repaired: Json) -> Suggestion:
    """The call with the text that was filled in; if there is none, what the operation takes."""
    schema = suggest("op_search", "Shows what it takes.", "medium", query=operation.name, detail="schema")
    if not any(" " in text for text in _texts(repaired)):
        return schema
    try:
        operation.input.model_validate(repaired)
    except ValidationError:
        return schema
    return suggest(operation.name, "The same without what nobody filled in.", "high", **repaired)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _unfilled(value: Any, where: str) -> Iterator[str]:
    """The fields whose text is an unfilled template, in order."""
    if isinstance(value, str):
        if is_unfilled(value):
            yield where
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unfilled(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _unfilled(item, f"{where}[{number}]")


def _filled_lines(text: str) -> str | None:
    kept = "\n".join(line for line in text.splitlines() if not has_placeholder(line))
    return None if is_unfilled(kept) or not kept.strip() else kept


def _filled(value: Any) -> Any:
    """The value without the lines that are not filled in; None if nothing else is left."""
    if isinstance(value, str):
        return _filled_lines(value) if is_unfilled(value) else value
    if isinstance(value, dict):
        rest = {key: _filled(item) for key, item in value.items()}
        return {key: item for key, item in rest.items() if item is not None or value[key] is None} or None
    if isinstance(value, list | tuple):
        return [item for item in map(_filled, value) if item is not None] or None
    return value
