"""Argument validation: raw arguments become a validated input, or an error that shows what to write instead."""

from __future__ import annotations

import math
import re
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
SELECTING = frozenset(
    {"id", "task", "plan", "target", "step", "step_id", "path", "branch", "workspace", "session", "job"}
)
"""Arguments that identify what a call is about: without them it would act on something else."""
MOST_EXPLAINED = 100
"""Errors that are checked for typos and for a corrected call; a longer list cannot be intended."""


def check_raw(arguments: Any) -> Json:
    """Reject what must never reach a model: non-objects, huge or deep values, text that cannot be stored."""
    if arguments is None:
        return {}
    if isinstance(arguments, str):
        arguments = _object_in(arguments)
    if not isinstance(arguments, dict):
        raise ClewError("INVALID_INPUT", "arguments: expected an object", hints=[_type_hint("arguments", "object")])
    _measure(arguments, "arguments", 0, MAX_ARGUMENTS)
    return arguments


def without_secrets(operation: Operation, arguments: Json) -> tuple[Json, int]:
    """The arguments with secrets masked, and how many there were.

    Every call passes here before anything else reads its arguments, so nothing derived from them (rows, index,
    vectors, events, files, cached responses) can contain a secret, whichever operation it is.
    """
    from clew.secrets import masked  # its patterns are slow to compile, and startup reads no arguments

    exact = {name: arguments[name] for name in operation.input.exact if name in arguments}
    shown, found = masked({name: value for name, value in arguments.items() if name not in exact})
    return (shown | exact, found) if found else (arguments, 0)


def _object_in(text: str) -> Any:
    """Parse a text that contains a JSON object, as some models send it; else return the text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def check_inner(value: Any, where: str) -> Any:
    """The same checks for JSON inside a string, which the first check treated as characters only."""
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
    """Numbers that survive a JSON round trip: 64-bit integers and finite floats."""
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


UNKNOWN = "unknown argument"
MOST_ARGUMENTS = 1_000
"""No valid call has more, and explaining each of 370,000 unknown names took 17 seconds."""


def encodable(text: str) -> bool:
    """Whether it can be encoded as UTF-8: half a surrogate pair cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse(operation: Operation, arguments: Json) -> Input:
    """The validated input of an operation."""
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
        from clew.registry.understanding import understood  # rarely needed: most processes never see a wrong argument

        meant = understood(operation.input, named, problem)
        if meant is None:
            raise explained(operation, named, problem) from None
        named = check_inner(meant, "arguments")  # the first check saw JSON inside a string as characters only
        checked = operation.input.model_validate(meant)
    if operation.writes:
        from clew.registry.blank_forms import refuse_forms  # not needed at startup

        refuse_forms(operation, named)
    return checked


def _named(operation: Operation, arguments: Json) -> Json:
    """The arguments under their canonical names; two aliases of one argument must not have different values."""
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


def under_own_names(operation: Operation, arguments: Json) -> Json:
    return {operation.input.synonyms.get(given, given): value for given, value in arguments.items()}


def argument_names(operation: Operation) -> list[str]:
    return [field.alias or name for name, field in operation.input.model_fields.items()]


def explained(operation: Operation, arguments: Json, problem: ValidationError) -> ClewError:
    """Convert a validation error to a message with hints and calls that succeed."""
    errors = problem.errors(include_url=False, include_context=True, include_input=False)
    known = argument_names(operation)
    said = [_say(error, known) for error in errors[:MOST_EXPLAINED]]
    messages = list(dict.fromkeys(message for message, _ in said))
    if any(message.endswith(UNKNOWN) and hint["kind"] == "unknown_argument" for message, hint in said):
        messages.append(f"known: {', '.join(known)}")
    left = len(messages) - SHOWN if len(errors) <= MOST_EXPLAINED else len(errors) - SHOWN
    more = f" (and {left} more)" if left > 0 else ""
    return ClewError(
        "INVALID_INPUT",
        "; ".join(messages[:SHOWN]) + more,
        _missing(operation, errors) or f"See the schema of {operation.name}; a minimal call is in details.example.",
        [hint for _, hint in said][:SHOWN],
        _ways_out(operation, arguments, errors),
        {"example": _example(operation)},
    )


