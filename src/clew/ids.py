"""Every id of the house has its pattern here, and every id and path from outside is checked here before it is used."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from clew.errors import ClewError, Suggestion, invalid, shorten
from clew.kinds import builtin
from clew.kinds.catalogue import by_prefix
from clew.surroundings import expanded

BLOCK_PREFIXES = tuple(by_prefix())
"""What the ids of governed blocks begin with, one for each kind of block."""
_DATED = r"\d{8}-\d{3,}"
_STEPS = r"s:\d{1,6}(\.s:\d{1,6})*"

WORKSPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The author of what a person did. No agent id and no client name can contain the `@`, so agents cannot claim it."""
ANCHOR = re.compile(r"a:[a-z0-9][a-z0-9-]{0,63}")
PLAN = re.compile(builtin.PLAN.form)
TASK = re.compile(builtin.TASK.form)
STEP = re.compile(builtin.STEP.form)
STEP_PATH = re.compile(_STEPS)
NODE_PATH = re.compile(rf"{_STEPS}\.t:\d{{1,6}}")
JOB = re.compile(builtin.JOB.form)
JOB_EVENT = re.compile(rf"({JOB.pattern})@(\d{{1,18}})")
RUNNER = re.compile(r"runner:.+")
DOC_ENTRY = re.compile(r"(.+)@(\d{1,18})")
TRANSCRIPT = re.compile(r"transcript:(.+)@(\d{1,18})")
"""A place in a recorded session: the file below its root, and the byte at which the line starts."""
CARD = re.compile(r"CARD-\d+")
"""Cards that were given no id; a caller may choose any other id for a card."""
CONFLICT = re.compile(r"CONFLICT-[0-9a-f]{32}")
EVENT = re.compile(r"evt_\d{16,}")
SESSION = re.compile(builtin.SESSION.form)
CHAIN = re.compile(r"[a-z0-9-]{1,64}")
NOTEBOOK = re.compile(builtin.NOTEBOOK.form)
BLOCK = re.compile(rf"(?:{'|'.join(BLOCK_PREFIXES)})-[^\]\s]{{1,120}}")
"""A block of a kind that Clew knows."""
ANY_BLOCK = re.compile(r"[A-Z]{1,16}-[^\]\s]{1,120}")
"""What a person may write above a block: its prefix need not be a kind that Clew knows."""
PROPOSAL = re.compile(rf"P-{_DATED}")
CONTRADICTION = re.compile(rf"C-{_DATED}")
RECEIPT = re.compile(builtin.RECEIPT.form)
RECEIPT_TIME = re.compile(r"\d{8}-\d{6}")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")

PATTERNS: dict[str, re.Pattern[str]] = {
    "workspace": WORKSPACE,
    "agent": AGENT,
    "anchor": ANCHOR,
    "plan": PLAN,
    "task": TASK,
    "step": STEP,
    "job": JOB,
    "job_event": JOB_EVENT,
    "runner": RUNNER,
    "transcript": TRANSCRIPT,
    "entry": DOC_ENTRY,
    "card": CARD,
    "conflict": CONFLICT,
    "event": EVENT,
    "session": SESSION,
    "notebook": NOTEBOOK,
    "receipt": RECEIPT,
    "proposal": PROPOSAL,
    "contradiction": CONTRADICTION,
    "block": BLOCK,
}
"""The form of each kind of id, for openers and for the page. Kinds may overlap: a proposal is a block too."""
_TOLD_BY_FORM = (
    *("anchor", "plan", "task", "job", "job_event", "runner", "session", "event", "conflict", "receipt", "notebook"),
    *("block", "transcript", "entry"),
)
"""Kinds that the form of an id identifies, the most specific first: `entry` matches anything that ends in `@7`."""


def kind_by_form(id: str) -> str | None:
    """The kind of an id by its form; None for cards, steps, thoughts and evidence, which only the store knows."""
    # Anchors are written in any case; every other id has one spelling.
    spelled = {"anchor": id.lower()}
    return next((kind for kind in _TOLD_BY_FORM if PATTERNS[kind].fullmatch(spelled.get(kind, id))), None)


# Found by themselves in the text of an item and kept as its links. A change here asks for a rebuilt index.
_BLOCKS_MENTIONED = ("D", "T", "C", "P", "PRJ", "PER", "TOOL", "INC", "SIG", "DREF")
MENTIONED = re.compile(
    rf"\b(?:{PLAN.pattern}|{TASK.pattern}|{JOB.pattern}|{CARD.pattern}|{STEP.pattern}"
    rf"|(?:{'|'.join(_BLOCKS_MENTIONED)})-{_DATED})\b|\b{ANCHOR.pattern}"
)
"""Ids in running text."""


def dated(*prefixes: str) -> re.Pattern[str]:
    """Ids of blocks of these kinds as Clew makes them, with day and number, in running text."""
    return re.compile(rf"\b(?:{'|'.join(prefixes)})-{_DATED}\b")


MAX_NAME = 256
MAX_NODE_ID = 1024
MAX_TYPE = 128


_NUMBERED = re.compile(r"(plan|task|job|rcpt|ev|conflict)-(\d+)", re.IGNORECASE)
_LETTERED = re.compile(r"[a-z]{1,5}-\S+")


def normal_id(value: str) -> str:
    """An id as it is written, from one that nearly is: `task-1` is TASK-001, `d-7` is D-7."""
    plain = value.strip()
    if match := _NUMBERED.fullmatch(plain):
        return f"{match[1].upper()}-{int(match[2]):03d}"
    if plain.upper().startswith("STEP-"):
        return f"STEP-{plain[5:].upper():0>8}"
    return plain.upper() if _LETTERED.fullmatch(plain) else plain


