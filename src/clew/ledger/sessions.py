"""Sessions: reasoning with a title and tags, stored on the branch `session/<id>`. Start, change, find them."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from clew.canonical import Json, without_none
from clew.clock import iso_millis
from clew.errors import ClewError, shorten, suggest
from clew.ids import normal_tags
from clew.index.item_reads import last_change, matching
from clew.index.terms import terms
from clew.kinds import statuses
from clew.reasoning.branches import branch_owner, create_branch
from clew.registry.context import Context
from clew.store.database import Row, placeholders
from clew.store.rows import TableRow, change, find, find_many, insert, select, update
from clew.store.workspaces import declare_events

UNTITLED = "Untitled session"
ACTIVE, COMPLETED = statuses.ACTIVE, statuses.COMPLETED
WORK = ("project", "task", "aspect")

declare_events(
    {
        "session_started": "A thought session was started.",
        "session_completed": "A thought session's last thought was written.",
        "session_reopened": "A completed thought session goes on.",
        "session_changed": "A thought session got another title, description or tags.",
        "session_deleted": "A thought session was removed from view; its thoughts stay stored.",
        "session_imported": "A thought session was read from an export or a directory.",
    }
)


@dataclass(frozen=True)
class LedgerSession(TableRow):
    TABLE: ClassVar[str] = "ledger_session"
    LISTS: ClassVar[frozenset[str]] = frozenset({"tags"})
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"place", "extra"})

    id: str
    branch: int
    title: str
    description: str | None
    tags: tuple[str, ...]
    words: str
    created_at_ms: int
    updated_at_ms: int
    accessed_at_ms: int
    place: Json | None = None
    extra: Json | None = None
    status: str = ACTIVE
    thought_count: int = 0
    branch_count: int = 0
    revision_count: int = 0
    critique_count: int = 0
    completed_at_ms: int | None = None
    deleted_at_ms: int | None = None

    @property
    def work(self) -> dict[str, str]:
        """Project, task and aspect, which are stored as tags."""
        pairs = [tag.partition(":") for tag in self.tags]
        # Reversed, so that the first tag of a kind takes precedence.
        return {name: value for name, colon, value in reversed(pairs) if colon and name in WORK}


@dataclass(frozen=True, slots=True)
class NewSession:
    title: str = UNTITLED
    description: str | None = None
    tags: tuple[str, ...] = ()
    id: str | None = None
    created_at_ms: int | None = None
    place: Json | None = None
    extra: Json | None = None


def find_session(ctx: Context, session: str) -> LedgerSession | None:
    found = find(ctx.tx, ctx.workspace, LedgerSession, session)
    return found if found is not None and found.deleted_at_ms is None else None


def change_columns(ctx: Context, session: str, **columns: Any) -> None:
    change(ctx.tx, ctx.workspace, LedgerSession, [session], **columns)


@branch_owner()
def session_on_branch(ctx: Context, branch: int) -> str | None:
    """The session whose thoughts are on a branch; such a branch must not be deleted alone."""
    sql = "SELECT id FROM ledger_session WHERE workspace = ? AND branch = ? AND deleted_at_ms IS NULL"
    found = ctx.tx.value(sql, ctx.workspace, branch)
    return None if found is None else f"session {found}"


def session_named(ctx: Context, session: str) -> LedgerSession:
    found = find_session(ctx, session)
    if found is None:
        raise no_session(ctx, session)
    return found


def no_session(ctx: Context, session: str) -> ClewError:
    return ClewError(
        "SESSION_NOT_FOUND",
        f"no session {shorten(session, 80)!r} in workspace {ctx.workspace}",
        "Copy the id from a list of sessions, or start one.",
        suggestions=[
            suggest("list_sessions", "Shows the sessions there are."),
            suggest("start_new", "Starts a session.", "low"),
        ],
    )


def start_session(ctx: Context, new: NewSession) -> LedgerSession:
    """Insert a session and the branch for its thoughts."""
    number = ctx.ws.count("ledger_session")
    id = new.id or _fresh_id(ctx, number)
    # Without a base: a session sees only its own thoughts, nothing of the branch that happens to be checked out.
    branch = create_branch(ctx, branch_name(id), None)
    title, tags = one_line(new.title), tag_list(new.tags)
    created = new.created_at_ms if new.created_at_ms is not None else ctx.now_ms
    session = LedgerSession(
        id=id,
        branch=branch.id,
        title=title,
        description=new.description,
        tags=tuple(tags),
        words=search_words(title, new.description, tags),
        created_at_ms=created,
        updated_at_ms=created,
        accessed_at_ms=ctx.now_ms,
        place=new.place or None,
        extra=new.extra or None,
    )
    insert(ctx.tx, ctx.workspace, session)
    _write_tags(ctx, id, tags)
    ctx.emit("ledger", "session_started", id, {"title": title, "tags": tags})
    return session


def one_line(title: str) -> str:
    return " ".join(title.split()) or UNTITLED


def branch_name(session: str) -> str:
    return f"session/{session}"


def _fresh_id(ctx: Context, number: int) -> str:
    """A UUID from the workspace's counter and times: reproducible, yet different on every machine in practice."""
    # Not random: the same calls at the same times give the same ids, which replays and tests depend on.
    seed = f"{ctx.workspace}\x1f{number}\x1f{ctx.now_ms}\x1f{ctx.ws.created_at_ms}"
    return str(uuid.UUID(bytes=hashlib.blake2b(seed.encode(), digest_size=16).digest(), version=4))


