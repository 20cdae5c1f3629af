"""The catalogue, read from the generated index, so that listing tools imports no domain module. And its schemas."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson

from clew import hooks
from clew.canonical import Json
from clew.registry.toolsets import tier_of, toolset_named

TIERS = ("core", "daily", "full")
DOMAINS = (
    "index",
    "registry",
    "records",
    "reasoning",
    "tasks",
    "ledger",
    "memory",
    "recall",
    "importers",
    "history",
    "audit",
    "hook_events",
    "sync",
    "contracts",
)
_LEGACY = re.compile(r"(?:.*[/.]|branchmind_)(?P<name>[a-z][a-z0-9_]*)")


class OperationEntry(NamedTuple):
    name: str
    tier: str
    domain: str
    module: str
    summary: str
    description: str
    read_only: bool
    destructive: bool
    idempotent: bool
    lines: bool
    input_schema: Json
    example: Json
    aliases: tuple[str, ...] = ()
    agent: Json | None = None
    """Which arguments the toolset `agent` lists, and their defaults, if these differ from the full schema."""

    def for_agents(self) -> OperationEntry:
        """The entry as the toolset `agent` lists it; every argument is still accepted."""
        if self.agent is None:
            return self
        defaults, known = self.agent["defaults"], self.input_schema["properties"]
        shown = {name: known[name] for name in self.agent["arguments"]}
        shown |= {name: {**shown[name], "default": value} for name, value in defaults.items() if name in shown}
        return self._replace(input_schema={**self.input_schema, "properties": shown})


class ResourceEntry(NamedTuple):
    uri: str
    name: str
    title: str
    mime_type: str
    summary: str
    module: str
    template: bool


class PromptEntry(NamedTuple):
    name: str
    title: str
    summary: str
    module: str
    arguments: tuple[Json, ...]


class HookEntry(NamedTuple):
    point: str
    key: str
    module: str


class Catalogue:
    def __init__(
        self,
        operations: tuple[OperationEntry, ...],
        resources: tuple[ResourceEntry, ...],
        prompts: tuple[PromptEntry, ...],
        hooks: tuple[HookEntry, ...] = (),
    ) -> None:
        self.operations = operations
        self.resources = resources
        self.prompts = prompts
        self.hooks = hooks
        self._names = {name: entry for entry in operations for name in (entry.name, *entry.aliases)}

    def listed(self, toolset: str) -> list[OperationEntry]:
        """The operations that this toolset lists, sorted."""
        named = toolset_named(toolset).tools
        if named is None:
            return [entry for entry in self.operations if self.lists(toolset, entry)]
        own = {entry.name: entry for entry in self.operations}
        found = [own[name] for name in named if name in own]
        return [entry.for_agents() for entry in found] if toolset == "agent" else found

    def lists(self, toolset: str, entry: OperationEntry) -> bool:
        """A tier lists its own operations and those of the smaller tiers; other sets list explicit names."""
        named = toolset_named(toolset).tools
        if named is not None:
            return entry.name in named
        return TIERS.index(entry.tier) <= TIERS.index(tier_of(toolset))

    def find(self, name: str) -> OperationEntry | None:
        """By wire name, alias, or one of the older spellings with a prefix."""
        if name in self._names:
            return self._names[name]
        # Only if no entry has the exact name, so that an old spelling never hides a present operation.
        legacy = _LEGACY.fullmatch(name)
        return self._names.get(legacy.group("name")) if legacy else None


@cache
def catalogue() -> Catalogue:
    index = _read_index()
    return Catalogue(
        operations=tuple(OperationEntry(**{**row, "aliases": tuple(row["aliases"])}) for row in index["operations"]),
        resources=tuple(ResourceEntry(**row) for row in index["resources"]),
        prompts=tuple(PromptEntry(**{**row, "arguments": tuple(row["arguments"])}) for row in index["prompts"]),
        hooks=tuple(HookEntry(**row) for row in index.get("hooks", ())),
    )


def _read_index() -> Json:
    try:
        content = files("clew.registry").joinpath("index.json").read_bytes()
    except FileNotFoundError:
        message = "index.json is missing: a checkout builds it with `make index`, a package when it is installed"
        raise SystemExit(f"clew: {message}") from None
    found: Json = orjson.loads(content)
    return found


def modules_of(point: str, key: str | None) -> list[str]:
    """The modules that provide hooks at an extension point: those under one key, or all of them."""
    wanted = (hook for hook in catalogue().hooks if hook.point == point and key in (None, hook.key))
    return list(dict.fromkeys(hook.module for hook in wanted))


hooks.modules_from(modules_of)


def import_everything() -> None:
    """Import every module that may declare something; for the index builder and as fallback for unknown names."""
    for domain in DOMAINS:
        package = importlib.import_module(f"clew.{domain}")
        for module in pkgutil.walk_packages(package.__path__, f"clew.{domain}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


Schema = Json


_GUARDS = frozenset({"maxLength", "minLength", "maxItems", "pattern"})
_FAR = 2**31


def listed(schema: Schema) -> Schema:
    """The schema as published in a tool list: without bounds that are only for validation, which checks them anyway.

    A list is read by a model in every conversation; op_search shows the whole schema on demand. It allows additional
    properties, because every tool also takes `fmt` and `request_id`, and some clients refuse undeclared names.
    """
    shown = _bare(inlined(schema))
    return {name: value for name, value in shown.items() if name != "additionalProperties" or value is not False}


def inlined(schema: Schema) -> Schema:
    """The schema with each definition inlined: some clients do not follow a `$ref`.

    A definition that is used more than once is not inlined, because it would be repeated, or never end.
    """
    found = schema.get("$defs", {})
    uses = Counter(_references(schema))
    # Exactly one use also rules out recursive definitions.
    once = {name: value for name, value in found.items() if uses[f"#/$defs/{name}"] == 1}
    kept = {name: value for name, value in found.items() if name not in once}
    whole: Schema = _placed({name: value for name, value in schema.items() if name != "$defs"}, once)
    return {**whole, "$defs": _placed(kept, once)} if kept else whole


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _placed(value: Any, definitions: Mapping[str, Schema]) -> Any:
    if isinstance(value, list):
        return [_placed(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        value = {**definitions[name], **{key: item for key, item in value.items() if key != "$ref"}}
    return {key: _placed(item, definitions) for key, item in value.items()}


def _bare(schema: Schema) -> Schema:
    kept = {name: value for name, value in schema.items() if not _guards(name, value)}
    shown = {name: _listed(name, value) for name, value in kept.items()}
    if isinstance(types := shown.get("type"), list):  # strict validators warn about a list of types
        del shown["type"]
        shown["anyOf"] = [{"type": type} for type in types]
    return shown


def _guards(name: str, value: Any) -> bool:
    if name in _GUARDS:
        return not isinstance(value, dict)  # a property may have this name
    far = name in ("maximum", "minimum") and isinstance(value, int) and abs(value) >= _FAR
    return far or (name == "minimum" and value == 0) or (name == "default" and value in (False, []))


def _listed(name: str, value: Any) -> Any:
    if name in {"enum", "required", "default", "const"}:
        return value
    if isinstance(value, dict):
        return _bare(value)
    return [_bare(item) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else value


def resolved(field: Schema, schema: Schema) -> Schema:
    """The field itself, or the definition in `schema` that it refers to."""
    while "$ref" in field:
        found = schema.get("$defs", {}).get(field["$ref"].rpartition("/")[2])
        field = found if isinstance(found, dict) else {}
    return field


def options(field: Schema) -> list[Schema] | None:
    """The members of a union, or None if the field is not a union."""
    found = field.get("anyOf", field.get("oneOf"))
    return found if isinstance(found, list) else None


def choices(field: Schema) -> list[Any] | None:
    """The allowed values of a field, or None if it is not restricted."""
    found = field.get("enum", [field["const"]] if "const" in field else None)
    return found if isinstance(found, list) else None
