"""`clew capture`: turns daily logs and agent transcripts into signals; a client's stop hook may call it too."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.root import call, opened, settings_of

# Characters of one call. An operation takes texts of up to a million; this leaves room.
PORTION = 400_000
RECENT_SECONDS = 3 * 86_400


def register(app: typer.Typer) -> None:
    app.command()(capture)


def capture(
    ctx: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(help="Logs (.md, .txt) or transcripts (.jsonl).")] = None,
    days: Annotated[int, typer.Option(help="Without files: daily logs of how many days.", min=1, max=31)] = 1,
    transcripts: Annotated[
        Path | None, typer.Option(help="Folder of transcripts; those of the last three days are read.")
    ] = None,
    hook: Annotated[bool, typer.Option("--hook", help="Read a client's hook event from stdin; print nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope of each call.")] = False,
) -> None:
    """Turn daily logs and agent transcripts into signals that wait for review.

    Examples:

    - `clew capture` reads today's log, `memory/YYYY-MM-DD.md` of the memory workspace
    - `clew capture notes.md session.jsonl`
    - `clew capture --transcripts ~/.claude/projects`
    - `clew capture --hook` as the command of a stop hook
    """
    found = _transcript_of_hook() if hook else [*(files or []), *_recent(transcripts)]
    calls = _calls(found) if found or hook or transcripts else iter([{"days": days}])
    worst = 0
    with opened(settings_of(ctx)) as clew:
        for arguments in calls:
            answer = call(clew, "capture", arguments)
            # A hook prints nothing: a client may show its output to the agent or to the user.
            worst = max(worst, int(not answer.ok) if hook else show_answer(answer, as_json))
    raise typer.Exit(worst)


def _transcript_of_hook() -> list[Path]:
    """The transcript that a client's event names; none if the event names no file."""
    try:
        event = json.loads(sys.stdin.read() or "{}")
    except ValueError:
        return []
    path = event.get("transcript_path") if isinstance(event, dict) else None
    return [Path(path)] if isinstance(path, str) and Path(path).is_file() else []


def _recent(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    since = time.time() - RECENT_SECONDS
    return sorted(path for path in folder.expanduser().rglob("*.jsonl") if path.stat().st_mtime >= since)


def _calls(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        try:
            # An operation refuses text with null characters, and one of them must not lose a whole log.
            text = path.read_text(encoding="utf-8", errors="replace").replace("\x00", "")
        except OSError as problem:
            raise typer.BadParameter(f"{path}: {problem.strerror}") from problem
        form = "transcript" if path.suffix == ".jsonl" else "log"
        for portion in _portions(text):
            yield {"text": portion, "format": form, "source": path.name[-200:]}


def _portions(text: str) -> Iterator[str]:
    """Split a text into calls at line ends. A line longer than a whole call is not speech and is left out."""
    held: list[str] = []
    size = 0
    for line in text.splitlines():
        if len(line) > PORTION:
            continue
        if size + len(line) > PORTION:
            yield "\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield "\n".join(held)
