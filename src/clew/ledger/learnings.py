"""session_extract_learnings: confirmed and rejected hypotheses and lasting revisions, found by links and kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from clew.canonical import Json, canonical
from clew.clock import iso_millis
from clew.errors import shorten, suggest
from clew.ledger.analysis import Arrow, analysis_of, arrows_of
from clew.ledger.chains import MAIN, Point
from clew.ledger.cipher import read
from clew.ledger.inputs import EXAMPLE, Id, LedgerInput, Number, SessionRef, first_sentence, grouped, slug
from clew.ledger.sessions import LedgerSession, session_named
from clew.ledger.thought_rows import Thought, every_thought, thought_at, thoughts_where
from clew.registry.context import Context
from clew.registry.operation import StrictModel
from clew.store.database import placeholders

MOST = 50
QUOTED = 600
MOST_ENDS = 400
"""Maximum number of thoughts that are read one by one; if more have links, all are read at once."""
_CODE = re.compile(r"\w+[._/:]\w+|`[^`]+`|\d+")

Type = Literal["pattern", "anti-pattern", "signal"]
_FOLDER = {"pattern": "patterns", "anti-pattern": "anti-patterns", "signal": "signals"}


@dataclass(frozen=True, slots=True)
class Learning:
    type: Type
    title: str
    lesson: str
    content: str
    sources: tuple[Thought, ...]
    evidence: int = 0

    @property
    def id(self) -> str:
        return f"{self.type}:{self.sources[0].point.short}" if self.sources else self.type


class Shape:
    """A session's thoughts, with a lookup of the links that point at each of them."""

    def __init__(self, thoughts: list[Thought], arrows: list[Arrow]) -> None:
        self.thoughts = thoughts
        self._by_seq = {thought.seq: thought for thought in thoughts}
        self._into: dict[tuple[int, str], list[int]] = {}
        for arrow in arrows:
            self._into.setdefault((arrow.to_seq, arrow.relation), []).append(arrow.from_seq)

    def of_kind(self, kind: str) -> list[Thought]:
        return [thought for thought in self.thoughts if thought.kind == kind]

    def pointing_at(self, thought: Thought, relation: str) -> list[Thought]:
        return [self._by_seq[seq] for seq in self._into.get((thought.seq, relation), []) if seq in self._by_seq]

    def conclusions_on(self, *thoughts: Thought) -> list[Thought]:
        found = {
            later.seq: later
            for thought in thoughts
            for later in self.pointing_at(thought, "derives")
            if later.kind == "C"
        }
        return [found[seq] for seq in sorted(found)]


def found_learnings(ctx: Context, session: LedgerSession) -> list[Learning]:
    arrows = arrows_of(ctx, session)
    shape = Shape(_linked(ctx, session.id, arrows), arrows)
    return [*_confirmations(shape), *_held_revisions(shape), *_rejections(shape), _signal(ctx, session)]


def _linked(ctx: Context, session: str, arrows: list[Arrow]) -> list[Thought]:
    """The thoughts at either end of a link, and those that they revise: no other yields a learning."""
    ends = sorted({seq for arrow in arrows for seq in (arrow.from_seq, arrow.to_seq)})
    if not ends:
        return []
    if len(ends) > MOST_ENDS:
        return every_thought(ctx, session)
    among = f"thought.session = ? AND thought.seq IN ({placeholders(len(ends))})"
    found = thoughts_where(ctx, among, session, *ends, limit=len(ends))
    known = {thought.point for thought in found}
    revised = {thought.revises for thought in found if thought.revises is not None} - known
    firsts = [thought_at(ctx, session, point) for point in sorted(revised)]
    return sorted([*found, *filter(None, firsts)], key=lambda thought: thought.seq)


Parts = list[tuple[str, list[Thought]]]


def _learning(type: Type, lesson: str, thought: Thought, parts: Parts, evidence: int) -> Learning:
    """A learning about one thought. Its sources are all quoted thoughts, with that one first."""
    sources = dict.fromkeys([thought.point, *(item.point for _, items in parts for item in items)])
    quoted = {item.point: item for _, items in parts for item in items}
    text = f"{lesson}: {_quote(thought)}"
    return Learning(type, _title(thought), text, _markdown(text, parts), tuple(quoted[p] for p in sources), evidence)


