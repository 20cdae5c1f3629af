"""The seven kinds of change a proposal may hold, as data: read from a block, written to one, fingerprinted."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields

from clew.canonical import canonical, sha256_hex
from clew.errors import ClewError, invalid, shorten
from clew.memory.directory import FOLDERS
from clew.memory.grammar import Value

KINDS: dict[str, tuple[str, ...]] = {
    "append_block": ("file", "patch"),
    "insert_after_block": ("target", "patch"),
    "update_field": ("target", "field", "value"),
    "append_list_item": ("target", "list", "item"),
    "set_status": ("target", "status"),
    "replace_range": ("target", "start", "end", "patch"),
    "supersede_decision": ("target", "patch"),
}
"""Each kind and the parts it cannot do without."""

_FILE = re.compile(r"(?:[\w.-]+/)+[\w.-]+\.md", re.ASCII)
_CLOSED = ("intelligence/proposed/", "intelligence/applied/", "intelligence/state/")
_LINE = re.compile(r"([a-z_]+):(?:[ \t]+(.*))?$")


@dataclass(frozen=True, slots=True)
class Op:
    op: str
    file: str = ""
    target: str = ""
    field: str = ""
    value: str = ""
    list: str = ""
    item: str = ""
    status: str = ""
    history: str = ""
    start: str = ""
    end: str = ""
    patch: str = ""


NAMES = tuple(part.name for part in fields(Op))


def check(op: Op) -> Op:
    """Whether the op is one we know and has what it needs; whether it can be done shows only when it is tried."""
    if op.op not in KINDS:
        raise invalid("ops", f"{shorten(op.op, 40)!r} is not an operation", f"Use one of {', '.join(KINDS)}.")
    missing = [name for name in KINDS[op.op] if not getattr(op, name)]
    if missing:
        raise invalid("ops", f"{op.op} needs {' and '.join(missing)}", kind="missing_required")
    if op.file:
        check_file(op.file)
    return op


def check_file(path: str) -> str:
    """A Markdown file of the workspace that proposals may change."""
    parts = path.split("/")
    if not _FILE.fullmatch(path) or ".." in parts or parts[0] not in FOLDERS or path.startswith(_CLOSED):
        raise invalid(
            "file",
            f"{shorten(path, 80)!r} is not a memory file that a proposal may change",
            "Use a relative path such as decisions/DECISIONS.md.",
        )
    return path


def printed(ops: list[Op]) -> list[str]:
    """The ops as items of a block's `Ops` field."""
    return ["\n".join(_printed(name, getattr(op, name)) for name in NAMES if getattr(op, name)) for op in ops]


def _printed(name: str, value: str) -> str:
    if "\n" not in value and value == value.strip() and not value.startswith("|"):
        return f"{name}: {value}"
    return "\n".join([f"{name}: |", *(f"  {line}" if line else "" for line in value.split("\n"))])


def read(value: Value | None) -> list[Op]:
    """The ops of a proposal block, as a person or we wrote them."""
    if not isinstance(value, list) or not value:
        raise ClewError("CONFLICT", "the proposal holds no operations", "Write at least one item under Ops.")
    return [check(_read(item)) for item in value]


def _read(item: str) -> Op:
    found: dict[str, str] = {}
    literal: str | None = None
    for line in item.split("\n"):
        if literal is not None and (not line.strip() or line.startswith("  ")):
            found[literal] += line[2:] + "\n"
            continue
        literal = None
        match = _LINE.match(line.strip())
        if not match:
            raise invalid("ops", f"cannot read {shorten(line, 60)!r}; write `key: value`")
        name, text = match.group(1), (match.group(2) or "").strip()
        name = {"new_block": "patch"}.get(name, name)
        if name == "range" and not text:
            continue  # its start and end follow, indented
        if name not in NAMES:
            raise invalid("ops", f"{name!r} is not a part of an operation", f"Known parts: {', '.join(NAMES)}.")
        found[name] = "" if text == "|" else text
        literal = name if text == "|" else None
    return Op(**{"op": "", **{name: text.rstrip("\n") for name, text in found.items()}})


def fingerprint(type: str, target: str, ops: list[Op]) -> str:
    """A digest of everything the proposal would do."""
    whole = {"type": type, "target": target, "ops": [asdict(op) for op in ops]}
    return sha256_hex(canonical(whole), 16)
