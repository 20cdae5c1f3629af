"""What a line of shell would run and which files it would write, as far as its form tells.

Guards judge the commands of a line one by one, so that `echo "git push --force"` is an echo and `cd x && git push` is
a push. What stands in quotes is a word; what stands in `$(...)`, in `bash -c` or after `sudo` is a command. Variables
and aliases are not followed: a guard is a reminder at the right moment and no sandbox.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST_LINE = 20_000
# How deep `bash -c` and `$(...)` are followed; the bound ends the recursion on a line made to be endless.
DEEPEST = 4
_OPERATORS = frozenset(";&|\n()")
_BEFORE = {
    **dict.fromkeys(("sudo", "doas", "env", "nice", "nohup", "time", "command", "exec", "builtin", "xargs"), 0),
    **dict.fromkeys(("then", "do", "else", "if", "while", "until", "!", "{"), 0),
    "timeout": 1,
}
"""Words that are followed by another command, with how many arguments they take themselves, options apart."""
_WITH_VALUE = frozenset({"-u", "-g", "-n", "-I", "-P", "-k", "-s", "-C"})
"""Options of these words that take the next word as their value."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_WRITE_ALL = frozenset({"rm", "mv", "tee", "truncate", "touch", "shred", "unlink", "rmdir"})
_WRITE_LAST = frozenset({"cp", "install", "ln", "rsync"})
_GIT_WRITES = frozenset({"checkout", "restore", "rm", "mv", "clean"})


@dataclass(slots=True)
class Simple:
    """One command with its arguments, and the files that its output is sent to."""

    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    folder: str = ""
    """Where it runs, seen from where the line began."""

    @property
    def named(self) -> list[str]:
        """The words, the program by its name alone."""
        return [posixpath.basename(self.words[0]), *self.words[1:]] if self.words else []

    @property
    def line(self) -> str:
        """The words with one blank between them."""
        return " ".join(self.named)

    @property
    def writes(self) -> list[str]:
        """The paths that the command would change, seen from where the line began."""
        return [posixpath.normpath(posixpath.join(self.folder, path)) for path in (*self.targets, *self._changed())]

    def _changed(self) -> list[str]:
        name, rest = (posixpath.basename(self.words[0]), self.words[1:]) if self.words else ("", [])
        named = [word for word in rest if not word.startswith("-")]
        if name in _WRITE_ALL:
            return named
        if name in _WRITE_LAST:
            return named[-1:]
        if name == "sed" and any(word.startswith(("-i", "--in-place")) for word in rest):
            return named
        if name == "dd":
            return [word[3:] for word in rest if word.startswith("of=")]
        return named[1:] if name == "git" and named[:1] and named[0] in _GIT_WRITES else []


def simple_commands(line: str) -> list[Simple]:
    """Every command of a line in the order in which they stand there."""
    found = list(_commands(line[:LONGEST_LINE], 0))
    folder = ""
    for command in found:
        command.folder = folder
        # As if every cd succeeded: whether one did cannot be known from the line.
        if command.words[:1] == ["cd"] and len(command.words) > 1:
            folder = posixpath.join(folder, command.words[1])
    return found


def _commands(line: str, depth: int) -> Iterator[Simple]:
    if depth > DEEPEST:
        return
    reader = _Reader(line)
    for command in reader.commands():
        command.words = _without_prefix(command.words)
        if command.words or command.targets:
            yield command
        inner = _inner(command.words)
        if inner:
            yield from _commands(inner, depth + 1)
    for inside in reader.substituted:
        # After the line itself, though a shell would run it first; guards look at each, and the order says nothing.
        yield from _commands(inside, depth + 1)


def _without_prefix(words: list[str]) -> list[str]:
    """The words from the program on: variables set before it and words such as sudo are left out."""
    at = 0
    while at < len(words):
        word = posixpath.basename(words[at])
        if "=" in word and word.partition("=")[0].isidentifier():
            at += 1
        elif word in _BEFORE and at + 1 < len(words):
            own = _BEFORE[word]
            at += 1
            while at < len(words) and words[at].startswith("-"):
                at += 2 if words[at] in _WITH_VALUE else 1
            at += own
        else:
            break
    return words[at:]


def _inner(words: list[str]) -> str:
    """The line that a shell or eval is given."""
    name = posixpath.basename(words[0]) if words else ""
    if name == "eval":
        return " ".join(words[1:])
    if name in _SHELLS:
        flags = [number for number, word in enumerate(words[1:], 1) if word.startswith("-") and word.endswith("c")]
        return words[flags[0] + 1] if flags and flags[0] + 1 < len(words) else ""
    return ""


