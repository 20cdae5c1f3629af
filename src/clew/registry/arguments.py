"""The door: raw arguments become a checked input, or an error that says what to write instead."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any

import orjson
from pydantic import ValidationError

from clew.canonical import Json
from clew.errors import ClewError, Hint, Suggestion, shorten, suggest
from clew.registry.operation import Input, Operation

MAX_ARGUMENTS = 4_000_000
MAX_DEPTH = 32
SHOWN = 5
MOST_EXPLAINED = 100
"""Faults that are looked at for words and for a mended call. Nobody who sent more can have meant them."""


def check_raw(arguments: Any) -> Json:
    """Refuse what no model should ever see: non-objects, huge or deep values, text that cannot be stored."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        arguments = _object_in(arguments)
    if not isinstance(arguments, dict):
        raise ClewError("INVALID_INPUT", "arguments: expected an object", hints=[_type_hint("arguments", "object")])
    _measure(arguments, "arguments", 0, MAX_ARGUMENTS)
    return arguments


def _object_in(text: str) -> Any:
    """The object that a text holds as JSON, as some models send it; else the text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def check_inner(value: Any, where: str) -> Any:
    """The same door for JSON that came inside a text, where the outer look saw only characters."""
    _measure(value, where, 1, MAX_ARGUMENTS)
    return value


def _measure(value: Any, where: str, depth: int, room: int) -> int:
    if depth > MAX_DEPTH:
        raise ClewError("INVALID_INPUT", f"{where}: nested deeper than {MAX_DEPTH} levels", hints=[{"kind": "depth"}])
    if isinstance(value, str):
        return _text_room(value, where, room)
    if isinstance(value, dict):
        for key, item in value.items():
            # Keys count like values: a million short keys are as heavy as one long text.
            room = _measure(str(key), where, depth + 1, room)
            room = _measure(item, f"{where}.{key}" if depth else str(key), depth + 1, room)
    elif isinstance(value, (list, tuple)):
        for item in value:
            # Two characters for each item, so that a list of a million empty ones is not free.
            room = _measure(item, where, depth + 1, room - 2)
    elif isinstance(value, (int, float)) and not _storable(value):
        raise ClewError(
            "INVALID_INPUT", f"{where}: not a number that JSON can hold", hints=[_type_hint(where, "number of 64 bits")]
        )
    return room


def _storable(value: int | float) -> bool:
    """Numbers that survive being written as JSON and read back: 64-bit integers and finite fractions."""
    return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)


def _text_room(text: str, where: str, room: int) -> int:
    room -= len(text)
    if room >= 0 and "\x00" not in text and encodable(text):
        return room
    where = shorten(where, 80)
    if room < 0:
        raise ClewError(
            "INVALID_INPUT",
            f"{where}: the arguments are longer than {MAX_ARGUMENTS} characters together",
            "Split the text over several calls.",
            [{"kind": "length", "field": where, "max_chars": MAX_ARGUMENTS}],
        )
    raise ClewError(
        "INVALID_INPUT",
        f"{where}: holds a NUL character or half of a surrogate pair, which cannot be stored",
        "Remove these characters.",
        [{"kind": "characters", "field": where}],
    )


MOST_ARGUMENTS = 1_000
"""More are no honest call, and explaining each of 370,000 unknown names took 17 seconds."""


def encodable(text: str) -> bool:
    """Whether it can be written as UTF-8: half a surrogate pair cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse(operation: Operation, arguments: Json) -> Input:
    """The checked input of an operation."""
    if len(arguments) > MOST_ARGUMENTS:
        raise ClewError(
            "INVALID_INPUT",
            f"{len(arguments)} arguments are given; {operation.name} takes {len(operation.input.model_fields)}",
            f"See the schema of {operation.name}; a minimal call is in details.example.",
            [{"kind": "length", "field": "arguments", "max_items": MOST_ARGUMENTS}],
        )
    named = _named(operation, arguments)
    try:
        checked = operation.input.model_validate(named)
    except ValidationError as problem:
        from clew.registry.understanding import understood  # most starts never see a wrong argument

        meant = understood(operation.input, named, problem)
        if meant is None:
            raise explained(operation, named, problem) from None
        named = check_inner(meant, "arguments")  # JSON inside a text was only characters at the first look
        checked = operation.input.model_validate(meant)
    if operation.writes:
        from clew.registry.blank_forms import refuse_forms  # a start writes nothing

        refuse_forms(operation, named)
    return checked


def _named(operation: Operation, arguments: Json) -> Json:
    """The arguments under their own names; two names of one argument must not say different things."""
    named: Json = {}
    for given, value in arguments.items():
        name = operation.input.synonyms.get(given, given)
        # Many clients send null for every argument that they leave out.
        if value is None:
            continue
        if name in named and named[name] != value:
            other = next(key for key in arguments if key != given and operation.input.synonyms.get(key, key) == name)
            raise ClewError(
                "INVALID_INPUT",
                f"{given} and {other} are two names of {name} and differ",
                f"Keep {name}.",
                [{"kind": "choose_one", "fields": [other, given]}],
            )
        named[name] = value
    return named


