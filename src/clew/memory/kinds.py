"""The kinds of blocks (prefix, home file, required fields, statuses), and how their files begin."""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import ClewError, invalid, shorten
from clew.ids import ANY_BLOCK, PROPOSAL, RECEIPT_TIME


@dataclass(frozen=True)
class Kind:
    prefix: str
    name: str
    file: str
    required: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    live: tuple[str, ...] = ("active",)
    """Statuses under which a block counts as active in health figures."""
    searched: bool = True
    searched_as: tuple[str, ...] = ()
    """Statuses under which a block can be found; empty: under any."""
    hidden_as: tuple[str, ...] = ()
    """Statuses under which it cannot."""


_OPEN = ("open", "resolved", "deferred")
_PROPOSED = "intelligence/proposed/EDITS_PROPOSED.md"

STANDING = {
    "R": ("rule", "knowledge/RULES.md"),
    "U": ("preference", "knowledge/PREFERENCES.md"),
    "X": ("rejected", "knowledge/REJECTED.md"),
    "L": ("lesson", "knowledge/LESSONS.md"),
    "F": ("fact", "knowledge/FACTS.md"),
}
"""Prefix of each kind of standing record that is no decision -> its name and file. U is what the user prefers."""
RECORDED_DECISIONS = "knowledge/DECISIONS.md"
"""Where `remember` keeps decisions with short ids, and those that wait: in DECISIONS.md itself Mind-Mem's validator
refuses both, and a single refusal keeps that program from applying anything."""
STANDING_STATUSES = ("active", "proposed", "superseded", "rejected", "retracted")


def _standing() -> tuple[Kind, ...]:
    required = ("Date", "Status", "Statement")
    return tuple(Kind(prefix, name, file, required, STANDING_STATUSES) for prefix, (name, file) in STANDING.items())


_TABLE = (
    Kind(
        "D",
        "decision",
        "decisions/DECISIONS.md",
        ("Date", "Status", "Scope", "Statement", "Rationale", "Supersedes", "Tags", "Sources"),
        ("active", "superseded", "revoked"),
    ),
    Kind(
        "T",
        "task",
        "tasks/TASKS.md",
        (
            *("Date", "Title", "Status", "Priority", "Project", "Due", "Owner"),
            *("Context", "Next", "Dependencies", "Sources", "History"),
        ),
        ("todo", "doing", "blocked", "done", "canceled"),
        ("todo", "doing", "blocked"),
    ),
    *_standing(),
    Kind("PRJ", "project", "entities/projects.md"),
    Kind("PER", "person", "entities/people.md"),
    Kind("TOOL", "tool", "entities/tools.md"),
    Kind(
        "INC",
        "incident",
        "entities/incidents.md",
        ("Date", "Title", "Impact", "Summary", "RootCause", "Fix", "Prevention", "Sources"),
    ),
    Kind("C", "contradiction", "intelligence/CONTRADICTIONS.md", ("Date", "Status"), _OPEN, ("open",)),
    Kind(
        "DREF", "drift", "intelligence/DRIFT.md", ("Date", "Status"), _OPEN, ("open",), searched_as=("open", "deferred")
    ),
    Kind(
        "SIG",
        "signal",
        "intelligence/SIGNALS.md",
        ("Date", "Type", "Source", "Confidence", "Priority", "Status", "Excerpt", "ContentHash"),
        ("pending", "accepted", "rejected", "deferred", "resolved"),
        ("pending",),
        # What came of a signal stands elsewhere; what was rejected should not come back.
        searched_as=("pending",),
    ),
    Kind(
        "P",
        "proposal",
        _PROPOSED,
        ("ProposalId", "Type", "TargetBlock", "Risk", "Evidence", "Rollback", "Ops", "Fingerprint", "Status"),
        ("staged", "applied", "rejected", "deferred", "expired", "rolled_back"),
        ("staged",),
        searched=False,
    ),
    Kind("I", "impact", "intelligence/IMPACT.md", searched=False),
    Kind("B", "briefing", "intelligence/BRIEFINGS.md", searched=False),
    Kind("A", "audit", "intelligence/AUDIT.md", searched=False),
    Kind("AR", "receipt", "intelligence/applied", searched=False),
    Kind("W", "summary", "summaries/weekly"),
    Kind(
        "FACT",
        "fact",
        "shared/intelligence/LEDGER.md",
        live=("pending-review", "accepted"),
        # Shared facts wait for review. Facts that stand elsewhere, such as cards of a talk, are like any other block.
        hidden_as=("pending-review", "rejected"),
    ),
)
KINDS: dict[str, Kind] = {kind.prefix: kind for kind in _TABLE}
UNKNOWN = Kind("", "unknown", "")

