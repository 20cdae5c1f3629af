"""The history of a git repository: what was reverted, and commits whose body says why something was chosen."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.importers.port import Candidate, Finding, Malformed, Provenance, Roots
from clew.importers.sentences import gives_reasons, sentences_of, shortened

MOST_COMMITS = 5_000
MOST_FILES = 5
SECONDS = 60
_FORMAT = "%x01%H%x00%cs%x00%s%x00%b%x00"
_REVERT = re.compile(r'^Revert "(.+)"$')
_REAPPLY = re.compile(r'^(?:Revert "Revert|Reapply) "(.+?)""?$')
_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+: .+$|^This reverts commit [0-9a-f]{7,40}\.?$")
_FIX = re.compile(r"^fix(?:\([^)]*\))?!?: ", re.IGNORECASE)
_UPKEEP = re.compile(
    r"^(?:tests?|chore|docs?|style|ci|build|perf|refactor)(?:\([^)]*\))?!?: "
    r"|^(?:measure|bump|rename|format|document)\b",
    re.IGNORECASE,
)
"""Subjects of work that decides nothing about the product."""
_SEVERAL = re.compile(r";|,.*,|, and ")
"""A subject that lists several things names no single decision to approve."""
_PREFIX = re.compile(r"^[a-z]+(?:\([^)]*\))?!?: ")


@dataclass(frozen=True)
class GitCommit:
    sha: str
    day: str
    subject: str
    body: str
    files: tuple[str, ...]


class GitHistory:
    name = "git_history"
    title = "Git history (reverts, and commits that say why)"

    def detect(self, roots: Roots) -> list[Path]:
        return [roots.project] if (roots.project / ".git").exists() else []

    def read(self, roots: Roots, path: Path) -> Iterator[Finding]:
        log = _log(path)
        if isinstance(log, Malformed):
            yield log
            return
        reapplied: set[str] = set()
        for commit in commits_of(log):
            again = _REAPPLY.match(commit.subject)
            if again:
                reapplied.add(again[1])
                continue
            candidate = _candidate(commit)
            if candidate is not None and not _was_reapplied(commit, reapplied):
                yield candidate


def _was_reapplied(commit: GitCommit, reapplied: set[str]) -> bool:
    """Whether this revert was undone later; the log begins with the newest commit."""
    reverted = _REVERT.match(commit.subject)
    return reverted is not None and reverted[1] in reapplied


def _log(project: Path) -> str | Malformed:
    command = ["git", "-C", str(project), "log", f"--max-count={MOST_COMMITS}", "--no-merges", "--name-only"]
    command += ["-z", f"--format={_FORMAT}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return Malformed(".git", 0, str(problem))
    if done.returncode != 0:
        return Malformed(".git", 0, done.stderr.decode(errors="replace").strip().split("\n")[0])
    return done.stdout.decode(errors="replace")


def commits_of(log: str) -> Iterator[GitCommit]:
    for entry in log.split("\x01")[1:]:
        sha, day, subject, body, *files = entry.split("\x00")
        named = tuple(name.strip() for name in files if name.strip())
        yield GitCommit(sha, day, subject.strip(), _without_trailers(body), named)


def _without_trailers(body: str) -> str:
    return "\n".join(line for line in body.strip().split("\n") if not _TRAILER.match(line)).strip()


def _candidate(commit: GitCommit) -> Candidate | None:
    origin = Provenance("git_history", "git", 0, commit.sha[:12], commit.day)
    about = commit.files[:MOST_FILES]
    reverted = _REVERT.match(commit.subject)
    if reverted:
        why = shortened(" ".join(sentences_of(commit.body))) or "It was reverted; the commit does not say why."
        return Candidate("rejected", reverted[1], origin, why=why, about=about)
    body = sentences_of(commit.body)
    if len(body) < 2 or not gives_reasons(commit.body):
        return None
    if _UPKEEP.match(commit.subject) or _SEVERAL.search(commit.subject):
        return None
    return Candidate(
        "lesson" if _FIX.match(commit.subject) else "decision",
        _PREFIX.sub("", commit.subject),
        origin,
        why=shortened(" ".join(body)),
        about=about,
    )
