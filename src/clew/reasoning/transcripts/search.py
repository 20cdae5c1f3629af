"""transcripts_search: messages that hold a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, invalid
from clew.reasoning.transcripts.files import Line, TranscriptFile, lines, open_file
from clew.reasoning.transcripts.messages import Message, message, parse
from clew.reasoning.transcripts.scan import Scan, Scanning, start_scan, warn_of_limits
from clew.reasoning.transcripts.sessions import SessionInfo
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import Name, Title, operation

LEAST_SHARE = 1 << 20
_PLAIN = re.compile(r"[A-Za-z0-9 _.:-]+")

SEARCH_BUDGET = Budget(
    (
        Trim("hits", drop="last", floor=3),
        Clip("hits[].message.snippet", 80),
        Trim("hits", drop="last"),
        Trim("projects", drop="last"),
    ),
    16_000,
    keep=("root_dir", "scanned"),
)


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
    """What was found, each message once, and counted for each project."""

    args: TranscriptsSearch
    found: list[dict[str, Any]] = field(default_factory=list)
    projects: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: set[tuple[str, str, str]] = field(default_factory=set)
    more: bool = False
    """There is at least one message beyond the limit."""

    def visit(self, info: SessionInfo) -> dict[str, Any]:
        project = info.project()
        kept = self.projects.setdefault(project["id"], {**project, "files": 0, "hits": 0})
        kept["files"] += 1
        return kept

    def add(self, file: TranscriptFile, info: SessionInfo, project: dict[str, Any], line: Line, said: Message) -> None:
        key = (project["id"], said.role, said.text)
        if self.args.dedupe and key in self.seen:
            return
        if len(self.found) >= self.args.hits_limit:
            self.more = True
            return
        self.seen.add(key)
        project["hits"] += 1
        self.found.append(
            {
                "ref": {"path": file.name, "line": line.number, "byte": line.byte},
                "session": info.to_json(),
                "project": {name: project[name] for name in ("id", "name", "confidence")},
                "message": {
                    "role": said.role,
                    "ts": said.ts,
                    "snippet": snippet(said.text, self.args.query, self.args.context_chars),
                },
            }
        )


@operation("transcripts_search", mode="own", budget=SEARCH_BUDGET, example={"query": "migration"})
def transcripts_search(ctx: Context, args: TranscriptsSearch) -> dict[str, Any]:
    """Search the messages of recorded agent sessions on this machine; nothing is stored."""
    if not args.query.strip():
        raise invalid("query", "must not be blank", "Give the text to look for.", kind="non_empty")
    scan, hits = start_scan(args), Hits(args)
    for file, info in scan.sessions():
        project = hits.visit(info)
        for line, said in _matches(file, scan, args):
            hits.add(file, info, project, line, said)
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
        "truncated": False,
    }


def _matches(file: TranscriptFile, scan: Scan, args: TranscriptsSearch) -> Iterator[tuple[Line, Message]]:
    # Half of what is left at most, so that one huge file leaves something for the others.
    part = scan.allowance.share(max(scan.allowance.left // 2, LEAST_SHARE))
    try:
        with open_file(file.path) as opened:
            for line in lines(opened, part):
                if not may_hold(line.raw, args.query):
                    continue
                record = parse(line.raw)
                said = message(record) if record else None
                if said and args.query in said.text and args.role in (None, said.role):
                    yield line, said
    except ClewError:
        scan.unreadable += 1  # it went away since it was listed
    finally:
        scan.allowance.settle(part)


def may_hold(raw: bytes, query: str) -> bool:
    """Whether parsing the line is worth it. Plain characters stand in JSON as they are, unless escaped by number."""
    return not _PLAIN.fullmatch(query) or query.encode() in raw or b"\\u00" in raw


def snippet(text: str, query: str, most: int) -> str:
    """The part of a text around what was found, on one line."""
    place = max(text.find(query), 0)
    start = max(0, min(place - (most - len(query)) // 2, len(text) - most))
    part = " ".join(text[start : start + most].split())
    return part[:most]
