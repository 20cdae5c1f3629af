"""blame: what is known about a file or one of its lines: commits, records, runs that covered it, sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.clock import rfc3339
from clew.errors import ClewError, shorten
from clew.history.search import search
from clew.history.turns import relative
from clew.kinds.catalogue import kind_of_item
from clew.project_files import commits_of
from clew.recall.about import records_about
from clew.records.verdicts import verdicts
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, View, operation
from clew.tasks.proof_receipts import runs_covering

MOST_COMMITS = 3
LONGEST = 160


class Blame(Bounded):
    file: Annotated[Name, Field(min_length=1, description="A file of the project, also as FILE:LINE.")]
    line: Annotated[int | None, Field(ge=1, description="Only the commit of this line.")] = None
    limit: Annotated[int, Field(ge=1, le=50, description="Most of each sort.")] = 10


def blame_lines(result: Json, default_workspace: str) -> list[str]:
    shown = {
        "commits": "commit {commit:.10} {day} {by}: {subject}",
        "records": "{id} ({kind}, {label}): {text}",
        "runs": "run {day} for {of}: {command} -> {grade}",
        "sessions": "session {session} #{turn} {day}: {title}",
    }
    lines = [form.format(**item) for name, form in shown.items() for item in result[name]]
    return lines or [f"nothing is known about {result['file']}"]


@operation(
    "blame",
    budget=Budget((Trim("sessions", drop="last"), Trim("runs", drop="last"), Trim("records", drop="last")), 16_000),
    example={"file": "src/importer.py"},
    view=View(in_lines=True, lines=blame_lines),
)
def blame(ctx: Context, args: Blame) -> Json:
    """Show what touched a file: the commit of a line, decisions and rules about it, runs that covered it, sessions."""
    named, line = _place(args)
    file = relative(str(ctx.project), named) if ctx.project is not None else named
    rows = records_about(ctx, [file], history=True)[: args.limit]
    labels = verdicts(ctx, [row["ref"] for row in rows])
    return {
        "file": file,
        "line": line,
        "commits": _commits(ctx.project, file, line),
        "records": [_record(row, labels[row["ref"]].label) for row in rows],
        "runs": [_run(receipt) for receipt in runs_covering(ctx, file, args.limit)],
        "sessions": _sessions(ctx, file, args.limit),
    }


def _place(args: Blame) -> tuple[str, int | None]:
    name, colon, number = args.file.rpartition(":")
    if colon and number.isdigit() and args.line is None:
        return name, int(number)
    return args.file, args.line


def _commits(project: Path | None, file: str, line: int | None) -> list[Json]:
    if project is None:
        return []
    if line is not None and not (project / file).is_file():
        raise ClewError("NOT_FOUND", f"{file} is no file of the project", "Name it from the project's root.")
    found = commits_of(project, file, line, MOST_COMMITS)
    return [{"commit": id, "by": by, "day": day, "subject": shorten(what, LONGEST)} for id, by, day, what in found]


def _record(row: dict[str, Any], label: str) -> Json:
    kind = kind_of_item(row["source"], row["kind"])
    text = " ".join((row["title"] or row["body"] or "").split())
    return {
        "id": row["ref"],
        "kind": kind.name if kind else row["source"],
        "label": label,
        "text": shorten(text, LONGEST),
    }


def _run(receipt: Any) -> Json:
    place = f"{receipt.owner} {receipt.path}" if receipt.path else receipt.owner
    command = shorten(receipt.command or receipt.text, LONGEST)
    return {"id": receipt.id, "of": place, "command": command, "grade": receipt.grade, "day": _day(receipt.ts_ms)}


def _sessions(ctx: Context, file: str, limit: int) -> list[Json]:
    hits = search(ctx, "", file, limit)
    return [
        {
            "session": hit.turn.session,
            "turn": hit.turn.number,
            "day": _day(hit.turn.ts_ms),
            "title": shorten(" ".join(hit.turn.words.split()), LONGEST),
        }
        for hit in hits
    ]


def _day(ts_ms: int) -> str:
    return rfc3339(ts_ms)[:10]
