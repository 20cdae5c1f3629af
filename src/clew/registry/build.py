"""Writes the generated index and pages from the declarations: `python -m clew.registry.build`.

The index is not in git. `make` and every build of the package write it (`--index-only`, hatch_build.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from clew import hooks
from clew.canonical import Json
from clew.ids import PATTERNS
from clew.kinds import statuses
from clew.kinds.catalogue import all_kinds
from clew.kinds.kind import Kind
from clew.registry import operation as operations
from clew.registry import reference
from clew.registry import resource as resources
from clew.registry.catalogue import TIERS, catalogue, import_everything
from clew.registry.operation import AgentForm, Operation
from clew.registry.toolsets import tier_listing
from clew.registry.wishes import VECTORS, write_vectors

INDEX = Path(__file__).with_name("index.json")
PAGE_FACTS = Path(__file__).parents[1] / "faces" / "web" / "static" / "js" / "facts.js"
DOCS = Path(__file__).parents[3] / "docs"  # exists in a source tree only


def index() -> dict[str, list[Json]]:
    """Everything that Clew declares, sorted; a test may have declared more in this process."""
    import_everything()
    ordered = sorted(operations.declared().values(), key=lambda item: (TIERS.index(tier_listing(item.name)), item.name))
    return {
        "operations": [_operation(item) for item in ordered if _is_own(item.module)],
        "resources": [_resource(item) for _, item in sorted(resources.declared().items()) if _is_own(item.module)],
        "prompts": [_prompt(item) for _, item in sorted(resources.declared_prompts().items()) if _is_own(item.module)],
        "hooks": [_hook(item) for item in hooks.declared() if _is_own(item.module)],
    }


def _is_own(module: str) -> bool:
    return module.startswith("clew.")


def render() -> bytes:
    return orjson.dumps(index(), option=orjson.OPT_INDENT_2) + b"\n"


def _operation(item: Operation) -> Json:
    return {
        "name": item.name,
        "tier": tier_listing(item.name),
        "domain": item.domain,
        "module": item.module,
        "summary": item.summary,
        "description": item.description,
        "read_only": not item.writes,
        "destructive": item.destructive,
        "idempotent": item.idempotent,
        "lines": bool(item.view.in_lines),
        "aliases": list(item.aliases),
        "example": item.example,
        "input_schema": input_schema(item),
        **({"agent": _agent_form(item.view.agent)} if item.view.agent is not None else {}),
    }


def _agent_form(form: AgentForm) -> Json:
    return {"arguments": list(form.arguments), "defaults": dict(form.defaults)}


def input_schema(item: Operation) -> Json:
    schema: Json = slim(item.input.model_json_schema())
    if not item.input.names_workspace:
        schema.get("properties", {}).pop("workspace", None)
    schema.pop("description", None)
    _list_synonyms(item, schema)
    # Only a router accepts extra arguments: it forwards them to operations that validate them.
    return {"type": "object", **schema, "additionalProperties": item.input.model_config.get("extra") == "allow"}


def _list_synonyms(item: Operation, schema: Json) -> None:
    """Add the aliases that a contract lists to the schema; neither the alias nor its argument is then required."""
    for name in item.input.listed:
        own = item.input.synonyms[name]
        schema["properties"][name] = {**schema["properties"][own], "description": f"Same as {own}."}
        required = [other for other in schema.pop("required", []) if other != own]
        schema.update({"required": required} if required else {})


def slim(value: Any) -> Any:
    """Without titles and null defaults, and `x | null` as plain `x`: a missing argument means the same."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    if "default" in kept and kept["default"] is None:
        del kept["default"]
    if isinstance(kept.get("anyOf"), list):
        kept = _without_null(kept)
    return {key: _properties(item) if key == "properties" else slim(item) for key, item in kept.items()}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = schema.pop("anyOf")
    real = [option for option in options if option != {"type": "null"}]
    alone = len(real) == 1 and len(real) < len(options)
    return {**real[0], **schema} if alone else {**schema, "anyOf": real}


def _properties(properties: Json) -> Json:
    """Here `title` is a field's name and is kept."""
    return {name: slim(schema) for name, schema in properties.items()}


def _resource(item: resources.Resource) -> Json:
    return {
        "uri": item.uri,
        "name": item.name,
        "title": item.title,
        "mime_type": item.mime_type,
        "summary": item.summary,
        "module": item.module,
        "template": item.template,
    }


def _prompt(item: resources.Prompt) -> Json:
    arguments = [{"name": a.name, "description": a.description, "required": a.required} for a in item.arguments]
    return {
        "name": item.name,
        "title": item.title,
        "summary": item.summary,
        "module": item.module,
        "arguments": arguments,
    }


def page_facts() -> str:
    """Facts from the declarations that the page needs, as a JavaScript module, so that it repeats none by hand."""
    from clew.kinds.statuses import MEANING
    from clew.ledger.cipher import KINDS

    import_everything()
    facts: dict[str, Any] = {
        "IDS": {kind: f"^(?:{pattern.pattern})$" for kind, pattern in PATTERNS.items()},
        "STATUS": _status_words(),
        "STATES": {word: state.value for word, state in MEANING.items()},
        "RECORD_KINDS": [_kind_facts(kind) for kind in all_kinds()],
        "THOUGHT_KINDS": KINDS,
    }
    parts = [f"export const {name} = {_by_lines(fact)};\n" for name, fact in facts.items()]
    return "\n".join(["// Written by `make index` from the declarations; edit those.\n", *parts])


def _by_lines(fact: Any) -> str:
    """One line per entry, so that a diff shows what changed."""
    if isinstance(fact, dict):
        lines = [f"  {orjson.dumps(key).decode()}: {orjson.dumps(value).decode()}" for key, value in fact.items()]
        return "\n".join(["{", ",\n".join(lines), "}"])
    return "\n".join(["[", ",\n".join(f"  {orjson.dumps(item).decode()}" for item in fact), "]"])


def _status_words() -> dict[str, str]:
    """The status labels under the names that the code uses."""
    return {name: value for name, value in vars(statuses).items() if name.isupper() and isinstance(value, str)}


def _kind_facts(kind: Kind) -> Json:
    return {
        "name": kind.name,
        "family": kind.family.value,
        "store": kind.store,
        "prefix": kind.prefix,
        "states": {status: state.value for status, state in kind.states.items()},
        "as_card": {status: state.value for status, state in kind.as_card.items()},
    }


def _hook(item: hooks.Hook) -> Json:
    return {"point": item.point, "key": item.key, "module": item.module}


def main(arguments: list[str] | None = None) -> None:
    INDEX.write_bytes(render())
    sys.stderr.write(f"wrote {INDEX}\n")
    catalogue.cache_clear()  # imported before, it may have read an older index
    if write_vectors():
        sys.stderr.write(f"wrote {VECTORS}\n")
    if "--index-only" in (sys.argv[1:] if arguments is None else arguments):
        return
    PAGE_FACTS.write_text(page_facts(), encoding="utf-8")
    sys.stderr.write(f"wrote {PAGE_FACTS}\n")
    if DOCS.is_dir():
        reference.write(index(), DOCS)
        sys.stderr.write(f"wrote the generated pages in {DOCS}\n")


if __name__ == "__main__":
    main()
