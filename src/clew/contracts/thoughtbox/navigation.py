"""navigate, list_roots and bind_root: choosing the project, task or aspect that sessions are about."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid, suggest, unknown_id
from clew.ledger.inputs import CallersSession, LedgerInput, MaybeSession
from clew.ledger.session_start import Part, Work
from clew.ledger.sessions import WORK, SessionQuery, find_sessions, session_json, work_tags
from clew.ledger.stages import GATEWAY, LEFT, StageOfCaller, checked_domain, keep_place, place_of
from clew.registry.connection import InputFailed
from clew.registry.context import Context
from clew.registry.operation import operation

ROOTS_SECONDS = 10.0
MOST_NAMED = 20
"""How many projects or tasks a refusal names, those of the last changed sessions."""


class Navigate(LedgerInput):
    target: Annotated[Work | None, Field(description="Project, task, aspect and domain as one object.")] = None
    project: Part | None = None
    task: Part | None = None
    aspect: Part | None = None
    domain: Annotated[Part | None, Field(description="Narrows the mental models that are listed; else all are.")] = None
    session_id: MaybeSession = None


def _wanted(args: Navigate) -> tuple[dict[str, str], str | None]:
    """The named project, task or aspect, and the domain."""
    nested = args.target or Work()
    wanted = {name: getattr(args, name) or getattr(nested, name) for name in (*WORK, "domain")}
    domain = checked_domain(wanted.pop("domain"))
    return {name: value for name, value in wanted.items() if value}, domain


@operation("navigate", writes=True, idempotent=True, example={"domain": "debugging"})
def navigate(ctx: Context, args: Navigate) -> Json:
    """Choose a project, task or aspect that sessions are about, or a domain, which is left where none is named."""
    chosen, named = _wanted(args)
    before = place_of(ctx, args.session_id)
    # An empty or null domain means none, so a call without arguments is valid only for callers who have one.
    if not chosen and not named and not before.domain:
        raise invalid(
            "target",
            "is required",
            "Name a project, task, aspect or domain.",
            [suggest("list_sessions", "Shows sessions and what they are about.")],
            kind="missing_required",
        )
    found = _sessions_about(ctx, chosen)
    place = replace(before, work=chosen or before.work, domain=None if named == LEFT else named)
    keep_place(ctx, place)
    if not ctx.connection.durable and place.session is None:
        ctx.warn("NOT_KEPT", "This connection keeps nothing between calls.", "Pass the sessionId of a session.")
    return {
        "stage": place.stage,
        "stageName": place.stage_name,
        **{name: place.work.get(name) for name in WORK},
        "domain": place.domain,
        "sessions": [session_json(item) for item in found.sessions] if found else [],
        "total": found.total if found else 0,
        "text": _told(chosen, before, place, found),
    }


def _told(chosen: dict[str, str], before: StageOfCaller, place: StageOfCaller, found: Any) -> str:
    lines = [f"Navigated to: {'/'.join(chosen.values()) or f'domain {place.domain or LEFT}'}"]
    if before.domain and not place.domain:
        lines.append(f"Left domain: {before.domain}")
    if found:
        lines += [f"Found {found.total} related sessions", *(f"- {item.id} {item.title}" for item in found.sessions)]
    return "\n".join(lines)


def _sessions_about(ctx: Context, chosen: dict[str, str]) -> Any:
    """Sessions about the chosen work. A project or task without sessions is refused."""
    narrowed: dict[str, str | None] = {}
    found = None
    for name in WORK:
        if name not in chosen:
            continue
        narrowed[name] = chosen[name]
        found = find_sessions(ctx, SessionQuery(tuple(work_tags(narrowed)), limit=10))
        # An aspect may be new to a task, but an unknown project or task is most likely misspelt.
        if not found.total and name != "aspect":
            raise _nothing_about(ctx, name, narrowed, chosen)
    return found


def _nothing_about(ctx: Context, name: str, narrowed: dict[str, str | None], chosen: dict[str, str]) -> ClewError:
    """The refusal of a project or task without sessions; it lists those that have some."""
    around = {**narrowed, name: None}
    recent = find_sessions(ctx, SessionQuery(tuple(work_tags(around)), limit=100)).sessions
    known = list(dict.fromkeys(item.work[name] for item in recent if name in item.work))[:MOST_NAMED]
    there_are = f"Sessions are about {', '.join(known)}." if known else f"No session has a {name} yet."
    error = unknown_id(
        name,
        "/".join(value for value in narrowed.values() if value),
        f"{there_are} Name one of these, or start a session about it.",
        [suggest("start_new", "Starts a session about it.", "medium", **chosen)],
    )
    error.details[f"available{name.capitalize()}s"] = known
    return error


@operation("list_roots", mode="own")
def list_roots(ctx: Context, args: CallersSession) -> Json:
    """Ask the client which directories it works in."""
    roots = client_roots(ctx)
    if roots is None:
        raise ClewError(
            "UNAVAILABLE",
            "this client does not tell its roots",
            "Give start_new a project instead, or bind_root with the URI of a directory.",
            suggestions=[suggest(GATEWAY, "Starts a session.", "high", operation="start_new")],
        )
    with ctx.reading() as bound:
        current = place_of(bound, args.session_id).root
    lines = [f"Found {len(roots)} available root(s)" + (f", currently bound to: {current}" if current else "")]
    return {"roots": roots, "count": len(roots), "boundRoot": current} | {
        "text": "\n".join([*lines, *(f"- {root['name']} {root['uri']}" for root in roots)])
    }


def client_roots(ctx: Context) -> list[dict[str, str]] | None:
    """The client's roots; None if the client does not support them."""
    if ctx.connection.roots is None:
        return None
    try:
        given = ctx.connection.roots(ROOTS_SECONDS)
    except InputFailed as problem:
        raise ClewError(
            "UNAVAILABLE", f"the client did not tell its roots: {problem}", "Give start_new a project."
        ) from None
    return [{"uri": str(root["uri"]), "name": root.get("name") or root_name(str(root["uri"]))} for root in given]