PROPOSED_FILES = {
    "decision": "intelligence/proposed/DECISIONS_PROPOSED.md",
    "task": "intelligence/proposed/TASKS_PROPOSED.md",
    "edit": _PROPOSED,
    "record": _PROPOSED,
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


_TITLES = {
    "decisions/DECISIONS.md": ("Decisions", "D"),
    "tasks/TASKS.md": ("Tasks", "T"),
    "entities/projects.md": ("Projects", "PRJ"),
    "entities/people.md": ("People", "PER"),
    "entities/tools.md": ("Tools", "TOOL"),
    "entities/incidents.md": ("Incidents", "INC"),
    "intelligence/CONTRADICTIONS.md": ("Contradictions", "C"),
    "intelligence/DRIFT.md": ("Drift", "DREF"),
    "intelligence/SIGNALS.md": ("Signals that wait for review", "SIG"),
    "intelligence/IMPACT.md": ("Impact", "I"),
    "intelligence/BRIEFINGS.md": ("Briefings", "B"),
    "intelligence/AUDIT.md": ("Audit", "A"),
    PROPOSED_FILES["decision"]: ("Proposed decisions", "P"),
    PROPOSED_FILES["task"]: ("Proposed tasks", "P"),
    PROPOSED_FILES["edit"]: ("Proposed edits", "P"),
    "shared/intelligence/LEDGER.md": ("Facts shared between agents", "FACT"),
    RECORDED_DECISIONS: ("Decisions that were recorded with remember", "D"),
    "knowledge/RULES.md": ("Rules", "R"),
    "knowledge/PREFERENCES.md": ("Preferences of the user", "U"),
    "knowledge/REJECTED.md": ("Rejected alternatives", "X"),
    "knowledge/LESSONS.md": ("Lessons", "L"),
    "knowledge/FACTS.md": ("Facts", "F"),
}
_LATER = frozenset(
    {
        "shared/intelligence/LEDGER.md",
        RECORDED_DECISIONS,
        *(file for _, file in STANDING.values()),
    }
)
TREE: tuple[str, ...] = tuple(path for path in _TITLES if path not in _LATER)
"""Files that a new workspace begins with. The ledger comes with its first fact, the others with a block that somebody
writes: Clew itself has nothing to put there, and an empty file would promise that it had."""

_EXTRA_FIELDS = {
    "PRJ": "Name, Status, Owner, Description, Keywords, Links, Sources",
    "PER": "Name, Role, Context, Sources",
    "TOOL": "Name, Purpose, Status, Sources",
    "FACT": "Date, Source, Confidence, Type, Text, SourceBlock, Status",
    **dict.fromkeys(
        STANDING, "Date, Status, Statement, Title, Rationale, About, Supersedes, RestsOn, ReviewBy, Author"
    ),
}


def preamble(file: str) -> str:
    """The first lines of a file that does not exist yet."""
    if file not in _TITLES:
        return ""
    title, prefix = _TITLES[file]
    kind = KINDS[prefix]
    lines = [f"# {title}", "", f"> Blocks begin with an id alone in brackets: [{_example(kind)}]"]
    fields = _EXTRA_FIELDS.get(prefix, ", ".join(kind.required))
    if fields:
        lines.append(f"> Fields: {fields}")
    if kind.statuses:
        lines.append(f"> Status: {', '.join(kind.statuses)}")
    return "\n".join([*lines, "", "---", "", ""])


def _example(kind: Kind) -> str:
    # Mind-Mem's validator takes `PRJ-slug` for the mention of a project that nobody defined.
    slugs = {"PRJ": "PRJ-<slug>", "PER": "PER-<slug>", "TOOL": "TOOL-<slug>", "INC": "INC-YYYYMMDD-<slug>"}
    usual = f"{kind.prefix}-N" if kind.prefix in STANDING else f"{kind.prefix}-YYYYMMDD-NNN"
    return slugs.get(kind.prefix, usual)


PRIVATE = "agents/"
ARCHIVED = "_ARCHIVE.md"


def put_away(file: str) -> bool:
    """Whether a file holds what an agent keeps for itself, or what was archived: kept, and no part of shared memory."""
    return file.startswith(PRIVATE) or file.endswith(ARCHIVED)


IN_USE = (
    f"substr(file, 1, {len(PRIVATE)}) <> '{PRIVATE}'"
    f" AND substr(file, length(file) - {len(ARCHIVED) - 1}) <> '{ARCHIVED}'"
)
"""The same in SQL, the other way round. Whoever lists or counts blocks asks for it; whoever names an id does not."""
