"""A session as a document: linked JSON that can be imported again, Markdown, or cipher lines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from clew.clock import rfc3339
from clew.ledger.chains import Point, chains_of
from clew.ledger.crossreferences import cross_references
from clew.ledger.nodes import node_id
from clew.ledger.revisions import Revisions
from clew.ledger.rows import Thought, every_thought
from clew.ledger.sessions import LedgerSession, session_json
from clew.registry.context import Context

VERSION = "1.0"


def export_json(ctx: Context, session: LedgerSession, resolve_anchors: bool = True) -> dict[str, Any]:
    """The seed's linked export; everything an import needs to make the same session again."""
    thoughts = every_thought(ctx, session.id)
    revisions = Revisions(session.id, thoughts)
    following = followers(thoughts)
    exported: dict[str, Any] = {
        "version": VERSION,
        "session": exported_session(ctx, session),
        "nodes": [node_json(thought, following, revisions) for thought in thoughts],
        "revisionAnalysis": revisions.analysis(),
        "exportedAt": rfc3339(ctx.ws.updated_at_ms),
    }
    if resolve_anchors:
        exported["crossReferences"] = cross_references(ctx, session.id, thoughts)
    return exported


def exported_session(ctx: Context, session: LedgerSession) -> dict[str, Any]:
    labels = {chain.chain: chain.label for chain in chains_of(ctx, session.id) if chain.label}
    return {
        **session.extra,
        **session_json(session),
        "partitionPath": partition(session.created_at_ms),
        **({"critiqueCount": session.critique_count} if session.critique_count else {}),
        **({"branchNames": labels} if labels else {}),
    }


def partition(at_ms: int) -> str:
    """The month a session was started in, as the seed's directories are named."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m")


def followers(thoughts: list[Thought]) -> dict[Point, list[str]]:
    """Node ids that come after each thought, in the order of writing."""
    found: dict[Point, list[str]] = {}
    for thought in thoughts:
        if thought.prev is not None:
            found.setdefault(thought.prev, []).append(thought.node_id)
    return found


def node_json(
    thought: Thought, following: dict[Point, list[str]], revisions: Revisions | None = None
) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": thought.node_id,
        "data": data_json(thought),
        "prev": _id(thought.session, thought.prev),
        "next": following.get(thought.point, []),
        "revisesNode": _id(thought.session, thought.revises),
        "branchOrigin": _id(thought.session, thought.origin),
        "branchId": thought.point.chain or None,
    }
    return node | ({"revisionMetadata": revisions.metadata(thought)} if revisions else {})


def _id(session: str, point: Point | None) -> str | None:
    return node_id(session, point) if point else None


def data_json(thought: Thought) -> dict[str, Any]:
    """The seed's ThoughtData; options that were not given are left out."""
    optional: dict[str, Any] = {
        "isRevision": thought.is_revision or None,
        "revisesThought": thought.revises.number if thought.revises else None,
        "branchFromThought": thought.origin.number if thought.origin else None,
        "branchId": thought.point.chain or None,
        "type": thought.kind,
        "agentId": thought.agent,
        "critique": thought.critique,
    }
    return {
        **thought.extra,
        "thought": thought.text,
        "thoughtNumber": thought.point.number,
        "totalThoughts": thought.total,
        "nextThoughtNeeded": thought.next_needed,
        "timestamp": rfc3339(thought.ts_ms),
        **{name: value for name, value in optional.items() if value is not None},
    }