def argument_names(operation: Operation) -> list[str]:
    return [field.alias or name for name, field in operation.input.model_fields.items()]


def explained(operation: Operation, arguments: Json, problem: ValidationError) -> ClewError:
    """A validation error in words, with hints and calls that run."""
    errors = problem.errors(include_url=False, include_context=True, include_input=False)
    known = argument_names(operation)
    said = [_say(error, known) for error in errors[:MOST_EXPLAINED]]
    messages = list(dict.fromkeys(message for message, _ in said))
    left = len(messages) - SHOWN if len(errors) <= MOST_EXPLAINED else len(errors) - SHOWN
    more = f" (and {left} more)" if left > 0 else ""
    return ClewError(
        "INVALID_INPUT",
        "; ".join(messages[:SHOWN]) + more,
        f"See the schema of {operation.name}; a minimal call is in details.example.",
        [hint for _, hint in said][:SHOWN],
        _ways_out(operation, arguments, errors),
        {"example": _example(operation)},
    )


def complete_refusal(operation: Operation | None, error: ClewError) -> None:
    """Every refused input says of what kind the fault is and shows a call that is well-formed, whoever refused it."""
    if error.code != "INVALID_INPUT":
        return
    error.hints = error.hints or [{"kind": "value"}]
    if operation is not None:
        error.details.setdefault("example", _example(operation))
        error.recovery = (
            error.recovery or f"Compare the call with details.example, or see the schema of {operation.name}."
        )


def _example(operation: Operation) -> Json:
    return {"name": operation.name, "arguments": operation.example}


def _say(error: Any, known: list[str]) -> tuple[str, Hint]:
    kind, path = error["type"], _path(error["loc"])
    context = error.get("ctx", {})
    if kind == "extra_forbidden":
        near = nearest(str(error["loc"][-1]), known)
        advice = f"; did you mean {near}?" if near else f"; known: {', '.join(known)}"
        return f"{path}: unknown argument{advice}", {"kind": "unknown_argument", "field": path, "nearest": near}
    if kind == "missing":
        return f"{path}: is required", {"kind": "missing_required", "field": path}
    if kind in {"literal_error", "enum"}:
        expected = str(context.get("expected", ""))
        return f"{path}: expected one of {expected}", {"kind": "choice", "field": path, "expected": expected}
    if kind.endswith(("_type", "_parsing")):
        expected = kind.removesuffix("_type").removesuffix("_parsing").replace("_", " ")
        return f"{path}: expected {expected}", _type_hint(path, expected)
    if kind.startswith(("too_", "string_too_", "greater_", "less_")):
        limits = {name: value for name, value in context.items() if isinstance(value, (int, float))}
        return f"{path}: {error['msg'].lower()}", {"kind": "range", "field": path, **limits}
    return f"{path}: {error['msg'].removeprefix('Value error, ')}", {"kind": "value", "field": path}


def _type_hint(field: str, expected: str) -> Hint:
    return {"kind": "type", "field": field, "expected": expected}


def _path(location: tuple[Any, ...]) -> str:
    """`steps[2].title`; the names pydantic gives to union members are left out."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        # Pydantic names members of unions like `list[str]` or `function-after[...]`; no argument looks like that.
        elif "[" not in part and "-" not in part:
            text += f".{part}" if text else part
    return shorten(text or "arguments", 120)


def nearest(name: str, known: list[str]) -> str | None:
    """The known name that was probably meant."""
    # Compared without underscores and case, so that `taskId` is nearest to `task_id`.
    folded = {candidate.replace("_", "").lower(): candidate for candidate in known}
    plain = shorten(name, 60).replace("_", "").lower()
    found = get_close_matches(plain, folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _ways_out(operation: Operation, arguments: Json, errors: list[Any]) -> list[Suggestion]:
    ways = []
    mended = _mended(operation, arguments, errors) if len(errors) <= MOST_EXPLAINED else None
    if mended is not None:
        ways.append(suggest(operation.name, "The same call with the argument mended.", "high", **mended))
    ways.append(
        suggest("op_search", "Shows the arguments of this operation.", "medium", query=operation.name, detail="schema")
    )
    return ways


def _mended(operation: Operation, arguments: Json, errors: list[Any]) -> Json | None:
    """The arguments with misspelt names corrected and numbers moved into range, when that is all that is wrong."""
    mended = dict(arguments)
    for error in errors:
        name, context = error["loc"][0], error.get("ctx", {})
        if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
            near = nearest(str(name), argument_names(operation))
            value = mended.pop(str(name), None)
            if near is None or near in mended:
                return None
            mended[near] = value
        elif error["type"] == "missing":
            continue  # a misspelt name may be the missing one; the check below tells
        elif error["type"] in {"greater_than_equal", "less_than_equal"} and len(error["loc"]) == 1:
            mended[str(name)] = context.get("ge", context.get("le"))
        else:
            return None
    try:
        # Tried, not trusted: a suggestion that is refused again would cost the agent a second round.
        operation.input.model_validate(mended)
    except ValidationError:
        return None
    return mended
