"""Normalizes texts from callers to their stored form, and derives the anchor that a title suggests."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from clew.errors import invalid
from clew.registry.operation import StrictModel
from clew.tasks.changes import StepSpec

Line = Annotated[str, Field(max_length=4000)]
Lines = Annotated[list[Line], Field(max_length=200)]
Prose = Annotated[str, Field(max_length=100_000)]
Heading = Annotated[str, Field(max_length=1000)]


_PART = re.compile(r"\s*;\s*")
_TEST = re.compile(r"(?:test|tests|check)\s*:\s*(.+)", re.IGNORECASE)
_JSON = ("[{", '{"', '["')
_STEP_NAMES = {
    **dict.fromkeys(("criteria", "done_when", "acceptance"), "success_criteria"),
    **dict.fromkeys(("test", "check", "checks"), "tests"),
    **dict.fromkeys(("name", "step", "text"), "title"),
}


def _step_of_line(line: str) -> dict[str, Any]:
    title, *rest = [part for part in _PART.split(line) if part] or [""]
    tests = [match.group(1) for part in rest if (match := _TEST.fullmatch(part))]
    criteria = [part for part in rest if not _TEST.fullmatch(part)]
    return {"title": title, "success_criteria": criteria or [title], **({"tests": tests} if tests else {})}


def read_step(given: Any) -> Any:
    """Parse `parser; reads every line; test: pytest -q` to an object, and map aliases of its fields."""
    # Text that begins like JSON and is invalid was meant as objects; as a title it would hide the mistake.
    if isinstance(given, str) and not given.lstrip().startswith(_JSON):
        return _step_of_line(given.strip())
    if not isinstance(given, dict):
        return given
    named = {_STEP_NAMES.get(key, key): value for key, value in given.items()}
    lists = ("success_criteria", "tests", "blockers")
    return {key: [value] if key in lists and isinstance(value, str) else value for key, value in named.items()}


class StepInput(StrictModel):
    """A step to add."""

    title: Annotated[Heading, Field(description="What is done in this step.")]
    success_criteria: Annotated[Lines, Field(description="How one sees that it is done; at least one line.")]
    tests: Annotated[Lines | None, Field(description="What checks it.")] = None
    blockers: Annotated[Lines | None, Field(description="What stands in the way.")] = None


Steps = Annotated[list[Annotated[StepInput, BeforeValidator(read_step)]], Field(min_length=1, max_length=200)]


def heading(value: str, field: str = "title") -> str:
    """A title: one line that is not blank."""
    line = " ".join(value.split())
    if not line:
        raise invalid(field, "must not be blank", f"Give {field} a few words.", kind="non_empty")
    return line


def lines(values: Iterable[str] | None) -> tuple[str, ...]:
    """Trimmed lines without the blank ones."""
    return tuple(line for line in (value.strip() for value in values or ()) if line)


NO_BLOCKER = frozenset({"none", "null", "n/a", "na"})
"""Words for no blockers."""


def blockers(values: Iterable[str] | None) -> tuple[str, ...]:
    """Lines that name a blocker; a word for none is not one."""
    return tuple(line for line in lines(values) if line.lower() not in NO_BLOCKER)


def prose(value: str | None) -> str | None:
    """The text, or None if it is blank."""
    return value.strip() or None if value is not None else None


def specs(steps: Iterable[StepInput], field: str = "steps") -> list[StepSpec]:
    """Validated step specs; each has a title and at least one success criterion."""
    return [_spec(step, f"{field}[{number}]") for number, step in enumerate(steps)]


def _spec(step: StepInput, field: str) -> StepSpec:
    criteria = lines(step.success_criteria)
    if not criteria:
        raise invalid(
            f"{field}.success_criteria", "must hold a line", "Say how one sees that it is done.", kind="non_empty"
        )
    return StepSpec(heading(step.title, f"{field}.title"), criteria, lines(step.tests), blockers(step.blockers))


DEFAULT_ANCHOR = "a:core"
MAX_SLUG = 64


def anchor_for(title: str) -> str:
    """The anchor that a title suggests: the text before its colon, else all of it, as a plain name."""
    head, colon, _ = title.partition(":")
    plain = unicodedata.normalize("NFKD", head if colon else title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")
    return f"a:{slug}" if slug else DEFAULT_ANCHOR
