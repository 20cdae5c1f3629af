"""The commands that a shell line would run and the files it would write, as far as its syntax shows.

Guards check the commands of a line one by one, so that `echo "git push --force"` is an echo and `cd x
&& git push` is a push. Quoted text is a word; the contents of `$(...)`, of `bash -c` or after `sudo`
are a command. Variables and aliases are not expanded: a guard is a reminder at the right time and no
sandbox.
"""

from __future__ import annotations

import posixpath
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

LONGEST_LINE = 60_000
"""Maximum characters of a line; a hook passes on no more. A longer line counts as unreadable."""
# Maximum nesting of `bash -c` and `$(...)`; ends the recursion on a malicious line.
DEEPEST = 4
MOST_ALTERNATIVES = 50
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_OPERATORS = frozenset(";&|\n()")
_BEFORE = {
    **dict.fromkeys(("sudo", "doas", "env", "nice", "nohup", "time", "command", "exec", "builtin", "xargs"), 0),
    **dict.fromkeys(("setsid", "stdbuf", "ionice", "chrt", "unbuffer", "caffeinate", "watch", "strace", "unshare"), 0),
    **dict.fromkeys(("coproc", "busybox", "toybox"), 0),
    **dict.fromkeys(("then", "do", "else", "if", "while", "until", "!", "{"), 0),
    **dict.fromkeys(("timeout", "flock", "chroot"), 1),
}
"""Prefix commands that run another command, with the number of their own arguments, options excluded."""
_WITH_VALUE = frozenset({"-u", "-g", "-n", "-I", "-P", "-k", "-s", "-C", "-S", "-d"})
"""Options of these commands that take the next word as their value."""
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_EDITORS = frozenset({"ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "sponge"})
_WRITE_ALL = frozenset({"rm", "mv", "tee", "truncate", "touch", "shred", "unlink", "rmdir"}) | _EDITORS
_WRITE_LAST = frozenset({"cp", "install", "ln", "rsync"})
_WRITE_AFTER = {
    **dict.fromkeys(("curl", "sort"), ("-o", "--output")),
    "wget": ("-O", "--output-document"),
}
"""Programs that write the file after one of these options."""
_LINE_AFTER = {
    **dict.fromkeys(("su", "script", "runuser", "flock"), ("-c", "--command")),
    "entr": ("-s",),
    "env": ("-S", "--split-string"),
}
"""Programs that run the line after one of these options."""
_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_GIT_WRITES = frozenset({"checkout", "restore", "rm", "mv", "clean"})


@dataclass(slots=True)
class Simple:
    """One command with its arguments, and the files that its output is redirected to."""

    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    folder: str = ""
    """Its working directory, relative to that of the line."""
    is_fed: bool = False
    """Whether xargs adds further words, which are unknown in advance."""

    @property
    def named(self) -> list[str]:
        """The words, with the program by its base name, and git without the options before its subcommand."""
        if not self.words:
            return []
        name, rest = posixpath.basename(self.words[0]), self.words[1:]
        return [name, *(_git_words(rest)[0] if name == "git" else rest)]

    @property
    def line(self) -> str:
        """The words separated by single blanks."""
        return " ".join(self.named)

    @property
    def writes(self) -> list[str]:
        """The paths that the command would change, relative to the directory of the line."""
        named = (_HERE.sub(".", path) for path in (*self.targets, *self._changed()))
        return [posixpath.normpath(posixpath.join(self.folder, path)) for path in named]

    def _changed(self) -> list[str]:
        name, *rest = self.named or [""]
        named = [word for word in rest if not word.startswith("-")]
        if name in _WRITE_LAST:
            return _copied(named, rest)
        if self.may_write:
            return named
        if name == "find" and ("-delete" in rest or _executed(rest)[:1] in _DESTROYERS):
            return _start_paths(rest)
        if name == "dd":
            return [word.removeprefix("of=") for word in rest if word.startswith("of=")]
        if name in _WRITE_AFTER:
            return [_after_first(rest, _WRITE_AFTER[name].__contains__)]
        return self._changed_by_git(named) if name == "git" else []

    def _changed_by_git(self, named: list[str]) -> list[str]:
        if not _GIT_WRITES.intersection(named[:1]):
            return []
        place = _git_words(self.words[1:])[1]
        return [posixpath.join(place, path) for path in named[1:]]

    @property
    def destroys(self) -> bool:
        """Whether it changes the whole contents of a folder it names."""
        return bool(self.words) and (self.named[0] in _WRITE_ALL or self.named[0] in ("git", "find"))

    @property
    def may_write(self) -> bool:
        """Whether it writes files from its arguments, whichever they are."""
        name, *rest = self.named or [""]
        return name in _WRITE_ALL | _WRITE_LAST or any(map(_IN_PLACE.get(name, _never), rest))


def _copied(named: list[str], words: list[str]) -> list[str]:
    """The target and, as it may be a folder, each source under its own name in it."""
    target = _target_folder(words) or (named[-1] if named else "")
    sources = [word for word in named if word != target] if _target_folder(words) else named[:-1]
    into = [posixpath.join(target, posixpath.basename(source.rstrip("/"))) for source in sources]
    return [target, *into] if target else []


def _target_folder(words: list[str]) -> str:
    """The folder from `-t DIR` or `--target-directory=DIR`."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in ("-t", "--target-directory"):
            return following
        if word.startswith("--target-directory="):
            return word.partition("=")[2]
    return ""


def _edits_in_place(word: str) -> bool:
    """`-i`, `-pi`, `-i.bak`: perl edits its input files in place."""
    return word.startswith("-") and not word.startswith("--") and "i" in word[1:4]


def _never(word: str) -> bool:
    return False


_IN_PLACE: dict[str, Callable[[str], bool]] = {
    "sed": lambda word: word.startswith(("-i", "--in-place")),
    "perl": _edits_in_place,
    **dict.fromkeys(("awk", "gawk"), "inplace".__eq__),
}
"""Programs that change their input files if one of their words is such an option."""
_HERE = re.compile(r"^(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`|~\+)(?=/|$)")
_DESTROYERS = tuple([name] for name in (*_WRITE_ALL, "sed", "perl", "sh", "bash"))


def _start_paths(words: list[str]) -> list[str]:
    """The start paths of find: its words up to the first test."""
    ends = [at for at, word in enumerate(words) if word.startswith(("-", "(", "!")) and word not in ("-L", "-P", "-H")]
    found = [word for word in words[: ends[0] if ends else len(words)] if not word.startswith("-")]
    return found or ["."]


def _executed(words: list[str]) -> list[str]:
    """The command that find runs for each file."""
    at = next((at for at, word in enumerate(words) if word in _EXECUTES), len(words))
    own = words[at + 1 :]
    ends = [place for place, word in enumerate(own) if word in (";", "+")]
    return own[: ends[0]] if ends else own


def _git_words(words: list[str]) -> tuple[list[str], str]:
    """The words from git's subcommand on, and the folder of `-C`."""
    at, place = 0, ""
    while at < len(words) and words[at].startswith("-"):
        if words[at] in _GIT_VALUES and at + 1 < len(words):
            place = posixpath.join(place, words[at + 1]) if words[at] == "-C" else place
            at += 1
        at += 1
    return words[at:], place


def simple_commands(line: str) -> list[Simple]:
    """Every command of a line in order."""
    found = list(_commands(line[:LONGEST_LINE], 0))
    folder = ""
    for command in found:
        command.folder = folder
        # As if every cd succeeded: whether one did cannot be determined from the line.
        if command.words[:1] in (["cd"], ["pushd"]) and len(command.words) > 1:
            folder = posixpath.join(folder, command.words[1])
    return found


def _commands(line: str, depth: int) -> Iterator[Simple]:
    if depth > DEEPEST:
        return
    reader = _Reader(line)
    for command in reader.commands():
        said = command.words
        command.words = _without_prefix(said)
        command.is_fed = "xargs" in said[: len(said) - len(command.words)]
        if command.words or command.targets:
            yield command
        inner = _inner(command.words) or _inner(said)
        if inner:
            yield from _commands(inner, depth + 1)
    for inside in reader.substituted:
        # After the line itself, though a shell would run it first; guards check each, so the order does not matter.
        yield from _commands(inside, depth + 1)


def _without_prefix(words: list[str]) -> list[str]:
    """The words from the program on, without variable assignments and prefixes such as sudo."""
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
    """The line that a shell or eval runs."""
    name = posixpath.basename(words[0]) if words else ""
    if name == "eval":
        return " ".join(words[1:])
    if name == "trap":
        return words[1] if len(words) > 2 else ""
    if name == "ssh":
        # After the options and the host: the rest is a line on another machine.
        host = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
        return " ".join(words[host + 1 :])
    if name == "find":
        return " ".join(_executed(words))
    if name in SHELLS:
        return _after_first(words[1:], _takes_line)
    return _after_first(words, _LINE_AFTER.get(name, ()).__contains__)


def _after_first(words: list[str], is_option: Callable[[str], bool]) -> str:
    """The word after the first such option."""
    return next((after for word, after in pairwise(words) if is_option(word)), "")


def _takes_line(word: str) -> bool:
    """`-c`, `-lc`, `-ce`: the next word is a line of shell."""
    return word.startswith("-") and not word.startswith("--") and "c" in word


def _alternatives(word: str) -> list[str]:
    """The words that a shell expands unquoted `{a,b}/c` to."""
    found = [word]
    while len(found) < MOST_ALTERNATIVES and (match := _BRACES.search(found[0])):
        before, after = found[0][: match.start()], found[0][match.end() :]
        found = [*found[1:], *(before + part + after for part in match[1].split(","))]
    return [each for each in found if each]


class _Reader:
    """A tokenizer that reads a line once from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line.replace("\\\n", "")  # a continuation line
        self.at = 0
        self.substituted: list[str] = []
        self._ends: list[tuple[str, bool]] = []
        """End words of the here-documents opened on this line, and whether leading tabs are stripped from them."""

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
                self._skip_line()
            elif sign in "<>" or (sign.isdigit() and self.line[self.at + 1 : self.at + 2] in ("<", ">")):
                self._redirect(command)
            else:
                start = self.at
                word = self._word()
                command.words += _alternatives(word) if self.line[start : self.at] == word else [word]
        yield command

    def _operator(self, sign: str) -> None:
        self.at += 1
        if sign == "&" and self.line[self.at : self.at + 1] == ">":
            return  # `&>` is a redirection; the rest is parsed as one
        if sign == "\n" and self._ends:
            self._skip_documents()

    def _redirect(self, command: Simple) -> None:
        self._skip(string.digits)
        start = self.at
        self._skip("<>|&-")
        sign = self.line[start : self.at]
        self._skip(" \t")
        following = self.line[self.at : self.at + 1]
        # `<(...)`: its contents are parsed as commands.
        if not following or following in _OPERATORS or (sign.startswith("<") and following == "("):
            return
        word = self._word()
        if sign.startswith("<<<"):
            return  # a text for the command to read, not an argument
        if sign.startswith("<<"):
            self._ends.append((word, sign.endswith("-")))
        elif sign.startswith(">") and not sign.endswith("&") and not word.isdigit() and word != "/dev/null":
            command.targets.append(word)

    def _skip(self, signs: str) -> None:
        while self.at < len(self.line) and self.line[self.at] in signs:
            self.at += 1

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
            elif sign == "$" and self.line[self.at + 1 : self.at + 2] in ("'", '"'):
                self.at += 1  # `$'...'` is a quoted text with its own escapes
            else:
                parts.append(sign)
                self.at += 1
        self.at = max(self.at, start + 1)  # a stray character is skipped
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
        """Collect `$(...)` or a text in backticks as a separate line."""
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
        """Skip the texts of here-documents: they are not commands."""
        for word, tabs in self._ends:
            while self.at < len(self.line):
                start = self.at
                self._skip_line()
                text = self.line[start : self.at]
                self.at += 1
                if (text.lstrip("\t") if tabs else text) == word:
                    break
        self._ends.clear()

    def _skip_line(self) -> None:
        end = self.line.find("\n", self.at)
        self.at = len(self.line) if end < 0 else end
