"""Contradictions as blocks: one entry per pair of records, in `intelligence/CONTRADICTIONS.md`.

An entry is open while both sides hold and conflict, and resolved as soon as they do not; a person may
defer it. The file, `scan`, `list_contradictions`, the Inbox and the resource read the same blocks, so
they agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.ids import MENTIONED
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions import verdicts
from clew.memory.contradictions.assertions import COMPARED, Assertion, is_settled, live
from clew.memory.contradictions.judgement import graded, ordered
from clew.memory.contradictions.signatures import conflict
from clew.memory.files.markdown import listed, set_field
from clew.memory.kinds import prefix_of
from clew.registry.context import Context

if TYPE_CHECKING:
    from clew.memory.scan import ScanReport

PREFIX = "C"
ORIGIN = "contradictions"
SOURCE = "clew"
MAKER = "scan"
"""The author of proposals that resolve contradictions."""
HIGH = 0.85
"""Confidence threshold from which a contradiction between plain statements is severe."""


@dataclass(frozen=True, slots=True)
class Found:
    """A certain contradiction."""

    first: str
    second: str
    severity: str
    kind: str
    reason: str
    confidence: float


def contradiction(one: Assertion, other: Assertion, odds: verdicts.Odds) -> Found | None:
    """Whether two live records certainly contradict each other, as far as there is a verdict."""
    one, other = sorted((one, other), key=lambda assertion: assertion.id)
    if not one.may_meet(other):
        return None
    return _exact(one, other) or _plain(one, other, odds)


def _exact(one: Assertion, other: Assertion) -> Found | None:
    found = [clash for a in one.signatures for b in other.signatures if (clash := conflict(a, b)) is not None]
    if not found:
        return None
    worst = max(found, key=lambda item: item.confidence)
    return Found(one.id, other.id, worst.severity, "signatures", worst.reason, worst.confidence)


def _plain(one: Assertion, other: Assertion, odds: verdicts.Odds) -> Found | None:
    pair = ordered(one.pair(other))
    clash = graded(one.pair(other), odds[pair]) if pair in odds else None
    if clash is None or not clash.sure:
        return None
    severity = "high" if clash.confidence >= HIGH else "medium"
    return Found(one.id, other.id, severity, "statements", clash.reason, clash.confidence)


def objects(block: Block) -> tuple[str, ...]:
    """The records that an entry is about; one written by hand may name them in a sentence only."""
    said = f"{block.get('Statement')} {block.get('Evidence')}"
    named = listed(block.fields.get("Objects")) or MENTIONED.findall(said)
    return tuple(sorted({item for item in named if prefix_of(item) in COMPARED}))


def _ours(entry: Block) -> bool:
    """Whether Clew created the entry. One of a person or of Mind-Mem stays open as long as both sides hold."""
    return SOURCE in listed(entry.fields.get("Sources"))


def enter(ctx: Context, contradictions: Iterable[Found]) -> None:
    """Write an entry for each pair that has none, and reopen existing ones."""
    wanted = list(contradictions)
    known = {objects(block): block for block in blocks.current(ctx, prefix=PREFIX)} if wanted else {}
    for found in wanted:
        pair = (found.first, found.second)
        old = known.get(pair)
        if old is None:
            id = blocks.dated_id(ctx, PREFIX)
            known[pair] = blocks.write(ctx, id, _text(id, blocks.day_of(ctx.now_ms), found), origin=ORIGIN)
        elif old.status == statuses.RESOLVED:
            text = set_field(set_field(old.text, "Status", statuses.OPEN), "Resolution", "none")
            known[pair] = blocks.write(ctx, old.id, text, origin=ORIGIN)


def _text(id: str, day: str, found: Found) -> str:
    return "\n".join(
        (
            f"[{id}]",
            f"Date: {day}",
            f"Severity: {found.severity}",
            f"Type: {found.kind}",
            f"Statement: {found.first} and {found.second} contradict: {found.reason}",
            "Objects:",
            f"- {found.first}",
            f"- {found.second}",
            f"Confidence: {found.confidence}",
            f"Evidence: {found.reason}",
            "ProposedFix: supersede or revoke one of them, or narrow its scope",
            "Status: open",
            "Resolution: none",
            "Sources:",
            f"- {SOURCE}",
        )
    )


def settle(ctx: Context, touched: set[str] | None) -> None:
    """Resolve entries whose sides no longer conflict; all of them, or those of certain decisions."""
    over = endings(ctx, touched)
    for ending in over:
        _resolve(ctx, ending.entry, ending.why)
    _withdraw(ctx, {ending.entry.id for ending in over if not ending.is_twin})


@dataclass(frozen=True, slots=True)
class Ending:
    """An entry to close, and why; a twin is one of two entries about the same pair."""

    entry: Block
    why: str
    is_twin: bool = False


def open_about(ctx: Context, touched: set[str] | None) -> list[Block]:
    """The entries that are not resolved; all of them, or those about certain records."""
    entries = blocks.current(ctx, prefix=PREFIX, status=(statuses.OPEN, statuses.DEFERRED))
    return [item for item in entries if touched is None or touched & set(objects(item))]


def endings(ctx: Context, touched: set[str] | None) -> list[Ending]:
    """The entries that would be resolved now. Reads only."""
    chosen = open_about(ctx, touched)
    ids = [id for item in chosen for id in objects(item)]
    sides = live(ctx, ids) if ids else {}
    first: dict[tuple[str, ...], str] = {}
    found = []
    for entry in sorted(chosen, key=lambda entry: (not _ours(entry), entry.id)):
        pair = objects(entry)
        if len(pair) != 2:
            continue  # written by hand about something else
        held = [sides[id] for id in pair if id in sides]
        if len(held) < 2 or (_ours(entry) and not _still_clash(ctx, entry, *held)):
            found.append(Ending(entry, f"no longer so on {blocks.day_of(ctx.now_ms)}"))
        elif first.setdefault(pair, entry.id) != entry.id:
            found.append(Ending(entry, f"the same pair as {first[pair]}", is_twin=True))
    return found


def _still_clash(ctx: Context, entry: Block, one: Assertion, other: Assertion) -> bool:
    """Whether two sides still conflict. They do while neither was written since the entry was, and
    until the model has compared their current statements."""
    if max(one.block.seq, other.block.seq) < entry.seq:
        return not is_settled(one.block, other.block)
    odds = verdicts.known(ctx, [one.pair(other)])
    if not odds and one.may_meet(other) and not (one.signatures and other.signatures):
        return True
    return contradiction(one, other, odds) is not None


def _resolve(ctx: Context, entry: Block, why: str) -> None:
    text = set_field(set_field(entry.text, "Status", statuses.RESOLVED), "Resolution", why)
    blocks.write(ctx, entry.id, text, origin=ORIGIN)


def _withdraw(ctx: Context, entries: set[str]) -> None:
    """Withdraw proposals that a scan made to resolve a contradiction which ended: applied later they would do harm."""
    for proposal in blocks.current(ctx, prefix="P", status=statuses.STAGED) if entries else []:
        ended = entries.intersection(listed(proposal.fields.get("Evidence")))
        if ended and proposal.get("ProposedBy") == MAKER:
            text = set_field(proposal.text, "Status", statuses.EXPIRED)
            text = set_field(text, "Reason", f"{min(ended)} is resolved")
            blocks.write(ctx, proposal.id, text, origin=ORIGIN)


def check(ctx: Context, report: ScanReport) -> None:
    """For `scan`: close entries that no longer hold and report the open ones."""
    settle(ctx, None)
    for entry in blocks.current(ctx, prefix=PREFIX, status=statuses.OPEN):
        report.find("contradiction", entry.get("Statement"), block_id=entry.id)
