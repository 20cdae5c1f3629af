"""Sessions as documents: export in three formats, and the way back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from clew.canonical import canonical
from clew.errors import ClewError, invalid, suggest
from clew.ledger import export_cipher, export_markdown
from clew.ledger.exports import export_json
from clew.ledger.imports import import_session
from clew.ledger.inputs import LedgerInput, SessionRef
from clew.ledger.sessions import session_json, session_named
from clew.registry.budget import LARGEST
from clew.registry.context import Context
from clew.registry.operation import Text, operation

Format = Literal["json", "markdown", "cipher"]


class SessionExport(LedgerInput):
    session_id: SessionRef
    format: Annotated[Format, Field(description="json is complete; markdown is for people; cipher is short.")] = "json"
    include_metadata: Annotated[bool, Field(description="Markdown and cipher: with what an import needs.")] = True
    resolve_anchors: Annotated[bool, Field(description="JSON: say what @keyword:S25 points at.")] = True


@operation(
    "session_export",
    aliases=("session.export",),
    example={"sessionId": "00000000-0000-4000-8000-000000000000"},
)
def session_export(ctx: Context, args: SessionExport) -> dict[str, Any]:
    """Export a session with all its branches, as JSON, Markdown or cipher; each can be imported again."""
    session = session_named(ctx, args.session_id)
    content = _written(export_json(ctx, session, args.resolve_anchors), args)
    if len(content) > LARGEST:
        raise ClewError(
            "INVALID_INPUT",
            f"the export has {len(content)} characters, which is more than an answer may hold",
            "Write it to files with export_thoughtbox, or read it page by page with session_get.",
            [{"kind": "range", "field": "sessionId", "le": LARGEST}],
            [suggest("export_thoughtbox", "Writes it to files.", "high", path=session.id, sessionIds=[session.id])],
        )
    return {"sessionId": session.id, "format": args.format, "content": content}


def _written(exported: dict[str, Any], args: SessionExport) -> str:
    if args.format == "markdown":
        return export_markdown.render(exported, args.include_metadata)
    if args.format == "cipher":
        return export_cipher.render(exported, args.include_metadata)
    return canonical(exported)


class SessionImport(LedgerInput):
    export: Annotated[dict[str, Any] | None, Field(description="A JSON export.")] = None
    content: Annotated[Text | None, Field(description="An export as text, in any of the formats.")] = None
    format: Annotated[Format | None, Field(description="Format of content; default: seen from its beginning.")] = None
    merge: Annotated[bool, Field(description="Add what is missing to a session that exists.")] = False
    as_copy: Annotated[bool, Field(description="Give the session a new id.")] = False


@operation(
    "session_import",
    aliases=("session.import",),
    writes=True,
    example={"content": "# A session\n[1/1]: S1|O|seen"},
)
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
    """The JSON export that a text stands for."""
    chosen = format or _seen(content)
    if chosen == "markdown":
        return export_markdown.parse(content)
    if chosen == "cipher":
        return export_cipher.parse(content)
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as problem:
        raise invalid("content", f"is not JSON: {problem}", "Pass an export unchanged.") from None
    if not isinstance(value, dict) or not isinstance(value.get("nodes"), list):
        raise ClewError("INVALID_INPUT", "content: is not an export: it has no nodes", "Pass an export unchanged.")
    return value


def _seen(content: str) -> Format:
    start = content.lstrip()
    if start.startswith("{"):
        return "json"
    return "markdown" if start.startswith("<!-- clew session ") else "cipher"
