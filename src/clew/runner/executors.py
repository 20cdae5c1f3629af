"""Executors: the programs that work on a slice of a job. A job names a kind, the runner's owner the program."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clew.errors import ClewError
from clew.kinds import statuses
from clew.project_files import FilesBefore
from clew.runner.board import Board
from clew.runner.child import ChildLimits, Ended, run_child
from clew.runner.configuration import ANY, Configuration, ExecutorConfiguration
from clew.runner.slice_protocol import SCHEMA, NoAnswer, SliceAnswer, read_answer
from clew.runner.witness import observe, receipt_arguments

MAX_ANSWER = 1_000_000
Interrupted = Callable[[], str | None]
"""Called repeatedly while a slice runs; returns a reason to stop, or None."""


@dataclass(frozen=True)
class JobSlice:
    """The input of one slice."""

    job: str
    workspace: str
    prompt: str
    seconds: float
    board: Board | None = None
    task: str | None = None
    """The job's task. With `board` it lets the verify executor read and write proofs."""


class Stopped(Exception):
    """The slice was ended from outside: by the runner's owner (`stopped`), or because its claim was lost."""


class SliceFailed(Exception):
    """The slice gave no valid answer; the message says why."""


class Executor(Protocol):
    gated: bool
    """Whether DONE needs proof and the slice needs a prompt."""

    def work(self, slice: JobSlice, interrupted: Interrupted) -> SliceAnswer: ...


class DryExecutor:
    """For dry runs: waits and answers DONE without running anything."""

    gated = False

    def __init__(self, seconds: float = 0) -> None:
        self._seconds = seconds

    def work(self, slice: JobSlice, interrupted: Interrupted) -> SliceAnswer:
        end = time.monotonic() + self._seconds
        while (left := end - time.monotonic()) > 0:
            why = interrupted()
            if why is not None:
                raise Stopped(why)
            time.sleep(min(left, 0.05))
        return SliceAnswer(status=statuses.WORK_DONE, summary="dry run: nothing was executed")


class ProcessExecutor:
    """Runs a command with the prompt on standard input; its files are in a temporary directory."""

    gated = True

    def __init__(self, own: ExecutorConfiguration, configuration: Configuration) -> None:
        self._own = own
        self._configuration = configuration

    def work(self, slice: JobSlice, interrupted: Interrupted) -> SliceAnswer:
        with tempfile.TemporaryDirectory(prefix="clew-job-") as folder:
            files = Files(Path(folder))
            files.prompt.write_text(slice.prompt, encoding="utf-8")
            files.schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
            ended = self._run(slice, files, interrupted)
            if ended.reason in ("stopped", "lost claim"):
                raise Stopped(ended.reason)
            return self._answer(slice, files, ended)

    def command(self, slice: JobSlice, files: Files) -> list[str]:
        """The command with its placeholders filled in. No shell reads it, so ids and paths need no quoting."""
        values = {
            "{job}": slice.job,
            "{workspace}": slice.workspace,
            "{prompt_file}": str(files.prompt),
            "{schema_file}": str(files.schema),
            "{answer_file}": str(files.answer),
        }
        filled = []
        for word in self._own.command:
            for name, value in values.items():
                word = word.replace(name, value)
            filled.append(word)
        return filled

    def own_variables(self) -> tuple[str, ...]:
        return ()

    def answer_text(self, files: Files, ended: Ended) -> str:
        # A program that does not know the file prints its answer instead.
        if files.answer.exists() and files.answer.stat().st_size:
            with files.answer.open(encoding="utf-8", errors="replace") as stream:
                return stream.read(MAX_ANSWER)
        return ended.output

    def _run(self, slice: JobSlice, files: Files, interrupted: Interrupted) -> Ended:
        settings = self._configuration
        limits = ChildLimits(
            slice.seconds, settings.stop_s, settings.memory_mb << 20, int(settings.output_mb * (1 << 20))
        )
        directory = Path(settings.directory).expanduser() if settings.directory else Path.cwd()
        environment = self._environment(slice)
        return run_child(self.command(slice, files), environment, directory, files.prompt, limits, interrupted)

    def _environment(self, slice: JobSlice) -> dict[str, str]:
        """The allowed variables only, so that tokens and addresses of this process do not reach the job."""
        kept = allowed_environment(self._own, self._configuration, self.own_variables())
        return {**kept, "CLEW_JOB": slice.job, "CLEW_WORKSPACE": slice.workspace}

    def _answer(self, slice: JobSlice, files: Files, ended: Ended) -> SliceAnswer:
        if not ended.ok:
            raise SliceFailed(why_it_failed(ended, slice, self._configuration))
        if self._own.answer == "exit":
            return _answer_by_exit(self.command(slice, files), ended)
        try:
            return read_answer(self.answer_text(files, ended))
        except NoAnswer as problem:
            raise SliceFailed(f"the answer cannot be read: {problem}{_last_words(ended)}") from None


