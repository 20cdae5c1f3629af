"""Visibility: which cards a reader sees without asking. A lens over what is stored, never a key into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

CANON, DRAFT, PINNED = "v:canon", "v:draft", "pinned"
LANE, SHARED_LANE, AGENT_LANE = "lane:", "lane:shared", "lane:agent:"
STEP = "step:"
PUBLISHED = "CARD-PUB-"

SHOWN = "|shown"
"""Filed with the tags of what is no draft, so that a view finds it by an index. No tag can hold a bar."""

CARD_TYPES = ("frame", "hypothesis", "question", "test", "evidence", "decision", "note", "update")
"""Node types that are cards: findable by search, shown in thinking views."""
CANON_TYPES = frozenset({"decision", "evidence", "test", "hypothesis", "question", "update"})
PROOF_TYPES = frozenset({"decision", "evidence", "test"})
"""The types that count as canonical knowledge of an anchor even without a visibility tag."""


def default_tags(kind: str, tags: Iterable[str]) -> list[str]:
    """The tags that a new card carries: its own, a lane, and a visibility where it names none."""
    own = set(tags)
    lanes = [tag for tag in own if tag.startswith(LANE)]
    if not own & {CANON, DRAFT}:
        # An agent's own lane is how older workflows say draft.
        private = any(lane.startswith(AGENT_LANE) for lane in lanes)
        own.add(CANON if kind in CANON_TYPES and not private else DRAFT)
    if not lanes:
        own.add(SHARED_LANE)
    return sorted(own)


def is_derived(tag: str) -> bool:
    """Tags that the system or a later act puts on a card, so that they say nothing about its content."""
    return tag in {CANON, DRAFT, PINNED} or tag.startswith((LANE, STEP))


def is_pinned(tags: Sequence[str]) -> bool:
    return PINNED in tags


def is_draft(tags: Sequence[str]) -> bool:
    """Marked as a draft, or left in an agent's own lane by an older workflow."""
    if DRAFT in tags:
        return True
    return CANON not in tags and any(tag.startswith(AGENT_LANE) for tag in tags)


def is_shown(tags: Sequence[str], step_tag: str | None = None) -> bool:
    """Whether a reader who did not ask for drafts sees the card."""
    return is_pinned(tags) or (step_tag is not None and step_tag in tags) or not is_draft(tags)


def filed_tags(tags: Sequence[str]) -> list[str]:
    """The tags under which a node is filed in the index."""
    return [*tags, SHOWN] if is_shown(tags) else list(tags)


def is_canonical(kind: str, tags: Sequence[str]) -> bool:
    """Knowledge that an anchor shows by default and that registers its anchor by itself."""
    return is_pinned(tags) or (not is_draft(tags) and (CANON in tags or kind in PROOF_TYPES))


def lane_of(tags: Sequence[str]) -> str:
    """`shared`, or `agent:<id>` of the older workflow."""
    for tag in tags:
        if tag.startswith(AGENT_LANE):
            return tag.removeprefix(LANE)
    return "shared"
