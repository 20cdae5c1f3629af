"""Governance settings: mode, budgets and waiting times, kept in `memory/intel-state.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.memory.files import plain_files
from clew.registry.context import Context

STATE_FILE = "memory/intel-state.json"
Review = Literal["risk", "all"]
Mode = Literal["detect_only", "propose", "enforce"]
Count = Annotated[int, Field(ge=0, le=100_000)]


class ProposalBudget(BaseModel):
    """How many proposals the machine may make by itself. What a caller proposes is never refused for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_run: Count = 3
    per_day: Count = 6
    backlog_limit: Count = 30


class Governance(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    governance_mode: Mode = "propose"
    proposal_budget: ProposalBudget = ProposalBudget()
    defer_cooldown_days: Count = 7
    review: Review = "risk"
    """What `keep` stages for review: what contradicts or replaces another's record (risk), or everything (all)."""
    self_approval: bool = False
    """Whether an agent may approve a record that it staged itself."""
    no_touch_minutes: Count = 10
    """Time between two applies that the machine makes by itself (mode enforce)."""


@dataclass(frozen=True)
class Loaded:
    governance: Governance
    problem: str | None = None


def load(ctx: Context) -> Loaded:
    """The state; one that cannot be read fails closed: nothing is applied until it is mended."""
    text = plain_files.text(ctx, STATE_FILE)
    if not text:
        return Loaded(Governance())
    try:
        return Loaded(Governance.model_validate(orjson.loads(text)))
    except (orjson.JSONDecodeError, ValidationError) as problem:
        return Loaded(Governance(governance_mode="detect_only"), f"{STATE_FILE}: {_said(problem)}")


def _said(problem: orjson.JSONDecodeError | ValidationError) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(problem)


def save(ctx: Context, governance: Governance) -> None:
    plain_files.write(ctx, STATE_FILE, state_text(governance), "governance")


def default_state_text() -> str:
    return state_text(Governance())


def state_text(governance: Governance) -> str:
    raw: dict[str, Any] = governance.model_dump()
    return orjson.dumps(raw, option=orjson.OPT_INDENT_2).decode() + "\n"
