"""Reading JSON Schemas as the index holds them."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


_GUARDS = frozenset({"maxLength", "minLength", "maxItems", "pattern"})
_FAR = 2**31


def listed(schema: Schema) -> Schema:
    """The schema as a list of tools shows it: without bounds that only guard the door, which checks them anyway.

    A list is read by a model in every conversation; op_search shows the whole schema on demand.
    """
    kept = {name: value for name, value in schema.items() if not _guards(name, value)}
    return {name: _listed(name, value) for name, value in kept.items()}


def _guards(name: str, value: Any) -> bool:
    if name in _GUARDS:
        return not isinstance(value, dict)  # a property may have such a name
    far = name == "maximum" and isinstance(value, int) and value >= _FAR
    return far or (name == "minimum" and value == 0) or (name == "default" and value in (False, []))


def _listed(name: str, value: Any) -> Any:
    if name in {"enum", "required", "default", "const"}:
        return value
    if isinstance(value, dict):
        return listed(value)
    return [listed(item) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else value


def resolved(field: Schema, schema: Schema) -> Schema:
    """The field itself, or the definition of `schema` that it refers to."""
    while "$ref" in field:
        found = schema.get("$defs", {}).get(field["$ref"].rpartition("/")[2])
        field = found if isinstance(found, dict) else {}
    return field


def options(field: Schema) -> list[Schema] | None:
    """The members of a union, or None when the field is none."""
    found = field.get("anyOf", field.get("oneOf"))
    return found if isinstance(found, list) else None


def choices(field: Schema) -> list[Any] | None:
    """The values a field is limited to, or None when it is not."""
    found = field.get("enum", [field["const"]] if "const" in field else None)
    return found if isinstance(found, list) else None
