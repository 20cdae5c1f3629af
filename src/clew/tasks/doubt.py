"""Doubt: why a run that ended with 0 shows nothing, read from its command and from what it printed.

A command that hides a failure, only looks around, lists tests instead of running them or finds none to run ends with 0
whatever the state of the work is. A program that lies, or a test without an assertion, cannot be told from here.
"""

from __future__ import annotations

import posixpath
import re

from clew.memory.guards.shell import Simple, simple_commands

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_IN_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh\s+-\w*c\s+(['\"])(.*)\1", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_STRICT = re.compile(r"\s*set\s+(?P<options>(?:[-+]\w+|pipefail|errexit|nounset|\s)+?)\s*(?:;|&&|\n)")
_ERREXIT = re.compile(r"(?:^|\s)-\w*e|errexit")
_HARMLESS = re.compile(r"\|\|\s*(?:exit\s+[1-9]\d*|false)\b|\d*>&\d?-?|&>>?|(?:^|\s)#[^\n]*|[;\s]+$")
"""What joins nothing: `|| exit 1`, redirections such as `2>&1`, a comment, and what stands at the end."""
_PREPARES = frozenset({"cd", "export", "source", ".", "set", "unset", "ulimit", "umask", "mkdir", "pushd", "popd"})
"""What is done before the command that counts; nobody takes its exit code for a result."""
_LOOKS = frozenset(
    {
        *("true", ":", "echo", "printf", "sleep", "exit", "pwd", "date", "whoami", "id", "uname", "hostname", "env"),
        *("ls", "tree", "find", "stat", "file", "du", "df", "which", "type"),
        *("cat", "tac", "nl", "head", "tail", "wc", "less", "more", "tee"),
    }
)
_GIT_LOOKS = frozenset({"status", "log", "diff", "show", "branch", "remote", "stash", "add", "commit", "blame"})
_GIT_CHECKS = frozenset({"--exit-code", "--check", "--quiet"})
_IDLE: dict[str, frozenset[str]] = {
    "pytest": frozenset({"--collect-only", "--co", "--fixtures", "--markers", "--setup-plan", "--setup-only", "-h"}),
    "make": frozenset(
        {
            *("-n", "--just-print", "--dry-run", "--recon", "-q", "--question", "-p", "-h"),
            *("-t", "--touch", "-i", "--ignore-errors"),
        }
    ),
    "jest": frozenset({"--listTests", "--showConfig"}),
    "vitest": frozenset({"list"}),
    "go": frozenset({"-list", "-n"}),
    "cargo": frozenset({"--list"}),
    "ctest": frozenset({"-N", "--show-only"}),
    "npm": frozenset({"--if-present"}),
    "pnpm": frozenset({"--if-present"}),
}
"""Arguments with which a test runner lists, explains or forgives instead of testing."""
_IDLE_ANYWHERE = frozenset({"--version", "--help", "--exit-zero"})

_RAN_NOTHING = re.compile(
    r"\bno tests? (?:ran|were run|found|to run|files? found|collected)\b|\bno test files\b"
    r"|\b(?:ran|running|collected|executed)\s+0\s+(?:tests?|items?|specs?|examples?)\b"
    r"|(?<![\w.])0\s+(?:tests?|passing|passed|specs?|examples?)\b|^\W*tests?:?\s+0\b"
    r"|(?<![\w.])\d+\s+tests?\s+collected\b|^\W*\d+ (?:skipped|deselected)(?:, \d+ \w+)* in [\d.]+s",
    re.MULTILINE | re.IGNORECASE,
)
_RAN_SOMETHING = re.compile(
    r"(?<![\w.])[1-9]\d*\s+(?:tests?\s+)?(?:passed|passing|succeeded)\b|\b(?:ran|running)\s+[1-9]\d*\s+tests?\b"
    r"|^\W*tests?:?\s+[1-9]|(?<![\w.])[1-9]\d*\s+examples?\b|^ok\s+\S+\s+[\d.(]",
    re.MULTILINE | re.IGNORECASE,
)
_EMPTY_PACKAGE = re.compile(r"^.*\[no tests? (?:to run|files)\].*$", re.MULTILINE)
_MAKE_IDLE = re.compile(
    r"g?make(?:\[\d+\])?: .*(?:nothing to be done for|is up to date|(?:enter|leav)ing directory).*", re.IGNORECASE
)


def doubt(command: str, output: str | None) -> str | None:
    """Why a passed run of this command shows nothing; None where nothing speaks against it."""
    line = _inner(command)
    if hides_failure(line):
        return "its exit code is not that of all its commands; join them with &&"
    if cannot_fail(line):
        return "it would have passed whatever the state of the work is"
    return "its output says that nothing was run" if ran_nothing(output or "") else None


def hides_failure(line: str) -> bool:
    """Whether a command of the line may fail and the line still end with 0."""
    strict = _STRICT.match(line)
    options = strict["options"] if strict else ""
    bare = _HARMLESS.sub(" ", _QUOTED.sub("_", line[strict.end() :] if strict else line))
    if "||" in bare or ("|" in bare and "pipefail" not in options) or re.search(r"(?<!&)&(?!&)", bare):
        return True
    if _ERREXIT.search(options):
        return False
    *earlier, _ = re.split(r"[;\n]", bare)
    return not all(_only_prepares(part) for part in earlier)


def _only_prepares(part: str) -> bool:
    commands = [command.split() for command in part.split("&&")]
    return all(not words or words[0] in _PREPARES or "=" in words[0] for words in commands)


def cannot_fail(line: str) -> bool:
    """Whether everything that is run only prepares, looks around, or lists what could be run."""
    commands = [command for command in simple_commands(_inner(line)) if command.words]
    return all(_shows_nothing(command) for command in commands)


def _shows_nothing(command: Simple) -> bool:
    program, rest = posixpath.basename(command.words[0]), command.words[1:]
    if program in _PREPARES or program in _LOOKS or (program in _SHELLS and "-c" in rest):
        return True
    if program == "git":
        return rest[:1] != [] and rest[0] in _GIT_LOOKS and not _GIT_CHECKS.intersection(rest)
    named = {posixpath.basename(word) for word in command.words[:4]}  # python -m pytest, uv run pytest
    idle = _IDLE_ANYWHERE.union(*(_IDLE[name] for name in named & _IDLE.keys()))
    return bool(idle.intersection(rest))


def ran_nothing(output: str) -> bool:
    """Whether the output of a test runner says that there was nothing to run."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if lines and all(_MAKE_IDLE.fullmatch(line) for line in lines):
        return True
    return _RAN_NOTHING.search(output) is not None and _RAN_SOMETHING.search(_EMPTY_PACKAGE.sub("", output)) is None


def _inner(command: str) -> str:
    """What a shell is given as its text."""
    found = _IN_SHELL.fullmatch(command.strip())
    return found.group(2).strip() if found else command.strip()
