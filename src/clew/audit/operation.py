"""audit: what is wrong with this memory, or with a folder of statements before it is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from clew.audit import checks
from clew.audit.checks import AuditFinding
from clew.audit.statements import Audited, of_path, of_store
from clew.canonical import Json
from clew.errors import ClewError
from clew.project_files import project_files
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation
from clew.surroundings import placed

ORDER = {"high": 0, "medium": 1, "low": 2}
MOST_FINDINGS = 500


class Audit(Bounded):
    path: Annotated[
        Name | None,
        Field(description="A file or folder, also compared with the store; default: the store alone."),
    ] = None


@operation("audit", mode="own", budget=Budget((Trim("findings", drop="last", count="shown"),), 60_000))
def audit(ctx: Context, args: Audit) -> Json:
    """List duplicates, contradictions, outdated or unsupported statements, secrets, unproven work, rules of no file.

    Writes nothing.
    """
    with ctx.reading() as bound:
        store = of_store(bound)
        found = list(_of_store(bound, store)) if args.path is None else []
    audited = store
    if args.path is not None:
        audited = of_path(_readable(ctx, args.path))
        places = {item.place for item in audited.statements}
        # Also against what the store holds; what concerns the store alone is left to an audit of the store.
        together = Audited([*audited.statements, *store.statements], [])
        found = [item for item in _of_statements(ctx, together) if places & {item.place, item.other}]
    found.sort(key=lambda item: (ORDER[item.severity], item.check, item.place))
    return {
        "audited": args.path or ctx.workspace,
        "statements": len(audited.statements),
        "counts": dict(Counter(item.check for item in found)),
        "findings": [_shown(item) for item in found[:MOST_FINDINGS]],
        "shown": min(len(found), MOST_FINDINGS),
        "left_out": audited.left_out + max(len(found) - MOST_FINDINGS, 0),
        "unreadable": audited.unreadable[:MOST_FINDINGS],
    }


def _readable(ctx: Context, path: str) -> Path:
    """Only a call from this machine's shell may name any folder; others stay in the project."""
    folder, project = placed(path), ctx.project
    if not ctx.connection.local and (project is None or not folder.resolve().is_relative_to(project.resolve())):
        raise ClewError(
            "NOT_ALLOWED",
            f"{path} is not in the project",
            "Name a path in it, or run `clew audit` in a shell.",
        )
    return folder


def _of_statements(ctx: Context, audited: Audited) -> Iterator[AuditFinding]:
    statements = audited.statements
    yield from checks.duplicates(statements)
    yield from checks.contradictions(statements)
    yield from checks.still_stated(statements)
    yield from checks.secrets(statements)
    yield from checks.unsupported(statements)
    if ctx.project is not None:
        yield from checks.matching_no_file(statements, project_files(ctx.project))


def _of_store(ctx: Context, audited: Audited) -> Iterator[AuditFinding]:
    yield from _of_statements(ctx, audited)
    yield from checks.overdue(ctx)
    yield from checks.unproven(ctx)
    yield from checks.orphans(ctx)


def _shown(finding: AuditFinding) -> Json:
    found = {
        "check": finding.check,
        "severity": finding.severity,
        "place": finding.place,
        "other": finding.other,
        "text": finding.text,
        "note": finding.note,
    }
    return {name: value for name, value in found.items() if value is not None}