def allowed_environment(
    own: ExecutorConfiguration, configuration: Configuration, more: tuple[str, ...] = ()
) -> dict[str, str]:
    allowed = (*configuration.environment, *own.environment, *more)
    return {
        name: value
        for name, value in os.environ.items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)
    }


@dataclass(frozen=True)
class Files:
    """The files of one slice in its temporary directory."""

    folder: Path

    @property
    def prompt(self) -> Path:
        return self.folder / "prompt.md"

    @property
    def schema(self) -> Path:
        return self.folder / "schema.json"

    @property
    def answer(self) -> Path:
        return self.folder / "answer.json"


class CodexExecutor(ProcessExecutor):
    """`codex exec`, which reads the prompt from standard input and writes its last message to a file."""

    def command(self, slice: JobSlice, files: Files) -> list[str]:
        binary = self._own.binary or "codex"
        named = ["--output-schema", str(files.schema), "--output-last-message", str(files.answer)]
        return [binary, "exec", "--skip-git-repo-check", *named, *self._own.arguments, "-"]

    def own_variables(self) -> tuple[str, ...]:
        return ("CODEX_*", "OPENAI_*")


class ClaudeExecutor(ProcessExecutor):
    """`claude -p`, which prints one JSON object with the structured answer in it."""

    def command(self, slice: JobSlice, files: Files) -> list[str]:
        binary = self._own.binary or "claude"
        asked = ["--output-format", "json", "--json-schema", json.dumps(SCHEMA, separators=(",", ":"))]
        return [binary, "-p", *asked, *self._own.arguments]

    def own_variables(self) -> tuple[str, ...]:
        return ("ANTHROPIC_*", "CLAUDE_*")

    def answer_text(self, files: Files, ended: Ended) -> str:
        """The structured part of its output, else the text of its result."""
        try:
            printed = json.loads(ended.output)
        except json.JSONDecodeError:
            return ended.output
        if not isinstance(printed, dict):
            return ended.output
        structured = printed.get("structured_output")
        return json.dumps(structured) if isinstance(structured, dict) else str(printed.get("result", ""))


def why_it_failed(ended: Ended, slice: JobSlice, settings: Configuration) -> str:
    """A sentence for the job's thread that says why a process failed."""
    reasons = {
        "time": f"it ran longer than {slice.seconds:g} s and was ended",
        "output": f"it printed more than {settings.output_mb:g} MB and was killed",
        "memory": f"it used {ended.detail}, more than {settings.memory_mb} MB, and was killed",
        "start": f"it could not be started: {ended.detail}",
        "lost": f"it was lost: {ended.detail}",
    }
    if ended.reason in reasons:
        return reasons[ended.reason] + _last_words(ended)
    how = f"exit code {ended.exit}" if ended.exit is not None else f"signal {ended.signal}"
    return f"it ended with {how}{_last_words(ended)}"


def _last_words(ended: Ended) -> str:
    last = " ".join((ended.errors.strip() or ended.output.strip())[-400:].split())
    return f" | {last[-160:]}" if last else ""


def _answer_by_exit(command: list[str], ended: Ended) -> SliceAnswer:
    last = ended.output.strip().splitlines()[-1:] or ["exit code 0"]
    return SliceAnswer(status=statuses.WORK_DONE, summary=last[0][:700], refs=[f"CMD: {shlex.join(command)}"])


class Executors:
    """The usable executors of a runner, by the kinds of jobs they take; and why others cannot be used."""

    def __init__(self, configuration: Configuration, dry_run: bool = False) -> None:
        self._by_kind: dict[str, Executor] = {}
        self.unusable: dict[str, str] = {}
        if dry_run:
            self._by_kind[ANY] = DryExecutor()
            return
        for name, own in configuration.executors.items():
            problem = _problem(own)
            if problem is not None:
                self.unusable[name] = problem
                continue
            for kind in own.kinds:
                # Two executors may name one kind: the first that is usable here takes its jobs.
                self._by_kind.setdefault(kind, make_executor(own, configuration))

    @property
    def kinds(self) -> list[str] | None:
        """The kinds of jobs to claim; None for any."""
        return None if ANY in self._by_kind else sorted(self._by_kind)

    def check(self) -> None:
        if not self._by_kind:
            problems = "; ".join(f"{name}: {problem}" for name, problem in sorted(self.unusable.items()))
            raise ClewError(
                "UNAVAILABLE",
                f"none of the executors can be used here: {problems or 'none is configured'}",
                "Install one of the programs, describe another in runner.toml, or try --dry-run.",
            )

    def of(self, kind: str) -> Executor:
        return self._by_kind.get(kind) or self._by_kind[ANY]


