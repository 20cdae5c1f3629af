"""The MCP resources of the ledger: guides, sessions, thoughts, patterns and notes by address."""

from __future__ import annotations

from clew.canonical import Json, canonical
from clew.clock import iso_millis
from clew.errors import ClewError
from clew.ledger.chains import MAIN, Point, chains_of, no_thought, seq_of
from clew.ledger.cipher import KINDS, kind_letter
from clew.ledger.exchange.session_documents import export_markdown
from clew.ledger.garden import note_named, pattern_named, patterns_beginning
from clew.ledger.guides import guide
from clew.ledger.inputs import NoInput
from clew.ledger.knowledge import knowledge_stats
from clew.ledger.session_operations import branches_json
from clew.ledger.sessions import (
    SessionQuery,
    find_sessions,
    session_ids,
    session_json,
    session_named,
    tags_beginning,
)
from clew.ledger.thought_links import pointing_at
from clew.ledger.thought_rows import Thought, thoughts_where
from clew.registry.budget import LARGEST
from clew.registry.context import Context
from clew.registry.resource import Completer, resource
from clew.store.database import placeholders

JSON = "application/json"
MOST = 500


def complete_session_id(ctx: Context, value: str) -> list[str]:
    return session_ids(ctx, value)


def complete_kind(ctx: Context, value: str) -> list[str]:
    return [letter for letter, word in KINDS.items() if value.upper() in ("", letter) or word.startswith(value.lower())]


def complete_pattern(ctx: Context, value: str) -> list[str]:
    return [item.id for item in patterns_beginning(ctx, value)]


def complete_tag(ctx: Context, value: str) -> list[str]:
    return tags_beginning(ctx, value)


SESSION: dict[str, Completer] = {"sessionId": complete_session_id}


@resource("thoughtbox://init", name="init", title="Starting a thought session")
def init_guide(ctx: Context) -> str:
    """How to start or load a session, and what each stage opens."""
    return guide("init")


@resource("thoughtbox://architecture", name="architecture", title="How the ledger is built")
def architecture_guide(ctx: Context) -> str:
    """What sessions, chains and thoughts are, and how they are kept."""
    return guide("architecture")


@resource("thoughtbox://cipher", name="cipher", title="Cipher notation")
def cipher_guide(ctx: Context) -> str:
    """The short notation for thoughts: types, references, operators, confidence."""
    return guide("cipher")


@resource("thoughtbox://patterns-cookbook", name="patterns-cookbook", title="Cookbook of reasoning patterns")
def cookbook_guide(ctx: Context) -> str:
    """Six ways to use a chain of thoughts, with the calls that make them."""
    return guide("patterns-cookbook")


@resource("thoughtbox://session-analysis-guide", name="session-analysis-guide", title="Reading a session's analysis")
def analysis_guide(ctx: Context) -> str:
    """What the figures of an analysis mean and when to look closer."""
    return guide("session-analysis-guide")


@resource("thoughtbox://guidance/parallel-verification", name="parallel-verification", title="Parallel verification")
def verification_guide(ctx: Context) -> str:
    """How to test rival explanations on branches and bring the result back."""
    return guide("parallel-verification")


@resource("thoughtbox://knowledge/stats", name="knowledge-stats", title="Knowledge zone in figures", mime_type=JSON)
def stats(ctx: Context) -> str:
    """How many patterns and scratchpad notes there are."""
    return canonical(knowledge_stats(ctx, NoInput()))


@resource(
    "thoughtbox://knowledge/patterns/{id}", name="pattern", title="A pattern", completers={"id": complete_pattern}
)
def pattern(ctx: Context, id: str) -> str:
    """A pattern of the knowledge zone in Markdown."""
    found = pattern_named(ctx, id)
    return f"# {found.title}\n\n{found.description}\n\n{found.content}\n"


@resource("thoughtbox://knowledge/scratchpad/{id}", name="scratchpad-note", title="A scratchpad note")
def scratchpad_note(ctx: Context, id: str) -> str:
    """A note of the scratchpad in Markdown."""
    found = note_named(ctx, id)
    return f"# {found.title}\n\n{found.content}\n"


@resource("thoughtbox://sessions", name="sessions", title="Thought sessions", mime_type=JSON)
def sessions(ctx: Context) -> str:
    """The hundred sessions that changed last."""
    found = find_sessions(ctx, SessionQuery(limit=100))
    return canonical({"sessions": [session_json(item) for item in found.sessions], "total": found.total})


@resource(
    "thoughtbox://sessions/{tag}",
    name="sessions-by-tag",
    title="Thought sessions with a tag",
    mime_type=JSON,
    completers={"tag": complete_tag},
)
def sessions_by_tag(ctx: Context, tag: str) -> str:
    """The hundred sessions with a tag, such as project:acme, that changed last."""
    found = find_sessions(ctx, SessionQuery((tag,), limit=100))
    return canonical({"tag": tag, "sessions": [session_json(item) for item in found.sessions], "total": found.total})


@resource(
    "thoughtbox://session/{sessionId}", name="session", title="A thought session", mime_type=JSON, completers=SESSION
)
def session(ctx: Context, sessionId: str) -> str:
    """A session's title, tags, figures and branches."""
    found = session_named(ctx, sessionId)
    return canonical({"session": session_json(found), "branches": branches_json(chains_of(ctx, found.id, limit=MOST))})


