"""transcripts_digest: the last words of recent sessions of this project."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import ClewError, suggest
from clew.reasoning.transcripts.files import Line, TranscriptFile, lines, open_file
from clew.reasoning.transcripts.messages import Message, message, parse
from clew.reasoning.transcripts.scan import Scan, Scanning, start_scan, warn_of_limits
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import operation

TAIL_BYTES = 256 << 10
LARGEST_SCAN = 1 << 30

_HEADING = re.compile(
    r"^\W{0,8}(?:summary|in short|what (?:i|we|was|has been) (?:did|do|done|changed)|changes?|results?|outcome|done"
    r"|status|next steps?|open questions?|decisions?)\b",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+\S", re.MULTILINE)

DIGEST_BUDGET = Budget(
    (
        Clip("digest[].message.text", 3000),
        Clip("digest[].message.text", 800),
        Trim("digest", drop="last", floor=1),
        Clip("digest[].message.text", 200),
        Trim("digest", drop="last"),
    ),
    16_000,
    keep=("root_dir", "scanned"),
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
def transcripts_digest(ctx: Context, args: TranscriptsDigest) -> dict[str, Any]:
    """Show how the newest recorded sessions of this project ended; nothing is stored."""
    scan = start_scan(args)
    items: list[dict[str, Any]] = []
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
        "truncated": False,
    }


def _last(file: TranscriptFile, scan: Scan, mode: str) -> dict[str, Any] | None:
    """The last fitting message in the file's last part."""
    wanted = min(TAIL_BYTES, file.size)
    short = scan.allowance.left < wanted
    part = scan.allowance.share(TAIL_BYTES)
    start = max(0, file.size - part.left)
    found: tuple[Line, Message] | None = None
    try:
        with open_file(file.path) as opened:
            opened.seek(start)
            for line in lines(opened, part):
                if start and line.number == 1:
                    continue  # most likely half a line
                record = parse(line.raw)
                said = message(record) if record else None
                if said is not None and said.role == "assistant" and (mode == "last" or sums_up(said)):
                    found = line, said
    except ClewError:
        scan.unreadable += 1
        return None
    finally:
        part.ran_out = short  # the end of each file is all that is wanted
        scan.allowance.settle(part)
    return _item(file, *found, exact=start == 0) if found else None


def sums_up(said: Message) -> bool:
    """Whether a message looks like a summary: it says so in a heading, or it is a list of some length."""
    if said.summary:
        return True
    bullets = len(_BULLET.findall(said.text))
    return (bool(_HEADING.search(said.text)) and (bullets >= 1 or len(said.text) >= 120)) or (
        bullets >= 3 and len(said.text) >= 200
    )


def _item(file: TranscriptFile, line: Line, said: Message, exact: bool) -> dict[str, Any]:
    ref: dict[str, Any] = {"path": file.name, "byte": line.byte}
    if exact:
        ref["line"] = line.number
    return {"ref": ref, "message": {"role": "assistant", "ts": said.ts, "text": said.text}}


def _suggest_more(ctx: Context, args: TranscriptsDigest) -> None:
    again = args.model_dump(exclude_unset=True, exclude={"workspace", "max_bytes_total", "mode"})
    larger = min(args.max_bytes_total * 8, LARGEST_SCAN)
    ctx.suggest(suggest("transcripts_digest", "Reads more.", "high", **again, max_bytes_total=larger))
    ctx.suggest(
        suggest("transcripts_digest", "Takes any last message.", "medium", **again, max_bytes_total=larger, mode="last")
    )
