"""Three-way merge of one block, field by field: what only one side changed is taken from that side."""

from __future__ import annotations

from dataclasses import dataclass

from clew.memory.files.markdown import Value, parse_block, set_field, without_field
from clew.memory.kinds import kind_of


@dataclass(frozen=True)
class FieldConflict:
    """A field that both sides changed differently: the value that was kept, and the one that was not."""

    field: str
    kept: Value | None
    other: Value | None


def merge_fields(base: str | None, ours: str, theirs: str) -> tuple[str, list[FieldConflict]]:
    """The merged text of a block. If both sides changed a field differently, theirs is kept."""
    before = parse_block(base).fields if base is not None else {}
    sides = (before, parse_block(ours).fields, parse_block(theirs).fields)
    text, conflicts = theirs, []
    for name in dict.fromkeys(name for side in sides for name in side):
        value, loser = _field(parse_block(theirs).id, name, *(side.get(name) for side in sides))
        if loser is not None:
            conflicts.append(FieldConflict(name, value, loser[0]))
        if value != sides[2].get(name):
            text = without_field(text, name) if value is None else set_field(text, name, value)
    return text, conflicts


Loser = tuple[Value | None]


def _field(
    id: str, name: str, base: Value | None, ours: Value | None, theirs: Value | None
) -> tuple[Value | None, Loser | None]:
    """The merged field, and the losing value if both sides changed it differently."""
    if ours == theirs or theirs == base:
        return ours, None
    if ours == base:
        return theirs, None
    if name == "Status":
        return _status(id, ours, theirs), None
    if isinstance(ours, list) and isinstance(theirs, list):
        return _both_lists(base if isinstance(base, list) else [], ours, theirs), None
    return theirs, (ours,)


def _status(id: str, ours: Value | None, theirs: Value | None) -> Value | None:
    """Withdrawing or replacing a record takes precedence over keeping it."""
    is_over = isinstance(ours, str) and kind_of(id).state(ours).is_over
    return ours if is_over else theirs


def _both_lists(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    dropped = {item for item in base if item not in ours or item not in theirs}
    return [item for item in dict.fromkeys([*ours, *theirs]) if item not in dropped]
