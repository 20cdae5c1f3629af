"""A critique of a thought by the client's own model (MCP sampling), requested outside of any transaction.

The thought is stored before the request, so a failure here cannot lose it. On the stateless protocol the call
ends with the request; the client's next round brings the reply and a sealed state that identifies the thought.
"""

from __future__ import annotations

import orjson

from clew.canonical import Json, canonical
from clew.clock import iso_millis
from clew.ledger.chains import Point
from clew.ledger.exchange.imports import storable
from clew.ledger.sessions import LedgerSession
from clew.ledger.thought_rows import Thought, thought_at, thought_by_seq
from clew.registry.connection import InputFailed, InputReply, InputRequest, InputRequired
from clew.registry.context import Context
from clew.secrets import redact_text
from clew.store.workspaces import declare_events

# Timeout for a client's model, and how many earlier thoughts it gets.
SECONDS = 45.0
CONTEXT = 5
KEY = "critique"
MODEL_HINT = "claude-sonnet-4-5-20250929"
INTELLIGENCE, COST = 0.9, 0.3
SYSTEM = (
    "You review one step of someone's reasoning. Say where its logic has gaps, what it assumes without saying so, and"
    " which other explanation deserves a look. Be short, specific and fair."
)
ASK = "Name the weakest point of the current thought, what it takes for granted, and what would prove it wrong."

declare_events({"thought_critiqued": "The client's model was asked for a critique of a thought."})


def critique(ctx: Context, seq: int) -> Json:
    """Ask the model, store the result or the failure, and return it. Raises no error: the thought itself is stored."""
    sampler = ctx.connection.sampler
    if sampler is None:
        missing = {
            "status": "unavailable",
            "code": "SAMPLING_NOT_SUPPORTED",
            "reason": "this client does not let the server ask its model",
        }
        return _keep(ctx, seq, missing)
    with ctx.reading() as bound:
        asked = request(bound, seq)
    try:
        reply = sampler(asked, SECONDS)
    except InputRequired as needed:
        # The client asks its model and calls again; the state identifies the thought in that call.
        raise InputRequired(needed.request, state(ctx, seq)) from None
    except InputFailed as problem:
        return _keep(ctx, seq, {"status": "failed", "reason": str(problem)})
    return _keep(ctx, seq, _ok(reply))


def _ok(reply: InputReply) -> Json:
    if not reply.text.strip():
        return {"status": "failed", "reason": "the client's model answered with nothing"}
    return {"status": "ok", "text": redact_text(storable(reply.text)), "model": storable(reply.model)}


def request(ctx: Context, seq: int) -> InputRequest:
    thought = thought_by_seq(ctx, seq)
    assert thought is not None, f"thought at {seq} was just written"
    before = [f"Thought {item.point.number}: {item.text}" for item in _before(ctx, thought)]
    prompt = "\n\n".join([*before, f"Current Thought: {thought.text}", ASK])
    return InputRequest(KEY, prompt, SYSTEM, 1000, (MODEL_HINT,), INTELLIGENCE, COST, with_context=True)


def _before(ctx: Context, thought: Thought) -> list[Thought]:
    """The thoughts before this one, oldest first; a branch continues before its fork point."""
    found: list[Thought] = []
    at: Point | None = thought.prev
    while at is not None and len(found) < CONTEXT:
        earlier = thought_at(ctx, thought.session, at)
        if earlier is None:
            break
        found.append(earlier)
        at = earlier.prev
    return found[::-1]


def _keep(ctx: Context, seq: int, result: Json) -> Json:
    with ctx.writing() as bound:
        result = {**result, "timestamp": iso_millis(bound.now_ms)}
        bound.tx.run(
            "UPDATE thought SET critique = ? WHERE workspace = ? AND seq = ?", canonical(result), ctx.workspace, seq
        )
        session, number, chain = place_of_thought(bound, seq)
        payload = {"thoughtNumber": number, "branchId": chain or None, "status": result["status"], "seq": seq}
        bound.emit("ledger", "thought_critiqued", session, payload)
    return result


def count(ctx: Context, session: LedgerSession) -> None:
    sql = "UPDATE ledger_session SET critique_count = critique_count + 1 WHERE workspace = ? AND id = ?"
    ctx.tx.run(sql, ctx.workspace, session.id)


def state(ctx: Context, seq: int) -> str:
    return orjson.dumps({"thought": seq, "workspace": ctx.workspace}).decode()


def resumed(ctx: Context) -> int | None:
    """The seq of the thought that an earlier round of this call wrote; None in a first round."""
    if ctx.connection.resume is None:
        return None
    try:
        kept = orjson.loads(ctx.connection.resume)
    except orjson.JSONDecodeError:
        return None
    # The state is sealed against changes, but a client may send it back with a call to another workspace.
    ours = isinstance(kept, dict) and kept.get("workspace") == ctx.workspace
    return kept["thought"] if ours and isinstance(kept.get("thought"), int) else None


def place_of_thought(ctx: Context, seq: int) -> tuple[str, int, str]:
    row = ctx.tx.one("SELECT session, number, chain FROM thought WHERE workspace = ? AND seq = ?", ctx.workspace, seq)
    assert row is not None, f"thought at {seq} was just written"
    return row["session"], row["number"], row["chain"]
