"""backfill: what the project already knows, as proposals. A preview writes nothing, a second run changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid
from clew.importers.port import Candidate, CandidateStep, ImportSource, Malformed, Roots, TaskCandidate
from clew.importers.sources import SOURCES, load_sources
from clew.memory.durable_records import Record, propose_within
from clew.memory.files.governed_write import governed_transaction
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation
from clew.secrets import screened
from clew.surroundings import expanded
from clew.tasks.changes import StepSpec, create_work
from clew.tasks.creation import write_steps
from clew.tasks.plans import plan_titled, tasks_of

BATCH = 50
"""Candidates that are kept in one transaction, so that other writers get their turn."""
SHOWN = 100
MOST = 1_000
MOST_TITLE = 200
MOST_STEPS = 200


class Backfill(Input):
    sources: Annotated[list[Name], Field(description=f"Only these: {', '.join(SOURCES)}.")] = []
    limit: Annotated[int, Field(ge=1, le=MOST, description="Most candidates of each source.")] = 50
    dry_run: Annotated[bool, Field(description="Only show what would be proposed.")] = True


@dataclass
class SourceReport:
    """What one source holds, and what became of it."""

    name: str
    title: str
    files: list[str] = field(default_factory=list)
    candidates: list[Candidate | TaskCandidate] = field(default_factory=list)
    malformed: list[Malformed] = field(default_factory=list)
    left_out: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "title": self.title,
            "files": self.files[:SHOWN],
            "candidates": len(self.candidates),
            "left_out": self.left_out,
            **{name: self.outcomes[name] for name in ("proposed", "known", "rejected")},
            "malformed": [str(item) for item in self.malformed[:SHOWN]],
        }


@operation("backfill", writes=True, mode="own", example={"dry_run": True})
def backfill(ctx: Context, args: Backfill) -> Json:
    """Read instruction files, decision records, git history and other tools' memories of this project as proposals.

    Nothing becomes true by it: a person approves each in the Inbox. Open tasks of other tools become open tasks.
    """
    roots = _roots(ctx)
    sources = list(load_sources(_known(args.sources)))
    found: list[SourceReport] = []
    for number, source in enumerate(sources):
        ctx.progress(number, len(sources), f"looking at {source.title}")
        report = _read(source, roots, args.limit)
        found += [report] if report.files else []
    if not args.dry_run:
        _propose(ctx, found)
    return {
        "project": str(roots.project),
        "sources": [report.to_json() for report in found],
        "preview": list(islice(_previews(found), SHOWN)),
        "dry_run": args.dry_run,
    }


def _known(names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in SOURCES:
            raise invalid("sources", f"{name!r} is no source", f"Use {', '.join(SOURCES)}.")
    return list(names)


def _roots(ctx: Context) -> Roots:
    project = ctx.project
    if project is None:
        raise ClewError(
            "NOT_ALLOWED",
            f"this server does not stand in the project of {ctx.workspace}",
            "Run `clew backfill` in the project's directory.",
        )
    return Roots(project.resolve(), Path(expanded("~")))


def _read(source: ImportSource, roots: Roots, limit: int) -> SourceReport:
    report = SourceReport(source.name, source.title)
    for path in source.detect(roots):
        report.files.append(roots.shown(path))
        for finding in source.read(roots, path):
            if isinstance(finding, Malformed):
                report.malformed.append(finding)
            elif len(report.candidates) < limit:
                report.candidates.append(finding)
            else:
                report.left_out += 1
    return report


def _propose(ctx: Context, reports: Sequence[SourceReport]) -> None:
    """Each batch in a separate transaction: what was proposed before an interruption stays, and is recognized later."""
    waiting = [(report, candidate) for report in reports for candidate in report.candidates]
    for start in range(0, len(waiting), BATCH):
        ctx.progress(start, len(waiting), f"proposing {waiting[start][0].title}")
        with governed_transaction(ctx) as bound:
            for report, candidate in waiting[start : start + BATCH]:
                report.outcomes[_keep(bound, report, candidate)] += 1


def _keep(ctx: Context, report: SourceReport, candidate: Candidate | TaskCandidate) -> str:
    if isinstance(candidate, TaskCandidate):
        return _create_task(ctx, report.title, candidate)
    record = Record(
        candidate.kind,
        candidate.text,
        why=candidate.why,
        title=candidate.title,
        about=candidate.about,
        origin=f"{candidate.origin}{f', {candidate.origin.day}' if candidate.origin.day else ''}",
    )
    kept = propose_within(ctx, record)
    if kept is None:
        return "rejected"
    return "proposed" if kept.written else "known"


def _create_task(ctx: Context, plan_title: str, candidate: TaskCandidate) -> str:
    """An open task under a plan of its source. A title that this plan has already is the same task."""
    plan = plan_titled(ctx, plan_title)
    if plan is None:
        plan, _ = create_work(ctx, "plan", plan_title)
    title = _screened(ctx, candidate.title)[:MOST_TITLE]
    if any(task.title == title for task in tasks_of(ctx, plan.id)):
        return "known"
    origin = f"Read from {candidate.origin}."
    described = _screened(ctx, f"{candidate.description}\n\n{origin}".strip())
    task, _ = create_work(ctx, "task", title, plan.id, description=described)
    write_steps(ctx, task, [_step(ctx, step) for step in candidate.steps[:MOST_STEPS]])
    return "proposed"


def _step(ctx: Context, step: CandidateStep) -> StepSpec:
    title = _screened(ctx, step.title)[:MOST_TITLE]
    return StepSpec(title, tuple(_screened(ctx, text) for text in step.criteria) or (title,))


def _screened(ctx: Context, text: str) -> str:
    masked, found = screened(text)
    ctx.note_masked(found)
    return masked


def _previews(reports: Sequence[SourceReport]) -> Iterator[dict[str, Any]]:
    """A few of each source first, so that a long one does not hide the others."""
    queues = [(report, iter(report.candidates)) for report in reports]
    while queues:
        alive = []
        for report, queue in queues:
            shown = [_preview(candidate) for candidate in islice(queue, 5)]
            yield from shown
            if shown:
                alive.append((report, queue))
        queues = alive


def _preview(candidate: Candidate | TaskCandidate) -> dict[str, Any]:
    if isinstance(candidate, TaskCandidate):
        steps = [step.title for step in candidate.steps]
        return {"kind": "task", "text": candidate.title, "steps": steps, "origin": str(candidate.origin)}
    found = {
        "kind": candidate.kind,
        "text": candidate.text,
        "why": candidate.why,
        "about": list(candidate.about),
        "origin": str(candidate.origin),
    }
    return {name: value for name, value in found.items() if value}
