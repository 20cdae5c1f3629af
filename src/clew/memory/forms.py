"""The fields that a new block gets when Clew writes it: one function for each kind."""

from __future__ import annotations

from clew.memory import blocks, signals
from clew.memory.files.markdown import clean, print_block
from clew.registry.context import Context


def decision_text(
    ctx: Context,
    id: str,
    statement: str,
    rationale: str,
    tags: list[str],
    source: str,
    *,
    scope: str = "global",
    supersedes: str | None = None,
    review_by: str | None = None,
    confidence: str = "",
) -> str:
    return print_block(
        id,
        {
            "Date": blocks.day_of(ctx.now_ms),
            "Status": "active",
            "Scope": clean(scope) or "global",
            "Statement": statement,
            "Rationale": rationale or "not given",
            "Supersedes": supersedes or "none",
            "Tags": ", ".join(tags) or "untagged",
            "Priority": signals.PRIORITIES.get(confidence),
            "ReviewBy": review_by,
            "Sources": [source],
        },
    )


def task_text(
    ctx: Context,
    id: str,
    statement: str,
    rationale: str,
    tags: list[str],
    source: str,
    *,
    confidence: str = "medium",
    review_by: str | None = None,
) -> str:
    today = blocks.day_of(ctx.now_ms)
    return print_block(
        id,
        {
            "Date": today,
            "Title": statement,
            "Status": "todo",
            "Priority": signals.PRIORITIES.get(confidence, "P2"),
            "Project": "none",
            "Due": "none",
            "Owner": "bot",
            "Context": rationale or "not given",
            "Next": "none",
            "Dependencies": "none",
            "Tags": ", ".join(tags),
            "ReviewBy": review_by,
            "Sources": [source],
            "History": [f"{today}: proposed"],
        },
    )