def tag_list(tags: tuple[str, ...] | list[str]) -> list[str]:
    """Tags trimmed, without duplicates, in the given order and case."""
    normal_tags(list(tags))  # only for its checks: it refuses invalid tags
    return list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def work_tags(work: dict[str, str | None]) -> list[str]:
    return [f"{name}:{value.strip()}" for name in WORK if (value := work.get(name)) and value.strip()]


def search_words(title: str, description: str | None, tags: list[str]) -> str:
    return "\n".join([title, description or "", *tags]).casefold()


def _write_tags(ctx: Context, session: str, tags: list[str]) -> None:
    ctx.tx.run("DELETE FROM ledger_tag WHERE workspace = ? AND session = ?", ctx.workspace, session)
    # Case-folded here for lookups; the session row keeps the tags as they were written.
    for tag in dict.fromkeys(tag.casefold() for tag in tags):
        ctx.tx.run("INSERT INTO ledger_tag (workspace, tag, session) VALUES (?, ?, ?)", ctx.workspace, tag, session)


def change_session(
    ctx: Context, session: LedgerSession, title: str, description: str | None, tags: list[str]
) -> LedgerSession:
    """Change title, description or tags; writes nothing if nothing changes."""
    title = one_line(title)
    if (title, description, tuple(tags)) == (session.title, session.description, session.tags):
        return session
    words = search_words(title, description, tags)
    changed = replace(
        session, title=title, description=description, tags=tuple(tags), words=words, updated_at_ms=ctx.now_ms
    )
    update(ctx.tx, ctx.workspace, changed)
    if tuple(tags) != session.tags:
        _write_tags(ctx, session.id, tags)
    payload = {"title": title, "previous_title": session.title, "tags": tags, "previous_tags": list(session.tags)}
    ctx.emit("ledger", "session_changed", session.id, payload)
    return changed


def complete_session(ctx: Context, session: LedgerSession) -> None:
    change_columns(ctx, session.id, status=COMPLETED, completed_at_ms=ctx.now_ms)
    payload = {"thoughts": session.thought_count, "branches": session.branch_count}
    ctx.emit("ledger", "session_completed", session.id, payload)


def reopen_session(ctx: Context, session: LedgerSession) -> bool:
    """Make a completed session active again; returns whether it was completed."""
    if session.status != COMPLETED:
        return False
    change_columns(ctx, session.id, status=ACTIVE, completed_at_ms=None)
    ctx.emit("ledger", "session_reopened", session.id)
    return True


def session_json(session: LedgerSession) -> Json:
    shown: Json = {
        "id": session.id,
        "title": session.title,
        "description": session.description,
        "tags": list(session.tags),
        "status": session.status,
        "thoughtCount": session.thought_count,
        "branchCount": session.branch_count,
        "partitionPath": (session.extra or {}).get("partitionPath", partition(session.created_at_ms)),
        "createdAt": iso_millis(session.created_at_ms),
        "updatedAt": iso_millis(session.updated_at_ms),
        "lastAccessedAt": iso_millis(session.accessed_at_ms),
    }
    if session.completed_at_ms is not None:
        shown["completedAt"] = iso_millis(session.completed_at_ms)
    return without_none(**shown)


PARTITION = re.compile(r"|\d{4}-(?:\d\d|W\d\d|W\d{4}|\d\d-\d\d)", re.ASCII)
"""The seed's directories by month, week or day, and none. Nothing else may become part of a path."""


