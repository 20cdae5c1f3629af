"""How each file of the Markdown workspace begins: a title and the fields its blocks carry."""

from __future__ import annotations

from clew.memory.kinds import KINDS, PROPOSED_FILES, Kind

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
}
_LATER = frozenset(
    {
        "intelligence/IMPACT.md",
        "intelligence/BRIEFINGS.md",
        "intelligence/AUDIT.md",
        "shared/intelligence/LEDGER.md",
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
    slugs = {"PRJ": "PRJ-slug", "PER": "PER-slug", "TOOL": "TOOL-slug", "INC": "INC-YYYYMMDD-slug"}
    return slugs.get(kind.prefix, f"{kind.prefix}-YYYYMMDD-NNN")