def _confirmations(shape: Shape) -> Iterator[Learning]:
    """Hypotheses that evidence supports and a conclusion depends on, and that nothing rejected."""
    for thought in shape.of_kind("H"):
        evidence = shape.pointing_at(thought, "supports")
        concluded = shape.conclusions_on(thought, *evidence)
        # All three are needed: support without a conclusion is still open, a conclusion without support is a claim.
        if evidence and concluded and not _fallen(shape, thought):
            parts: Parts = [("Hypothesis", [thought]), ("Evidence", evidence), ("Conclusion", concluded)]
            yield _learning("pattern", "Confirmed", thought, parts, len(evidence))


def _held_revisions(shape: Shape) -> Iterator[Learning]:
    """Revisions that later evidence supports or a conclusion depends on."""
    for thought in shape.thoughts:
        if thought.revises is None or _fallen(shape, thought):
            continue
        evidence, concluded = shape.pointing_at(thought, "supports"), shape.conclusions_on(thought)
        if evidence or concluded:
            first = [item for item in shape.thoughts if item.point == thought.revises]
            parts: Parts = [("First idea", first), ("Revision", [thought]), ("Evidence", evidence)]
            parts.append(("Conclusion", concluded))
            yield _learning("pattern", "The first idea was wrong; what held", thought, parts, len(evidence))


def _rejections(shape: Shape) -> Iterator[Learning]:
    """Rejected thoughts, with the evidence against them."""
    for thought in shape.thoughts:
        against = [item for item in shape.pointing_at(thought, "contradicts") if item.kind == "X"]
        if against:
            parts: Parts = [("Idea", [thought]), ("What showed it", against)]
            yield _learning("anti-pattern", "Looked right and was not", thought, parts, len(against))


def _fallen(shape: Shape, thought: Thought) -> bool:
    revised = shape.pointing_at(thought, "revises")
    return bool(revised) or any(item.kind == "X" for item in shape.pointing_at(thought, "contradicts"))


def _signal(ctx: Context, session: LedgerSession) -> Learning:
    """The session as one line of statistics, by which sessions can be compared."""
    figures = analysis_of(ctx, session)
    line: Json = {
        "timestamp": iso_millis(session.updated_at_ms),
        "session": session.id,
        "signal": "success" if figures["quality"]["isComplete"] else "incomplete",
        "metrics": {
            "thoughts": figures["metadata"]["thoughtCount"],
            "branches": figures["metadata"]["branchCount"],
            "revisions": figures["metadata"]["revisionCount"],
            "duration": figures["metadata"]["duration"],
            "linearityScore": figures["linearity"],
            "critiqueUsage": figures["quality"]["critiqueRequests"],
            "openHypotheses": len(figures["content"]["openHypotheses"]),
        },
    }
    return Learning("signal", session.title, line["signal"], canonical(line), ())


def _quote(thought: Thought) -> str:
    return shorten(" ".join(read(thought.text).content.split()), QUOTED)


def _title(thought: Thought) -> str:
    return first_sentence(read(thought.text).content)


def _markdown(lesson: str, parts: Parts) -> str:
    lines = [f"# {lesson.partition(': ')[2] or lesson}", "", lesson, ""]
    for name, thoughts in parts:
        if thoughts:
            lines += [f"## {name}", *(f"- {item.point.short}: {_quote(item)}" for item in thoughts), ""]
    return "\n".join(lines)


class KeyMoment(StrictModel):
    thoughtNumber: Number
    type: Literal["decision", "pivot", "insight", "revision", "branch"] = "insight"
    branchId: Id | None = None
    significance: Annotated[int | float | str | None, Field(description="Why it matters.")] = None
    summary: Annotated[str | None, Field(max_length=2000, description="What it says, in your words.")] = None


class ExtractLearnings(LedgerInput):
    session_id: SessionRef
    key_moments: Annotated[list[KeyMoment], Field(max_length=MOST, description="Thoughts that matter; they win.")] = []
    target_types: Annotated[
        list[Type], Field(min_length=1, max_length=3, description="Kinds of learning to return.")
    ] = [
        "pattern",
        "anti-pattern",
        "signal",
    ]


