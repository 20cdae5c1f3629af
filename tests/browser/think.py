"""How the browser tests write thoughts."""

from __future__ import annotations

from tests.conftest import Caller


def start(agent: Caller, title: str) -> str:
    session: str = agent("start_new", title=title)["sessionId"]
    return session


def think(agent: Caller, session: str, thought: str, **more: object) -> None:
    agent("thought", thought=thought, nextThoughtNeeded=True, sessionId=session, **more)


def think_many(agent: Caller, session: str, texts: list[str], space: str = "ws", who: str | None = None) -> None:
    """One after the other in a single transaction: much faster than as many calls, and the same to whoever reads."""
    from clew.ledger.sessions import session_named
    from clew.ledger.thought_record import ThoughtDraft, record
    from clew.registry.context import Context

    with Context(agent.clew.dispatcher, agent.session, space, who).writing() as ctx:
        for text in texts:
            record(ctx, session_named(ctx, session), ThoughtDraft(text))
