"""Governance settings: mode, budgets and cooldowns, stored in `memory/intel-state.json`.

Mind-Mem uses the same file and stores more in it (its version, counters, times of its last scan and
apply). Clew ignores unknown keys, and keeps them whenever it writes the file.

Mind-Mem originally read the mode from that file; its version 5 reads it from `mind-mem.json`, so both
count here. If both define one, the stricter applies: what one program was configured not to apply, the
other must not apply either. A configuration of version 1 defines a mode too, which nothing ever read:
there the state file alone counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.errors import ClewError, Suggestion
from clew.memory.files import plain_files
from clew.memory.files.directory import CONFIGURATION, root_of
from clew.registry.context import Context
from clew.registry.people import check_person
from clew.store.workspaces import declare_events, read_meta, write_meta

declare_events(
    {
        "approval_changed": "A person changed who may decide about proposals.",
        "governance_changed": "A person changed budgets, waiting times or the mode of review.",
    }
)

STATE_FILE = "memory/intel-state.json"
Review = Literal["risk", "all"]
Mode = Literal["detect_only", "propose", "enforce"]
Approval = Literal["person", "client"]
STRICT_FIRST: tuple[Mode, ...] = get_args(Mode)
BINDING = ".spec_binding.json"
"""The file in which Mind-Mem 5 stores a hash of its configuration."""
_APPROVAL = "approval of proposals in"
"""In the store and not in the state file, which an agent that edits files could change."""
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
    no_touch_minutes: Count = 10
    """Time between two automatic applies (mode enforce)."""
    auto_apply_low_risk: bool | None = True
    """Whether mode enforce applies by itself. Mind-Mem writes `false` into every state file that it makes."""


class Configured(BaseModel):
    """What of Mind-Mem's configuration is read here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    governance_mode: Mode = "enforce"
    version: Any = None
    schema_version: Any = None
    """Written by the later versions of Mind-Mem, also into a file that version 1 made."""

    @property
    def names_mode(self) -> bool:
        return "governance_mode" in self.model_fields_set

    @property
    def is_of_version_1(self) -> bool:
        return str(self.version).partition(".")[0] == "1" and self.schema_version is None


@dataclass(frozen=True)
class LoadedPolicy:
    governance: Governance
    problem: str | None = None
    file: str = STATE_FILE
    """The file that has the problem."""


def load(ctx: Context) -> LoadedPolicy:
    """The effective settings. An unreadable file counts as detect_only: nothing is applied until it is fixed."""
    state, configuration = plain_files.both(ctx, STATE_FILE, CONFIGURATION)
    stated = _stated(ctx, state)
    if stated.problem or not configuration:
        return stated
    held = _both(stated.governance, configuration)
    return stated if held.problem and state and _is_unread(ctx, configuration) else held


def _is_unread(ctx: Context, configuration: str) -> bool:
    """Whether the mode in the configuration is ignored. Version 1 never read it; Clew keeps its own in sync."""
    try:
        found = Configured.model_validate(orjson.loads(configuration))
    except (orjson.JSONDecodeError, ValidationError):
        return False
    return found.is_of_version_1 and plain_files.first_origin(ctx, CONFIGURATION) != "init"


def stated(ctx: Context) -> Governance:
    """The settings in the state file, whatever mode the configuration defines."""
    return _stated(ctx, plain_files.text(ctx, STATE_FILE)).governance


def _both(governance: Governance, configuration: str) -> LoadedPolicy:
    """The settings with the stricter of two modes."""
    own = governance.governance_mode
    named, problem = _named_mode(configuration)
    if named in (None, own) and not problem:
        return LoadedPolicy(governance)
    mode = min(own, named or own, key=STRICT_FIRST.index)
    said = problem or f"says {named} and {STATE_FILE} says {own}"
    advice = f"the stricter mode {mode} holds until `governance` sets one, which writes it into both files"
    held = governance.model_copy(update={"governance_mode": mode})
    return LoadedPolicy(held, f"{CONFIGURATION} {said}; {advice}", CONFIGURATION)


def _named_mode(configuration: str) -> tuple[Mode | None, str | None]:
    """The mode in the configuration, if any. An unreadable value counts as the strictest, and is a problem."""
    try:
        found = Configured.model_validate(orjson.loads(configuration))
    except (orjson.JSONDecodeError, ValidationError) as problem:
        return "detect_only", f"cannot be read ({_describe(problem)})"
    return (found.governance_mode if found.names_mode else None), None


def _stated(ctx: Context, text: str) -> LoadedPolicy:
    if not text:
        return LoadedPolicy(Governance())
    try:
        return LoadedPolicy(Governance.model_validate(orjson.loads(text)))
    except (orjson.JSONDecodeError, ValidationError) as problem:
        safe = _last_readable(ctx).model_copy(update={"governance_mode": "detect_only"})
        return LoadedPolicy(safe, f"{STATE_FILE}: {_describe(problem)}")