def root_name(uri: str) -> str:
    """The last part of the URI's path, as the name of the project."""
    path = unquote(urlsplit(uri).path).rstrip("/\\")
    return path.replace("\\", "/").rpartition("/")[2] or uri


class BindRoot(LedgerInput):
    root_uri: Annotated[str, Field(min_length=1, max_length=4000, description="URI of a root of the client.")]
    session_id: MaybeSession = None


@operation("bind_root", writes=True, mode="own", idempotent=True, example={"rootUri": "file:///home/me/project"})
def bind_root(ctx: Context, args: BindRoot) -> Json:
    """Make a directory of the client the project of what follows."""
    roots = client_roots(ctx)
    root = _chosen_root(args.root_uri, roots)
    with ctx.writing() as bound:
        place = replace(place_of(bound, args.session_id), root=root["name"])
        if not ctx.connection.durable and place.session is None:
            raise invalid(
                "sessionId",
                "is required on a connection that keeps nothing between calls",
                "Pass the sessionId that start_new returned.",
                kind="missing_required",
            )
        keep_place(bound, place)
    return {
        "operation": "bind_root",
        "success": True,
        "boundRoot": root,
        "message": f"Project is {root['name']}.",
        "nextSteps": ["start_new", "list_sessions"],
    }


def _chosen_root(uri: str, roots: list[dict[str, str]] | None) -> dict[str, str]:
    if roots is None:
        if not urlsplit(uri).scheme:
            raise invalid("rootUri", "is not a URI", "Write file:///path/to/project.")
        return {"uri": uri, "name": root_name(uri)}
    for root in roots:
        if root["uri"] == uri:
            return root
    raise ClewError(
        "INVALID_INPUT",
        "rootUri: Root not found",
        "Choose one of the client's roots.",
        [{"kind": "choice", "field": "rootUri", "allowed": [root["uri"] for root in roots]}],
        [suggest("list_roots", "Shows the client's roots.")],
        {"requestedUri": uri, "availableRoots": [root["uri"] for root in roots]},
    )
