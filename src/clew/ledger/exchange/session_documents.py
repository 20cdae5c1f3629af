"""session_export and session_import: a session as linked JSON, Markdown or cipher lines, and back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from clew.canonical import canonical, without_none
from clew.clock import iso_millis
from clew.errors import ClewError, Suggestion, invalid, suggest
from clew.fast_imports import collecting_later
from clew.ids import confined, real_path
from clew.ledger.chains import Point, chains_of
from clew.ledger.cipher import anchors
from clew.ledger.exchange import formats
from clew.ledger.exchange.imports import import_session
from clew.ledger.inputs import EXAMPLE, LedgerInput, SessionRef, grouped
from clew.ledger.sessions import LedgerSession, session_json, session_named
from clew.ledger.thought_links import node_id
from clew.ledger.thought_rows import Revisions, Thought, data_json, every_thought
from clew.registry.context import Context
from clew.registry.operation import Text, View
from clew.store.database import Row
from clew.surroundings import expanded, placed

VERSION = "1.0"


def export_json(ctx: Context, session: LedgerSession, resolve_anchors: bool = True) -> dict[str, Any]:
    """The seed's linked JSON export. It contains everything that an import needs to create the same session again."""
    thoughts = every_thought(ctx, session.id)
    revisions = Revisions(session.id, thoughts)
    following = followers(thoughts)
    exported: dict[str, Any] = {
        "version": VERSION,
        "session": exported_session(ctx, session),
        "nodes": [node_json(thought, following, revisions) for thought in thoughts],
        "revisionAnalysis": revisions.analysis(),
        "exportedAt": iso_millis(ctx.ws.updated_at_ms),
    }
    if resolve_anchors:
        exported["crossReferences"] = cross_references(ctx, session.id, thoughts)
    return exported


def export_markdown(ctx: Context, session: LedgerSession, marks: bool) -> str:
    return formats.render_markdown(exported_session(ctx, session), every_thought(ctx, session.id), marks)


def exported_session(ctx: Context, session: LedgerSession) -> dict[str, Any]:
    labels = {chain.chain: chain.label for chain in chains_of(ctx, session.id) if chain.label}
    return {
        **(session.extra or {}),
        **session_json(session),
        **without_none(critiqueCount=session.critique_count or None),
        **without_none(branchNames=labels or None),
    }


def followers(thoughts: list[Thought]) -> dict[Point, list[str]]:
    """For each thought the ids of the nodes that follow it, in the order of writing."""
    found: dict[Point, list[str]] = {}
    for thought in thoughts:
        if thought.prev is not None:
            found.setdefault(thought.prev, []).append(thought.node_id)
    return found


def node_json(
    thought: Thought, following: dict[Point, list[str]], revisions: Revisions | None = None
) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": thought.node_id,
        "data": data_json(thought),
        "prev": _id(thought.session, thought.prev),
        "next": following.get(thought.point, []),
        "revisesNode": _id(thought.session, thought.revises),
        "branchOrigin": _id(thought.session, thought.origin),
        "branchId": thought.point.chain or None,
    }
    if revisions is not None:
        node["revisionMetadata"] = revisions.metadata(thought)
    return node


def _id(session: str, point: Point | None) -> str | None:
    return node_id(session, point) if point else None


Format = Literal["json", "markdown", "cipher"]
ENDINGS = {"json": "json", "markdown": "md", "cipher": "cipher.txt"}
SEED_EXPORTS = "~/.thoughtbox/exports"
"""Thoughtbox's default directory for exports; here it means our directory of exports."""
LONGEST = 50_000_000
"""Maximum characters of a response: some 40,000 thoughts. An export is one document and cannot be returned in parts."""


class SessionExport(LedgerInput):
    session_id: SessionRef
    format: Annotated[Format, Field(description="json is complete; markdown is for people; cipher is short.")] = "json"
    include_metadata: Annotated[bool, Field(description="Markdown and cipher: with what an import needs.")] = True
    resolve_anchors: Annotated[bool, Field(description="JSON: say what @keyword:S25 points at.")] = True
    destination: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=4000,
            description=f"Write it to a file in this directory, below <data directory>/exports ({SEED_EXPORTS} is it).",
        ),
    ] = None