def check_workspace(value: str) -> str:
    if not WORKSPACE.fullmatch(value) or ".." in value or "//" in value or value.endswith("/"):
        raise invalid(
            "workspace",
            f"{shorten(value, 60)!r} is not a workspace id",
            "Use 1 to 128 ASCII letters, digits, '.', '_', '/', '-', starting with a letter or digit,"
            " such as acme/repo.",
        )
    return value


def check_agent(value: str) -> str:
    lowered = value.strip().lower()
    if not AGENT.fullmatch(lowered):
        raise invalid(
            "agent_id",
            f"{shorten(value, 60)!r} is not an agent id",
            "Use 1 to 64 letters, digits, '.', '_', '-', starting with a letter or digit.",
        )
    return lowered


def person_name(given: str) -> str:
    """The name of a person as an author: `Ines Müller` becomes `@ines-muller`."""
    letters = unicodedata.normalize("NFKD", given).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9._-]+", "-", letters).strip("-._")[:62].strip("-._")
    if not name:
        raise invalid("name", f"{shorten(given, 60)!r} has no letters for a name", "Use letters or digits.")
    return f"@{name}"


def is_person(author: str | None) -> bool:
    return bool(author) and str(author).startswith("@")


def check_anchor(value: str, field: str = "anchor") -> str:
    lowered = value.strip().lower()
    if not ANCHOR.fullmatch(lowered):
        raise invalid(
            field,
            f"{shorten(value, 80)!r} is not an anchor id",
            "Use a: and 1 to 64 lower-case letters, digits or '-', such as a:storage.",
            kind="prefix",
            allowed=["a:"],
        )
    return lowered


def chain_like(value: str) -> str:
    """An allowed id for a branch inside a thought session, as near to a name as can be."""
    return re.sub(r"[^a-z0-9]+", "-", value.lower())[:64].strip("-") or "alternative"


def check_chain(value: str) -> str:
    """The id of a branch inside a thought session."""
    if not CHAIN.fullmatch(value):
        raise invalid(
            "branchId",
            f"{shorten(value, 60)!r} is not a branch id",
            f"Use 1 to 64 lower-case letters, digits or '-', such as {chain_like(value)}.",
            kind="pattern",
            pattern=f"^{CHAIN.pattern}$",
        )
    return value


def check_name(value: str, field: str) -> str:
    """Names of branches, documents, tags and the like: any text on one line, trimmed."""
    trimmed = value.strip()
    if not trimmed:
        raise invalid(field, "must not be empty", f"Give {field} a name.", kind="non_empty")
    if len(trimmed) > MAX_NAME or CONTROL.search(trimmed):
        raise invalid(field, f"must be one line of at most {MAX_NAME} characters", kind="length", max_chars=MAX_NAME)
    if ".." in trimmed.split("/"):
        raise invalid(field, "must not contain a '..' part")
    return trimmed


def check_node_id(value: str, field: str = "id") -> str:
    trimmed = value.strip()
    if not trimmed:
        raise invalid(field, "must not be empty", kind="non_empty")
    if len(trimmed.encode("utf-8", "replace")) > MAX_NODE_ID:
        raise invalid(field, f"longer than {MAX_NODE_ID} bytes", kind="length", max_chars=MAX_NODE_ID)
    if "|" in trimmed or CONTROL.search(trimmed):
        raise invalid(field, "must not contain '|' or control characters")
    return trimmed


def check_kind(value: str, field: str) -> str:
    """Node types and edge relations."""
    trimmed = value.strip()
    if not trimmed:
        raise invalid(field, "must not be empty", kind="non_empty")
    if len(trimmed) > MAX_TYPE or "|" in trimmed or CONTROL.search(trimmed):
        raise invalid(field, f"must be at most {MAX_TYPE} characters without '|' or control characters")
    return trimmed


def normal_tags(values: list[str] | tuple[str, ...], field: str = "tags") -> list[str]:
    """Trimmed, lower-cased, without duplicates, sorted."""
    tags = {value.strip().lower() for value in values}
    tags.discard("")
    for tag in tags:
        if "|" in tag or CONTROL.search(tag) or len(tag) > MAX_NAME:
            raise invalid(field, f"{shorten(tag, 60)!r} holds '|', control characters or is too long")
    return sorted(tags)


def real_path(path: Path) -> Path:
    """Where links lead. A link that leads to itself stays as it is; `Path.resolve` raises another error for it in
    some versions of Python."""
    return Path(os.path.realpath(path))


def confined(root: Path, path: str, field: str = "path", suggestions: Sequence[Suggestion] = ()) -> Path:
    """`path` inside `root`, links resolved; anything else is refused. A `~` is the caller's home, never a name."""
    if not path or CONTROL.search(path):
        raise invalid(field, "must be a non-empty path without control characters", None, suggestions)
    try:
        base = root.resolve()
        resolved = (base / (expanded(path) if path == "~" or path.startswith("~/") else path)).resolve()
    except (OSError, RuntimeError) as problem:
        raise ClewError("IO_ERROR", f"{field}: cannot resolve the path: {problem}") from problem
    if resolved != base and base not in resolved.parents:
        said = f"{shorten(path, 120)!r} lies outside {base}"
        raise invalid(field, said, f"Give a path below {base}.", suggestions)
    return resolved
