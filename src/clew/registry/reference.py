"""The pages made from declarations: settings, error codes, events, operations, resources, prompts, contracts.

`python -m clew.registry.build` writes them next to the index; a test fails if they are stale.

Contracts are those of the programs that Clew replaces. Deliberate differences are data: one file
`docs/contracts/<name>.toml` each. A test checks that every difference names a test that pins Clew's behaviour.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import orjson

from clew.canonical import Json
from clew.errors import ERROR_CODES
from clew.registry.catalogue import Schema, choices, options, resolved
from clew.setting_readers import Setting
from clew.settings import SETTINGS
from clew.store.workspaces import EVENT_TYPES

Index = dict[str, list[Json]]

DOMAINS = {
    "registry": "Discovery",
    "records": "Records",
    "reasoning": "Reasoning",
    "tasks": "Tasks",
    "ledger": "Thought ledger",
    "memory": "Governed memory",
    "recall": "Recall",
    "importers": "Importers",
    "history": "History of client sessions",
    "audit": "Audit",
    "hook_events": "Hook events",
    "sync": "Sync and bundles",
    "contracts": "Ways in for clients of other programs",
}

_SETTINGS = """\
# Settings

A flag wins over a variable, a variable over a `clew.toml`, that over the default. Of several variables the first one
that is set counts. `clew doctor` shows every value and where it came from. In `clew.toml` a setting is written under
its name: `toolset = "full"`; a name that is none is refused.

There may be a `clew.toml` in the data directory, and one in the project (beside `.git`), which wins. The project's file
comes with whatever was cloned, so it may only set what is marked below: free to a project. When it sets anything
else, Clew refuses to start there until you have read the file and run `clew trust`, which holds until the file changes.
The runner's own file, `runner.toml`, is never read from a data directory that a project named.

By default a workspace has the name of the project's directory and is marked with the directory's place. A project
elsewhere whose directory has the same name gets a workspace of its own, such as `api-1f2e3d4c`. Projects (or machines
with one PostgreSQL database) that are to share a memory name the same workspace, by a variable or in `clew.toml`; so
does a project that has been moved.

"""
_ERRORS = """\
# Error codes

An operation that cannot do what was asked changes nothing and answers with one of these, a message that says why, a
recovery, and suggestions that can be called as they stand. On the command line the `STORE_*` codes exit with 3,
`UNKNOWN_TOOL` with 2, the others with 1.

"""
_EVENTS = """\
# Events

What a mutation did, written in its own transaction. The live page, list-changed notices and every other process follow
these rows.

"""
_REFERENCE = """\
# Reference

Everything Clew can do, generated from the declarations. Each operation is an MCP tool, and `clew call NAME` in the
shell. `core` operations are always listed to a client, `daily` ones by default, `full` ones on request; all can be
called.

"""
_DIFFERENCES = """
## What differs and why

Everything else is meant to be as in the original. Each line is pinned by a test, which `docs/contracts` names.

"""


_FINDINGS = """
## Every finding and its answer

Found by giving both programs the same calls; the number is that of the finding. A finding is answered by being mended,
by a difference of the table above, or partly by each. The test that is named keeps it so.