def partition(at_ms: int) -> str:
    """The month in which a session was started, as the seed names its directories."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m")


ORDERS = {"createdAt": "created_at_ms", "updatedAt": "updated_at_ms", "title": "title"}


@dataclass(frozen=True, slots=True)
class SessionQuery:
    tags: tuple[str, ...] = ()
    """Sessions must have all of these tags, in any case."""
    search: str | None = None
    limit: int = 20
    offset: int = 0
    sort_by: str = "updatedAt"
    descending: bool = True
    status: str | None = None


@dataclass(frozen=True, slots=True)
class SessionMatches:
    sessions: list[LedgerSession]
    total: int
    has_more: bool


def find_sessions(ctx: Context, query: SessionQuery) -> SessionMatches:
    where, params = _condition(ctx, query)
    direction = "DESC" if query.descending else "ASC"
    order = f"ORDER BY {ORDERS[query.sort_by]} {direction}, id {direction} LIMIT ? OFFSET ?"
    found = select(ctx.tx, ctx.workspace, LedgerSession, f"{where} {order}", *params, query.limit, query.offset)
    # The seed's protocol reports the total, so it is counted although only one page is read.
    counted = f"SELECT count(*) FROM ledger_session WHERE workspace = ? AND {where}"
    total = int(ctx.tx.value(counted, ctx.workspace, *params))
    return SessionMatches(found, total, total > query.offset + len(found))


def _condition(ctx: Context, query: SessionQuery) -> tuple[str, list[Any]]:
    sql, params = "deleted_at_ms IS NULL", []
    for tag in query.tags:
        sql += " AND id IN (SELECT session FROM ledger_tag WHERE workspace = ? AND tag = ?)"
        params += [ctx.workspace, tag.strip().casefold()]
    if query.status:
        sql += " AND status = ?"
        params.append(query.status)
    if query.search and query.search.strip():
        sql += " AND words LIKE ? ESCAPE '!'"
        params.append(f"%{escaped(query.search.strip().casefold())}%")
    return sql, params


def escaped(text: str) -> str:
    """Escape a text for a LIKE pattern, so that it contains no wildcards; `!` is the escape character."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def session_ids(ctx: Context, beginning: str) -> list[str]:
    """Ids with this prefix, or whose session has it in title or tags; the last changed first."""
    sql = (
        "SELECT id FROM ledger_session WHERE workspace = ? AND deleted_at_ms IS NULL AND (id LIKE ? ESCAPE '!'"
        " OR words LIKE ? ESCAPE '!') ORDER BY updated_at_ms DESC, id LIMIT 100"
    )
    ways = (f"{escaped(beginning.lower())}%", f"%{escaped(beginning.casefold())}%")
    return [row[0] for row in ctx.tx.tuples(sql, ctx.workspace, *ways)]


def tags_beginning(ctx: Context, beginning: str) -> list[str]:
    sql = "SELECT DISTINCT tag FROM ledger_tag WHERE workspace = ? AND tag LIKE ? ESCAPE '!' ORDER BY tag LIMIT 100"
    return [row[0] for row in ctx.tx.tuples(sql, ctx.workspace, f"{escaped(beginning.casefold())}%")]


def related(ctx: Context, session: LedgerSession, limit: int) -> list[Json]:
    """Other sessions of the same project, task or aspect, those that share most of them first."""
    tags = [tag.casefold() for tag in work_tags(dict(session.work))]
    if not tags:
        return []
    sql = (
        "SELECT session FROM ledger_tag"
        f" WHERE workspace = ? AND tag IN ({placeholders(len(tags))}) AND session <> ?"
        " GROUP BY session ORDER BY count(*) DESC, session LIMIT ?"
    )
    # More than are shown, because deleted sessions are dropped.
    ids = [row[0] for row in ctx.tx.tuples(sql, ctx.workspace, *tags, session.id, limit * 4)]
    known = {item.id: item for item in find_many(ctx.tx, ctx.workspace, LedgerSession, ids)}
    shown = [known[id] for id in ids if known[id].deleted_at_ms is None][:limit]
    return [
        {"id": item.id, "title": item.title, "status": item.status, "thoughtCount": item.thought_count}
        for item in shown
    ]


SMALL = 2_000
"""With fewer changes than this, scanning the rows is faster than loading a corpus."""


def items_holding(ctx: Context, text: str, limit: int, source: str) -> list[Row]:
    """Items of a source that contain any word of the text, by stem: those with most words first, then by ref."""
    words = terms(text)
    # A corpus outlives this transaction, so it must not read rows that may still be rolled back.
    if ctx.tx.writable or last_change(ctx.tx, ctx.workspace) < SMALL:
        return matching(ctx.tx, ctx.workspace, words, limit, (source,))
    from clew.recall.library import holding

    return holding(ctx, words, limit, (source,))
