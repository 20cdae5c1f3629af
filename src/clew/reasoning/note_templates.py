"""Skeletons for longer notes, always the same for the same goal."""

from __future__ import annotations

from clew.errors import invalid

TEMPLATES: dict[str, tuple[tuple[str, str], ...]] = {
    "initiative": (
        ("Goal", "<fill: what shall be true when this is done>"),
        ("Scope / Non-goals", "<fill: what belongs to it, what does not>"),
        ("Constraints", "<fill: limits that must hold>"),
        ("Success criteria", "<fill: how anyone can tell that it is done>"),
        ("Risks", "<fill: what may go wrong, and the earliest sign of it>"),
        ("Plan", "<fill: the next few steps in order>"),
        ("Evidence", "<fill: what is known, with its source>"),
        ("Open questions", "<fill: what must be found out>"),
        ("Next best action", "<fill: the one thing to do first>"),
    ),
    "decision": (
        ("Context", "<fill: what forces a choice>"),
        ("Options", "<fill: what could be done instead>"),
        ("Decision", "<fill: what is chosen, and the main reason>"),
        ("Consequences", "<fill: what gets easier, what gets harder>"),
    ),
}


def note_from_template(name: str, goal: str | None = None) -> str:
    """The template's headings; the goal stands under the first one."""
    if name not in TEMPLATES:
        known = ", ".join(sorted(TEMPLATES))
        raise invalid("template", f"no template is called {name[:60]!r}", f"Use one of {known}.", kind="choice")
    parts = list(TEMPLATES[name])
    if goal and goal.strip():
        parts[0] = (parts[0][0], goal.strip())
    return "\n\n".join(f"## {heading}\n{body}" for heading, body in parts)
