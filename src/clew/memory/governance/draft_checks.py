"""Dry run of a proposal's operations on copies, and the checks on the result before it is staged or applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.errors import ClewError
from clew.memory import validator
from clew.memory.files.markdown import HEADER, ParsedBlock, one_line, parse_block, parse_file
from clew.memory.governance.patches import BlockChange, Op, ProposalDraft, check_file, check_place
from clew.memory.kinds import kind_of
from clew.memory.validator import Fault
from clew.registry.context import Context

SHOWN_FAULTS = 3


def drafted(ctx: Context, ops: Sequence[Op]) -> ProposalDraft:
    """A draft with the operations done, after checking each changed block."""
    draft = ProposalDraft(ctx)
    for op in ops:
        draft.run(op)
    return checked(ctx, draft, waiting=True)


def checked(ctx: Context, draft: ProposalDraft, *, waiting: bool = False) -> ProposalDraft:
    """The draft, if each changed block is valid."""
    for change in draft.changes.values():
        _validate(ctx, change)
    refuse(new_faults(ctx, draft, waiting=waiting))
    return draft


def _validate(ctx: Context, change: BlockChange) -> None:
    """Check that the result is one block; that a new one has its kind's fields; that a new status is a known one."""
    check_file(change.file)
    if change.before is None:
        check_place(ctx, change.file)
    parsed = parse_block(change.text)
    kind = kind_of(change.id)
    if not HEADER.match(change.text.split("\n", 1)[0]) or len(parse_file(change.text).parts) != 1:
        raise ClewError("CONFLICT", f"{change.id}: the result is not one block")
    if change.before is None:
        _need(change.id, parsed, kind.required)
    status = one_line(parsed.fields.get("Status"))
    # Only a status that this change sets is checked: a hand edit may have written another one before.
    changed = change.before is None or change.before.status != status
    if changed and status and kind.statuses and status not in kind.statuses:
        raise ClewError(
            "CONFLICT", f"{change.id}: {status!r} is not a status of a {kind.name}", f"Use {', '.join(kind.statuses)}."
        )


def _need(id: str, parsed: ParsedBlock, required: tuple[str, ...]) -> None:
    missing = [name for name in required if name not in parsed.fields]
    if missing:
        raise ClewError("CONFLICT", f"{id} lacks {', '.join(missing)}", "Add the fields to the patch.")
    if parsed.problems:
        line, problem = parsed.problems[0]
        raise ClewError("CONFLICT", f"{id} line {line + 1}: {problem}", "Mend the patch.")


def new_faults(ctx: Context, draft: ProposalDraft, waiting: bool) -> list[Fault]:
    """What Mind-Mem's validator would refuse after the change and did not before it.

    With `waiting`, a block that an open proposal adds may be named already: the two can be applied in that order.
    """
    found = [fault for change in draft.changes.values() for fault in _own_faults(change)]
    named = dict(_new_names(draft))
    # Only queried if it matters: most drafts have no fault, and name nothing.
    if not (named or any(not fault.everywhere for fault in found)) or not validator.applies(ctx):
        return [fault for fault in found if fault.everywhere]
    missing = validator.undefined(ctx, named)
    return [*found, *_unknown_names(ctx, {name: named[name] for name in sorted(missing)}, waiting)]


def _own_faults(change: BlockChange) -> list[Fault]:
    before = change.before
    known = validator.faults(before.id, before.file, before.text) if before else []
    return [fault for fault in validator.faults(change.id, change.file, change.text) if fault not in known]


def _new_names(draft: ProposalDraft) -> Iterator[tuple[str, str]]:
    """Ids that the changed blocks name and did not name before, each with the block that names it."""
    own = {change.id for change in draft.changes.values() if change.file in validator.HOMES}
    for change in draft.changes.values():
        before = change.before
        known = validator.names(before.file, before.text) if before else set()
        for name in sorted(validator.names(change.file, change.text) - known - own):
            yield name, change.id


def _unknown_names(ctx: Context, missing: dict[str, str], waiting: bool) -> Iterator[Fault]:
    for name, id in missing.items():
        proposal = validator.proposed_by(ctx, name)
        if proposal is None:
            yield validator.unknown_name(id, name)
        elif not waiting:
            yield Fault(id, f"names {name}, which {proposal} adds", f"Apply {proposal} first.")


def refuse(found: Sequence[Fault]) -> None:
    if not found:
        return
    raise ClewError(
        "CONFLICT",
        "; ".join(fault.message for fault in found[:SHOWN_FAULTS]),
        " ".join(dict.fromkeys(fault.hint for fault in found[:SHOWN_FAULTS])),
        details={"rule": "validator"},
    )
