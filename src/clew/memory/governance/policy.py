"""Governance settings: mode, budgets and waiting times, stored in `memory/intel-state.json`.

Mind-Mem uses the same file and keeps more in it (its version, counters, times of its last scan and apply). Clew ignores
the keys it does not know, and keeps them whenever it writes the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.errors import ClewError
from clew.memory.files import plain_files
from clew.registry.context import Context

STATE_FILE = "memory/intel-state.json"
Review = Literal["risk", "all"]
Mode = Literal["detect_only", "propose", "enforce"]
Count = Annotated[int, Field(ge=0, le=100_000)]


class ProposalBudget(BaseModel):
    """How many proposals Clew may make by itself. Proposals of a caller are not limited by it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    per_run: Count = 3
    per_day: Count = 6
    backlog_limit: Count = 30


class Governance(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    governance_mode: Mode = "propose"
    proposal_budget: ProposalBudget = ProposalBudget()
    defer_cooldown_days: Count = 7
    review: Review = "risk"
    """What `keep` stages for review: what contradicts or replaces another's record (risk), or everything (all)."""
    self_approval: bool = False
    """Whether an agent may approve a record that it staged itself."""
    no_touch_minutes: Count = 10
    """Time between two automatic applies (mode enforce)."""
    auto_apply_low_risk: bool | None = True
    """Whether mode enforce applies by itself. Mind-Mem writes `false` into every state file that it makes."""


@dataclass(frozen=True)
class LoadedPolicy:
    governance: Governance
    problem: str | None = None


def load(ctx: Context) -> LoadedPolicy:
    """The stored settings. If the file is unreadable, mode detect_only holds: nothing is applied until it is mended."""
    text = plain_files.text(ctx, STATE_FILE)
    if not text:
        return LoadedPolicy(Governance())
    try:
        return LoadedPolicy(Governance.model_validate(orjson.loads(text)))
    except (orjson.JSONDecodeError, ValidationError) as problem:
        safe = _last_readable(ctx).model_copy(update={"governance_mode": "detect_only"})
        return LoadedPolicy(safe, f"{STATE_FILE}: {_describe(problem)}")


def _last_readable(ctx: Context) -> Governance:
    """The settings before the file was broken, so that mending it by `governance` does not set them all back."""
    for found in _objects(plain_files.versions(ctx, STATE_FILE)):
        with suppress(ValidationError):
            return Governance.model_validate(found)
    return Governance()


def _objects(texts: list[str]) -> Iterator[dict[str, Any]]:
    """Of some texts those that are JSON objects, in their order."""
    for text in texts:
        with suppress(orjson.JSONDecodeError):
            found = orjson.loads(text)
            if isinstance(found, dict):
                yield found


def _describe(problem: orjson.JSONDecodeError | ValidationError) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(problem)


def save(ctx: Context, governance: Governance) -> None:
    """Write the settings into the file. Its other keys stay, also those inside of the budget."""
    kept = _existing(ctx)
    raw: dict[str, Any] = governance.model_dump()
    budget = kept.get("proposal_budget")
    if isinstance(budget, dict):
        raw["proposal_budget"] = {**budget, **raw["proposal_budget"]}
    plain_files.write(ctx, STATE_FILE, _state_text({**kept, **raw}), "governance")


def note_apply(ctx: Context) -> None:
    """Write down when a proposal was last applied. Mind-Mem asks the file for it, and then waits a while."""
    raw = next(_objects([plain_files.text(ctx, STATE_FILE) or ""]), None)
    # Without the file its defaults hold, and a broken one has let nothing be applied.
    if raw is not None:
        stamp = datetime.fromtimestamp(ctx.now_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        plain_files.write(ctx, STATE_FILE, _state_text({**raw, "last_apply_ts": stamp}), "apply")


def complete(ctx: Context) -> None:
    """Add what Mind-Mem needs to a state file that an older Clew made without it. Somebody else's is left alone."""
    raw = next(_objects([plain_files.text(ctx, STATE_FILE)]), None)
    if raw is not None and "counters" not in raw and plain_files.first_origin(ctx, STATE_FILE) == "init":
        plain_files.write(ctx, STATE_FILE, _state_text(raw), "init")


def _existing(ctx: Context) -> dict[str, Any]:
    """The file's keys; of a file that is no JSON object, those that it had when it last was one."""
    texts = plain_files.versions(ctx, STATE_FILE)
    found = next(_objects(texts), None)
    if found is None and texts:
        raise ClewError(
            "CONFLICT",
            f"{STATE_FILE} is no JSON object and never was one here, so its other keys would be lost",
            f"Mend {STATE_FILE} first.",
        )
    return found or {}


def default_state_text() -> str:
    return _state_text(Governance().model_dump())


def _state_text(raw: dict[str, Any]) -> str:
    """The state file. Mind-Mem counts its findings in `counters`; without it its scan ends in an error."""
    return _printed({**raw, "counters": raw.get("counters", {})})


def default_configuration_text() -> str:
    """The file by which Mind-Mem recognises a workspace. Its mode is for Mind-Mem; Clew reads the state file."""
    governance = Governance()
    return _printed(
        {
            "version": "1.0.3",
            "workspace_path": ".",
            "auto_capture": True,
            "auto_recall": True,
            "governance_mode": governance.governance_mode,
            "recall": {"backend": "bm25"},
            "proposal_budget": governance.proposal_budget.model_dump(),
            "scan_schedule": "daily",
        }
    )


def _printed(raw: dict[str, Any]) -> str:
    return orjson.dumps(raw, option=orjson.OPT_INDENT_2).decode() + "\n"
