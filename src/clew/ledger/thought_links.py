"""Links between thoughts: references of the cipher become typed links, and these become edges of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from clew.errors import shorten
from clew.kinds import statuses
from clew.ledger.chains import Chain, Point, resolve_all, seq_of
from clew.ledger.cipher import MARKS, CipherReading, Reference
from clew.ledger.sessions import LedgerSession, branch_name
from clew.reasoning.branches import Branch
from clew.reasoning.documents import GRAPH
from clew.reasoning.graph import node, put_edge, put_node
from clew.reasoning.graph.writes import write_node
from clew.registry.context import Context
from clew.store.database import placeholders

MAX_RANGE = 200
REFERS = "refers"
"""The relation of a plain mention; the other relations are more specific."""

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
    """References to thoughts that do not exist, as written."""


def find_links(
    ctx: Context, session: LedgerSession, chain: Chain, kind: str | None, reading: CipherReading, revised: Point | None
) -> ThoughtLinks:
    """Resolve the references of a thought before it is written, so that it cannot refer to itself."""
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
            # The link `revises` is more specific; a second link to the same thought would count twice.
            if ("revises", point) not in links:
                links.setdefault((relation, point), ThoughtLink(relation, point, seq))
    return ThoughtLinks(tuple(links.values()), tuple(missing))


def write_links(
    ctx: Context, session: LedgerSession, point: Point, kind: str | None, seq: int, linked: ThoughtLinks
) -> list[Mark]:
    """Store the links of a new thought and their graph edges; returns the new statuses of their targets."""
    marks = []
    for link in linked.links:
        sql = "INSERT INTO thought_link (workspace, from_seq, relation, to_seq) VALUES (?, ?, ?, ?)"
        ctx.tx.run(sql, ctx.workspace, seq, link.relation, link.seq)
        # A mention implies nothing about the other thought, so it becomes no edge.
        if link.relation != REFERS:
            link_nodes(ctx, session, point, link.relation, link.point)
        marks.append(mark_target(ctx, session, link.point, link.relation, kind))
    return [mark for mark in marks if mark is not None]


def _seq(ctx: Context, session: LedgerSession, point: Point) -> int:
    found = seq_of(ctx, session.id, point)
    assert found is not None, f"{point} was found a moment ago"
    return found


def relation_of(kind: str | None, reading: CipherReading, reference: Reference) -> str:
    """The relation by the mark before the reference; without a mark, in the reference field, by the thought's kind."""
    if reference.mark:
        return MARKS[reference.mark]
    if reference.inline:
        return REFERS
    if reference == reading.revises:
        return "revises"
    return _BY_KIND.get(kind or "", "derives")


Known = dict[int, tuple[Point, int]]


def _numbered(ctx: Context, session: LedgerSession, chain: Chain, reading: CipherReading) -> Known:
    """All thoughts that the references name by number, resolved at once."""
    wanted = {number for item in reading.references if item.target == "S" for number in _span(item)}
    return resolve_all(ctx, session.id, chain, wanted) if wanted else {}


def _span(reference: Reference) -> range:
    # Limited to MAX_RANGE, because every number of `S1-S999999999` would be resolved and linked.
    last = reference.last if reference.last is not None else reference.number
    return range(reference.number, min(last, reference.number + MAX_RANGE - 1) + 1)


def _targets(ctx: Context, session: LedgerSession, known: Known, reference: Reference) -> list[tuple[Point, int]]:
    if reference.target != "S":
        return _nth_of_kind(ctx, session, reference.target, reference.number)
    return [known[number] for number in _span(reference) if number in known]


def _nth_of_kind(ctx: Context, session: LedgerSession, kind: str, number: int) -> list[tuple[Point, int]]:
    """The n-th thought of a kind: `H2` is the session's second hypothesis in the order of writing."""
    sql = "SELECT chain, number, seq FROM thought WHERE workspace = ? AND session = ? AND kind = ? ORDER BY seq"
    # OFFSET counts from 0, the cipher from 1; `H0` is treated as H1.
    rows = ctx.tx.tuples(f"{sql} LIMIT 1 OFFSET ?", ctx.workspace, session.id, kind, max(number, 1) - 1)
    return [(Point(chain, place), seq) for chain, place, seq in rows]


def pointing_at(ctx: Context, targets: Sequence[int], most: int, relation: str | None = None) -> set[int]:
    """The seqs of thoughts that link to one of these, with any relation or a certain one."""
    only, params = (" AND relation = ?", [relation]) if relation else ("", [])
    sql = f"SELECT DISTINCT from_seq FROM thought_link WHERE workspace = ? AND to_seq IN ({placeholders(len(targets))})"
    rows = ctx.tx.tuples(f"{sql}{only} ORDER BY from_seq LIMIT ?", ctx.workspace, *targets, *params, most + 1)
    return {row[0] for row in rows}


TITLE = 160

CARD_TYPE = {"H": "hypothesis", "E": "evidence", "C": "decision", "Q": "question", "R": "update", "X": "update"}
"""The card type under which the reasoning engine sees a thought; other kinds are notes."""


class Mark(NamedTuple):
    """A search item and its new status."""

    ref: str
    status: str


def node_id(session: str, point: Point) -> str:
    """The id of a thought: session:number as in the seed, session:branch:number on a branch."""
    return f"{session}:{point.chain}:{point.number}" if point.chain else f"{session}:{point.number}"


def session_branch(session: LedgerSession) -> Branch:
    return Branch(session.branch, branch_name(session.id), None, None, session.created_at_ms)


def put_thought(ctx: Context, session: LedgerSession, point: Point, kind: str | None, content: str, seq: int) -> None:
    """Write the graph node of a thought: the beginning of the text, and the entry with all of it."""
    put_node(
        ctx,
        session_branch(session),
        GRAPH,
        id=node_id(session.id, point),
        type=CARD_TYPE.get(kind or "", "note"),
        title=shorten(content.replace("\n", " "), TITLE),
        meta={"kind": kind, "entry": f"trace@{seq}", "thoughtNumber": point.number, "branchId": point.chain or None},
        # The thought has its own search item under this id, with the whole text; the node has only the beginning.
        findable=False,
    )


def link_nodes(ctx: Context, session: LedgerSession, point: Point, relation: str, target: Point) -> None:
    put_edge(ctx, session_branch(session), GRAPH, node_id(session.id, point), relation, node_id(session.id, target))


def mark_target(ctx: Context, session: LedgerSession, target: Point, relation: str, kind: str | None) -> Mark | None:
    """Mark a revised thought as superseded and a rejected one as disproved, for recall and for suspects."""
    disproved = relation == "contradicts" and kind == "X"
    status = statuses.SUPERSEDED if relation == "revises" else statuses.DISPROVED if disproved else None
    if status is None:
        return None
    return Mark(node_id(session.id, target), status) if set_node_status(ctx, session, target, status) else None


def set_node_status(ctx: Context, session: LedgerSession, point: Point, status: str | None) -> bool:
    """Set the status of a thought's node; False if it has that status already."""
    branch = session_branch(session)
    current = node(ctx, branch, GRAPH, node_id(session.id, point))
    if current is None or current.status == status:
        return False
    write_node(ctx, branch, GRAPH, replace(current, status=status), findable=False)
    return True
