"""Arguments of an operation as words of a command line, and back. Used by `clew call` and by printed suggestions."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

import orjson

from clew.errors import ClewError
from clew.registry.catalogue import Schema, choices, options, resolved

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:?=)(.*)", re.DOTALL)
_WHOLE = re.compile(r"-?\d+")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse_arguments(words: Iterable[str], schema: Schema, stdin: Iterable[str] = ()) -> dict[str, Any]:
    """Read `key=value` (typed by the schema), `key:=JSON`, `{...}`, `@file` and `-` (stdin); later words win."""
    arguments: dict[str, Any] = {}
    # Only keys given as words count: a word may replace what an object set, but a repeated word extends a list.
    given: set[str] = set()
    for word in words:
        pair = _PAIR.fullmatch(word)
        if pair is None:
            arguments.update(_object(word, stdin))
        else:
            _take(arguments, given, pair, schema)
    return arguments


def render_arguments(arguments: dict[str, Any], schema: Schema) -> list[str]:
    """Words, quoted for a shell, that `parse_arguments` reads back as exactly these arguments."""
    return [shlex.quote(_word(key, value, schema)) for key, value in arguments.items()]


def command_for(name: str, arguments: dict[str, Any], schema: Schema) -> str:
    return " ".join(["clew", "call", name, *render_arguments(arguments, schema)])


def _take(arguments: dict[str, Any], given: set[str], pair: re.Match[str], schema: Schema) -> None:
    key, sign, text = pair.groups()
    field = field_schema(schema, key)
    value = _json(text, f"{key}:=") if sign == ":=" else read_value(text, field, schema)
    if key not in given:
        arguments[key] = value
    elif "array" in types_of(field, schema):
        before = arguments[key] if isinstance(arguments[key], list) else [arguments[key]]
        arguments[key] = before + (value if isinstance(value, list) else [value])
    else:
        raise usage(f"{key} is given twice and takes one value", f"Give {key} once.")
    given.add(key)


def _object(word: str, stdin: Iterable[str]) -> dict[str, Any]:
    if word == "-":
        value = _json("".join(stdin), "stdin")
    elif word.startswith("@"):
        value = _json(_file(word[1:]), word[1:])
    elif word.startswith("{"):
        value = _json(word, "the argument")
    else:
        raise usage(f"{word!r} is not an argument", "Write key=value, key:=JSON, '{...}', @file or - for stdin.")
    if not isinstance(value, dict):
        raise usage(f"{word!r} holds {type(value).__name__}, not an object", 'Give a JSON object such as {"key": 1}.')
    return value


def _file(name: str) -> str:
    from pathlib import Path

    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as problem:
        raise usage(f"{name} cannot be read: {problem.strerror}", "Name a file that holds a JSON object.") from problem
    except UnicodeDecodeError as problem:
        raise usage(f"{name} is not text in UTF-8", "Name a file that holds a JSON object.") from problem


def _json(text: str, where: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise usage(
            f"{where} is not valid JSON: {problem}", "Quote the JSON for your shell: '{\"key\": 1}'."
        ) from problem


def usage(message: str, recovery: str) -> ClewError:
    return ClewError("INVALID_INPUT", message, recovery)


def field_schema(schema: Schema, key: str) -> Schema:
    found = schema.get("properties", {}).get(key, {})
    return found if isinstance(found, dict) else {}


def types_of(field: Schema, schema: Schema) -> set[str]:
    """The JSON types that a field allows; empty when it allows any."""
    field = resolved(field, schema)
    members, values = options(field), choices(field)
    if members is not None:
        return {kind for member in members for kind in types_of(member, schema)}
    if "type" in field:
        return {field["type"]} if isinstance(field["type"], str) else set(field["type"])
    return {type_name(value) for value in values or []}


def read_value(text: str, field: Schema, schema: Schema) -> Any:
    """The value a person meant. Text that matches no allowed type stays text: the operation then reports the error."""
    types = types_of(field, schema)
    if types == {"string"}:
        return text
    if types & {"integer", "number"} and _WHOLE.fullmatch(text):
        return int(text)
    if "boolean" in types and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    value = _maybe_json(text, types)
    # One word for a list of words; where the field takes a plain string too, the string is meant.
    return [value] if "array" in types and "string" not in types and isinstance(value, str) else value


def _maybe_json(text: str, types: set[str]) -> Any:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value if not types or type_name(value) in types else text


def type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _word(key: str, value: Any, schema: Schema) -> str:
    # The plain form only if it reads back as the same text: "5" for a field that takes numbers would come back as 5.
    if isinstance(value, str) and read_value(value, field_schema(schema, key), schema) == value:
        return f"{key}={value}"
    return f"{key}:={orjson.dumps(value).decode()}"
