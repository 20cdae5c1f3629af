"""Operations, resources and prompts by their names; only the module that declares one is imported."""

from __future__ import annotations

import importlib

from clew.errors import ClewError, suggest, unknown_id
from clew.registry import operation as operations
from clew.registry import resource as resources
from clew.registry.arguments import nearest
from clew.registry.catalogue import catalogue, import_everything
from clew.registry.operation import Operation

SPELLED_LIKE = 0.8
"""Similarity threshold for a misspelled name: `get_memory` is not a typo of `export_memory`."""


def find_operation(name: str) -> Operation:
    """Retrieve the declared operation, importing only the module that declares it."""
    entry = catalogue().find(name) if isinstance(name, str) else None
    if entry is not None:
        importlib.import_module(entry.module)
        found = operations.declared().get(entry.name)
        if found is not None:
            return _built(found)
    import_everything()
    if isinstance(name, str) and name in operations.declared():
        return _built(operations.declared()[name])
    raise _unknown_operation(_printable(str(name)[:80]))


def _built(found: Operation) -> Operation:
    """With its validator, which is built at the first lookup: most imported operations never need one."""
    found.input.model_rebuild()
    return found


def find_resource(uri: str) -> tuple[resources.Resource, dict[str, str]]:
    for entry in catalogue().resources:
        importlib.import_module(entry.module)
        found = resources.declared()[entry.uri]
        values = found.match(uri)
        if values is not None:
            return found, values
    for found in resources.declared().values():  # declared, but not yet in the index
        values = found.match(uri)
        if values is not None:
            return found, values
    raise unknown_id("resource", uri, "List the resources and their templates.")


def find_prompt(name: str) -> resources.Prompt:
    for entry in catalogue().prompts:
        if entry.name == name:
            importlib.import_module(entry.module)
            return resources.declared_prompts()[name]
    if name in resources.declared_prompts():
        return resources.declared_prompts()[name]
    raise unknown_id("prompt", name, "List the prompts.")


def find_completer(ref_kind: str, ref: str, argument: str) -> resources.Completer | None:
    if ref_kind == "prompt":
        found = {item.name: item.complete for item in find_prompt(ref).arguments}
        return found.get(argument)
    for entry in catalogue().resources:
        if entry.uri == ref:
            importlib.import_module(entry.module)
    template = resources.declared().get(ref)
    return template.completers.get(argument) if template is not None else None


def _unknown_operation(name: str) -> ClewError:
    near = nearest(name, [entry.name for entry in catalogue().operations], SPELLED_LIKE)
    advice = f" Did you mean {near}?" if near else ""
    wish = name.replace("_", " ").replace("-", " ").strip()
    return ClewError(
        "UNKNOWN_TOOL",
        f"no operation is called {name!r}",
        f"Find operations by words with op_search.{advice}",
        suggestions=[suggest("op_search", "Finds operations by words.", "medium", query=near or wish or "help")],
    )


def _printable(name: str) -> str:
    """The name without characters that JSON or an argument cannot hold, so that a response may repeat it."""
    return name.encode(errors="ignore").decode().replace("\x00", "")
