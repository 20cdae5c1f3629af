"""Commands: which lines are one, which two are the same, and whether their output says that something failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from clew.tasks.receipts import command_of, plain_line

_PATH = re.compile(r"[^\s]*/[^\s]*|[\w-]+\.[a-zA-Z]{1,5}")
_TARGETS = "all bench build check ci clean docs fmt format install lint release run test tests typecheck verify"
_EXECUTABLES = {
    "bash": "",
    "bazel": "build run test",
    "bun": "add build install run test x",
    "bundle": "exec",
    "cargo": "bench build check clippy doc fmt install nextest run test",
    "deno": "bench check compile fmt lint run task test",
    "docker": "build compose exec images inspect logs ps pull push run",
    "dotnet": "build format run test",
    "git": "add apply bisect blame branch checkout cherry-pick clone commit diff fetch grep log merge pull push rebase"
    " reset rev-parse revert show stash status switch tag",
    "go": "build fmt generate get install mod run test tool vet",
    "gradle": "build check test",
    "helm": "install lint list rollback template test uninstall upgrade",
    "just": _TARGETS,
    "kubectl": "apply create delete describe diff exec get logs rollout",
    "make": _TARGETS,
    "mvn": "compile install package test verify",
    "mypy": "",
    "node": "",
    "npm": "audit ci exec install pack publish run test",
    "npx": "eslint jest mocha playwright prettier tsc vitest",
    "php": "",
    "phpunit": "",
    "pnpm": "add build exec install lint run test",
    "pytest": "",
    "python": "",
    "python3": "",
    "poetry": "check install run",
    "rake": _TARGETS,
    "rg": "",
    "ruby": "",
    "ruff": "check format",
    "sh": "",
    "swift": "build test",
    "tox": "run",
    "uv": "run",
    "uvx": "mypy nox pytest ruff tox",
    "terraform": "apply destroy fmt init plan validate",
    "yarn": "add build install lint run test",
}
_SUBCOMMANDS = {name: frozenset(words.split()) for name, words in _EXECUTABLES.items()}
"""Executables that a line may begin with, and arguments that make it a command without a flag or a path."""
_SCRIPT = re.compile(r"(?:\.{1,2}|bin|scripts?)/[\w./-]*\w")
"""A program named by its path, as in `./check.sh` or `scripts/test`. `tests/test_a.py` names a file, not a program."""
_RUNNERS = frozenset({"pytest", "tox", "nox", "ctest", "rspec", "jest", "vitest", "make", "just"})
"""Programs that test without an argument."""
# Words of test runners. A zero before them is a success, and so is `xfailed`.
_FAILED_RUN = re.compile(
    r"(?<![\w.,-])[1-9]\d*\s+(?:tests?\s+|specs?\s+|checks?\s+)?fail(?:ed|ures?|ing)?\b"
    r"|\bfailures?\s*[=:]\s*[1-9]"
    r"|^\s*(?-i:FAILED|FAIL|FAILURES?)\b(?!\s*[:=]?\s*0\b)"
    r"|^\s*not ok \d"
    r"|(?-i:\bBUILD FAILED\b)|\btests? failed\b",
    re.MULTILINE | re.IGNORECASE,
)
# What somebody pastes is judged harder than the output of a command that ended with 0, which may speak of errors.
_FAILED_CLAIM = re.compile(
    r"\bexit(?:ed)?(?:\s+with)?(?:\s+(?:code|status))?\s*[:=]?\s*(?:-\d|[1-9])"
    r"|\breturn(?:ed|s)?\s+(?:code\s+)?[1-9]\d*\b"
    r"|(?<![\w.,-])[1-9]\d*\s+errors?\b|\berrors?\s*[=:]\s*[1-9]"
    r"|\bTraceback \(most recent call last\)|\bnpm ERR!|\berror\[E\d+\]|\bsegmentation fault\b|\bcore dumped\b"
    r"|(?-i:\bFAILED\b)(?!\s*[:=]?\s*0\b)",
    re.MULTILINE | re.IGNORECASE,
)
_NONE_FAILED = re.compile(r"\b(?:0|no|none|zero)\s+(?:tests?\s+)?(?:fail\w*|errors?)\b|\bx?failed\s*[=:]\s*0\b", re.I)


def is_command(line: str) -> bool:
    """A known executable with an argument that is one beyond doubt. `just keep going` is a sentence."""
    words = line.split()
    if words and _SCRIPT.fullmatch(words[0]):
        return True
    if len(words) < 2 or words[0] not in _SUBCOMMANDS:
        return False
    argument = words[1].rstrip(".,;:!?")
    return (
        argument in _SUBCOMMANDS[words[0]]
        or (argument.startswith("-") and len(argument) > 1)
        or _PATH.fullmatch(argument) is not None
    )


def named_commands(lines: Iterable[str]) -> list[str]:
    """The commands among the lines that say how a step is tested; the others are sentences for people."""
    return [_bare_command(line) for line in lines if _is_named(line)]


def _is_named(line: str) -> bool:
    text = plain_line(line)
    bare = _bare_command(line)
    quoted = text.startswith("`") and text.endswith("`") and len(text) > 2
    return bool(bare) and (command_of(text) is not None or quoted or is_command(bare) or bare in _RUNNERS)


def says_failed(output: str) -> bool:
    """Whether the output of a test run says that something failed."""
    return _FAILED_RUN.search(_NONE_FAILED.sub("", output)) is not None


def claims_failure(text: str) -> bool:
    """Whether a pasted text speaks of a failure."""
    plain = _NONE_FAILED.sub("", text)
    return _FAILED_RUN.search(plain) is not None or _FAILED_CLAIM.search(plain) is not None


def same_command(first: str, second: str) -> bool:
    """Whether two lines name one command, whatever marks and spaces stand around it."""
    return _bare_command(first) == _bare_command(second)


def _bare_command(line: str) -> str:
    text = plain_line(line)
    return " ".join((command_of(text) or text).strip().strip("`").split())
