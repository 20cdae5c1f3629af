"""What the user asked of coding agents in earlier sessions: sentences about how things are always to be done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from clew.history.clients import load_clients
from clew.history.port import ProjectPlaces, Reading, SessionMessage, Transcript, TranscriptSource, UnreadableStep
from clew.importers.port import Candidate, Finding, Malformed, Provenance, Roots
from clew.importers.sentences import lasting_requests


class SessionPrompts:
    name = "session_prompts"
    title = "What you told agents in earlier sessions"

    def detect(self, roots: Roots) -> list[Path]:
        return list(dict.fromkeys(transcript.path for _, transcript in _transcripts(roots)))

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        for client, transcript in _transcripts(roots):
            if transcript.path == path:
                for reading in client.read(transcript, 0):
                    yield from _findings(roots, transcript, reading)


def _transcripts(roots: Roots) -> Iterator[tuple[TranscriptSource, Transcript]]:
    places = ProjectPlaces(roots.project.resolve(), roots.home)
    for client in load_clients():
        for transcript in client.transcripts(places):
            yield client, transcript


def _findings(roots: Roots, transcript: Transcript, reading: Reading) -> Iterator[Finding]:
    step, shown = reading.step, roots.shown(transcript.path)
    if isinstance(step, UnreadableStep):
        yield Malformed(shown, 0, f"byte {reading.place} {step.problem}")
    if not isinstance(step, SessionMessage) or step.role != "prompt":
        return
    day = datetime.fromtimestamp(step.ts_ms / 1000, UTC).date().isoformat() if step.ts_ms else ""
    origin = Provenance("session_prompts", shown, 0, f"{transcript.client} session {transcript.session[:8]}", day)
    for kind, sentence in lasting_requests(step.text):
        yield Candidate(kind, sentence, origin)