"""


def pages(index: Index) -> dict[str, str]:
    """Path below docs/ -> text."""
    return {
        "settings.md": _SETTINGS + _settings_table(),
        "errors.md": _ERRORS + table(("code", "meaning"), ((f"`{code}`", text) for code, text in ERROR_CODES.items())),
        "reference/events.md": _EVENTS + _events_table(),
        "reference/resources.md": _resources_page(index),
        "reference/README.md": _REFERENCE + _overview(index),
        **{f"reference/{domain}.md": _domain_page(domain, rows) for domain, rows in _by_domain(index)},
        **{f"{contract.name}.md": _contract_page(contract) for contract in contracts()},
    }


def write(index: Index, docs: Path) -> None:
    """Write the pages, and delete those of a domain that no longer exists."""
    wanted = pages(index)
    for name, text in wanted.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, encoding="utf-8")
    for page in (docs / "reference").glob("*.md"):
        if page.relative_to(docs).as_posix() not in wanted:
            page.unlink()


def table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headers = list(headers)
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _settings_table() -> str:
    rows = (
        (f"`{item.name}`", ", ".join(f"`{name}`" for name in item.env), _default(item.default), _meaning(item))
        for item in SETTINGS
    )
    return table(("setting", "variables", "default", "meaning"), rows)


def _meaning(item: Setting) -> str:
    return f"{item.help} Free to a project." if item.harmless else item.help


def _default(text: str) -> str:
    return "none" if not text else text if " " in text else f"`{text}`"


def _events_table() -> str:
    return table(("type", "meaning"), ((f"`{name}`", text) for name, text in sorted(EVENT_TYPES.items())))


def _contract_page(contract: SeedContract) -> str:
    rows = ((item.what, item.original, item.clew, item.why) for item in contract.differences)
    differences = table(("what", "the original", "Clew", "why"), rows)
    answers = table(("finding", "answer", "what", "test"), _answers(contract))
    return f"# {contract.title}\n\n{contract.about}\n{_DIFFERENCES}{differences}{_FINDINGS}{answers}"


def _answers(contract: SeedContract) -> Iterator[tuple[str, str, str, str]]:
    """Every numbered finding in order, each with all entries that answer it."""
    for cause in contract.causes:
        repaired = [("like the original", item.what, item.test) for item in contract.kept if item.cause == cause]
        meant = [("differs on purpose", item.what, item.test) for item in contract.differences if cause in item.causes]
        for answer, what, test in repaired + meant:
            yield cause, answer, what, f"`{test.rpartition('::')[2]}`"


def _by_domain(index: Index) -> Iterator[tuple[str, list[Json]]]:
    order = {domain: place for place, domain in enumerate(DOMAINS)}
    rows = sorted(index["operations"], key=lambda row: (order[row["domain"]], row["name"]))
    for domain, group in groupby(rows, key=lambda row: str(row["domain"])):
        yield domain, list(group)


def _overview(index: Index) -> str:
    parts = ["Besides: [resources and prompts](resources.md), [events](events.md), [errors](../errors.md).\n"]
    for domain, rows in _by_domain(index):
        cells = ((f"[`{row['name']}`]({domain}.md#{row['name']})", row["tier"], row["summary"]) for row in rows)
        parts.append(f"\n## {DOMAINS[domain]}\n\n" + table(("operation", "tier", "summary"), cells))
    return "".join(parts)


def _domain_page(domain: str, rows: list[Json]) -> str:
    return f"# {DOMAINS[domain]}\n\n" + "\n".join(_operation(row) for row in rows)


def _operation(row: Json) -> str:
    kinds = [row["tier"], "reads" if row["read_only"] else "writes"]
    kinds += [word for word in ("destructive", "idempotent") if row[word] and not row["read_only"]]
    parts = [f"## {row['name']}\n", f"{row['summary']}\n", f"{row['description']}\n" if row["description"] else ""]
    parts.append(f"*{', '.join(kinds)}*\n")
    parts.append(_arguments(row["input_schema"]))
    parts.append(f"```json\n{orjson.dumps(row['example']).decode()}\n```\n" if row["example"] else "")
    return "\n".join(part for part in parts if part)


def _arguments(schema: Schema) -> str:
    required = schema.get("required", [])
    rows = [
        (
            f"`{name}`" + (" (required)" if name in required else ""),
            type_text(field, schema),
            f"`{orjson.dumps(field['default']).decode()}`" if "default" in field else "",
            field.get("description", ""),
        )
        for name, field in schema.get("properties", {}).items()
    ]
    return table(("argument", "type", "default", "meaning"), rows) if rows else "No arguments.\n"


def type_text(field: Schema, schema: Schema) -> str:
    """A field's type as text: `integer 1..50`, `list of string`, `"a" or "b"`."""
    field = resolved(field, schema)
    members, values = options(field), choices(field)
    if members is not None:
        return " or ".join(dict.fromkeys(type_text(member, schema) for member in members))
    if values is not None:
        return " or ".join(f"`{orjson.dumps(value).decode()}`" for value in values)
    if field.get("type") == "array":
        return f"list of {type_text(field.get('items', {}), schema)}"
    return f"{field.get('type', 'any')}{_bounds(field)}"


def _bounds(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    huge = high is not None and high >= 2**53 - 1
    if low is None or huge or high is None:
        return f" from {low}" if low is not None else ""
    return f" {low}..{high}"


def _resources_page(index: Index) -> str:
    resources = ((f"`{row['uri']}`", row["mime_type"], row["summary"]) for row in index["resources"])
    prompts = ((f"`{row['name']}`", _prompt_arguments(row), row["summary"]) for row in index["prompts"])
    return (
        "# Resources\n\n"
        + table(("uri", "type", "content"), resources)
        + "\n# Prompts\n\n"
        + table(("prompt", "arguments", "use"), prompts)
    )


def _prompt_arguments(row: Json) -> str:
    return ", ".join(f"`{item['name']}`" + ("" if item["required"] else "?") for item in row["arguments"])


PLACE = Path(__file__).parents[3] / "docs" / "contracts"
"""Exists in a source tree only."""


@dataclass(frozen=True)
class Difference:
    what: str
    original: str
    clew: str
    why: str
    test: str
    """`tests/file.py::function` that fails if Clew behaves differently again."""
    causes: tuple[str, ...] = ()
    """Numbers of the deviations that it answers."""


@dataclass(frozen=True)
class FixedDifference:
    """A former deviation that now behaves as the original does."""

    cause: str
    what: str
    test: str


@dataclass(frozen=True)
class SeedContract:
    name: str
    """Name of the file and of the page, such as `branchmind`."""
    title: str
    about: str
    """Markdown at the top of the page: how to migrate a client or existing data."""
    differences: tuple[Difference, ...]
    kept: tuple[FixedDifference, ...]
    causes: tuple[str, ...]
    """The numbers of all deviations that were found when the original ran in parallel with Clew, such as `D7`."""

    @property
    def unanswered(self) -> list[str]:
        """Deviations that are neither fixed nor deliberate."""
        answered = {item.cause for item in self.kept} | {id for item in self.differences for id in item.causes}
        return [id for id in self.causes if id not in answered]


def contracts(place: Path = PLACE) -> list[SeedContract]:
    return [_contract(path) for path in sorted(place.glob("*.toml"))]


def _contract(path: Path) -> SeedContract:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    found = tuple(Difference(**{**row, "causes": tuple(row.get("causes", ()))}) for row in data.get("difference", ()))
    kept = tuple(FixedDifference(**row) for row in data.get("kept", ()))
    causes = tuple(id for span in data["causes"] for id in _numbers(span))
    return SeedContract(path.stem, data["title"], data["about"].strip(), found, kept, causes)


def _numbers(span: str) -> list[str]:
    """Expand `D1-D3` to D1, D2, D3."""
    first, _, last = span.partition("-")
    letter = first.rstrip("0123456789")
    low, high = int(first.removeprefix(letter)), int((last or first).removeprefix(letter))
    return [f"{letter}{number}" for number in range(low, high + 1)]