@resource(
    "thoughtbox://session/{sessionId}/markdown", name="session-text", title="A session as Markdown", completers=SESSION
)
def session_text(ctx: Context, sessionId: str) -> str:
    """A session with all its branches, to read."""
    text = export_markdown(ctx, session_named(ctx, sessionId), marks=False)
    return text if len(text) <= LARGEST else f"{text[:LARGEST]}\n\n(cut here; read on with session_get)\n"


@resource(
    "thoughtbox://thoughts/{sessionId}/{type}",
    name="thoughts-by-type",
    title="Thoughts of one kind",
    mime_type=JSON,
    completers={**SESSION, "type": complete_kind},
)
def thoughts_by_type(ctx: Context, sessionId: str, type: str) -> str:
    """The thoughts of a session that are of one kind: H, E, C, Q, R, P, O, A or X."""
    found = session_named(ctx, sessionId)
    letter = kind_letter(type) or ""
    if letter not in KINDS:
        raise ClewError("UNKNOWN_ID", f"unknown type: {type[:20]}", f"Use one of {', '.join(KINDS)}.")
    thoughts = thoughts_where(ctx, "thought.session = ? AND thought.kind = ?", found.id, letter, limit=MOST + 1)
    return queried(found.id, f"type:{letter}", thoughts)


@resource(
    "thoughtbox://thoughts/{sessionId}/range/{start}-{end}",
    name="thoughts-in-range",
    title="Thoughts of a range",
    mime_type=JSON,
    completers=SESSION,
)
def thoughts_in_range(ctx: Context, sessionId: str, start: str, end: str) -> str:
    """The thoughts with numbers from start to end, of all chains."""
    found = session_named(ctx, sessionId)
    low, high = point_of(start).number, point_of(end).number
    thoughts = thoughts_where(
        ctx,
        "thought.session = ? AND thought.number BETWEEN ? AND ?",
        found.id,
        low,
        high,
        order="thought.number, thought.seq",
        limit=MOST + 1,
    )
    return queried(found.id, f"range:{low}-{high}", thoughts)


@resource(
    "thoughtbox://references/{sessionId}/{thoughtNumber}",
    name="references",
    title="What refers to a thought",
    mime_type=JSON,
    completers=SESSION,
)
def references(ctx: Context, sessionId: str, thoughtNumber: str) -> str:
    """The thoughts that point at one, with any link; a thought of a branch is written branch:number."""
    found = session_named(ctx, sessionId)
    point = point_of(thoughtNumber)
    pointing = pointing_at(ctx, [_seq(ctx, found.id, point)], MOST)
    return queried(found.id, f"references:{point.short}", _thoughts(ctx, pointing))


@resource(
    "thoughtbox://revisions/{sessionId}/{thoughtNumber}",
    name="revisions",
    title="Revisions of a thought",
    mime_type=JSON,
    completers=SESSION,
)
def revisions(ctx: Context, sessionId: str, thoughtNumber: str) -> str:
    """The thoughts that revise one, and those that revise these."""
    found = session_named(ctx, sessionId)
    point = point_of(thoughtNumber)
    known: set[int] = set()
    newest = {_seq(ctx, found.id, point)}
    # Breadth first with `known` subtracted, so that a cycle of revisions ends.
    while newest and len(known) <= MOST:
        newest = pointing_at(ctx, sorted(newest)[:MOST], MOST, "revises") - known
        known |= newest
    return queried(found.id, f"revisions:{point.short}", _thoughts(ctx, known))


def point_of(text: str) -> Point:
    """Parse `4`, `S4`, `alt:4` or `alt:S4`."""
    chain, _, number = text.rpartition(":")
    digits = number.upper().removeprefix("S")
    if not digits.isdecimal() or len(digits) > 9:
        raise ClewError("THOUGHT_NOT_FOUND", f"{text[:40]!r} is not the number of a thought", "Write 4 or branch:4.")
    return Point(chain or MAIN, int(digits))


def _seq(ctx: Context, session: str, point: Point) -> int:
    seq = seq_of(ctx, session, point)
    if seq is None:
        raise no_thought(session, point, "thoughtNumber")
    return seq


def _thoughts(ctx: Context, seqs: set[int]) -> list[Thought]:
    chosen = sorted(seqs)[: MOST + 1]
    if not chosen:
        return []
    return thoughts_where(ctx, f"thought.seq IN ({placeholders(len(chosen))})", *chosen, limit=MOST + 1)


def queried(session: str, query: str, found: list[Thought]) -> str:
    """The response of every query resource: the query and the thoughts, at most MOST."""
    shown = found[:MOST]
    result: Json = {
        "sessionId": session,
        "query": query,
        "thoughts": [_brief(thought) for thought in shown],
        "count": len(shown),
        "hasMore": len(found) > len(shown),
    }
    return canonical(result)


def _brief(thought: Thought) -> Json:
    return {
        "thoughtNumber": thought.point.number,
        "thought": thought.text,
        "timestamp": iso_millis(thought.ts_ms),
        "type": thought.kind,
        "isRevision": thought.is_revision,
        "branchId": thought.point.chain or None,
    }
