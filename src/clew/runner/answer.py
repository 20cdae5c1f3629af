"""What a job's process answers at the end of a slice: one JSON object of a fixed form."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

MAX_EVENTS, MAX_REFS, MAX_REF = 50, 30, 128
KINDS = ("progress", "checkpoint", "question", "error")

_REFS = {"type": "array", "items": {"type": "string"}}
_EVENT = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": list(KINDS)},
        "message": {"type": "string"},
        "percent": {"type": ["integer", "null"]},
        "refs": _REFS,
    },
    "required": ["kind", "message", "percent", "refs"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["DONE", "FAILED", "CONTINUE"]},
        "summary": {"type": "string"},
        "refs": _REFS,
        "events": {"type": "array", "items": _EVENT},
    },
    "required": ["status", "summary", "refs", "events"],
    "additionalProperties": False,
}


def _short_refs(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [str(ref)[:MAX_REF] for ref in value if str(ref).strip()][:MAX_REFS]


Refs = Annotated[list[str], BeforeValidator(_short_refs)]


class Event(BaseModel):
    model_config = ConfigDict(extra="ignore")

    kind: str = "progress"
    message: str
    percent: int | None = None
    refs: Refs = []


class Answer(BaseModel):
    """The end of a slice. CONTINUE asks for another one."""

    model_config = ConfigDict(extra="ignore")

    status: Literal["DONE", "FAILED", "CONTINUE"]
    summary: str = ""
    refs: Refs = []
    events: list[Event] = []


class NoAnswer(Exception):
    """The text holds no answer; the message says why."""


def read_answer(text: str) -> Answer:
    """The answer in a text: the text itself, or the last object in it that is one."""
    problem = "it printed no JSON object"
    for candidate in _objects(text):
        try:
            return Answer.model_validate(candidate)
        except ValidationError as wrong:
            first = wrong.errors(include_url=False)[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
    raise NoAnswer(problem)


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects in a text, the last one first."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict):
            found.append(value)
        start = text.find("{", end)
    return found[::-1]
