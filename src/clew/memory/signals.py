"""Signals: lines of a log or a conversation that are worth keeping, one block each in `intelligence/SIGNALS.md`.

Patterns decide which lines become a signal; the first match wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from clew.ids import dated
from clew.kinds import statuses
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.files.markdown import print_block, set_field
from clew.memory.marks import content_hash, mark
from clew.registry.context import Context

PRIORITIES = {"high": "P1", "medium": "P2", "low": "P3"}

LOG_CUT, TALK_CUT = 150, 200
"""Maximum characters of a signal from a log and from a conversation, as in Mind-Mem."""
TALK_LEAST = 15
"""A shorter line of a conversation (`no, use tabs`) is unclear without its context."""
_BLOCK_ID = dated("D", "T", "SIG", "P")
_MARKS = re.compile(r"^\s*(?:[-*+>]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True, slots=True)
class Notice:
    """A line that matched a pattern."""

    kind: str
    confidence: str
    text: str
    line: int


Rules = tuple[tuple[str, str, re.Pattern[str]], ...]


def _rules(table: dict[str, dict[str, str]]) -> Rules:
    # Confidence is the outer loop: every strong pattern of any kind is tried before the first weak one.
    return tuple(
        (kind, confidence, re.compile(rf"\b(?:{pattern})", re.IGNORECASE))
        for confidence in PRIORITIES
        for kind, patterns in table.items()
        if (pattern := patterns.get(confidence))
    )


_LOG = _rules(
    {
        "decision": {
            "high": r"we(?:'ll|’ll| will| decided| agreed| chose| went with)\b|decided to\b|from now on\b"
            r"|going forward\b|no longer\b",
            "medium": r"let'?s go with\b|switching to\b|instead of\b|we are (?:moving|switching|changing)\b"
            r"|approved\b|finali[sz]ed\b",
            "low": r"prefer\b.+\bover\b|default\b.+\bwill be\b",
        },
        "task": {
            "high": r"action item\b|deadline\b|by end of\b|must\b.+\bbefore\b|blocked on\b",
            "medium": r"need to\b|todo\b|follow[ -]up\b|should\b.+\bbefore\b|next step\b|requires\b",
            "low": r"would be nice\b|someday\b|maybe\b.+\bshould\b",
        },
    }
)
_TALK = _rules(
    {
        "correction": {
            "high": r"don'?t use\b|never (?:do|use|write|call|commit|push|run)\b|always (?:use|do|run|write|call)\b"
            r"|stop (?:doing|using|writing)\b|that'?s (?:wrong|not right)\b",
            "medium": r"no,? use\b|instead of\b",
        },
        "convention": {
            "high": r"(?:the|our) (?:pattern|convention|standard) (?:here )?is\b",
            "medium": r"we (?:follow|use|prefer)\b",
        },
        "insight": {"high": r"root cause\b", "medium": r"the (?:fix|issue|problem|bug) was\b"},
        "decision": {
            "high": r"we(?:'ll|’ll| will| decided| agreed| chose| went with)\b|decided to\b|from now on\b",
            "medium": r"let'?s go with\b|switching to\b",
        },
    }
)
_ENTITY = re.compile(
    r"https?://github\.com/[\w.-]+/[\w.-]+|\bmcp_[a-z0-9_]+|(?<![\w.@/])@[A-Za-z][\w-]{1,38}\b(?!\.\w)"
    r"|\b(?:PRJ|PER|TOOL)-[a-z0-9-]+"
)
_TAGS = {
    "database": r"database|db|postgres\w*|sqlite|mysql",
    "security": r"auth\w*|security|tokens?|passwords?|secrets?",
    "api": r"apis?|endpoints?|rest",
    "deployment": r"deploy\w*|ci|cd|release",
    "testing": r"tests?|testing|specs?|coverage",
    "bug": r"bugs?|fix\w*|errors?",
    "infrastructure": r"infra\w*|servers?|kubernetes|docker",
    "performance": r"perf\w*|latency|slow",
}
_TAG = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _TAGS.items()}


def in_log(text: str) -> Iterator[Notice]:
    """Decisions, tasks and new names in a daily log. Headings and lines that name a block are skipped."""
    for number, line in enumerate(text.splitlines(), 1):
        said = _MARKS.sub("", line).strip()
        # A line that names a block is about something that is recorded already; Mind-Mem's capture skips it too.
        if not said or said.startswith("#") or _BLOCK_ID.search(said):
            continue
        found = _first(_LOG, said)
        if found:
            yield Notice(*found, said[:LOG_CUT], number)
        elif _ENTITY.search(said):
            yield Notice("entity", "low", said[:LOG_CUT], number)


def in_talk(text: str) -> Iterator[Notice]:
    """Corrections, conventions, insights and decisions in a conversation."""
    for number, line in enumerate(text.splitlines(), 1):
        said = _MARKS.sub("", line).strip()
        if len(said) < TALK_LEAST or said.startswith(("#", "```", "{", "|")) or _BLOCK_ID.search(said):
            continue
        found = _first(_TALK, said)
        if found:
            yield Notice(*found, said[:TALK_CUT], number)


def _first(rules: Rules, said: str) -> tuple[str, str] | None:
    return next(((kind, confidence) for kind, confidence, pattern in rules if pattern.search(said)), None)


def tags_of(text: str) -> list[str]:
    return [name for name, pattern in _TAG.items() if pattern.search(text)]


def spoken(jsonl: str) -> str:
    """The messages of people and agents in a transcript; tool results, which may quote our own recall,
    are left out."""
    said: list[str] = []
    for line in jsonl.splitlines():
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        said += _speech(entry)
    return "\n".join(said)


def _speech(entry: Any) -> Iterator[str]:
    if not isinstance(entry, dict) or entry.get("isMeta") or entry.get("type") not in ("user", "assistant", None):
        return
    message = entry.get("message", entry)
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
                yield part["text"]


def record(
    ctx: Context,
    *,
    kind: str,
    excerpt: str,
    source: str,
    confidence: str,
    tags: list[str],
    action: str,
    rationale: str = "",
    proposal: str | None = None,
    origin: str = "propose",
) -> Block:
    """Write a pending signal."""
    id = blocks.dated_id(ctx, "SIG")
    text = print_block(
        id,
        {
            "Date": blocks.day_of(ctx.now_ms),
            "Type": f"auto-capture-{kind}",
            "Source": source,
            "Confidence": confidence,
            "Priority": PRIORITIES[confidence],
            "Status": "pending",
            "Excerpt": excerpt,
            "ContentHash": content_hash(excerpt),
            "Rationale": rationale,
            "Tags": ", ".join(tags),
            "Proposal": proposal,
            "Action": action,
        },
    )
    return blocks.write(ctx, id, text, origin=origin)


def waiting(ctx: Context, statement: str) -> Block | None:
    """A pending signal with the same statement."""
    return next((b for b in blocks.with_mark(ctx, "SIG", mark(statement)) if b.status == statuses.PENDING), None)


def set_status(ctx: Context, id: str, status: str, cause: str) -> None:
    found = blocks.find(ctx, id)
    if found is not None and found.status != status:
        blocks.write(ctx, id, set_field(found.text, "Status", status), origin="review", cause=cause)
