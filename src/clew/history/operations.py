"""history_import, history_search and history_open: earlier sessions of coding clients in this project."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, shorten
from clew.history.clients import CLIENTS, load_clients
from clew.history.intake import MOST_PROBLEMS, ClientReport, find_unread, read_in
from clew.history.port import ProjectPlaces
from clew.history.search import Hit, search, what_ended
from clew.history.turn_store import HistorySession, session_of, sessions, turns_after
from clew.history.turns import HistoryTurn, relative
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Input, Name, operation
from clew.store.rows import find_many

SNIPPET = 400
FULL_TEXT = 4_000
RECENT = 10


class HistoryImport(Input):
    clients: Annotated[list[Name], Field(description=f"Only these: {', '.join(CLIENTS)}.")] = []
    dry_run: Annotated[bool, Field(description="Only count what would be read.")] = True


class HistorySearch(Bounded):
    query: Annotated[Name, Field(description="Words, an error as it was printed, or a file.")] = ""
    about: Annotated[Name | None, Field(description="Only sessions that edited this file or folder.")] = None
    limit: Annotated[int, Field(ge=1, le=50, description="Most sessions.")] = 5


class HistoryOpen(Bounded):
    session: Annotated[Name, Field(description="The id that history_search shows.")]
    after: Annotated[int, Field(ge=0, description="The turn to go on behind.")] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 20


@operation("history_import", writes=True, mode="own", example={"dry_run": True})
def history_import(ctx: Context, args: HistoryImport) -> Json:
    """Read the transcripts of coding clients in this project into the store, which the clients delete after a while.

    Secrets are masked and private parts left out. A second run reads only what is new.
    """
    places = places_of(ctx)
    reports = [_imported(ctx, name, places, args.dry_run) for name in _known(args.clients)]
    found = [report for report in reports if report.transcripts]
    return {"project": str(places.project), "clients": [_report(item) for item in found], "dry_run": args.dry_run}


def _known(names: list[str]) -> list[str]:
    for name in names:
        if name not in CLIENTS:
            raise invalid("clients", f"{name!r} is no client", f"Use {', '.join(CLIENTS)}.")
    return names or list(CLIENTS)


def places_of(ctx: Context) -> ProjectPlaces:
    if ctx.project is None:
        raise ClewError(
            "NOT_ALLOWED",
            f"this server does not run in the project of {ctx.workspace}",
            "Run `clew history import` in the project's directory.",
        )
    return ProjectPlaces.of(ctx.project)


def _imported(ctx: Context, name: str, places: ProjectPlaces, dry_run: bool) -> ClientReport:
    (source,) = load_clients([name])
    with ctx.reading() as bound:
        report, unread = find_unread(bound, source, places)
    if not dry_run:
        total, done = float(report.bytes), 0

        def advance(size: int) -> None:
            nonlocal done
            done += size
            ctx.progress(min(done, total), total, f"reading {report.title}")

        read_in(ctx, source, unread, str(places.project), report, advance)
    return report


def _report(report: ClientReport) -> Json:
    return {
        "name": report.name,
        "title": report.title,
        "transcripts": report.transcripts,
        "unread": report.unread,
        "bytes": report.bytes,
        "added": report.added,
        "problems": report.problems[:MOST_PROBLEMS],
    }


@operation(
    "history_search",
    budget=Budget((Trim("hits", drop="last"),), 16_000),
    example={"query": "why did the lock time out"},
)
def history_search(ctx: Context, args: HistorySearch) -> Json:
    """Find what earlier sessions of coding clients said and did: by words, by a file they edited, by an error.

    Without words or a file, the newest sessions.
    """
    if not args.query and args.about is None:
        return {"sessions": [_session(item) for item in sessions(ctx, RECENT)], "hits": []}
    about = args.about
    if about is not None and ctx.project is not None:
        about = relative(str(ctx.project), about)
    hits = search(ctx, args.query, about, args.limit)
    known = {item.id: item for item in find_many(ctx.tx, ctx.workspace, HistorySession, {h.turn.session for h in hits})}
    return {"hits": [_hit(ctx, hit, known.get(hit.turn.session), args.query) for hit in hits]}


def _session(session: HistorySession) -> Json:
    return {
        "session": session.id,
        "title": session.title,
        "client": session.client,
        "ended_ms": session.ended_ms,
        "turns": session.turns,
    }


def _hit(ctx: Context, hit: Hit, session: HistorySession | None, query: str) -> Json:
    found = {
        "session": hit.turn.session,
        "title": session.title if session else "",
        **_turn(hit.turn, SNIPPET, query),
        "then": what_ended(ctx, hit.turn) if hit.turn.failed else None,
        "also": [_turn(turn, SNIPPET // 2, query) for turn in hit.others],
    }
    return {name: value for name, value in found.items() if value not in (None, [], "")}


def _turn(turn: HistoryTurn, length: int, query: str = "") -> dict[str, Any]:
    found = {
        "turn": turn.number,
        "kind": turn.kind,
        "ts_ms": turn.ts_ms,
        "text": _excerpt(turn.words, query, length),
        "files": list(turn.files),
        "exit_code": turn.exit_code,
        "error": turn.error,
    }
    return {name: value for name, value in found.items() if value not in (None, [], "")}


def _excerpt(text: str, query: str, length: int) -> str:
    """The part of a text where the words of the query are, whole where it is short."""
    if len(text) <= length:
        return text
    words = [word for word in query.lower().split() if len(word) > 3]
    places = sorted(place for word in words if (place := text.lower().find(word)) >= 0)
    start = max(places[0] - length // 4, 0) if places else 0
    return ("…" if start else "") + shorten(text[start:], length)


@operation(
    "history_open",
    budget=Budget((Trim("turns", drop="last"),), 32_000),
    example={"session": "claude_code:4d1f3a52-7a3f-4a33-9a8a-6f1d1f0a3c11"},
)
def history_open(ctx: Context, args: HistoryOpen) -> Json:
    """Read an earlier session of a coding client, turn by turn."""
    session = session_of(ctx, args.session)
    if session is None:
        raise ClewError("UNKNOWN_ID", f"no session {args.session}", "history_search without arguments lists them.")
    turns = turns_after(ctx, session.id, args.after, args.limit + 1)
    more = turns[args.limit - 1].number if len(turns) > args.limit else None
    return {
        **_session(session),
        "path": session.path,
        "turns": [_turn(turn, FULL_TEXT) for turn in turns[: args.limit]],
        "next_after": more,
    }
