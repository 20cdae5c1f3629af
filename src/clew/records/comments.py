"""Questions from people to agents about a record or proposal, and the answers.

A question is an event about its record. It is delivered with the next `resume` and stays open until an
agent answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from clew.clock import rfc3339
from clew.errors import ClewError, invalid, shorten, suggest
from clew.records.open import bare_id
from clew.records.record_view import names_of
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.envelope import command, one_line
from clew.registry.operation import Bounded, Input, Name, Text, operation
from clew.secrets import screened
from clew.store.events import EventFilter, EventRow, event_id, events_about
from clew.store.workspaces import declare_events

ASKED, ANSWERED = "comment_asked", "comment_answered"
TOPIC = "records"
MOST = 200
SHOWN_IN_RESUME = 3
BUDGET = Budget((Trim("threads", drop="last", floor=1), Trim("threads", drop="last")), 16_000, keep=("workspace",))

declare_events(
    {
        ASKED: "Somebody asked the agents about a record.",
        ANSWERED: "A question about a record was answered.",
    }
)


class CommentAsk(Input):
    about: Annotated[Name, Field(min_length=1, description="The record or proposal: any id that open takes.")]
    text: Annotated[Text, Field(min_length=1, description="The question.")]


class CommentAnswer(Input):
    question: Annotated[
        Name, Field(min_length=1, description="The question as resume names it, or the record that it is about.")
    ]
    text: Annotated[Text, Field(min_length=1, description="The answer.")]


class CommentList(Bounded):
    about: Annotated[Name | None, Field(description="Of one record; default: the open questions of the workspace.")] = (
        None
    )


@operation("comment_ask", writes=True, example={"about": "CARD-1", "text": "Does this also hold on Windows?"})
def comment_ask(ctx: Context, args: CommentAsk) -> dict[str, Any]:
    """Ask the agents about a record or proposal. The next resume delivers it; the answer joins the record's thread."""
    about = bare_id(ctx, args.about)
    if names_of(ctx, [about])[about].title == about and not events_about(ctx.tx, ctx.workspace, about, 1):
        raise ClewError(
            "UNKNOWN_ID",
            f"no record is called {about}",
            "Name a record that exists.",
            suggestions=[suggest("recall", "Finds records by their words.", "high", query=args.text)],
        )
    ctx.emit(TOPIC, ASKED, about, {"text": _kept(args.text)})
    return {"workspace": ctx.workspace, "about": about, "question": event_id(ctx.ws.event_seq)}


@operation("comment_answer", writes=True, example={"question": "CARD-1", "text": "Yes, since the last change."})
def comment_answer(ctx: Context, args: CommentAnswer) -> dict[str, Any]:
    """Answer a question that a person asked about a record. The person reads it in the record's thread."""
    named = args.question.strip().lower()
    asked = next((event for event in _asked(ctx) if named in (event.id, (event.subject or "").lower())), None)
    if asked is None:
        raise invalid(
            "question",
            f"{shorten(args.question, 40)!r} is no question",
            "Copy its id from comment_list.",
            [suggest("comment_list", "Lists the open questions.", "high")],
        )
    ctx.emit(TOPIC, ANSWERED, asked.subject, {"question": asked.id, "text": _kept(args.text)})
    return {"workspace": ctx.workspace, "about": asked.subject, "question": asked.id}


@operation("comment_list", budget=BUDGET, example={})
def comment_list(ctx: Context, args: CommentList) -> dict[str, Any]:
    """Show what people asked about a record with the answers, or all questions that are still open."""
    threads = list(_threads(ctx, bare_id(ctx, args.about) if args.about else None))
    shown = threads if args.about else [thread for thread in threads if not thread["answers"]]
    return {"workspace": ctx.workspace, "threads": shown, "truncated": False}


def questions_told(ctx: Context) -> list[str]:
    """The open questions as resume delivers them, each with the call that answers it."""
    if ctx.connection.person:
        return []
    waiting = [thread for thread in _threads(ctx, None) if not thread["answers"]]
    told = [_told(thread) for thread in waiting[-SHOWN_IN_RESUME:]]
    left = len(waiting) - len(told)
    return [*told, *([f"{left} more questions: {command('op_call', {'name': 'comment_list'})}"] if left else [])]


def _told(thread: dict[str, Any]) -> str:
    answer = command(
        "op_call", {"name": "comment_answer", "arguments": {"question": thread["question"], "text": "..."}}
    )
    return f'{thread["by"]} asks about {thread["about"]}: "{shorten(one_line(thread["text"]), 200)}" ({answer})'


def _kept(text: str) -> str:
    masked, _ = screened(text.strip())
    if not masked:
        raise invalid("text", "is empty", "Write it in your own words.")
    return str(masked)


def _asked(ctx: Context) -> list[EventRow]:
    return EventFilter((ASKED,)).newest(ctx.tx, ctx.workspace, MOST)


def _threads(ctx: Context, about: str | None) -> Iterator[dict[str, Any]]:
    """Questions with their answers, oldest first."""
    asked = [event for event in reversed(_asked(ctx)) if about in (None, event.subject)]
    if not asked:
        return
    answers: dict[str, list[dict[str, Any]]] = {}
    for event in reversed(EventFilter((ANSWERED,), asked[0].seq).newest(ctx.tx, ctx.workspace, MOST)):
        answers.setdefault(str(event.payload.get("question")), []).append(_said(event))
    names = names_of(ctx, [event.subject or "" for event in asked])
    for event in asked:
        subject = event.subject or ""
        yield {
            "question": event.id,
            "about": subject,
            "title": names[subject].title,
            **_said(event),
            "answers": answers.get(event.id, []),
        }


def _said(event: EventRow) -> dict[str, Any]:
    return {"by": event.agent, "ts": rfc3339(event.ts_ms), "text": str(event.payload.get("text", ""))}
