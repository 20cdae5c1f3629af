"""transcripts_search and transcripts_digest: reading through the newest transcripts below a root, within limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, suggest
from clew.reasoning.transcripts.files import (
    Allowance,
    Line,
    SessionInfo,
    TranscriptFile,
    TranscriptMessage,
    default_prefix,
    lines,
    open_file,
    root_directory,
    session_info,
    spoken_in,
    transcript_files,
)
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, Title, operation

RootDir = Annotated[
    Title | None,
    Field(description="Directory of *.jsonl transcripts; default: Codex's sessions, else Claude Code's projects."),
]
CwdPrefix = Annotated[
    Title | None, Field(description="Only sessions that worked below this directory; default: this project; '': all.")
]


def texts_budget(path: str, cuts: tuple[int, int, int], keep: tuple[str, ...], to_none: Trim) -> Budget:
    """A budget for a list of long texts: shorten each text twice, drop texts down to one, shorten it, drop it."""
    first, second, last = (Clip(path, chars) for chars in cuts)
    return Budget((first, second, replace(to_none, floor=1), last, to_none), 16_000, keep=keep)


class Scanning(Bounded):
    root_dir: RootDir = None
    cwd_prefix: CwdPrefix = None


@dataclass
class TranscriptPass:
    """One pass over the newest files. It counts what was read and what was left out."""

    root: Path
    prefix: str
    max_files: int
    allowance: Allowance
    project: str | None
    """Only sessions of this project are read; None for a call from the shell, which may read all."""
    files: int = 0
    unreadable: int = 0
    cut: bool = False
    """Whether there were more files than were opened."""

    def sessions(self) -> Iterator[tuple[TranscriptFile, SessionInfo]]:
        """Files that belong to the project, newest first."""
        # The bound on files holds for opened files, not for matches: opening is what costs.
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
            if info.works_below(self.prefix) and (self.project is None or info.belongs_to(self.project)):
                yield file, info
        if self.allowance.left <= 0:
            self.allowance.ran_out = True

    def to_json(self) -> Json:
        counted = {"files": self.files, "bytes": self.allowance.used, "truncated": self.allowance.ran_out}
        return {**counted, "unreadable": self.unreadable} if self.unreadable else counted


def start_scan(ctx: Context, args: Any) -> TranscriptPass:
    prefix = default_prefix() if args.cwd_prefix is None else args.cwd_prefix.strip()
    project = None if ctx.connection.local else default_prefix()
    if project is not None and not f"{prefix.rstrip('/')}/".startswith(f"{project}/"):
        message = f"only sessions of {project} are read; those of other projects are left out"
        recovery = "Call it from this machine's shell (clew call) to read all."
        ctx.warn("TRANSCRIPTS_PROJECT_ONLY", message, recovery)
    root = root_directory(args.root_dir, anywhere=project is None)
    return TranscriptPass(root, prefix, args.max_files, Allowance(args.max_bytes_total), project)


def transcript_id(path: str, byte: int) -> str:
    """The id of a position in a transcript: `open` shows it, and other records can link to it."""
    return f"transcript:{path}@{byte}"


def warn_of_limits(ctx: Context, scan: TranscriptPass) -> None:
    if scan.allowance.ran_out:
        message = f"read {scan.allowance.used} bytes of {scan.files} files and stopped"
        recovery = "Give a larger max_bytes_total or a narrower cwd_prefix."
        ctx.warn("TRANSCRIPTS_SCAN_TRUNCATED", message, recovery)
    if scan.cut:
        ctx.warn(
            "TRANSCRIPTS_MAX_FILES_REACHED",
            f"looked at the newest {scan.files} files only",
            "Give a larger max_files or a narrower root_dir.",
        )


# A file gets at least this much, so that the halving in `_matches` does not end in tiny parts.
LEAST_SHARE = 1 << 20
# Characters that JSON does not escape, so that a query with only these can be searched in the raw line.
_PLAIN = re.compile(r"[A-Za-z0-9 _.:-]+")

SEARCH_BUDGET = Budget(
    (
        Trim("hits", drop="last", floor=3),
        Clip("hits[].message.snippet", 80),
        Trim("projects", drop="last"),
        Trim("hits", drop="last"),
    ),
    16_000,
    keep=("root_dir", "scanned"),
)


# The defaults of both operations are those of BranchMind's contract.
class TranscriptsSearch(Scanning):
    query: Annotated[Title, Field(min_length=1, description="Text that a message must hold, in this case.")]
    role: Annotated[Name | None, Field(description="Only messages of user, assistant, system or another role.")] = None
    dedupe: Annotated[bool, Field(description="Show a message that was repeated once.")] = True
    max_files: Annotated[int, Field(ge=1, le=10_000, description="Most files to open.")] = 50
    max_bytes_total: Annotated[int, Field(ge=1, le=4 << 30, description="Most bytes to read.")] = 64 << 20
    hits_limit: Annotated[int, Field(ge=1, le=500, description="Most messages to show.")] = 25
    context_chars: Annotated[int, Field(ge=1, le=4000, description="Most characters of each message.")] = 240


@dataclass
class Hits:
    """Matching messages, without duplicates if requested, and their number for each project."""

    args: TranscriptsSearch
    found: list[Json] = field(default_factory=list)
    projects: dict[str, Json] = field(default_factory=dict)
    seen: set[tuple[str, str, str]] = field(default_factory=set)
    more: bool = False
    """Whether there is at least one match beyond the limit."""

    def visit(self, info: SessionInfo) -> Json:
        project = info.project()
        kept = self.projects.setdefault(project["id"], {**project, "files": 0, "hits": 0})
        kept["files"] += 1
        return kept

    def add(
        self, file: TranscriptFile, info: SessionInfo, project: Json, line: Line, spoken: TranscriptMessage
    ) -> None:
        key = (project["id"], spoken.role, spoken.text)
        if self.args.dedupe and key in self.seen:
            return
        if len(self.found) >= self.args.hits_limit:
            self.more = True
            return
        self.seen.add(key)
        project["hits"] += 1
        part = snippet(spoken.text, self.args.query, self.args.context_chars)
        hit = {
            "id": transcript_id(file.name, line.byte),
            "ref": {"path": file.name, "line": line.number, "byte": line.byte},
            "session": info.to_json(),
            "project": {name: project[name] for name in ("id", "name", "confidence")},
            "message": {**picked(spoken, "role", "ts"), "snippet": part},
        }
        self.found.append(hit)


@operation("transcripts_search", mode="own", budget=SEARCH_BUDGET, example={"query": "migration"})
def transcripts_search(ctx: Context, args: TranscriptsSearch) -> Json:
    """Search the messages of recorded agent sessions on this machine; nothing is stored."""
    if not args.query.strip():
        raise invalid("query", "must not be blank", "Give the text to look for.", kind="non_empty")
    scan, hits = start_scan(ctx, args), Hits(args)
    for file, info in scan.sessions():
        project = hits.visit(info)
        for line, spoken in _matches(file, scan, args):
            hits.add(file, info, project, line, spoken)
            if hits.more:
                break
        if hits.more:
            break
    warn_of_limits(ctx, scan)
    if hits.more:
        message = f"stopped at {args.hits_limit} messages; there are more"
        ctx.warn("TRANSCRIPTS_HITS_LIMIT_REACHED", message, "Give a larger hits_limit or a longer query.")
    return {
        "workspace": ctx.workspace,
        "root_dir": str(scan.root),
        "filters": {"cwd_prefix": scan.prefix, "role": args.role, "dedupe": args.dedupe},
        "scanned": scan.to_json(),
        "projects": sorted(hits.projects.values(), key=lambda item: (-item["hits"], item["id"])),
        "hits": hits.found,
    }


def _matches(
    file: TranscriptFile, scan: TranscriptPass, args: TranscriptsSearch
) -> Iterator[tuple[Line, TranscriptMessage]]:
    # At most half of what is left, so that one huge file leaves something for the others.
    most = max(scan.allowance.left // 2, LEAST_SHARE)
    try:
        with scan.allowance.share(most) as part, open_file(file.path) as opened:
            for line in lines(opened, part):
                spoken = spoken_in(line) if may_hold(line.raw, args.query) else None
                if spoken and args.query in spoken.text and args.role in (None, spoken.role):
                    yield line, spoken
    except ClewError:
        scan.unreadable += 1  # the file was removed after it was listed


def may_hold(raw: bytes, query: str) -> bool:
    """Whether the raw line may contain the query, so that parsing it is worthwhile.

    Plain characters are unescaped in JSON, unless a writer escaped them by number (`\\u0041`).
    """
    return not _PLAIN.fullmatch(query) or query.encode() in raw or b"\\u00" in raw


def snippet(text: str, query: str, most: int) -> str:
    """The snippet of a text around the query, on one line of at most `most` characters."""
    place = max(text.find(query), 0)
    start = max(0, min(place - (most - len(query)) // 2, len(text) - most))
    part = " ".join(text[start : start + most].split())
    return part[:most]


TAIL_BYTES = 256 << 10
LARGEST_SCAN = 1 << 30

_HEADING = re.compile(
    r"^\W{0,8}(?:summary|in short|what (?:i|we|was|has been) (?:did|do|done|changed)|changes?|results?|outcome|done"
    r"|status|next steps?|open questions?|decisions?)\b",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS_SO = re.compile(
    r"^\W{0,8}(?:summary[^\w\n]*(?::|$)|tl;?\s?dr\b|итог(?:о|и)?\b|резюме\b|кратко\b|сводка\b|вывод(?:ы)?\s*:)"
    r"|^ {0,3}#{1,6} \W{0,4}(?:\w+ )?(?:summary|recap|in short|conclusions?|выводы?)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Words that mark a summary of any length, and headings: in English and Russian, as the seed's agents write both."""
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+\S", re.MULTILINE)

