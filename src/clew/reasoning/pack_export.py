"""The context pack as a file, for tools that only read the project's directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import canonical
from clew.errors import ClewError, invalid, shorten, suggest
from clew.ids import confined
from clew.reasoning.context_packs import PACK_BUDGET, ContextPack, context
from clew.registry import budget as budgets
from clew.registry.context import Context
from clew.registry.operation import operation
from clew.registry.redaction import redact

CONVENTION = ".agents/mcp/context/.context/branchmind/context_pack.json"


class ContextPackExport(ContextPack):
    out_file: Annotated[
        str, Field(min_length=1, max_length=1024, description=f"Path below the project root, such as {CONVENTION}.")
    ]


@operation("context_pack_export", mode="own", writes=True, idempotent=True, example={"out_file": "context_pack.json"})
def context_pack_export(ctx: Context, args: ContextPackExport) -> dict[str, Any]:
    """Write a context pack to a JSON file below the project root."""
    path = _place(ctx.settings.project_root, args.out_file)
    with ctx.reading() as bound:
        pack = context(bound, args)
    given = [limit for limit in (args.max_chars, args.context_budget) if limit is not None]
    default = budgets.escalated(PACK_BUDGET.default_for(ctx.session.toolset) or 0, budgets.size(pack))
    fit = budgets.fit(pack, PACK_BUDGET, min(given, default=default))
    written = {"max_chars": fit.max_chars, "used_chars": fit.used_chars, "truncated": fit.truncated}
    shown = {**fit.result, "budget": written}
    data = canonical(redact(shown, canonical(shown))).encode()
    _write(path, data, args.out_file)
    return {"workspace": ctx.workspace, "out_file": str(path), "bytes": len(data), "truncated": fit.truncated}


def _place(root: Path, out_file: str) -> Path:
    path = confined(root, out_file, "out_file")
    inside = path.relative_to(root.resolve()).parts
    if path.suffix != ".json" or ".git" in inside:
        raise invalid(
            "out_file",
            f"{shorten(out_file, 120)!r} is not a place for a pack: only .json files outside of .git are written",
            f"Use a path such as {CONVENTION}.",
            [suggest("context_pack_export", "Writes to the usual place.", "high", out_file=CONVENTION)],
        )
    return path


def _write(path: Path, data: bytes, shown: str) -> None:
    """The whole file or none of it: readers never see half a pack."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as problem:
        scratch.unlink(missing_ok=True)
        raise ClewError(
            "IO_ERROR",
            f"out_file: cannot write {shorten(shown, 120)!r}: {problem.strerror or problem}",
            "Choose a path that can be written.",
            suggestions=[suggest("context_pack", "Gives the pack as an answer instead.")],
        ) from problem
