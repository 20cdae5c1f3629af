"""Operations, a resource and a prompt that only these tests declare: slow, asking, countable."""

from __future__ import annotations

import threading
from typing import Any

from clew.registry.catalogue import Catalogue, PromptEntry, ResourceEntry, catalogue
from clew.registry.connection import InputFailed, InputRequest, InputRequired
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.registry.resource import Argument, prompt, resource
from tests.waiting import PATIENCE

_release = threading.Event()


class Nothing(Input):
    pass


class Ask(Input):
    question: str


@operation("probe_noop")
def probe_noop(ctx: Context, args: Nothing) -> dict[str, Any]:
    """Say who is calling."""
    session = ctx.connection
    return {"client": session.client, "durable": session.durable, "sampler": session.sampler is not None}


@operation("probe_slow", writes=True, mode="own")
def probe_slow(ctx: Context, args: Nothing) -> dict[str, Any]:
    """Report three steps, wait to be released, then write."""
    _release.clear()
    for step in (1, 2, 2, 1, 3):
        ctx.progress(step, 3, f"step {step}")
    _release.wait(PATIENCE)
    with ctx.writing() as bound:
        bound.emit("reasoning", "note_committed", "probe-note")
    return {"written": True}


@operation("probe_release")
def probe_release(ctx: Context, args: Nothing) -> dict[str, Any]:
    """Let the slow one go."""
    _release.set()
    return {}


@operation("probe_written")
def probe_written(ctx: Context, args: Nothing) -> dict[str, Any]:
    """Count what the slow one wrote."""
    return {"count": _written(ctx)}


@operation("probe_write", writes=True)
def probe_write(ctx: Context, args: Nothing) -> dict[str, Any]:
    """Write once more."""
    ctx.emit("reasoning", "note_committed", "probe-note")
    return {}


@operation("probe_ask", writes=True, mode="own")
def probe_ask(ctx: Context, args: Ask) -> dict[str, Any]:
    """Write, then ask the client's model; a retry does not write again."""
    if ctx.connection.resume is None:
        with ctx.writing() as bound:
            bound.emit("reasoning", "note_committed", "probe-note")
    if ctx.connection.sampler is None:
        return {"status": "unavailable"}
    try:
        reply = ctx.connection.sampler(InputRequest("critique", args.question, "Be brief."), 2.0)
    except InputRequired as needed:
        raise InputRequired(needed.request, "written") from None
    except InputFailed as problem:
        return {"status": "failed", "why": str(problem)}
    return {"status": "ok", "text": reply.text, "model": reply.model, "resumed": ctx.connection.resume}


@operation("probe_crash")
def probe_crash(ctx: Context, args: Nothing) -> dict[str, Any]:
    """Fail as nobody expected."""
    raise ZeroDivisionError("a secret detail")


def _written(ctx: Context) -> int:
    return int(ctx.tx.value("SELECT count(*) FROM event WHERE subject = ?", "probe-note"))


@resource("probe://written", name="written", title="Written", mime_type="text/plain")
def written(ctx: Context) -> str:
    """How often the probe wrote."""
    return str(_written(ctx))


@resource(
    "probe://item/{id}",
    name="item",
    title="Item",
    mime_type="text/plain",
    completers={"id": lambda ctx, value: [name for name in ("alpha", "beta") if name.startswith(value)]},
)
def item(ctx: Context, id: str) -> str:
    """One item."""
    return f"item {id}"


@prompt(
    "probe_hello",
    title="Hello",
    arguments=(Argument("who", "Whom to greet.", True, lambda ctx, value: [f"{value}!"]),),
)
def probe_hello(ctx: Context, arguments: dict[str, str]) -> str:
    """Greets."""
    return f"Hello, {arguments['who']}."


def extended() -> Catalogue:
    """The product's catalogue and what is declared here."""
    known = catalogue()
    module = __name__
    listed = ResourceEntry("probe://written", "written", "Written", "text/plain", "How often.", module, False)
    template = ResourceEntry("probe://item/{id}", "item", "Item", "text/plain", "One item.", module, True)
    who = {"name": "who", "description": "Whom to greet.", "required": True}
    handshake = PromptEntry("probe_hello", "Hello", "Greets.", module, (who,))
    return Catalogue(known.operations, (*known.resources, listed, template), (*known.prompts, handshake))
