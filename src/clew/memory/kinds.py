"""The kinds of blocks (prefix, home file, required fields, statuses), and the headers of their files."""

from __future__ import annotations

from clew.errors import ClewError, invalid, shorten
from clew.ids import ANY_BLOCK, PROPOSAL, RECEIPT_TIME
from clew.kinds.builtin import PROPOSALS_FILE, RECORDED_DECISIONS
from clew.kinds.catalogue import by_prefix, durable_kinds
from clew.kinds.kind import BLOCK, Kind, KindFamily

KINDS: dict[str, Kind] = by_prefix()
UNKNOWN = Kind("unknown", KindFamily.BOOKKEEPING, BLOCK)

PROPOSED_FILES = {
    "decision": "intelligence/proposed/DECISIONS_PROPOSED.md",
    "task": "intelligence/proposed/TASKS_PROPOSED.md",
    "edit": PROPOSALS_FILE,
    "record": PROPOSALS_FILE,
}


def prefix_of(block_id: str) -> str:
    return block_id.partition("-")[0]


def kind_of(block_id: str) -> Kind:
    return KINDS.get(prefix_of(block_id), UNKNOWN)


def check_block_id(value: str, field: str = "block_id") -> str:
    trimmed = value.strip()
    if not ANY_BLOCK.fullmatch(trimmed):
        raise invalid(
            field,
            f"{shorten(value, 60)!r} is not a block id",
            "Use capitals, a hyphen and the rest without blanks, such as D-20260213-001.",
        )
    return trimmed


def check_proposal_id(value: str) -> str:
    if not PROPOSAL.fullmatch(value):
        raise ClewError(
            "INVALID_INPUT",
            f"Invalid proposal ID format: {shorten(value, 60)}. Expected P-YYYYMMDD-NNN.",
            "Give the proposal_id that propose_update returned, or see list_proposals.",
            [{"kind": "pattern", "field": "proposal_id", "expected": "P-YYYYMMDD-NNN"}],
        )
    return value


def check_receipt_ts(value: str) -> str:
    if not RECEIPT_TIME.fullmatch(value):
        raise ClewError(
            "INVALID_INPUT",
            f"Invalid receipt timestamp format: {shorten(value, 60)}. Expected YYYYMMDD-HHMMSS.",
            "Give the receipt_ts that approve_apply returned.",
            [{"kind": "pattern", "field": "receipt_ts", "expected": "YYYYMMDD-HHMMSS"}],
        )
    return value


_HEADINGS: dict[str, tuple[str, Kind]] = {
    **{kind.file: (kind.heading, kind) for kind in KINDS.values() if kind.heading},
    PROPOSED_FILES["decision"]: ("Proposed decisions", KINDS["P"]),
    PROPOSED_FILES["task"]: ("Proposed tasks", KINDS["P"]),
    RECORDED_DECISIONS: ("Decisions that were recorded with remember", KINDS["D"]),
}
_LATER = frozenset(
    {
        KINDS["FACT"].file,
        RECORDED_DECISIONS,
        *(kind.file for kind in durable_kinds() if kind.prefix != "D"),
    }
)
TREE: tuple[str, ...] = tuple(path for path in _HEADINGS if path not in _LATER)
"""Files that a new workspace begins with. The ledger comes with its first fact, the others with their
first block: Clew itself has nothing to put there, and an empty file would suggest otherwise."""


def preamble(file: str) -> str:
    """The first lines of a new file."""
    if file not in _HEADINGS:
        return ""
    heading, kind = _HEADINGS[file]
    lines = [f"# {heading}", "", f"> Blocks begin with an id alone in brackets: [{_example(kind)}]"]
    fields = kind.fields or ", ".join(kind.required)
    if fields:
        lines.append(f"> Fields: {fields}")
    if kind.statuses:
        lines.append(f"> Status: {', '.join(kind.statuses)}")
    return "\n".join([*lines, "", "---", "", ""])


def _example(kind: Kind) -> str:
    numbered = kind.is_durable and kind.prefix != "D"
    return kind.example or f"{kind.prefix}-{'N' if numbered else 'YYYYMMDD-NNN'}"


PRIVATE = "agents/"
ARCHIVED = "_ARCHIVE.md"


def put_away(file: str) -> bool:
    """Whether a file has an agent's private notes or archived blocks: stored, but not part of shared memory."""
    return file.startswith(PRIVATE) or file.endswith(ARCHIVED)


IN_USE = (
    f"substr(file, 1, {len(PRIVATE)}) <> '{PRIVATE}'"
    f" AND substr(file, length(file) - {len(ARCHIVED) - 1}) <> '{ARCHIVED}'"
)
"""The negation in SQL. Used for lists and counts, not to look up ids."""