class VerifyExecutor:
    """Proves a task again: runs the commands of its seen receipts in the configured checkout, if they are allowed.

    The command comes from a receipt in the store; the runner's owner decides with `allow` whether it may run here.
    """

    gated = False

    def __init__(self, own: ExecutorConfiguration, configuration: Configuration) -> None:
        self._own = own
        self._configuration = configuration

    def work(self, slice: JobSlice, interrupted: Interrupted) -> SliceAnswer:
        if slice.board is None or slice.task is None:
            raise SliceFailed("the job names no task whose proofs could be run again")
        steps = slice.board.call("tasks_proofs", task=slice.task)["steps"]
        results = [
            self._again(slice, slice.board, step["step_id"], id, interrupted) for step in steps for id in step["repeat"]
        ]
        if not results:
            return SliceAnswer(
                status=statuses.JOB_FAILED, summary="nothing to run again: no step rests on a seen run that proves it"
            )
        seen = [result for result in results if result is not None]
        passed = [result for result in seen if result["receipt"]["grade"] == "seen"]
        all_passed = len(passed) == len(results)
        disputes = [result["disputes"] for result in seen if result["disputes"]]
        summary = f"{len(passed)} of {len(results)} commands passed"
        if disputes:
            summary += f"; disputed: {', '.join(disputes)}"
        refs = [result["receipt"]["id"] for result in seen]
        return SliceAnswer(
            status=statuses.WORK_DONE if all_passed else statuses.JOB_FAILED,
            summary=summary,
            refs=refs,
        )

    def _again(
        self, slice: JobSlice, board: Board, step: str, id: str, interrupted: Interrupted
    ) -> dict[str, Any] | None:
        """The result of running a receipt's command again; None if the command is not allowed here."""
        receipt = board.call("open", id=id)["receipt"]
        words = self._allowed(receipt["command"] or "")
        if words is None:
            return None
        settings = self._configuration
        root = Path(settings.directory).expanduser() if settings.directory else Path.cwd()
        seconds = min(self._own.seconds or slice.seconds, slice.seconds)
        limits = ChildLimits(seconds, settings.stop_s, settings.memory_mb << 20, int(settings.output_mb * (1 << 20)))
        before = FilesBefore(root, receipt["files"])
        with Path(os.devnull).open("rb") as nothing:
            seen = observe(words, root, allowed_environment(self._own, settings), nothing, limits, interrupted)
        if seen.reason in ("stopped", "lost claim"):
            raise Stopped(seen.reason)
        place = {"task": slice.task, "step_id": step, "again": receipt["id"]}
        return board.prove({**place, **receipt_arguments(seen, root, receipt["files"], before)})

    def _allowed(self, command: str) -> list[str] | None:
        """The words to run; None if not allowed. A shell runs only a line that the owner wrote down exactly, because a
        pattern such as `pytest *` would also match `pytest x; anything`."""
        if command in self._own.allow:
            # One word with blanks or signs in it is run by a shell (see `observe`).
            return [command]
        if _SHELL_CONTROL.search(command) or not any(fnmatch.fnmatchcase(command, name) for name in self._own.allow):
            return None
        return shlex.split(command)


_SHELL_CONTROL = re.compile(r"[;&|<>$`(){}\n\\]")


def make_executor(own: ExecutorConfiguration, configuration: Configuration) -> Executor:
    if own.type == "dry":
        return DryExecutor(own.seconds)
    if own.type == "verify":
        return VerifyExecutor(own, configuration)
    return {"codex": CodexExecutor, "claude": ClaudeExecutor, "command": ProcessExecutor}[own.type](own, configuration)


def _problem(own: ExecutorConfiguration) -> str | None:
    """Why an executor cannot work on this machine; None if it can."""
    if own.type in ("dry", "verify"):
        return None if own.type == "dry" or own.allow else "allow is empty: no command may be run again"
    if own.type == "command" and not own.command:
        return "command is empty"
    program = own.command[0] if own.type == "command" else own.binary or own.type
    return None if shutil.which(program) else f"{program} is not found"
