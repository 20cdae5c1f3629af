"""The rules of Mind-Mem's validator. A single fault anywhere keeps that program from applying anything.

Clew needs none of them to work. They are checked if Mind-Mem uses the folder too: a proposal that
breaks one is refused, a decision from `remember` that breaks one is stored where the validator does not
look, and `scan` reports the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.contract import contract_of
from clew.errors import shorten
from clew.memory import blocks
from clew.memory.files import plain_files
from clew.memory.files.directory import CONFIGURATION, root_of
from clew.memory.files.markdown import Value, parse_block
from clew.memory.kinds import KINDS, kind_of, prefix_of
from clew.registry.context import Context

_FORMS = {
    "D": r"D-\d{8}-\d{3}",
    "T": r"T-\d{8}-\d{3}",
    "INC": r"INC-\d{8}-[a-z0-9-]+",
    "PRJ": r"PRJ-[a-z0-9-]+",
    "PER": r"PER-[a-z0-9-]+",
    "TOOL": r"TOOL-[a-z0-9-]+",
}
HOMES: dict[str, re.Pattern[str]] = {KINDS[prefix].file: re.compile(form) for prefix, form in _FORMS.items()}
"""The files whose blocks are checked, each with the pattern of its ids. Only blocks in these files
count as defined."""
FOLDERS = ("decisions/", "tasks/", "entities/", "summaries/")
"""Folders in whose files every id that occurs must be defined, whatever the text around it."""
_NAMED = re.compile(rf"\b(?:{'|'.join(_FORMS.values())})\b")
_REPORTS = "maintenance"
"""The folder that only Mind-Mem writes reports into."""


class Fault(NamedTuple):
    """What the validator refuses in a block."""

    block: str
    problem: str
    """The problem, to be read after the block's name."""
    hint: str
    everywhere: bool = False
    """Whether Clew refuses it in every workspace: a value that is invalid for any program."""

    @property
    def message(self) -> str:
        return f"{self.block} {self.problem}"


class FieldForm(NamedTuple):
    form: re.Pattern[str]
    expected: str
    everywhere: bool = False


_FIELDS: dict[str, dict[str, FieldForm]] = {
    "D": {
        "Scope": FieldForm(re.compile(r"global|(?:project|channel):\S+"), "global, project:x or channel:x", True),
        "Supersedes": FieldForm(re.compile(rf"none|{_FORMS['D']}"), "none or one id such as D-20260213-001"),
        # A list there does not only fail: the validator of 5.0.3 crashes.
        "Tags": FieldForm(re.compile(r".*", re.DOTALL), "one line with commas"),
    },
    "T": {
        "Priority": FieldForm(re.compile(r"P[0-3]"), "P0, P1, P2 or P3", True),
        "Owner": FieldForm(re.compile(r"user|bot"), "user or bot"),
    },
}


def applies(ctx: Context) -> bool:
    """Whether Mind-Mem uses the folder: it created it, a client of it calls, or its reports are there."""
    if contract_of(ctx.connection.toolset).shares_files or made_elsewhere(ctx):
        return True
    root = root_of(ctx)
    return root is not None and (root / _REPORTS).is_dir()


def made_elsewhere(ctx: Context) -> bool:
    """Whether Mind-Mem created the workspace. There a decision gets an id that it accepts, in the file
    that it searches."""
    return plain_files.first_origin(ctx, CONFIGURATION) == "edit"


def faults(id: str, file: str, text: str) -> list[Fault]:
    """The faults of a block by itself. `undefined` checks the ids that it names."""
    fields = parse_block(text).fields
    checked = file in HOMES
    found = [
        _value_fault(id, name, fields[name], rule)
        for name, rule in _FIELDS.get(prefix_of(id), {}).items()
        if fields.get(name) and (checked or rule.everywhere) and not _matches(fields[name], rule)
    ]
    return [*found, *(_form_faults(id, file, fields) if checked else ())]


def _matches(value: Value, rule: FieldForm) -> bool:
    return isinstance(value, str) and rule.form.fullmatch(value) is not None


def _value_fault(id: str, name: str, value: Value, rule: FieldForm) -> Fault:
    said = f"{shorten(value, 60)!r}" if isinstance(value, str) else "a list"
    return Fault(id, f"has {name} {said}, not {rule.expected}", f"Give {name} as {rule.expected}.", rule.everywhere)


def _form_faults(id: str, file: str, fields: dict[str, Value]) -> Iterator[Fault]:
    if not HOMES[file].fullmatch(id):
        form = HOMES[file].pattern
        yield Fault(id, f"is no id for {file}, which takes {form}", "Give the block an id of that form.")
    kind = kind_of(id)
    missing = [name for name in kind.required if not fields.get(name)]
    if missing:
        yield Fault(id, f"lacks {', '.join(missing)}", "Give each a value, `none` where there is nothing to say.")
    status = fields.get("Status")
    if kind.statuses and status and status not in kind.statuses:
        yield Fault(id, f"has status {status!r}, which no {kind.name} has", f"Use {', '.join(kind.statuses)}.")


def names(file: str, text: str) -> set[str]:
    """The ids in a text, if the validator looks for them in this file."""
    if not file.startswith(FOLDERS):
        return set()
    return {name for line in text.split("\n") if not _is_quoted(line) for name in _NAMED.findall(line)}


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(">")


def undefined(ctx: Context, named: Iterable[str]) -> set[str]:
    """Those ids that are not defined in a file where the validator looks for them."""
    wanted = set(named)
    known = blocks.current(ctx, ids=wanted) if wanted else []
    return wanted - {block.id for block in known if block.file in HOMES}


def refused(ctx: Context, id: str, file: str, text: str) -> list[Fault]:
    """All faults of a block that is to be written to a file."""
    missing = undefined(ctx, names(file, text) - {id})
    return [*faults(id, file, text), *(unknown_name(id, name) for name in sorted(missing))]


def unknown_name(id: str, name: str) -> Fault:
    return Fault(
        id,
        f"names {name}, which no block defines; Mind-Mem's validator refuses that",
        f"Name a block that exists, or write it so that it is no id, such as `{name.replace('-', ' ', 1)}`.",
    )


def proposed_by(ctx: Context, id: str) -> str | None:
    """The open proposal that would add a block."""
    sql = (
        "SELECT id, text FROM block WHERE workspace = ? AND prefix = 'P' AND until IS NULL AND gone = 0"
        " AND status IN ('staged', 'deferred') AND text LIKE ? ORDER BY id"
    )
    header = re.compile(rf"^[ \t]*(?:patch: )?\[{re.escape(id)}\]\s*$", re.MULTILINE)
    rows = ctx.tx.all(sql, ctx.workspace, f"%[{id}]%")
    return next((row["id"] for row in rows if header.search(row["text"])), None)


def left_naming(ctx: Context, ids: Iterable[str]) -> dict[str, list[str]]:
    """Of these ids the ones that are no longer defined, each with the blocks that still name it."""
    if not applies(ctx):
        return {}
    sql = "SELECT id, file, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0 AND text LIKE ?"
    found = {}
    for id in sorted(undefined(ctx, (id for id in ids if _NAMED.fullmatch(id)))):
        rows = ctx.tx.all(f"{sql} ORDER BY id", ctx.workspace, f"%{id}%")
        found[id] = [row["id"] for row in rows if id in names(row["file"], row["text"])]
    return {id: naming for id, naming in found.items() if naming}
