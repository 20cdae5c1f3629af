"""Lenient parsing of arguments: `"5"` for 5, one string for a list of one, JSON inside a string, `camelCase` names,
0 or an empty text for an optional argument that accepts neither (any such argument if the input says so; else one
without a default).

Strict validation comes first, so a correct call costs nothing more. Only if it fails are the rejected values converted,
each in the few forms in which a model tends to write the right value. A conversion counts only if the input model
then accepts the value; ambiguous values are refused as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from clew.canonical import Json

MOST_ROUNDS = 12
"""One value is fixed per round: more wrong values than this are not typos."""
MOST_FAULTS = 200
"""Each conversion validates the whole input again, so the cost grows with the square of the number of errors."""
TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
MISSING = object()


def understood(model: type[BaseModel], data: Json, problem: ValidationError) -> Json | None:
    """The intended arguments, or None if that is not clear."""
    if getattr(model, "blank_is_nothing", False) and problem.error_count() <= MOST_FAULTS:
        data = _without_blanks(model, data, problem)
        left = _faults_of(model, data)
        if left is None:
            return data
        problem = left
    for _ in range(MOST_ROUNDS):
        step = _next_step(model, data, problem)
        if step is None:
            return None
        data, rest = step
        if rest is None:
            return data
        problem = rest
    return None


def _next_step(
    model: type[BaseModel], data: Json, problem: ValidationError
) -> tuple[Json, ValidationError | None] | None:
    """The data with one value converted such that fewer errors are left, and these errors."""
    if problem.error_count() > MOST_FAULTS:
        return None
    faults = problem.errors(include_url=False, include_input=False, include_context=True)
    for fault in faults:
        for changed in _readings(model, data, fault):
            rest = _faults_of(model, changed)
            # Fewer errors than before is the test for a correct conversion; the same number may only have
            # exchanged one error for another.
            if rest is None or rest.error_count() < len(faults):
                return changed, rest
    return None


def _faults_of(model: type[BaseModel], data: Json) -> ValidationError | None:
    try:
        model.model_validate(data)
    except ValidationError as problem:
        return problem
    return None


def _readings(model: type[BaseModel], data: Json, fault: Any) -> Iterator[Json]:
    kind = str(fault["type"])
    path = path_in(data, fault["loc"])
    if kind == "extra_forbidden" and len(fault["loc"]) == 1:
        yield from _renamed(model, data, str(fault["loc"][0]))
        yield from _as_the_missing(model, data, str(fault["loc"][0]))
        yield from _by_its_form(model, data, str(fault["loc"][0]))
        yield from _spread_out(model, data, str(fault["loc"][0]))
    elif _is_blank(model, data, fault):
        yield {name: value for name, value in data.items() if name != fault["loc"][0]}
    elif len(path) > 1 and _is_blank_within(model, data, path, fault):
        yield without(data, path)
    elif path and kind != "missing":
        # A union reports its members' errors one level too deep, so the value above may be the one to convert.
        for place in (path, path[:-1]):
            if place:
                value = _at(data, place)
                for reading in _forms(value, fault):
                    yield _with(data, place, reading)


def _without_blanks(model: type[BaseModel], data: Json, problem: ValidationError) -> Json:
    """The arguments without rejected zeros, nulls and empty texts, lists and objects, except required ones."""
    faults = problem.errors(include_url=False, include_input=False)
    blank = {path: None for fault in faults if _refuses_blank(data, path := path_in(data, fault["loc"]), fault)}
    rest = _faults_of(model, _without_all(data, blank))
    # By the original data: only there can a path be distinguished from the names of union members.
    needed = {path_in(data, fault["loc"]) for fault in rest.errors(include_url=False)} if rest is not None else set()
    return _without_all(data, [path for path in blank if path not in needed])


def _refuses_blank(data: Json, path: tuple[Any, ...], fault: Any) -> bool:
    # A list index is not an argument, and an unknown name is not an optional one: it is refused whatever its value.
    if not path or not isinstance(path[-1], str) or fault["type"] == "extra_forbidden":
        return False
    value = _at(data, path)
    # 0 for a boolean means no, and False is 0 in Python.
    if value == 0:
        return not isinstance(value, bool) and not str(fault["type"]).startswith("bool")
    return value is None or value in ("", [], {})


def _without_all(data: Json, paths: Iterable[tuple[Any, ...]]) -> Json:
    for path in paths:
        data = without(data, path)
    return data


_TOO_LITTLE = frozenset(
    {"greater_than_equal", "greater_than", "string_too_short", "too_short", "string_pattern_mismatch"}
)


def _is_blank(model: type[BaseModel], data: Json, fault: Any) -> bool:
    """Some models fill in every optional argument, with 0 or an empty text as a null value."""
    if fault["type"] not in _TOO_LITTLE or not fault["loc"] or data.get(fault["loc"][0]) not in (0, "", []):
        return False
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    field = fields.get(fault["loc"][0])
    return field is not None and not field.is_required() and field.default is None


def _is_blank_within(model: type[BaseModel], data: Json, path: tuple[Any, ...], fault: Any) -> bool:
    """The same for nested fields: there, an optional field is one that accepts null."""
    if fault["type"] not in _TOO_LITTLE or not isinstance(path[-1], str) or _at(data, path) not in (0, "", []):
        return False
    rest = _faults_of(model, _with(data, path, None))
    return rest is None or all(path_in(data, other["loc"]) != path for other in rest.errors(include_url=False))


def _renamed(model: type[BaseModel], data: Json, given: str) -> Iterator[Json]:
    """Normalize `taskTitle` and `task-title` to task_title."""
    plain = _folded(given)
    for name, field in model.model_fields.items():
        known = field.alias or name
        if _folded(known) == plain and known not in data:
            yield {**{key: value for key, value in data.items() if key != given}, known: data[given]}


_SAME_SENSE = (
    frozenset({"id", "ids", "ref", "record", "record_id", "target"}),
    frozenset({"query", "q", "words", "search", "pattern"}),
)
"""Argument names that operations use for the same thing: the target record, and the search query."""


def _as_the_missing(model: type[BaseModel], data: Json, given: str) -> Iterator[Json]:
    """Use `id` as the block_id of an operation that lacks it, if nothing else is missing."""
    required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    missing = [name for name in required if name not in data]
    if len(missing) != 1:
        return
    known = missing[0]
    if _mean_the_same(known, given.lower()) or _is_alone(model, data, known, given):
        value = data[given]
        single = value[0] if isinstance(value, list) and len(value) == 1 else value
        yield {**{key: value for key, value in data.items() if key != given}, known: single}


def _is_alone(model: type[BaseModel], data: Json, known: str, given: str) -> bool:
    """Whether one text is missing and one unknown name is given: `because` is the missing `why`.

    Never for an argument that selects a record: another name for it may refer to something else.
    """
    names = {field.alias or name for name, field in model.model_fields.items()}
    unknown = [name for name in data if name not in names]
    return known in _PROSE and unknown == [given] and isinstance(data[given], str)


_PROSE = frozenset({"text", "why", "title", "note", "reason", "query", "statement", "content"})


def _mean_the_same(known: str, given: str) -> bool:
    if given.endswith(("_id", "_ids")):  # `memory_id`, as other memory servers call the id of a record
        given = "id"
    senses = [names for names in _SAME_SENSE if given in names]
    return any(known in names or (known.endswith("_id") and "id" in names) for names in senses)


_FORMS = (
    (re.compile(r"TASK-\d+"), ("task", "target")),
    (re.compile(r"PLAN-\d+"), ("plan", "target")),
    (re.compile(r"STEP-\d+"), ("step_id", "step")),
    (re.compile(r"s:\d+(?:\.s:\d+)*"), ("path", "step")),
)
"""Arguments that take an id or a path of this form, the closest first."""


def _by_its_form(model: type[BaseModel], data: Json, given: str) -> Iterator[Json]:
    """Map `id: TASK-001` to the task, and `step: s:1` to the path, for an operation with these arguments."""
    value, rest = data[given], {key: value for key, value in data.items() if key != given}
    names = {field.alias or name for name, field in model.model_fields.items()}
    for form, arguments in _FORMS:
        if isinstance(value, str) and form.fullmatch(value.strip()):
            yield from ({**rest, name: value} for name in arguments if name in names and name not in rest)


def _spread_out(model: type[BaseModel], data: Json, given: str) -> Iterator[Json]:
    """Flatten `metadata: {type: fact}` if the arguments themselves are meant."""
    value, synonyms = data[given], getattr(model, "synonyms", {})
    if not isinstance(value, dict) or not value:
        return
    inner = {str(synonyms.get(key, key)): item for key, item in value.items()}
    names = {field.alias or name for name, field in model.model_fields.items()}
    if set(inner) <= names and not set(inner) & set(data):
        rest = {key: item for key, item in data.items() if key != given}
        yield {**rest, **inner}
        yield {**rest, **{key: [item] for key, item in inner.items()}}


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _forms(value: Any, fault: Any) -> Iterator[Any]:
    """Other interpretations of a value, the most literal first."""
    if isinstance(value, str):
        yield from _forms_of_text(value.strip(), fault)
    # True is an int in Python. Converted to 1 it would be accepted as a number, which is never intended.
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        if isinstance(value, float) and value.is_integer():
            yield int(value)
        # Before the text: if a flag is expected, 1 means true and not "1".
        if value in (0, 1):
            yield bool(value)
        yield str(value)
    elif isinstance(value, list):
        yield from _forms_of_list(value)
    elif isinstance(value, dict):
        yield from _forms_of_object(value)
    if not isinstance(value, list):
        yield [value]


_ID = re.compile(r"[A-Z]{1,6}-\d+")


def _forms_of_list(value: list[Any]) -> Iterator[Any]:
    """Its only item, or all its texts joined."""
    if len(value) == 1:
        yield value[0]
    elif value and all(isinstance(item, str) and not _ID.fullmatch(item.strip()) for item in value):
        yield ("\n" if any(" " in item.strip() for item in value) else ", ").join(value)


def _forms_of_object(value: Json) -> Iterator[Any]:
    """Convert `{"reason": "old machines"}` to that text, and `{"file": "ci.yml"}` to a list of it."""
    texts = list(value.values())
    if texts and all(isinstance(item, str) for item in texts):
        if len(texts) == 1:
            yield texts[0]
        yield texts


def _forms_of_text(text: str, fault: Any) -> Iterator[Any]:
    if text[:1] in ("{", "["):
        try:
            yield orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    if text.lower() in TRUTHS:
        yield TRUTHS[text.lower()]
    try:
        yield int(text)
    except ValueError:
        try:
            yield float(text)
        except ValueError:
            pass
    yield from _choices(text, fault)
    yield from _several(text)


_MARK = re.compile(r"^\s*(?:[-*]|\d+[.)])\s+")


def _several(text: str) -> Iterator[list[str]]:
    """Split a text into its lines, or the ids and names between its commas: `F-1, F-2` for a list of two."""
    lines = [_MARK.sub("", line).strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        yield lines
    names = [part.strip() for part in text.split(",")]
    if len(names) > 1 and all(names) and not any(" " in name for name in names):
        yield names


def _choices(text: str, fault: Any) -> Iterator[str]:
    """Map `Strict` and `STRICT` to 'strict'."""
    expected = str(fault.get("ctx", {}).get("expected", ""))
    for choice in expected.replace(" or ", ", ").split(", "):
        bare = choice.strip("'")
        if choice.startswith("'") and _folded(bare) == _folded(text):
            yield bare


def path_in(data: Any, location: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part of an error's location that exists in the data; pydantic inserts the names of union members."""
    path: tuple[Any, ...] = ()
    for part in location:
        if _at(data, (*path, part)) is not MISSING:
            path = (*path, part)
    return path


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        known = part in data if isinstance(data, dict) else isinstance(data, list) and part in range(len(data))
        if not known:
            return MISSING
        data = data[part]
    return data


def _with(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy in which one value is replaced."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[first] = _with(data[first], rest, value)
    return copy


def without(data: Any, path: tuple[Any, ...]) -> Any:
    """A copy in which one value is removed."""
    if len(path) == 1:
        return {name: value for name, value in data.items() if name != path[0]}
    return _with(data, path[:1], without(data[path[0]], path[1:]))
