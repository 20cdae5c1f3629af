"""Shell commands: which lines are one, which two are equivalent, and what an exit code shows.

A command that hides a failure, only inspects, lists tests instead of running them or finds none to run ends with 0
whatever the state of the work is. A program with a wrong exit code, or a test without an assertion, is not detected.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from clew.memory.guards.shell import Simple, simple_commands
from clew.tasks.proof_receipts import command_of, plain_line

_PATH = re.compile(r"[^\s]*/[^\s]*|[\w-]+\.[a-zA-Z]{1,5}")
_TARGETS = "all bench build check ci clean docs fmt format install lint release run test tests typecheck verify"
_EXECUTABLES = {
    **dict.fromkeys(["bash", "mypy", "node", "php", "phpunit", "pytest", "python", "python3", "rg", "ruby", "sh"], ""),
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
    "npm": "audit ci exec install pack publish run test",
    "npx": "eslint jest mocha playwright prettier tsc vitest",
    "pnpm": "add build exec install lint run test",
    "poetry": "check install run",
    "rake": _TARGETS,
    "ruff": "check format",
    "swift": "build test",
    "tox": "run",
    "uv": "run",
    "uvx": "mypy nox pytest ruff tox",
    "terraform": "apply destroy fmt init plan validate",
    "yarn": "add build install lint run test",
}
_SUBCOMMANDS = {name: frozenset(words.split()) for name, words in _EXECUTABLES.items()}
"""Executables that may begin a line, and arguments that make it a command without a flag or a path."""
_SCRIPT = re.compile(r"(?:\.{1,2}|bin|scripts?)/[\w./-]*\w")
"""A program named by its path, as in `./check.sh` or `scripts/test`. `tests/test_a.py` names a file, not a program."""
_BEFORE = re.compile(r"^(?:\s*(?:cd\s+\S+\s*&&|[A-Za-z_]\w*=\S*\s))+\s*")
"""Prefixes before the relevant command: `cd web && npm test`, `CI=1 make test`."""
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
# Pasted text is judged more strictly than the output of a command that ended with 0, which may mention errors.
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
    """A known executable with an argument that is unambiguously one. `just keep going` is a sentence."""
    words = _BEFORE.sub("", line).split()
    if words and _SCRIPT.fullmatch(words[0]):
        return True
    program = _program(words[0]) if words else ""
    # A path always refers to a program: `.venv/bin/pytest` needs no argument to be a command.
    if program in _RUNNERS and "/" in words[0]:
        return True
    if len(words) < 2 or program not in _SUBCOMMANDS:
        return False
    # Sentences end with these, and so do commands that are quoted in one.
    argument = words[1].rstrip(".,;:!?")
    return (
        argument in _SUBCOMMANDS[program]
        or (argument.startswith("-") and len(argument) > 1)
        or _PATH.fullmatch(argument) is not None
    )


def _program(word: str) -> str:
    """The name of a program, whatever its directory and version: `/opt/bin/python3.12` is python3."""
    name = posixpath.basename(word)
    return name if name in _SUBCOMMANDS else re.sub(r"(?<=\d)\.\d+$", "", name)


def named_commands(lines: Iterable[str]) -> list[str]:
    """The commands among the lines that describe how a step is tested; the others are sentences for people."""
    return [_bare_command(line) for line in lines if _is_named(line)]


def _is_named(line: str) -> bool:
    text = plain_line(line)
    bare = _bare_command(line)
    quoted = text.startswith("`") and text.endswith("`") and len(text) > 2
    return bool(bare) and (command_of(text) is not None or quoted or is_command(bare) or bare in _RUNNERS)


def says_failed(output: str) -> bool:
    """Whether the output of a test run reports a failure."""
    return _FAILED_RUN.search(_NONE_FAILED.sub("", output)) is not None


def claims_failure(text: str) -> bool:
    """Whether a pasted text reports a failure."""
    # `0 failed` and `no errors` are successes; they are removed before searching for failures.
    plain = _NONE_FAILED.sub("", text)
    return _FAILED_RUN.search(plain) is not None or _FAILED_CLAIM.search(plain) is not None


def same_command(first: str, second: str) -> bool:
    """Whether two lines contain the same command, whatever marks and spaces surround it, and wherever its program is
    installed: `.venv/bin/python3 -m pytest` is `python -m pytest`."""
    return _anywhere(_bare_command(first)) == _anywhere(_bare_command(second))


def covers_command(run: str, wanted: str) -> bool:
    """Whether a run is of the wanted command, or of a superset of its tests: `pytest tests` covers `pytest tests/a.py`.

    Only what is certainly a superset counts: plain runs of pytest with files and folders.
    """
    if same_command(run, wanted):
        return True
    ran, asked = _tested_paths(run), _tested_paths(wanted)
    if ran is None or asked is None:
        return False
    return not ran or (bool(asked) and all(any(_lies_in(path, place) for place in ran) for path in asked))


_PYTEST = re.compile(r"^(?:python -m )?(?:pytest|py\.test)(?=\s|$)")
_QUIET = re.compile(r"-[qvxsl]+|-r\w+|--tb=\w+|--color=\w+|--no-header|--exitfirst|--quiet|--verbose")
"""Options of pytest that select no tests."""
_SHELL_SIGNS = frozenset("|&;<>()$`*?{[\\'\"#~!")


def _tested_paths(command: str) -> list[str] | None:
    """The files and folders of a plain run of pytest, empty for all of them; None for anything else."""
    plain = _anywhere(_bare_command(command))
    found = _PYTEST.match(plain)
    if found is None or _SHELL_SIGNS & set(plain):
        return None
    words = [word for word in plain[found.end() :].split() if not _QUIET.fullmatch(word)]
    paths = [posixpath.normpath(word) for word in words]
    return None if any(word.startswith("-") for word in words) else [path for path in paths if path != "."]


def _lies_in(path: str, place: str) -> bool:
    return path == place or path.startswith((f"{place}/", f"{place}::"))


_INSTALLED = re.compile(r"^(?:\S*/)?(?:bin|Scripts)/(?=[\w.+-]+(?:\s|$))")
_PYTHON = re.compile(r"^python3?(?:\.\d+)?(?=\s)")


def _anywhere(command: str) -> str:
    return _PYTHON.sub("python", _INSTALLED.sub("", command))


def _bare_command(line: str) -> str:
    text = plain_line(line)
    return " ".join((command_of(text) or text).strip().strip("`").split())


_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_IN_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh\s+-\w*c\s+(['\"])(.*)\1", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_STRICT = re.compile(r"\s*set\s+(?P<options>(?:[-+]\w+|pipefail|errexit|nounset|\s)+?)\s*(?:;|&&|\n)")
_ERREXIT = re.compile(r"(?:^|\s)-\w*e|errexit")
_HARMLESS = re.compile(r"\|\|\s*(?:exit\s+[1-9]\d*|false)\b|\d*>&\d?-?|&>>?|(?:^|\s)#[^\n]*|[;\s]+$")
"""Parts that join no commands: `|| exit 1`, redirections such as `2>&1`, a comment, and trailing text."""
_PREPARES = frozenset({"cd", "export", "source", ".", "set", "unset", "ulimit", "umask", "mkdir", "pushd", "popd"})
"""Preparation before the relevant command; its exit code is not a result."""
_LOOKS = frozenset(
    {
        *("true", ":", "echo", "printf", "sleep", "exit", "pwd", "date", "whoami", "id", "uname", "hostname", "env"),
        *("ls", "tree", "find", "stat", "file", "du", "df", "which", "type"),
        *("cat", "tac", "nl", "head", "tail", "wc", "less", "more", "tee"),
    }
)
_NEVER_FAILS = re.compile(
    r"true|:|pwd|date|whoami|hostname|(?:exit|return)(?: 0)?|sleep [\d.]+[smhd]?|(?:echo|printf)(?: .*)?"
    r"|(?:cd|export|set|unset)(?: .*)?|(?:ba|z|da|k)?sh -\w*c .*",
    re.DOTALL,
)
"""Commands that end with 0 whatever the state of the work is. The whole form: `date parsing checked` is prose."""
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
"""Arguments with which a test runner lists, explains or ignores failures instead of testing."""
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
    """Why a passed run of this command proves nothing; None if it does."""
    line = _inner(command)
    if hides_failure(line):
        return "its exit code is not that of all its commands; join them with &&"
    if cannot_fail(line):
        return "it would have passed whatever the state of the work is"
    return "its output says that nothing was run" if ran_nothing(output or "") else None


def hides_failure(line: str) -> bool:
    """Whether a command of the line may fail while the line still ends with 0."""
    strict = _STRICT.match(line)
    options = strict["options"] if strict else ""
    # Quoted text first: a pipe inside of quotes joins nothing.
    bare = _HARMLESS.sub(" ", _QUOTED.sub("_", line[strict.end() :] if strict else line))
    if "||" in bare or ("|" in bare and "pipefail" not in options) or re.search(r"(?<!&)&(?!&)", bare):
        return True
    # With -e the shell stops at the first failure, so `;` hides nothing.
    if _ERREXIT.search(options):
        return False
    # The exit code of a line is that of its last command. Those before it may only prepare.
    *earlier, _ = re.split(r"[;\n]", bare)
    return not all(_only_prepares(part) for part in earlier)


def _only_prepares(part: str) -> bool:
    commands = [command.split() for command in part.split("&&")]
    return all(not words or words[0] in _PREPARES or "=" in words[0] for words in commands)


def cannot_fail(line: str) -> bool:
    """Whether every command of the line only prepares, inspects, or lists what could be run."""
    commands = [command for command in simple_commands(_inner(line)) if command.words]
    return all(_shows_nothing(command) for command in commands)


def never_fails(line: str) -> bool:
    """Whether no command of the line can fail: `true`, `echo ok`, `exit 0`, `cd web && :`.

    Narrower than `cannot_fail`: `ls README.md` inspects, and fails if there is no such file.
    """
    # The text passed to a shell is listed as separate commands.
    commands = [command.line for command in simple_commands(_inner(line)) if command.words]
    return bool(commands) and all(_NEVER_FAILS.fullmatch(command) for command in commands)


def _shows_nothing(command: Simple) -> bool:
    program, rest = posixpath.basename(command.words[0]), command.words[1:]
    if program in _PREPARES or program in _LOOKS or (program in _SHELLS and "-c" in rest):
        return True
    # `git diff --exit-code` and similar commands do fail, and are valid checks.
    if program == "git":
        return rest[:1] != [] and rest[0] in _GIT_LOOKS and not _GIT_CHECKS.intersection(rest)
    named = {posixpath.basename(word) for word in command.words[:4]}  # python -m pytest, uv run pytest
    idle = _IDLE_ANYWHERE.union(*(_IDLE[name] for name in named & _IDLE.keys()))
    return bool(idle.intersection(rest))


def ran_nothing(output: str) -> bool:
    """Whether the output of a test runner reports that there was nothing to run."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if lines and all(_MAKE_IDLE.fullmatch(line) for line in lines):
        return True
    return _RAN_NOTHING.search(output) is not None and _RAN_SOMETHING.search(_EMPTY_PACKAGE.sub("", output)) is None


def _inner(command: str) -> str:
    """The text that is passed to a shell."""
    found = _IN_SHELL.fullmatch(command.strip())
    return found.group(2).strip() if found else command.strip()