@grouped("session_extract_learnings", example=EXAMPLE)
def session_extract_learnings(ctx: Context, args: ExtractLearnings) -> Json:
    """Find what a session teaches: what was confirmed, what was rejected, which corrections held."""
    session = session_named(ctx, args.session_id)
    learnings = with_moments(ctx, session, args.key_moments)
    shown = [item for item in learnings if item.type in args.target_types][:MOST]
    result: Json = {
        "sessionId": session.id,
        "extractedCount": len(shown),
        "learnings": [learning_json(session, item) for item in shown],
    }
    if not any(item.sources for item in shown):
        result["note"] = (
            "No hypothesis was confirmed or rejected in the notation. Name keyMoments, or type thoughts as H, E, C, X."
        )
    for item in shown[:1]:
        if item.sources:
            kept = {"sessionId": session.id, "id": item.id}
            ctx.suggest(suggest("knowledge_create_pattern", "Keeps the first one.", "low", fromLearning=kept))
    return result


def with_moments(ctx: Context, session: LedgerSession, moments: list[KeyMoment]) -> list[Learning]:
    """The caller's key moments first, then the learnings that were found about other thoughts."""
    if not moments:
        return found_learnings(ctx, session)
    thoughts = {thought.point: thought for thought in every_thought(ctx, session.id)}
    chosen = []
    for moment in moments:
        thought = thoughts.get(Point(moment.branchId or MAIN, moment.thoughtNumber))
        if thought is None:
            ctx.warn(
                "THOUGHT_NOT_FOUND", f"There is no thought {moment.thoughtNumber} to learn from.", "Check keyMoments."
            )
            continue
        chosen.append(_from_moment(thought, moment, thoughts))
    # A thought that the caller named is not reported a second time.
    named = {item.sources[0].point for item in chosen}
    rest = [item for item in found_learnings(ctx, session) if not item.sources or item.sources[0].point not in named]
    return [*chosen, *rest]


def _from_moment(thought: Thought, moment: KeyMoment, thoughts: dict[Point, Thought]) -> Learning:
    revised = thoughts.get(thought.revises) if thought.revises else None
    wrong = moment.type == "revision"
    why = f" ({moment.significance})" if moment.significance is not None else ""
    lesson = f"{'Corrected' if wrong else moment.type.capitalize()}{why}"
    parts: Parts = [("Before", [revised] if revised else []), ("Thought", [thought])]
    learning = _learning("anti-pattern" if wrong else "pattern", lesson, thought, parts, 0)
    if not moment.summary or not moment.summary.strip():
        return learning
    return replace(learning, content=f"{moment.summary.strip()}\n\n{learning.content}")


def learning_json(session: LedgerSession, item: Learning) -> Json:
    return {
        "id": item.id,
        "type": item.type,
        "title": item.title,
        "content": item.content,
        "targetPath": target_path(session, item),
        "metadata": {
            "sourceSession": session.id,
            "sourceThoughts": [thought.point.number for thought in item.sources],
            "sourceNodes": [thought.node_id for thought in item.sources],
            "extractedAt": iso_millis(session.updated_at_ms),
            "behaviorCharacteristics": _scores(item),
        },
    }


def area(session: LedgerSession) -> str:
    """The subject of the session as a slug: its task, its project or its first plain tag."""
    plain = [tag for tag in session.tags if ":" not in tag]
    return slug(session.work.get("task") or session.work.get("project") or (plain[0] if plain else "")) or "general"


def target_path(session: LedgerSession, item: Learning) -> str:
    if item.type == "signal":
        return f"signals/{area(session)}.jsonl"
    return f"{_FOLDER[item.type]}/{area(session)}/{slug(item.title, 60) or session.id[:8]}.md"


def _scores(item: Learning) -> dict[str, int]:
    """Scores from 1 to 10 by counting: names and numbers make it specific, sources complex, evidence mature."""
    specific = min(10, 2 + len(_CODE.findall(item.lesson)))
    return {
        "specificity": specific,
        "applicability": 11 - specific,
        "complexity": min(10, max(1, len(item.sources))),
        "maturity": min(10, 1 + 2 * item.evidence),
    }
