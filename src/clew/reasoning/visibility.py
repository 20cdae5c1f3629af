"""Visibility: which cards a reader sees by default, decided by tags. It filters views; it is no access control."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

CANON, DRAFT, PINNED = "v:canon", "v:draft", "pinned"
LANE, SHARED_LANE, AGENT_LANE = "lane:", "lane:shared", "lane:agent:"
STEP = "step:"
PUBLISHED = "CARD-PUB-"

SHOWN = "|shown"
"""An index tag of all nodes except drafts, so that a view finds them by an index. No real tag contains a bar."""

CARD_TYPES = ("frame", "hypothesis", "question", "test", "evidence", "decision", "note", "update")
"""The node types that are cards: they are searchable and shown in thinking views."""
CANON_TYPES = frozenset({"decision", "evidence", "test", "hypothesis", "question", "update"})
PROOF_TYPES = frozenset({"decision", "evidence", "test"})
"""Types that count as canonical knowledge of an anchor even without the tag v:canon."""


def default_tags(kind: str, tags: Iterable[str]) -> list[str]:
    """The tags of a new card: its own, a lane, and a visibility if it names none."""
    own = set(tags)
    lanes = [tag for tag in own if tag.startswith(LANE)]
    if not own & {CANON, DRAFT}:
        # In older workflows an agent's own lane means draft.
        private = any(lane.startswith(AGENT_LANE) for lane in lanes)
        own.add(CANON if kind in CANON_TYPES and not private else DRAFT)
    if not lanes:
        own.add(SHARED_LANE)
    return sorted(own)


def is_derived(tag: str) -> bool:
    """Whether the system or a later operation sets this tag, so that it is not part of the card's content."""
    return tag in {CANON, DRAFT, PINNED} or tag.startswith((LANE, STEP))


def is_pinned(tags: Sequence[str]) -> bool:
    return PINNED in tags


def is_draft(tags: Sequence[str]) -> bool:
    """Whether tags mark a draft: by v:draft, or by an agent's own lane as in older workflows."""
    if DRAFT in tags:
        return True
    return CANON not in tags and any(tag.startswith(AGENT_LANE) for tag in tags)


def is_shown(tags: Sequence[str]) -> bool:
    """Whether a reader who did not ask for drafts sees a card with these tags."""
    return is_pinned(tags) or not is_draft(tags)


def filed_tags(tags: Sequence[str]) -> list[str]:
    """The tags under which a node is indexed."""
    return [*tags, SHOWN] if is_shown(tags) else list(tags)


def is_canonical(kind: str, tags: Sequence[str]) -> bool:
    """Whether a card is canonical: an anchor shows it by default, and it registers its anchor automatically."""
    return is_pinned(tags) or (not is_draft(tags) and (CANON in tags or kind in PROOF_TYPES))


def lane_of(tags: Sequence[str]) -> str:
    """The lane of a card: `shared`, or `agent:<id>` in older workflows."""
    for tag in tags:
        if tag.startswith(AGENT_LANE):
            return tag.removeprefix(LANE)
    return "shared"
