"""Reading transcripts into the store: only what came since the last time, a batch of turns in each transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from clew.errors import shorten
from clew.history.port import ProjectPlaces, Transcript, TranscriptSource
from clew.history.turn_store import BATCH, HistorySession, keep_session, keep_turns, session_of
from clew.history.turns import HistoryTurn, ReadTurn, TurnReader, prepared
from clew.registry.context import Context

MOST_PROBLEMS = 20
TITLE = 120


@dataclass
class ClientReport:
    """What was found of one client, and what became of it."""

    name: str
    title: str
    transcripts: int = 0
    unread: int = 0
    """Transcripts with something that was not read yet."""
    bytes: int = 0
    """How much of them that is."""
    added: int = 0
    problems: list[str] = field(default_factory=list)


def find_unread(ctx: Context, source: TranscriptSource, places: ProjectPlaces) -> tuple[ClientReport, list[Transcript]]:
    """The transcripts of a client that grew since they were read."""
    report, unread = ClientReport(source.name, source.title), []
    for transcript in source.transcripts(places):
        report.transcripts += 1
        known = session_of(ctx, _id(transcript))
        if known is None or known.size != transcript.size or known.path != str(transcript.path):
            unread.append(transcript)
            before = known.size if known and known.size < transcript.size else 0
            report.bytes += transcript.size - before if transcript.is_bytes else 0
    report.unread = len(unread)
    return report, unread


def read_in(
    ctx: Context,
    source: TranscriptSource,
    transcripts: Sequence[Transcript],
    project: str,
    report: ClientReport,
    progress: Callable[[int], None] = lambda _: None,
) -> None:
    """Keep what transcripts hold. What was kept before an interruption stays, and is not read again."""
    for transcript in transcripts:
        try:
            _read_one(ctx, source, transcript, project, report)
        except OSError as problem:
            report.problems.append(f"{transcript.path}: {os.strerror(problem.errno or 0)}")
        progress(transcript.size if transcript.is_bytes else 0)


def _read_one(
    ctx: Context, source: TranscriptSource, transcript: Transcript, project: str, report: ClientReport
) -> None:
    with ctx.reading() as bound:
        known = session_of(bound, _id(transcript))
    start = known.read_to if known and known.path == str(transcript.path) and known.size <= transcript.size else 0
    reader = TurnReader(_id(transcript), project, start)
    batches = _batches(reader.turns(source.read(transcript, start)))
    batch: list[ReadTurn] | None = next(batches, [])
    while batch is not None:
        turns, resume_at = prepared(batch), reader.resume_at
        batch = next(batches, None)
        with ctx.writing(logged=False) as bound:
            added = keep_turns(bound, turns)
            if turns or known is None:
                known = _extended(bound, transcript, known, turns, added, resume_at)
            if batch is None:
                # Only now is the whole file read: its size says so to the next run.
                known = replace(known, size=transcript.size, read_to=resume_at, path=str(transcript.path))
            keep_session(bound, known)
            report.added += added
    found = [f"{transcript.path.name}: byte {problem}" for problem in reader.problems]
    report.problems += found[: MOST_PROBLEMS - len(report.problems)]


def _extended(
    ctx: Context,
    transcript: Transcript,
    known: HistorySession | None,
    turns: Sequence[HistoryTurn],
    added: int,
    read_to: int,
) -> HistorySession:
    """The session with what these turns add to it."""
    times = [turn.ts_ms for turn in turns if turn.ts_ms] or [ctx.now_ms]
    if known is not None:
        return replace(
            known,
            title=known.title or _title(turns),
            started_ms=min(known.started_ms, *times),
            ended_ms=max(known.ended_ms, *times),
            turns=known.turns + added,
            path=str(transcript.path),
            read_to=read_to,
        )
    id, client, path = _id(transcript), transcript.client, str(transcript.path)
    # Its size stays 0 until the whole transcript is read, so that an interrupted run is continued.
    return HistorySession(id, client, _title(turns), min(times), max(times), added, path, 0, read_to)


def _title(turns: Sequence[HistoryTurn]) -> str:
    asked = next((turn.words for turn in turns if turn.kind == "prompt"), "")
    return shorten(" ".join(asked.split()), TITLE)


def _id(transcript: Transcript) -> str:
    return f"{transcript.client}:{transcript.session}"


def _batches(turns: Iterator[ReadTurn]) -> Iterator[list[ReadTurn]]:
    while batch := list(islice(turns, BATCH)):
        yield batch
