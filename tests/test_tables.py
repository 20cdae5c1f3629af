"""A table belongs to one package: only its owner reads and writes it, and offers functions to the others.

The owner is the package that the migration's file is named after. Files named after a part of a package, and the
tables of the first migrations that serve another layer, are told apart below.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "clew"
MIGRATIONS = SOURCE / "store" / "migrations"

PACKAGE_OF_FILE = {
    "inbox": "records",
    "moments": "hook_events",
    "figures": "recall",
    "foundation": "store",
    "jobs": "tasks",
    "receipts": "tasks",
    "notebooks": "ledger",
    "memory_use": "memory",
    "contradictions": "memory",
    "guards": "memory",
    "callers": "registry",
    "undo": "registry",
    "credentials": "registry",
    "mcp_sessions": "registry",
    "epochs_and_requests": "store",
}
# The numbers of migrations never change, so tables made before their layer existed keep the file they stand in.
OWNER = {
    **dict.fromkeys(("branch", "document", "entry", "reasoning_ref"), "reasoning"),
    **dict.fromkeys(("item", "item_terms", "item_past", "item_link"), "index"),
    "node_grams": "index",
    **dict.fromkeys(("item_vector", "vector_progress"), "index"),
}

# Uses of another package's table that are still there, as (module, table). There is none, and none should come.
ALLOWED: frozenset[tuple[str, str]] = frozenset()

_CREATED = re.compile(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)")
_DROPPED = re.compile(r"^DROP TABLE (\w+)", re.MULTILINE)
_RENAMED = re.compile(r"^ALTER TABLE (\w+) RENAME TO (\w+)", re.MULTILINE)
_USED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)")


def owners() -> dict[str, str]:
    found = {}
    for path in sorted(MIGRATIONS.glob("*.sql")):
        part = path.stem.partition("_")[2]
        text = path.read_text(encoding="utf-8")
        for table in _CREATED.findall(text):
            found[table] = OWNER.get(table, PACKAGE_OF_FILE.get(part, part))
        for table in _DROPPED.findall(text):
            del found[table]
        for table, name in _RENAMED.findall(text):
            found[name] = OWNER.get(name, found.pop(table))
    return found


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module that may be SQL, the fixed parts of formatted ones joined; docstrings apart."""
    docs = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else " {} " for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (docs | inside):
            yield node.lineno, node.value


def used_tables(source: str) -> Iterator[tuple[int, str]]:
    """The tables that a module's statements and records name."""
    tree = ast.parse(source)
    for line, text in texts(tree):
        for table in _USED.findall(text):
            yield line, table
    for node in ast.walk(tree):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.target, ast.Name) and node.target.id == "TABLE":
            yield node.lineno, str(node.value.value)


def strangers() -> list[tuple[str, str, str]]:
    """`(module:line, package, table)` of every use of another package's table."""
    owner = owners()
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0]
        for line, table in used_tables(path.read_text(encoding="utf-8")):
            if table in owner and owner[table] != package:
                found.append((f"{path.relative_to(SOURCE)}:{line}", package, table))
    return found


def test_no_statement_names_a_table_of_another_package() -> None:
    wrong = [
        f"{where}: {package} names {table}, which belongs to {owners()[table]}"
        for where, package, table in strangers()
        if (where.partition(":")[0], table) not in ALLOWED
    ]
    assert not wrong, "tables of other packages:\n  " + "\n  ".join(wrong)


def test_what_is_still_allowed_is_still_needed() -> None:
    needed = {(where.partition(":")[0], table) for where, _, table in strangers()}
    assert not ALLOWED - needed


def test_the_architecture_names_the_owner_of_every_table() -> None:
    text = (SOURCE.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    part = text.partition("## Who owns which table")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", part, re.MULTILINE)
    named = {table: owner for owner, tables in rows[1:] for table in tables.split(", ")}
    assert named == owners()


def test_every_table_has_a_package_for_owner() -> None:
    assert all((SOURCE / package).is_dir() for package in owners().values())


@pytest.mark.parametrize(
    ("source", "tables"),
    [
        ('x = "SELECT * FROM node WHERE id = ?"', ["node"]),
        ('x = f"SELECT {columns} FROM node JOIN edge ON {joined}"', ["node", "edge"]),
        ('x = ("INSERT INTO " "step (id) VALUES (?)")', ["step"]),
        ('class Job:\n    TABLE: str = "job"', ["job"]),
        ('"""Reads FROM node."""', []),
    ],
)
def test_the_reader_of_sql_itself(source: str, tables: list[str]) -> None:
    assert [table for _, table in used_tables(source)] == tables