@grouped("session_export", example=EXAMPLE, view=View(whole=True))
def session_export(ctx: Context, args: SessionExport) -> dict[str, Any]:
    """Export a session with all its branches, as JSON, Markdown or cipher; each can be imported again."""
    session = session_named(ctx, args.session_id)
    with collecting_later():
        content = _render(ctx, session, args)
    result = {"sessionId": session.id, "format": args.format}
    if args.destination is not None:
        return {**result, "exportPath": str(_save(ctx, args, content)), "characters": len(content)}
    if len(content) > LONGEST:
        raise ClewError(
            "UNAVAILABLE",
            f"the export has {len(content)} characters, which is more than an answer may hold",
            "Let it be written to a file with destination.",
            suggestions=[_to_a_file(args)],
        )
    return {**result, "content": content}


def _to_a_file(args: SessionExport) -> Suggestion:
    """The same call with a destination that works."""
    given = args.model_dump(by_alias=True, exclude_unset=True) | {"destination": "."}
    return suggest("session_export", "Writes it to a file in the directory of exports.", "high", **given)


def _folder(ctx: Context, args: SessionExport) -> Path:
    """The target directory: any for a call from the shell, else one below the exports."""
    given = args.destination or "."
    if ctx.connection.local:
        return real_path(placed(given))
    return confined(ctx.settings.home / "exports", _in_exports(given), "destination", [_to_a_file(args)])


def _in_exports(given: str) -> str:
    """The path within the directory of exports, if the seed's own directory is named instead of it."""
    try:
        seeds, wanted = expanded(SEED_EXPORTS), expanded(given) if given.startswith("~/") else Path(given)
    except RuntimeError:  # no home directory is available
        return given
    return str(wanted.relative_to(seeds)) if wanted.is_relative_to(seeds) else given


def _save(ctx: Context, args: SessionExport, content: str) -> Path:
    """Write the export to a file."""
    folder = _folder(ctx, args)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"{args.session_id}.{ENDINGS[args.format]}"
        write_whole(path, content.encode())
    except OSError as problem:
        raise ClewError("IO_ERROR", f"{folder} cannot be written: {problem}", "Name another destination.") from None
    return path


