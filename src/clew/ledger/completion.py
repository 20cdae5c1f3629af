"""The end of a session: a copy as a file, beside the store and never in place of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from clew.ledger.exports import export_json
from clew.ledger.sessions import session_named
from clew.registry.context import Context


def closing(ctx: Context, session: str) -> dict[str, Any]:
    """What the answer to a final thought adds. A copy that cannot be written is a warning: the session is stored."""
    closed: dict[str, Any] = {"sessionClosed": True, "closedSessionId": session}
    with ctx.reading() as bound:
        exported = export_json(bound, session_named(bound, session))
    try:
        closed["exportPath"] = str(write_export(ctx.settings.home / "exports", session, exported))
    except OSError as problem:
        ctx.warn("EXPORT_FAILED", f"The copy could not be written: {problem}", "Use session_export to read it instead.")
    return closed


def write_export(folder: Path, session: str, exported: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = exported["exportedAt"].replace(":", "-").replace(".", "-")
    path = folder / f"{session}-{stamp}.json"
    part = path.with_suffix(".tmp")
    part.write_bytes(orjson.dumps(exported, option=orjson.OPT_INDENT_2))
    part.replace(path)
    return path