def _missing(operation: Operation, errors: list[Any]) -> str:
    """What to add, if nothing else is wrong: an example would be about another record than the caller's."""
    if any(error["type"] != "missing" or len(error["loc"]) > 1 for error in errors):
        return ""
    fields = {field.alias or name: field for name, field in operation.input.model_fields.items()}
    asked = [(str(error["loc"][0]), fields[str(error["loc"][0])].description) for error in errors[:SHOWN]]
    return "Add " + "; ".join(f"{name}: {text}" if text else name for name, text in asked)


def complete_refusal(operation: Operation | None, error: ClewError) -> None:
    """Add the kind of error and a well-formed call to every refused input, whichever check refused it."""
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
        is_deeper = len(error["loc"]) > 1  # the names of the arguments are not those of a field within one
        near = None if is_deeper else nearest(str(error["loc"][-1]), known)
        advice = f"; did you mean {near}?" if near else ""
        return f"{path}: {UNKNOWN}{advice}", {"kind": "unknown_argument", "field": path, "nearest": near}
    if kind == "missing":
        return f"{path}: is required", {"kind": "missing_required", "field": path}
    if kind in {"literal_error", "enum"}:
        expected = str(context.get("expected", ""))
        return f"{path}: expected one of {expected}", {"kind": "choice", "field": path, "expected": expected}
    if kind.endswith(("_type", "_parsing")):
        expected = kind.removesuffix("_type").removesuffix("_parsing").replace("_", " ")
        return f"{path}: expected {expected}", _type_hint(path, expected)
    if kind == "string_too_short" and context.get("min_length") == 1:
        return f"{path}: is empty", {"kind": "range", "field": path, "min_length": 1}
    if kind.startswith(("too_", "string_too_", "greater_", "less_")):
        limits = {name: value for name, value in context.items() if isinstance(value, (int, float))}
        return f"{path}: {error['msg'].lower()}", {"kind": "range", "field": path, **limits}
    return f"{path}: {error['msg'].removeprefix('Value error, ')}", {"kind": "value", "field": path}


def _type_hint(field: str, expected: str) -> Hint:
    return {"kind": "type", "field": field, "expected": expected}