def write_whole(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it, so that neither a crash nor a reader sees half of it under its name."""
    part = path.with_name(f"{path.name}.tmp")
    part.write_bytes(data)
    part.replace(path)


def _render(ctx: Context, session: LedgerSession, args: SessionExport) -> str:
    if args.format == "markdown":
        return export_markdown(ctx, session, args.include_metadata)
    if args.format == "cipher":
        head = exported_session(ctx, session)
        return formats.render_cipher(head, every_thought(ctx, session.id), args.include_metadata)
    return canonical(export_json(ctx, session, args.resolve_anchors))


class SessionImport(LedgerInput):
    export: Annotated[dict[str, Any] | None, Field(description="A JSON export.")] = None
    content: Annotated[Text | None, Field(description="An export as text, in any of the formats.")] = None
    format: Annotated[Format | None, Field(description="Format of content; default: seen from its beginning.")] = None
    merge: Annotated[bool, Field(description="Add what is missing to a session that exists.")] = False
    as_copy: Annotated[bool, Field(description="Give the session a new id.")] = False


@grouped("session_import", writes=True, example={"content": "# A session\n[1/1]: S1|O|seen"})
def session_import(ctx: Context, args: SessionImport) -> dict[str, Any]:
    """Read a session back from an export: the same numbers, branches, revisions and links."""
    if (args.export is None) == (args.content is None):
        raise invalid(
            "export", "give either export or content", "Pass the JSON object, or the text.", kind="choose_one"
        )
    exported = args.export if args.export is not None else parsed(args.content or "", args.format)
    report = import_session(ctx, exported, args.merge, args.as_copy)
    return {**report.to_dict(), "session": session_json(session_named(ctx, report.session))}


def parsed(content: str, format: Format | None) -> dict[str, Any]:
    """Convert a text in any of the formats to a JSON export."""
    chosen = format or _format_of(content)
    if chosen == "markdown":
        return formats.parse_markdown(content)
    if chosen == "cipher":
        return formats.parse_cipher(content)
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        raise invalid("content", f"is not JSON: {problem}", "Pass an export unchanged.") from None
    if not isinstance(value, dict) or not isinstance(value.get("nodes"), list):
        raise ClewError("INVALID_INPUT", "content: is not an export: it has no nodes", "Pass an export unchanged.")
    return value


def _format_of(content: str) -> Format:
    start = content.lstrip()
    if start.startswith("{"):
        return "json"
    return "markdown" if start.startswith("<!-- clew session ") else "cipher"


# Confidence in the target of `@keyword:S25`: a tag is a deliberate name, words of a title may coincide.
BY_TAG = 0.95
BY_TITLE = 0.85
LEAST_SHARE = 0.6
CANDIDATES = 200

_ANCHOR = re.compile(r"@([\w-]+):S(\d+)(?:-S?(\d+))?")
_WORD = re.compile(r"[^\W_]+")


def cross_references(ctx: Context, session: str, thoughts: list[Thought]) -> dict[str, Any]:
    """Every anchor (`@keyword:S25`) in a session's thoughts, with the session it was resolved to."""
    known: dict[str, list[dict[str, Any]]] = {}
    details = []
    for thought in thoughts:
        for anchor in anchors(thought.text):
            details.append(_detail(ctx, session, thought, anchor, known))
    tally = {
        status: sum(item["status"] == status for item in details) for status in ("resolved", "ambiguous", "unresolved")
    }
    return {"anchorsFound": len(details), **tally, "details": details}


def _detail(
    ctx: Context, session: str, thought: Thought, anchor: str, known: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    found = _ANCHOR.fullmatch(anchor)
    assert found is not None
    keyword, first, last = found.groups()
    if keyword not in known:
        known[keyword] = candidates(ctx, keyword, session)
    options = known[keyword]
    detail: dict[str, Any] = {
        "anchor": anchor,
        "source": thought.node_id,
        "keyword": keyword,
        "start": int(first),
        "end": int(last or first),
        "status": _status(options),
    }
    if detail["status"] == "resolved":
        return detail | options[0]
    return detail | ({"candidates": options[:5]} if options else {})


def _status(options: list[dict[str, Any]]) -> str:
    if not options:
        return "unresolved"
    tops = [option for option in options if option["confidence"] == options[0]["confidence"]]
    # Resolved only if nothing else fits, or if exactly one session has the keyword as a tag.
    sure = len(options) == 1 or (options[0]["confidence"] >= BY_TAG and len(tops) == 1)
    return "resolved" if sure else "ambiguous"


def candidates(ctx: Context, keyword: str, session: str) -> list[dict[str, Any]]:
    """Other sessions that a keyword may refer to, the most confident first."""
    scored = {row["id"]: (BY_TAG, row["title"]) for row in _by_tag(ctx, keyword) if row["id"] != session}
    wanted = {word.casefold() for word in _WORD.findall(keyword)}
    for row in _by_words(ctx, wanted):
        share = len(wanted & {word.casefold() for word in _WORD.findall(row["title"])}) / max(len(wanted), 1)
        if share >= LEAST_SHARE and row["id"] not in scored and row["id"] != session:
            scored[row["id"]] = (round(share * BY_TITLE, 4), row["title"])
    ranked = sorted(scored.items(), key=lambda item: (-item[1][0], item[0]))
    return [{"sessionId": key, "title": title, "confidence": score} for key, (score, title) in ranked]


def _by_tag(ctx: Context, keyword: str) -> list[Row]:
    sql = (
        "SELECT DISTINCT ledger_session.id, ledger_session.title FROM ledger_tag JOIN ledger_session"
        " ON ledger_session.workspace = ledger_tag.workspace AND ledger_session.id = ledger_tag.session"
        " WHERE ledger_tag.workspace = ? AND tag IN (?, ?, ?, ?) AND deleted_at_ms IS NULL ORDER BY ledger_session.id"
        " LIMIT ?"
    )
    tags = (f"{prefix}{keyword.casefold()}" for prefix in ("", "project:", "task:", "aspect:"))
    return ctx.tx.all(sql, ctx.workspace, *tags, CANDIDATES)


def _by_words(ctx: Context, wanted: set[str]) -> list[Row]:
    if not wanted:
        return []
    # The longest word is the most selective; the share of common words is then computed in Python.
    longest = max(sorted(wanted), key=len)
    sql = "SELECT id, title FROM ledger_session WHERE workspace = ? AND deleted_at_ms IS NULL AND words LIKE ?"
    return ctx.tx.all(f"{sql} ORDER BY updated_at_ms DESC, id LIMIT ?", ctx.workspace, f"%{longest}%", CANDIDATES)