def _last_readable(ctx: Context) -> Governance:
    """The settings before the file was broken, so that fixing it with `governance` does not reset them all."""
    for found in _objects(plain_files.versions(ctx, STATE_FILE)):
        with suppress(ValidationError):
            return Governance.model_validate(found)
    return Governance()


def _objects(texts: list[str]) -> Iterator[dict[str, Any]]:
    """Those of these texts that are JSON objects, in order."""
    for text in texts:
        with suppress(orjson.JSONDecodeError):
            found = orjson.loads(text)
            if isinstance(found, dict):
                yield found


def _describe(problem: orjson.JSONDecodeError | ValidationError) -> str:
    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        return ": ".join(text for text in (".".join(map(str, first["loc"])), first["msg"]) if text)
    return str(problem)


def save(ctx: Context, governance: Governance) -> None:
    """Write the settings into the file. Its other keys are kept, also those inside the budget."""
    kept = _existing(ctx, STATE_FILE)
    raw: dict[str, Any] = governance.model_dump()
    budget = kept.get("proposal_budget")
    if isinstance(budget, dict):
        raw["proposal_budget"] = {**budget, **raw["proposal_budget"]}
    plain_files.write(ctx, STATE_FILE, _state_text({**kept, **raw}), "governance")


def save_mode(ctx: Context, mode: Mode) -> str | None:
    """Write the mode into the configuration too, if that defines one or is unreadable. Returns the next
    step for the user."""
    text = plain_files.text(ctx, CONFIGURATION)
    if not text or _named_mode(text) in ((None, None), (mode, None)):
        return None
    known = _existing(ctx, CONFIGURATION)
    plain_files.write(ctx, CONFIGURATION, _printed({**known, "governance_mode": mode}), "governance")
    root = root_of(ctx)
    if root is None or not (root / BINDING).is_file():
        return None
    # The binding certifies that a person has reviewed the file, so Clew does not renew it.
    return f"{CONFIGURATION} has the new mode. Run `mm bind --rebind` there: Mind-Mem may refuse to write before."


def reviews_everything(ctx: Context) -> bool:
    """Whether no record of an agent comes into force without approval."""
    governance = load(ctx).governance
    return governance.governance_mode == "detect_only" or governance.review == "all"


def approval(ctx: Context) -> Approval:
    """Who decides about proposals: a person, or any client if a person has turned approval off."""
    return "client" if read_meta(ctx.tx, f"{_APPROVAL} {ctx.workspace}") == "client" else "person"


def save_approval(ctx: Context, chosen: Approval) -> None:
    write_meta(ctx.tx, f"{_APPROVAL} {ctx.workspace}", chosen)
    ctx.ws.next_seq()
    ctx.emit("memory", "approval_changed", None, {"approval": chosen})


def check_decider(ctx: Context, what: str, command: str, *ways: Suggestion) -> None:
    """Refuse a decision, unless a person makes it or approval is turned off."""
    if approval(ctx) == "person":
        check_person(ctx, what, command, *ways)


def note_apply(ctx: Context) -> None:
    """Record when a proposal was last applied. Mind-Mem reads it from the file for its cooldown."""
    raw = next(_objects([plain_files.text(ctx, STATE_FILE) or ""]), None)
    # Without the file its defaults apply, and with a broken one nothing was applied.
    if raw is not None:
        stamp = datetime.fromtimestamp(ctx.now_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        plain_files.write(ctx, STATE_FILE, _state_text({**raw, "last_apply_ts": stamp}), "apply")


def complete(ctx: Context) -> None:
    """Add what Mind-Mem needs to a state file that an older Clew created without it. Other files are left alone."""
    raw = next(_objects([plain_files.text(ctx, STATE_FILE)]), None)
    if raw is not None and "counters" not in raw and plain_files.first_origin(ctx, STATE_FILE) == "init":
        plain_files.write(ctx, STATE_FILE, _state_text(raw), "init")


def _existing(ctx: Context, path: str) -> dict[str, Any]:
    """The file's keys; if it is no valid JSON object, those of its last valid version."""
    texts = plain_files.versions(ctx, path)
    found = next(_objects(texts), None)
    if found is None and texts:
        raise ClewError(
            "CONFLICT",
            f"{path} is no JSON object and never was one here, so its other keys would be lost",
            f"Mend {path} first.",
        )
    return found or {}


def default_state_text() -> str:
    return _state_text(Governance().model_dump())


def _state_text(raw: dict[str, Any]) -> str:
    """The state file. Mind-Mem counts its findings in `counters`; without it its scan fails."""
    return _printed({**raw, "counters": raw.get("counters", {})})


def default_configuration_text() -> str:
    """The file by which Mind-Mem recognises a workspace, and from which its version 5 reads the mode."""
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
