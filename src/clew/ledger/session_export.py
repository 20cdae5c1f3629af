"""`session_export`: a session as JSON, Markdown or cipher."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.ledger.exports import export_json
from clew.ledger.inputs import LedgerInput, SessionRef
from clew.ledger.sessions import session_named
from clew.registry.context import Context
from clew.registry.operation import operation


class SessionExport(LedgerInput):
    session_id: SessionRef
    format: Annotated[Literal["json", "markdown", "cipher"], Field(description="Form of the export.")] = "json"
    include_metadata: Annotated[bool, Field(description="Markdown and cipher: with a header and import marks.")] = True
    resolve_anchors: Annotated[bool, Field(description="JSON: say what @keyword:S25 points at.")] = True


@operation(
    "session_export",
    aliases=("session.export",),
    example={"sessionId": "00000000-0000-4000-8000-000000000000"},
)
def session_export(ctx: Context, args: SessionExport) -> dict[str, Any]:
    """Export a session; each format can be imported again."""
    session = session_named(ctx, args.session_id)
    exported = export_json(ctx, session, args.resolve_anchors)
    return {"sessionId": session.id, "format": args.format, "export": exported}
