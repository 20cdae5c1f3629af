"""Reading JSON Schemas as the index holds them."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


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
