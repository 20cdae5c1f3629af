"""Imports point downwards only; ARCHITECTURE.md says which layer stands on which."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "clew"
DOMAIN = ("reasoning", "tasks", "ledger", "memory", "recall")

# What each layer may import of Clew, besides itself and the foundation (settings, errors, ids, ...).
# A dotted entry admits that module only: of the store a face may name the port and follow the live feed.
MAY_IMPORT = {
    "foundation": (),
    "shim": (),
    "model": (),
    "store": (),
    "index": ("store",),
    "registry": ("index", "store", "model"),
    **dict.fromkeys(DOMAIN, ("registry", "index", "store", "model", *DOMAIN)),
    "records": ("registry", "index", "store", *DOMAIN),
    "importers": ("registry", "memory", "store.sqlite_files", "history", "tasks"),
    "audit": ("registry", "index.terms", *DOMAIN, "importers"),
    "history": ("registry", "index.terms", "store", "hook_events.failures", "recall", "records", "tasks"),
    "sync": ("registry", "store", "memory", "records", "remote"),
    "hook_events": ("registry", "index", "store", *DOMAIN, "records", "history"),
    "remote": ("registry", "store"),
    "contracts": ("registry", "index.item_reads", "store", *DOMAIN, "records"),
    "app": ("registry", "store", "remote"),
    "runner": ("registry", "app", "store.events"),
    "faces.http": (),
    "faces.mcp": ("registry", "app", "store.database", "store.events", "faces.http", "faces.web", "shim"),
    "faces.web": ("registry", "app", "store.database", "store.events", "faces.http", "faces.connect"),
    "faces.hooks": ("registry", "app", "shim"),
    "faces.resident": ("registry", "app", "store.database", "faces.hooks", "faces.mcp", "shim"),
    "faces.connect": ("faces.hooks.client_events",),
    "faces.cli": (
        "registry",
        "app",
        "store.database",
        "store.events",
        "faces.mcp",
        "faces.web",
        "faces.hooks",
        "faces.connect",
        "sync.bundle_format",
        "runner",
        "shim",
    ),
    "faces": (),
}
# Inside a function the registry may reach down into the domain it dispatches to; at import time it may not,
# because then every start of the server would load every domain.
MAY_IMPORT_LAZILY = {
    "registry": (*DOMAIN, "records", "importers", "history", "audit", "hook_events", "sync"),
    "app": (*DOMAIN, "records", "history"),
    "remote": ("hook_events",),
}

# Libraries that belong to one layer.
OWNERS = {
    "sqlite3": ("store",),
    "apsw": ("store",),
    "psycopg": ("store", "index"),
    "mcp": ("faces.mcp",),
    "mcp_types": ("faces.mcp",),
    "starlette": ("faces.http", "faces.mcp", "faces.web"),
    "uvicorn": ("faces.http", "faces.mcp"),
    "sse_starlette": ("faces.mcp",),
    "typer": ("faces.cli",),
    "rich": ("faces.cli",),
    "yaml": ("faces.connect", "importers"),
}


@dataclass(frozen=True)
class Import:
    where: str  # path:line, as an editor understands it
    importer: str
    target: str
    lazy: bool


def layer_of(module: str) -> str:
    """The layer a dotted name inside Clew (without the leading `clew.`) belongs to."""
    parts = module.split(".")
    if parts[0] == "faces":
        return ".".join(parts[:2])
    if parts[0] in MAY_IMPORT:
        return parts[0]
    return "app" if parts[0] == "__main__" else "foundation"


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def targets(node: ast.AST, importer: str, package: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = ("clew." + importer).split(".")
            parents = parents[: len(parents) - node.level + package]
            base = ".".join([*parents, *([base] if base else [])])
        # `from clew.store import sqlite` imports a module, `from clew.ids import parse` a name of one.
        for alias in node.names:
            name = f"{base}.{alias.name}"
            yield name if base.startswith("clew") and is_module(name) else base


def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        for target in targets(node, dotted(path), path.name == "__init__.py"):
            where = f"{path.relative_to(SOURCE.parent.parent)}:{getattr(node, 'lineno', 0)}"
            yield Import(where, dotted(path), target, node in inside)


def is_below(name: str, allowed: str) -> bool:
    return name == allowed or name.startswith(allowed + ".")


def complaint(found: Import) -> str | None:
    """Why an import is wrong, or None when it is fine."""
    own = layer_of(found.importer)
    library = found.target.split(".")[0]
    if library != "clew":
        owners = OWNERS.get(library)
        if owners is None or own in owners:
            return None
        return f"{found.where}: {own} imports {library}, which only {' and '.join(owners)} may use"
    inner = found.target.removeprefix("clew").removeprefix(".")
    if not inner or layer_of(inner) in ("foundation", own) or found.importer in ("__main__", "entry"):
        return None
    allowed = MAY_IMPORT[own] + (MAY_IMPORT_LAZILY.get(own, ()) if found.lazy else ())
    if any(is_below(inner, name) for name in allowed):
        return None
    if not found.lazy and layer_of(inner) in MAY_IMPORT_LAZILY.get(own, ()):
        return f"{found.where}: {own} imports clew.{inner} at import time; import it inside the function"
    return f"{found.where}: {own} may import {', '.join(allowed) or 'the foundation only'}, not clew.{inner}"


def test_imports_point_downwards() -> None:
    found = [entry for path in sorted(SOURCE.rglob("*.py")) for entry in imports_of(path)]
    assert found, f"no imports found below {SOURCE}"
    wrong = [line for line in map(complaint, found) if line]
    assert not wrong, "imports point the wrong way:\n  " + "\n  ".join(wrong)


@pytest.mark.parametrize(
    ("importer", "target", "lazy", "fine"),
    [
        ("faces.cli.main", "clew.registry.dispatch", False, True),
        ("faces.cli.main", "clew.faces.mcp.stdio", True, True),
        ("faces.web.live", "clew.store.events", False, True),
        ("faces.web.live", "clew.store.sqlite", False, False),
        ("faces.web.live", "clew.reasoning.branches", True, False),
        ("faces.mcp.http", "clew.faces.cli.main", True, False),
        ("faces.web.live", "apsw", True, False),
        ("registry.dispatch", "clew.tasks.plans", True, True),
        ("registry.dispatch", "clew.tasks.plans", False, False),
        ("tasks.plans", "clew.reasoning.branches", False, True),
        ("tasks.plans", "starlette.routing", False, False),
        ("tasks.plans", "clew.records.open", True, False),
        ("records.open", "clew.tasks.plans", False, True),
        ("tasks.plans", "clew.faces.web", True, False),
        ("store.sqlite", "clew.registry.operation", False, False),
        ("store.sqlite", "clew.errors", False, True),
        ("store.sqlite", "apsw", False, True),
        ("store.sqlite", "clew.index.items", True, False),
        ("index.item_reads", "clew.store.database", False, True),
        ("settings", "clew.store.database", True, False),
        ("__main__", "clew.faces.cli.main", False, True),
        ("shim.pipe", "clew.locks", False, True),
        ("shim.pipe", "clew.registry.catalogue", True, False),
    ],
)
def test_the_rule_itself(importer: str, target: str, lazy: bool, fine: bool) -> None:
    assert (complaint(Import("x.py:1", importer, target, lazy)) is None) == fine


ROOT = SOURCE.parent.parent
LONGEST = 60
SHARED_NAMES = {"Work", "Evidence"}
"""`Work` also names a definition in a published schema, which must not change; `Evidence` is weighed in recall too."""


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for folder in ("src", "tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LONGEST
    ]
    assert not long, "\n".join(long)


def test_a_class_name_stands_for_one_thing() -> None:
    """Whoever searches for a class finds one; a name with an underscore belongs to its module."""
    places: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(dotted(path))
    twice = {name: found for name, found in places.items() if len(found) > 1 and name not in SHARED_NAMES}
    assert not twice, twice
