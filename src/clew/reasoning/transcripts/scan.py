"""Going through the files of a root: which are looked at, in which order, within which limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError
from clew.reasoning.transcripts.files import Allowance, TranscriptFile, root_directory, transcript_files
from clew.reasoning.transcripts.sessions import SessionInfo, default_prefix, session_info
from clew.registry.context import Context
from clew.registry.operation import Bounded, Title

RootDir = Annotated[
    Title | None,
    Field(description="Directory of *.jsonl transcripts; default: Codex's sessions, else Claude Code's projects."),
]
CwdPrefix = Annotated[
    Title | None, Field(description="Only sessions that worked below this directory; default: this project; '': all.")
]


class Scanning(Bounded):
    root_dir: RootDir = None
    cwd_prefix: CwdPrefix = None


@dataclass
class Scan:
    """One pass over the newest files; counts what it reads."""

    root: Path
    prefix: str
    max_files: int
    allowance: Allowance
    files: int = 0
    unreadable: int = 0
    cut: bool = False
    """More files were there than were opened."""

    def sessions(self) -> Iterator[tuple[TranscriptFile, SessionInfo]]:
        """Files that belong to the project, newest first."""
        found, self.cut = transcript_files(self.root)
        for file in found:
            if self.files >= self.max_files:
                self.cut = True
                return
            if self.allowance.left <= 0:
                self.allowance.ran_out = True
                return
            self.files += 1
            try:
                info = session_info(file.path, self.allowance)
            except ClewError:
                self.unreadable += 1
                continue
            if info.works_below(self.prefix):
                yield file, info
        if self.allowance.left <= 0:
            self.allowance.ran_out = True

    def to_json(self) -> dict[str, Any]:
        counted = {"files": self.files, "bytes": self.allowance.used, "truncated": self.allowance.ran_out}
        return {**counted, "unreadable": self.unreadable} if self.unreadable else counted


def start_scan(args: Any) -> Scan:
    prefix = default_prefix() if args.cwd_prefix is None else args.cwd_prefix.strip()
    return Scan(root_directory(args.root_dir), prefix, args.max_files, Allowance(args.max_bytes_total))


def warn_of_limits(ctx: Context, scan: Scan) -> None:
    if scan.allowance.ran_out:
        ctx.warn(
            "TRANSCRIPTS_SCAN_TRUNCATED",
            f"read {scan.allowance.used} bytes of {scan.files} files and stopped",
            "Give a larger max_bytes_total or a narrower cwd_prefix.",
        )
    if scan.cut:
        ctx.warn(
            "TRANSCRIPTS_MAX_FILES_REACHED",
            f"looked at the newest {scan.files} files only",
            "Give a larger max_files or a narrower root_dir.",
        )
