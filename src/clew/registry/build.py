"""Writes the generated index and pages from the declarations: `python -m clew.registry.build`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from clew import hooks
from clew.canonical import Json
from clew.ids import BLOCK_PREFIXES, PATTERNS
from clew.registry import operation as operations
from clew.registry import reference
from clew.registry import resource as resources
from clew.registry.catalogue import TIERS, import_everything
from clew.registry.operation import AgentForm, Operation

INDEX = Path(__file__).with_name("index.json")
PAGE_FACTS = Path(__file__).parents[1] / "faces" / "web" / "static" / "js" / "facts.js"
DOCS = Path(__file__).parents[3] / "docs"  # there in a source tree only


def index() -> dict[str, list[Json]]:
    """Everything that Clew declares, in a fixed order; a test may have declared more in this process."""
    import_everything()
    ordered = sorted(operations.declared().values(), key=lambda item: (TIERS.index(item.tier), item.name))
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
        "tier": item.tier,
        "domain": item.domain,
        "module": item.module,
        "summary": item.summary,
        "description": item.description,
        "read_only": not item.writes,
        "destructive": item.destructive,
        "idempotent": item.idempotent,
        "lines": bool(item.portal),
        "aliases": list(item.aliases),
        "example": item.example,
        "input_schema": input_schema(item),
        **({"agent": _agent_form(item.agent)} if item.agent is not None else {}),
    }


def _agent_form(form: AgentForm) -> Json:
    return {"arguments": list(form.arguments), "defaults": dict(form.defaults)}


def input_schema(item: Operation) -> Json:
    schema: Json = slim(item.input.model_json_schema())
    if not item.workspace:
        schema.get("properties", {}).pop("workspace", None)
    schema.pop("description", None)
    _list_synonyms(item, schema)
    # Only a router takes arguments that are not its own: it hands them to operations that check them.
    return {"type": "object", **schema, "additionalProperties": item.input.model_config.get("extra") == "allow"}


def _list_synonyms(item: Operation, schema: Json) -> None:
    """Put names that a contract lists beside the ones they stand for, of which then neither is required."""
    for name in item.input.listed:
        own = item.input.synonyms[name]
        schema["properties"][name] = {**schema["properties"][own], "description": f"Same as {own}."}
        required = [other for other in schema.pop("required", []) if other != own]
        schema.update({"required": required} if required else {})


def slim(value: Any) -> Any:
    """Without titles and null defaults, and `x | null` as plain `x`: a missing argument says the same."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    if "default" in kept and kept["default"] is None:
        del kept["default"]
    options = kept.get("anyOf")
    if isinstance(options, list):
        real = [option for option in options if option != {"type": "null"}]
        if len(real) == 1 and len(real) < len(options):
            del kept["anyOf"]
            kept = {**real[0], **kept}
        else:
            kept["anyOf"] = real
    return {key: _properties(item) if key == "properties" else slim(item) for key, item in kept.items()}


def _properties(properties: Json) -> Json:
    """Here `title` is a field's name and stays."""
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
    """What the page must know of the declarations, as a JavaScript module: it repeats none of this by hand."""
    from clew.ledger.cipher import KINDS
    from clew.reasoning.visibility import CARD_TYPES
    from clew.store.workspaces import EVENT_TYPES

    import_everything()
    facts = {
        "IDS": {kind: f"^(?:{pattern.pattern})$" for kind, pattern in PATTERNS.items()},
        "BLOCK_PREFIXES": BLOCK_PREFIXES,
        "THOUGHT_KINDS": KINDS,
        "CARD_TYPES": CARD_TYPES,
        "EVENTS": dict(sorted(EVENT_TYPES.items())),
    }
    parts = [
        f"export const {name} = {orjson.dumps(fact, option=orjson.OPT_INDENT_2).decode()};\n"
        for name, fact in facts.items()
    ]
    return "\n".join(["// Written by `make index` from the declarations; edit those.\n", *parts])


def _hook(item: hooks.Hook) -> Json:
    return {"point": item.point, "key": item.key, "module": item.module}


def main() -> None:
    INDEX.write_bytes(render())
    sys.stderr.write(f"wrote {INDEX}\n")
    PAGE_FACTS.write_text(page_facts(), encoding="utf-8")
    sys.stderr.write(f"wrote {PAGE_FACTS}\n")
    if DOCS.is_dir():
        reference.write(index(), DOCS)
        sys.stderr.write(f"wrote the generated pages in {DOCS}\n")


if __name__ == "__main__":
    main()