DIGEST_BUDGET = texts_budget(
    "digest[].message.text", (3000, 800, 200), ("root_dir", "scanned"), Trim("digest", drop="last")
)


class TranscriptsDigest(Scanning):
    mode: Annotated[
        Literal["summary", "last"],
        Field(description="summary: last message that sums up; last: last message of the agent."),
    ] = "summary"
    max_files: Annotated[int, Field(ge=1, le=10_000, description="Most files to open.")] = 720
    max_bytes_total: Annotated[int, Field(ge=1, le=4 << 30, description="Most bytes to read.")] = 16 << 20
    max_items: Annotated[int, Field(ge=1, le=100, description="Most sessions to show.")] = 6


@operation("transcripts_digest", mode="own", budget=DIGEST_BUDGET)
def transcripts_digest(ctx: Context, args: TranscriptsDigest) -> Json:
    """Show how the newest recorded sessions of this project ended; nothing is stored."""
    scan = start_scan(ctx, args)
    items: list[Json] = []
    for file, info in scan.sessions():
        found = _last(file, scan, args.mode)
        if found is not None:
            items.append({**found, "session": info.to_json()})
        if len(items) >= args.max_items:
            break
    warn_of_limits(ctx, scan)
    if not items and scan.allowance.ran_out:
        _suggest_more(ctx, args)
    return {
        "workspace": ctx.workspace,
        "root_dir": str(scan.root),
        "filters": {"cwd_prefix": scan.prefix, "mode": args.mode},
        "scanned": scan.to_json(),
        "digest": items,
    }


