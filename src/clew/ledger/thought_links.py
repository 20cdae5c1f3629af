"""What a thought points at: references of the cipher become typed links, and typed links become edges of the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from clew.errors import shorten
from clew.ledger.chains import Chain, Point, resolve_all, seq_of
from clew.ledger.cipher import MARKS, CipherReading, Reference
from clew.ledger.sessions import LedgerSession, branch_name
from clew.reasoning.branches import Branch
from clew.reasoning.documents import GRAPH
from clew.reasoning.graph import node, put_edge, put_node
from clew.reasoning.graph.writes import write_node
from clew.registry.context import Context

MAX_RANGE = 200
REFERS = "refers"
"""A mention. The other relations say what the mention means."""

_BY_KIND = {"X": "contradicts", "E": "supports"}


@dataclass(frozen=True, slots=True)
class ThoughtLink:
    relation: str
    point: Point
    seq: int


@dataclass(frozen=True, slots=True)
class ThoughtLinks:
    links: tuple[ThoughtLink, ...]
    unresolved: tuple[str, ...]
    """References to thoughts that do not exist, as they were written."""


def find_links(
    ctx: Context, session: LedgerSession, chain: Chain, kind: str | None, reading: CipherReading, revised: Point | None
) -> ThoughtLinks:
    """What the references of a thought mean, before it is written: so that it cannot mean itself."""
    links: dict[tuple[str, Point], ThoughtLink] = {}
    missing: list[str] = []
    if revised is not None:
        links["revises", revised] = ThoughtLink("revises", revised, _seq(ctx, session, revised))
    known = _numbered(ctx, session, chain, reading)
    for reference in reading.references:
        targets = _targets(ctx, session, known, reference)
        if not targets:
            missing.append(str(reference))
        for point, seq in targets:
            relation = relation_of(kind, reading, reference)
            # A revision refers to what it revises anyway; a second link to it would say less and count twice.
            if ("revises", point) not in links:
                links.setdefault((relation, point), ThoughtLink(relation, point, seq))
    return ThoughtLinks(tuple(links.values()), tuple(missing))


def write_links(
    ctx: Context, session: LedgerSession, point: Point, kind: str | None, seq: int, linked: ThoughtLinks
) -> list[Mark]:
    """Store the links of a new thought and draw their edges; what their targets are marked with."""
    marks = []
    for link in linked.links:
        ctx.tx.run(
            "INSERT INTO thought_link (workspace, from_seq, relation, to_seq) VALUES (?, ?, ?, ?)",
            ctx.workspace,
            seq,
            link.relation,
            link.seq,
        )
        if link.relation != REFERS:
            link_nodes(ctx, session, point, link.relation, link.point)
        marks.append(mark_target(ctx, session, link.point, link.relation, kind))
    return [mark for mark in marks if mark is not None]


def _seq(ctx: Context, session: LedgerSession, point: Point) -> int:
    found = seq_of(ctx, session.id, point)
    assert found is not None, f"{point} was found a moment ago"
    return found


def relation_of(kind: str | None, reading: CipherReading, reference: Reference) -> str:
    """By the mark before the reference; in the reference field else by the thought's kind."""
    if reference.mark:
        return MARKS[reference.mark]
    if reference.inline:
        return REFERS
    if reference == reading.revises:
        return "revises"
    return _BY_KIND.get(kind or "", "derives")


Known = dict[int, tuple[Point, int]]


def _numbered(ctx: Context, session: LedgerSession, chain: Chain, reading: CipherReading) -> Known:
    """All that the references name by number, read at once."""
    wanted = {number for item in reading.references if item.target == "S" for number in _span(item)}
    return resolve_all(ctx, session.id, chain, wanted) if wanted else {}


def _span(reference: Reference) -> range:
    # Cut at MAX_RANGE: `S1-S999999999` would be read, resolved and linked one by one.
    last = reference.last if reference.last is not None else reference.number
    return range(reference.number, min(last, reference.number + MAX_RANGE - 1) + 1)


def _targets(ctx: Context, session: LedgerSession, known: Known, reference: Reference) -> list[tuple[Point, int]]:
    if reference.target != "S":
        return _nth_of_kind(ctx, session, reference.target, reference.number)
    return [known[number] for number in _span(reference) if number in known]


def _nth_of_kind(ctx: Context, session: LedgerSession, kind: str, number: int) -> list[tuple[Point, int]]:
    """`H2` is the session's second hypothesis in the order of writing."""
    row: dict[str, Any] | None = ctx.tx.one(
        "SELECT chain, number, seq FROM thought WHERE workspace = ? AND session = ? AND kind = ? ORDER BY seq"
        " LIMIT 1 OFFSET ?",
        ctx.workspace,
        session.id,
        kind,
        # OFFSET counts from 0 and the cipher from 1; `H0` is read as H1.
        max(number, 1) - 1,
    )
    return [(Point(row["chain"], row["number"]), row["seq"])] if row else []


TITLE = 160

CARD_TYPE = {"H": "hypothesis", "E": "evidence", "C": "decision", "Q": "question", "R": "update", "X": "update"}
"""The card that the reasoning engine takes a thought for; the others are notes."""


class Mark(NamedTuple):
    """An item, and the status that it gets."""

    ref: str
    status: str


def node_id(session: str, point: Point) -> str:
    """The seed's id on the main line; three parts on a branch."""
    return f"{session}:{point.chain}:{point.number}" if point.chain else f"{session}:{point.number}"


def session_branch(session: LedgerSession) -> Branch:
    return Branch(session.branch, branch_name(session.id), None, None, session.created_at_ms)


def put_thought(ctx: Context, session: LedgerSession, point: Point, kind: str | None, content: str, seq: int) -> None:
    """The text stays in the trace; the card carries its beginning and where to read on."""
    put_node(
        ctx,
        session_branch(session),
        GRAPH,
        id=node_id(session.id, point),
        type=CARD_TYPE.get(kind or "", "note"),
        title=shorten(content.replace("\n", " "), TITLE),
        meta={"kind": kind, "entry": f"trace@{seq}", "thoughtNumber": point.number, "branchId": point.chain or None},
        # The thought has a search item of its own under this id, with the whole text; the card holds only its
        # beginning.
        findable=False,
    )


def link_nodes(ctx: Context, session: LedgerSession, point: Point, relation: str, target: Point) -> None:
    put_edge(ctx, session_branch(session), GRAPH, node_id(session.id, point), relation, node_id(session.id, target))


def mark_target(ctx: Context, session: LedgerSession, target: Point, relation: str, kind: str | None) -> Mark | None:
    """A revised thought becomes superseded, a rejected one disproved: recall and what rests on it can tell."""
    disproved = relation == "contradicts" and kind == "X"
    status = "superseded" if relation == "revises" else "disproved" if disproved else None
    if status is None:
        return None
    return Mark(node_id(session.id, target), status) if set_node_status(ctx, session, target, status) else None


def set_node_status(ctx: Context, session: LedgerSession, point: Point, status: str) -> bool:
    """Give the node of a thought another status; false when it has it already."""
    branch = session_branch(session)
    current = node(ctx, branch, GRAPH, node_id(session.id, point))
    if current is None or current.status == status:
        return False
    write_node(ctx, branch, GRAPH, replace(current, status=status), findable=False)
    return True