def _path(location: tuple[Any, ...]) -> str:
    """Format a location as `steps[2].title`, without the names that pydantic gives to union members."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        # Pydantic names members of unions like `list[str]` or `function-after[...]`; no argument looks like that.
        elif "[" not in part and "-" not in part:
            text += f".{part}" if text else part
    return shorten(text or "arguments", 120)


def nearest(name: str, known: list[str], cutoff: float = 0.6) -> str | None:
    """The known name that was probably intended."""
    # Compared without underscores and case, so that `taskId` is nearest to `task_id`.
    folded = {candidate.replace("_", "").lower(): candidate for candidate in known}
    plain = shorten(name, 60).replace("_", "").lower()
    found = get_close_matches(plain, folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else None


def _ways_out(operation: Operation, arguments: Json, errors: list[Any]) -> list[Suggestion]:
    ways = []
    repaired = _repaired(operation, arguments, errors) if len(errors) <= MOST_EXPLAINED else None
    if repaired is not None:
        reason = _what_differs(operation, arguments, repaired)
        ways.append(suggest(operation.name, reason, "high", **repaired))
    elif operation.writes and _missing(operation, errors) and (about := _about(arguments)) is not None:
        ways.append(suggest("open", f"Shows {about}.", "high", id=about))
    ways.append(
        suggest("op_search", "Shows the arguments of this operation.", "medium", query=operation.name, detail="schema")
    )
    return ways


def _what_differs(operation: Operation, arguments: Json, repaired: Json) -> str:
    left = ", ".join(name for name in arguments if name not in repaired and name not in operation.input.synonyms)
    only = [name for name in repaired if name in SELECTING and _is_names(arguments.get(name))]
    if only:
        return f"The same for {repaired[only[0]]} only."
    return f"The same call without {left}." if len(repaired) < len(arguments) else "The same call, corrected."


_RECORD = re.compile(r"[A-Z]{1,6}-[\w-]{1,24}")


def _about(arguments: Json) -> str | None:
    """The id of the record that a call is about."""
    given = [arguments.get(name) for name in ("id", "block_id", "task")]
    return next((id for id in given if isinstance(id, str) and _RECORD.fullmatch(id)), None)


def fitting(operation: Operation, arguments: Json, error: ClewError) -> Json | None:
    """Of arguments intended for another tool, those that this one accepts, if the rest is valid."""
    named = under_own_names(operation, arguments)
    unknown = {str(hint.get("field")) for hint in error.hints if hint.get("kind") == "unknown_argument"}
    if operation.destructive or len(unknown) < len(error.hints) or unknown & SELECTING:
        return None
    rest = {name: value for name, value in named.items() if name not in unknown}
    try:
        checked: Json = parse(operation, rest).model_dump(mode="json", by_alias=True, exclude_unset=True)
    except ClewError:
        return None
    return checked if says_enough(operation, checked) else None


def _repaired(operation: Operation, arguments: Json, errors: list[Any]) -> Json | None:
    """The arguments with misspelled names corrected, numbers clamped to their range, and invalid optional values
    removed; None if other errors remain."""
    repaired = dict(arguments)
    for error in errors:
        # A misspelled name may be the missing one; the validation below decides.
        if error["type"] != "missing" and not _repair(operation, repaired, error):
            return None
    # Validated before it is suggested: a suggestion that is refused again would cost the agent a second round.
    return repaired if _is_valid(operation, repaired) and says_enough(operation, repaired) else None


def says_enough(operation: Operation, arguments: Json) -> bool:
    return not operation.input.needs_one_of or any(name in arguments for name in operation.input.needs_one_of)


def _repair(operation: Operation, repaired: Json, error: Any) -> bool:
    """Correct or remove what one error is about; False if it cannot be removed."""
    name, is_deeper = str(error["loc"][0]), len(error["loc"]) > 1
    if error["type"] in {"greater_than_equal", "less_than_equal"} and not is_deeper:
        context = error.get("ctx", {})
        repaired[name] = context.get("ge", context.get("le"))
        return True
    if is_deeper and error["type"] == "extra_forbidden":
        return _leave_out_within(repaired, error["loc"])
    known = error["type"] != "extra_forbidden"
    value = repaired.pop(name, None)
    if known and name in SELECTING and _is_names(value):
        repaired[name] = value[0]
        return True
    near = None if known else _near_argument(name, operation)
    if near is not None and near not in repaired:
        repaired[near] = _taken(operation, repaired, near, value)
        return True
    return _may_be_dropped(operation, name, is_content=known and isinstance(value, dict | list))


def _may_be_dropped(operation: Operation, name: str, is_content: bool) -> bool:
    """Never drop what was meant to restrict the call, or holds most of its content."""
    if operation.destructive or "dry" in name or is_content:
        return False
    # Without the argument that selects a record, something else would be written.
    return not (operation.writes and name.removesuffix("s").removesuffix("_id") in SELECTING)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _leave_out_within(repaired: Json, location: tuple[Any, ...]) -> bool:
    """Remove a field of a nested object that the operation does not know."""
    from clew.registry.understanding import path_in, without

    path = path_in(repaired, location)
    if len(path) < 2 or path[-1] != location[-1]:
        return False
    repaired[path[0]] = without(repaired[path[0]], path[1:])
    return True


def _near_argument(name: str, operation: Operation) -> str | None:
    """The argument that was intended. One that selects needs a higher similarity: else it names another record."""
    near = nearest(name, argument_names(operation))
    return near if near not in SELECTING else nearest(name, argument_names(operation), 0.75)


def _taken(operation: Operation, rest: Json, name: str, value: Any) -> Any:
    """The value, or the first item of a list if the argument takes a single value."""
    is_list = isinstance(value, list) and len(value) > 0
    return value[0] if is_list and not _is_valid(operation, {**rest, name: value}) else value


def _is_valid(operation: Operation, arguments: Json) -> bool:
    try:
        operation.input.model_validate(arguments)
    except ValidationError:
        return False
    return True
