"""Texts for agents: help, and skill packs for the ways of working."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.registry.context import Context
from clew.registry.operation import Bounded, operation

SKILL_VERSION = "0.1.0"

HELP = {
    "LEGEND": (
        "A line is a state or a command; commands can be pasted as they stand.",
        "ERROR: says what is wrong and how to mend it; WARNING: says what was left out or is weak.",
        "REFERENCE: names something that open shows; MORE: says how to read on.",
        "ref= is the one thing to open first, next is the one thing to do, where= is the area of the system.",
    ),
    "DAILY": (
        "tasks_macro_start begins a task, tasks_snapshot shows it, think_card keeps a thought,"
        " tasks_macro_close_step closes a step.",
        "recall finds what is already known; ask it before you decide.",
        "op_search finds every other operation by words; op_read and op_call run one by name.",
        "Leave target out: the focus is used, and without a focus the checked-out branch.",
    ),
    "PROOF": (
        "A step closes through its checkpoints; criteria and tests are always asked for.",
        "Write proof as CMD: what you ran, or LINK: where it can be seen. A placeholder is never proof.",
    ),
    "DELEGATION": (
        "tasks_macro_delegate writes a task with a job; tasks_jobs_radar shows who works and who waits for you.",
        "The server never runs a job: clew runner does.",
    ),
    "ANCHORS": (
        "An anchor such as a:storage names an area of the system; tag cards with it to find them by meaning.",
        "v:canon is shown by default, v:draft only on request.",
    ),
}

PROFILES = {
    "daily": (
        "Begin with tasks_snapshot; end each step with tasks_macro_close_step.",
        "Keep one task in focus and few cards, each with a plain title.",
    ),
    "strict": (
        "Before you close a step: a hypothesis, a test that could refute it, and the strongest counter-position.",
        "State what would change your mind, and when you stop.",
    ),
    "research": (
        "Write the question first, then what you expect, then what you find.",
        "Stop when the stop criterion is met, and keep what was ruled out with the reason.",
    ),
    "teamlead": (
        "Cut work so that each job has one anchor, one outcome and one proof.",
        "Look at the radar before you write; answer questions first, then errors, then what waits for proof.",
    ),
}

SHARED = {
    "CORE LOOP": (
        "Look (tasks_snapshot), think (think_card), act, prove, close (tasks_macro_close_step).",
        "Write down decisions with their reason at the moment you take them.",
    ),
    "PROOF": (
        "Paste the command and its outcome as CMD:, and the place to see it as LINK:.",
        "What was not run is not proven; say so instead.",
    ),
    "ANCHORS": (
        "Tie what stays true to an anchor; tie what is only tried to the step.",
        "Open an anchor before you change its area.",
    ),
}


class Help(Bounded):
    pass


@operation("help", mode="own", raw_text=True, workspace=False)
def help(ctx: Context, args: Help) -> dict[str, Any]:
    """Explain the line protocol, proof conventions, delegation and the daily way of working."""
    return {"text": cut("\n".join(_sections(HELP)), args.max_chars)}


class Skill(Bounded):
    profile: Annotated[Literal["daily", "strict", "research", "teamlead"], Field(description="Way of working.")] = (
        "daily"
    )


@operation("skill", mode="own", raw_text=True, workspace=False)
def skill(ctx: Context, args: Skill) -> dict[str, Any]:
    """Give a short pack of rules for one way of working, fit to put into a prompt."""
    head = f"skill profile={args.profile} version={SKILL_VERSION}"
    lines = [head, *_sections({args.profile.upper(): PROFILES[args.profile], **SHARED})]
    return {"text": cut("\n".join(lines), args.max_chars)}


def cut(text: str, limit: int | None) -> str:
    """At most `limit` characters, the end marked where something is missing."""
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 3] + "..." if limit > 3 else text[:limit]


def _sections(sections: dict[str, tuple[str, ...]]) -> list[str]:
    lines = []
    for name, rules in sections.items():
        lines.append(f"[{name}]")
        lines += [f"- {rule}" for rule in rules]
    return lines