def _last(file: TranscriptFile, scan: TranscriptPass, mode: str) -> Json | None:
    """The last message of the agent, or the last summary, in the final part of a file."""
    short = scan.allowance.left < min(TAIL_BYTES, file.size)
    found: tuple[Line, TranscriptMessage] | None = None
    with scan.allowance.share(TAIL_BYTES) as part:
        start = max(0, file.size - part.left)
        try:
            with open_file(file.path) as opened:
                opened.seek(start)
                for line in lines(opened, part):
                    # Reading may have begun in the middle of a line.
                    spoken = None if start and line.number == 1 else spoken_in(line)
                    if spoken is not None and spoken.role == "assistant" and (mode == "last" or sums_up(spoken)):
                        found = line, spoken
        except ClewError:
            scan.unreadable += 1
            found = None
        # Only the end of each file is wanted, so reading to its last byte does not count as a cut.
        part.ran_out = short
    return _item(file, *found, exact=start == 0) if found else None


def sums_up(spoken: TranscriptMessage) -> bool:
    """Whether a message looks like a summary: it is marked as one, has such a heading, or is a longer list."""
    if spoken.summary or _SAYS_SO.search(spoken.text):
        return True
    # A heading such as "Done" also begins short remarks, and a short list may be anything; hence the minimum lengths.
    bullets, size = len(_BULLET.findall(spoken.text)), len(spoken.text)
    headed = _HEADING.search(spoken.text) is not None and (bullets >= 1 or size >= 120)
    return headed or (bullets >= 3 and size >= 200)


def _item(file: TranscriptFile, line: Line, spoken: TranscriptMessage, exact: bool) -> Json:
    ref = {"path": file.name, "byte": line.byte, **({"line": line.number} if exact else {})}
    return {"id": transcript_id(file.name, line.byte), "ref": ref, "message": picked(spoken, "role", "ts", "text")}


def _suggest_more(ctx: Context, args: TranscriptsDigest) -> None:
    again = args.model_dump(exclude_unset=True, exclude={"workspace", "max_bytes_total", "mode"})
    larger = min(args.max_bytes_total * 8, LARGEST_SCAN)
    again["max_bytes_total"] = larger
    ctx.suggest(suggest("transcripts_digest", "Reads more.", "high", **again))
    ctx.suggest(suggest("transcripts_digest", "Takes any last message.", "medium", **again, mode="last"))