class _Reader:
    """Reads a line once from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.substituted: list[str] = []
        self._ends: list[tuple[str, bool]] = []
        """Words that end the here-documents that were opened on this line, and whether tabs before them count."""

    def commands(self) -> Iterator[Simple]:
        command = Simple()
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign in " \t\r":
                self.at += 1
            elif sign in _OPERATORS:
                yield command
                command = Simple()
                self._operator(sign)
            elif sign == "#":
                self._skip_to("\n")
            elif sign in "<>" or (sign.isdigit() and self.line[self.at + 1 : self.at + 2] in ("<", ">")):
                self._redirect(command)
            else:
                command.words.append(self._word())
        yield command

    def _operator(self, sign: str) -> None:
        self.at += 1
        if sign == "&" and self.line[self.at : self.at + 1] == ">":
            return  # `&>` is a redirection; what follows is read as one
        if sign == "\n" and self._ends:
            self._skip_documents()

    def _redirect(self, command: Simple) -> None:
        while self.at < len(self.line) and self.line[self.at].isdigit():
            self.at += 1
        start = self.at
        while self.at < len(self.line) and self.line[self.at] in "<>|&-":
            self.at += 1
        sign = self.line[start : self.at]
        while self.at < len(self.line) and self.line[self.at] in " \t":
            self.at += 1
        if sign.startswith("<<<") or self.at >= len(self.line) or self.line[self.at] in _OPERATORS:
            return
        if sign.startswith("<") and self.line[self.at] == "(":
            return  # `<(...)`: what stands in it is read as commands
        word = self._word()
        if sign.startswith("<<"):
            self._ends.append((word, sign.endswith("-")))
        elif sign.startswith(">") and not sign.endswith("&") and not word.isdigit() and word != "/dev/null":
            command.targets.append(word)

    def _word(self) -> str:
        parts: list[str] = []
        start = self.at
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign in " \t\r<>" or sign in _OPERATORS:
                break
            if sign == "'":
                parts.append(self._quoted())
            elif sign == '"':
                parts.append(self._double_quoted())
            elif sign == "\\":
                parts.append(self.line[self.at + 1 : self.at + 2].replace("\n", ""))
                self.at += 2
            elif sign == "`" or self.line.startswith("$(", self.at):
                parts.append(self._substitution())
            else:
                parts.append(sign)
                self.at += 1
        self.at = max(self.at, start + 1)  # a stray sign is passed over
        return "".join(parts)

    def _quoted(self) -> str:
        end = self.line.find("'", self.at + 1)
        end = len(self.line) if end < 0 else end
        text = self.line[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double_quoted(self) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.line) and self.line[self.at] != '"':
            if self.line[self.at] == "\\":
                parts.append(self.line[self.at + 1 : self.at + 2])
                self.at += 2
            elif self.line[self.at] == "`" or self.line.startswith("$(", self.at):
                parts.append(self._substitution())
            else:
                parts.append(self.line[self.at])
                self.at += 1
        self.at += 1
        return "".join(parts)

    def _substitution(self) -> str:
        """Set `$(...)` or a text in backticks aside as a line of its own."""
        start = self.at
        if self.line[self.at] == "`":
            end = self.line.find("`", self.at + 1)
            end = len(self.line) if end < 0 else end
            self.substituted.append(self.line[self.at + 1 : end])
            self.at = end + 1
            return self.line[start : self.at]
        depth, self.at = 0, self.at + 1
        while self.at < len(self.line):
            sign = self.line[self.at]
            if sign == "'":
                self._quoted()
                continue
            depth += (sign == "(") - (sign == ")")
            self.at += 1
            if not depth:
                break
        self.substituted.append(self.line[start + 2 : self.at - 1])
        return self.line[start : self.at]

    def _skip_documents(self) -> None:
        """Pass over the texts of here-documents: they are no commands."""
        for word, tabs in self._ends:
            while self.at < len(self.line):
                start = self.at
                self._skip_to("\n")
                text = self.line[start : self.at]
                self.at += 1
                if (text.lstrip("\t") if tabs else text) == word:
                    break
        self._ends.clear()

    def _skip_to(self, sign: str) -> None:
        end = self.line.find(sign, self.at)
        self.at = len(self.line) if end < 0 else end
