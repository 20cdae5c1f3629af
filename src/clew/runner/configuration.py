"""The configuration of a runner: which programs it may execute, with which limits. It never comes from a job."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.errors import ClewError
from clew.registry.arguments import nearest

FILE = "runner.toml"
ANY = "*"

Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]
Word = Annotated[str, Field(min_length=1, max_length=4096)]
# Variables that a job's process gets by default; tokens and database addresses are not among them.
ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ", "LC_*", "XDG_*")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExecutorConfiguration(Strict):
    """One way to work on a job. `kinds` are the kinds of jobs it takes; `*` takes what no other one names."""

    type: Literal["codex", "claude", "command", "dry", "verify"]
    kinds: Annotated[list[Word], Field(min_length=1, max_length=100)] = [ANY]
    binary: Word | None = None
    arguments: Annotated[list[str], Field(max_length=200)] = []
    command: Annotated[list[Word], Field(max_length=200)] = []
    answer: Literal["json", "exit"] = "json"
    environment: Annotated[list[Word], Field(max_length=200)] = []
    seconds: Annotated[float, Field(ge=0, le=3600)] = 0
    allow: Annotated[list[Word], Field(max_length=200)] = []


class Configuration(Strict):
    # The defaults of times and limits are those of BranchMind's runner.
    executors: dict[str, ExecutorConfiguration] = Field(default_factory=dict)
    runner_id: Word | None = None
    slots: Annotated[int, Field(ge=1, le=64)] = 1
    poll_s: Seconds = 1.5
    heartbeat_s: Seconds = 60
    slice_s: Seconds = 1800
    slice_grace_s: Annotated[float, Field(ge=0, le=24 * 3600)] = 300
    stop_s: Annotated[float, Field(ge=0, le=600)] = 5
    max_runtime_s: Seconds = 86_400
    max_slices: Annotated[int, Field(ge=1, le=10_000)] = 200
    max_failures: Annotated[int, Field(ge=1, le=100)] = 3
    retry_s: Annotated[float, Field(ge=0, le=3600)] = 2
    memory_mb: Annotated[int, Field(ge=16, le=1_048_576)] = 4096
    output_mb: Annotated[float, Field(gt=0, le=65_536)] = 64
    directory: Word | None = None
    environment: Annotated[list[Word], Field(max_length=200)] = list(ENVIRONMENT)
    skill_profile: Literal["daily", "strict", "research", "teamlead"] = "strict"
    skill_max_chars: Annotated[int, Field(ge=0, le=8000)] = 1200

    @property
    def lease_ms(self) -> int:
        """Milliseconds of a lease: three heartbeats, so that two may be missed, within the bounds of the store."""
        return min(max(int(self.heartbeat_s * 3000), 1_000), 300_000)


DEFAULT_EXECUTORS: dict[str, dict[str, Any]] = {
    "codex": {"type": "codex", "kinds": ["codex_cli", ANY]},
    "claude": {"type": "claude", "kinds": ["claude_cli", "claude_code"]},
}


def load_configuration(
    home: Path | None, given: str | None = None, flags: dict[str, Any] | None = None
) -> Configuration:
    """Load the named file (or CLEW_RUNNER_CONFIG, or runner.toml in the data directory); flags override it."""
    named = given or os.environ.get("CLEW_RUNNER_CONFIG")
    if not named and home is None:
        raise ClewError(
            "NOT_ALLOWED",
            "a project's clew.toml named the data directory, and what a runner executes must not come from there",
            "Name the configuration: --config FILE or CLEW_RUNNER_CONFIG, or choose the data directory by CLEW_HOME.",
        )
    path = Path(named).expanduser() if named else (home or Path()) / FILE
    raw = _read(path) if named or path.exists() else {}
    merged = {**raw, **{name: value for name, value in (flags or {}).items() if value is not None}}
    merged.setdefault("executors", DEFAULT_EXECUTORS)
    try:
        return Configuration.model_validate(merged)
    except ValidationError as problem:
        raise _refusal(path, problem) from None


def verifying(configuration: Configuration) -> Configuration:
    """The configuration with only the executors of type verify."""
    kept = {name: own for name, own in configuration.executors.items() if own.type == "verify"}
    return configuration.model_copy(update={"executors": kept})


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ClewError("IO_ERROR", f"{path}: {os.strerror(problem.errno or 0)}", "Name a file that exists.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ClewError("INVALID_INPUT", f"{path} is not TOML: {problem}", "Mend the file.") from None


def _refusal(path: Path, problem: ValidationError) -> ClewError:
    problems = []
    for error in problem.errors(include_url=False, include_context=False, include_input=False)[:5]:
        name = ".".join(str(part) for part in error["loc"])
        if error["type"] == "extra_forbidden":
            model = ExecutorConfiguration if error["loc"][0] == "executors" else Configuration
            near = nearest(str(error["loc"][-1]), list(model.model_fields))
            problems.append(f"{name}: unknown setting" + (f"; did you mean {near}?" if near else ""))
        else:
            problems.append(f"{name}: {error['msg'].lower()}")
    return ClewError("INVALID_INPUT", f"runner configuration {path}: {'; '.join(problems)}", "See docs/delegation.md.")
