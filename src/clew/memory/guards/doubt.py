"""Undecidable shell lines: their effect cannot be determined in advance, but may concern a guard.

A program may be in a variable, in the code of another language, or in the output of a pipe. Such a line
is put to the user if it mentions what the guard is about: a line that builds the words from pieces is
beyond a reminder.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from clew.memory.guards.check import Check, GuardedAction, read_line
from clew.memory.guards.shell import SHELLS, Simple

_CODE = {
    **dict.fromkeys(("python", "python2", "python3", "pypy3", "uv"), ("-c",)),
    **dict.fromkeys(("perl", "ruby", "lua", "osascript"), ("-e", "-E", "-ne", "-pe")),
    **dict.fromkeys(("node", "deno", "bun"), ("-e", "--eval", "-p", "--print", "eval")),
    "php": ("-r",),
}
"""Programs that take code of another language, and the options before it."""
_RUNNERS = frozenset(
    {
        "ssh", "parallel", "docker", "podman", "kubectl", "nsenter", "tmux", "screen", "at", "batch", "crontab",
        "xargs", "make",
    }
)  # fmt: skip
"""Programs that run a command from their arguments, in their own syntax."""
_COPIERS = frozenset({"rsync", "unzip", "tar", "patch", "cpio", "bsdtar"})
"""Programs that may write anything below the folder they name."""
_LITERAL = re.compile(r"[^*?\[\]{}]{2,}")
_VARIABLE = re.compile(r"[$`]")
_UNSEEN = re.compile(r"[$`]|^alias\.")
"""Arguments that refer to others: variables, and git aliases."""
_MARKS = str.maketrans("", "", "'\"\\")


def is_doubtful(check: Check, action: GuardedAction) -> bool:
    """Whether the command may be what the check is about, and cannot be decided."""
    if not action.command:
        return False
    line = action.command.translate(_MARKS)
    commands = read_line(action.command)
    if check.commands and any(_names_all(pattern, line) for pattern in check.commands):
        return any(_hides_a_command(check, command) for command in commands)
    if check.paths and not check.must and not check.must_not and _names_a_path(check.paths, line):
        return any(_hides_a_write(command) for command in commands)
    return False


def _names_all(pattern: str, line: str) -> bool:
    """Whether each word of a command's pattern occurs somewhere in the line."""
    words = [part for word in pattern.translate(_MARKS).split() for part in _LITERAL.findall(word)]
    return bool(words) and all(word in line for word in words)


def _names_a_path(globs: Sequence[str], line: str) -> bool:
    """Whether the line mentions a folder or a file extension of one of the globs."""
    parts = {part for glob in globs for step in glob.split("/") for part in _LITERAL.findall(step)}
    return any(re.search(rf"(?<![A-Za-z0-9]){re.escape(part)}(?![A-Za-z0-9])", line) for part in parts)


def _hides_a_command(check: Check, command: Simple) -> bool:
    if not command.words:
        return False
    programs = {pattern.split()[0] for pattern in check.commands if pattern.split()}
    if _VARIABLE.search(command.words[0]):
        return True
    if command.named[0] in programs:
        return command.is_fed or any(_UNSEEN.search(word) for word in command.words[1:])
    return _is_opaque(command)


def _hides_a_write(command: Simple) -> bool:
    if not command.words:
        return False
    if _VARIABLE.search(command.words[0]) or any(_VARIABLE.search(path) for path in command.writes):
        return True
    return command.named[0] in _COPIERS or (command.is_fed and command.may_write) or _is_opaque(command)


def _is_opaque(command: Simple) -> bool:
    """Whether it runs something this parser cannot see: code, a command in its own syntax, or the output of a pipe."""
    name, rest = command.named[0], command.named[1:]
    if name in _RUNNERS:
        return True
    code = next((options for program, options in _CODE.items() if _is_program(name, program)), None)
    if code is not None and any(word in code for word in rest):
        return True
    if code is None and posixpath.basename(name) not in SHELLS:
        return False
    # Without a file to run, the program comes from a pipe, a here-document or a terminal.
    return all(word.startswith("-") for word in rest)


def _is_program(name: str, program: str) -> bool:
    """`python3.12` is python3."""
    return name == program or re.fullmatch(rf"{re.escape(program)}[0-9.]*", name) is not None
