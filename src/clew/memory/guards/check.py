"""A check: what a rule or decision requires of an edit or a command, in fields of its block.

    GuardPaths: src/store/migrations/*.sql
    GuardCommands: git push * --force
    GuardMust: --dry-run
    GuardMustNot: print(
    GuardAction: deny
    GuardMessage: Migrations are never edited; add a new one.

A check with paths applies to edits of these files, one with commands to these commands. It fires if
required text is missing from the new text or the command, if forbidden text is present, or, if neither
is specified, whenever such a file or command is touched at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from glob import iglob
from itertools import islice
from typing import Any, Literal, cast

import orjson

from clew.canonical import canonical, digest
from clew.errors import invalid, shorten
from clew.memory.files.markdown import Value, clean, listed
from clew.memory.guards.shell import LONGEST_LINE, Simple, simple_commands

Response = Literal["inform", "ask", "deny"]
RESPONSES: tuple[Response, ...] = ("inform", "ask", "deny")
"""From mildest to strictest."""
GUARDING = ("R", "D")
"""Prefixes of the blocks that may carry a check."""
MOST_PATTERNS = 20
MOST_FILES = 5_000
"""Maximum number of files in a removed folder that are checked for a guarded one."""
FIELDS = {
    "paths": "GuardPaths",
    "commands": "GuardCommands",
    "must": "GuardMust",
    "must_not": "GuardMustNot",
    "action": "GuardAction",
    "message": "GuardMessage",
}


@dataclass(frozen=True, slots=True)
class GuardedAction:
    """What an agent is about to do: change files, or run a shell command line."""

    paths: tuple[str, ...] = ()
    """Relative to the project root; paths outside of it are absolute."""
    text: str = ""
    """The text to be written."""
    before: str = ""
    """The text to be replaced: a violation that it already contains is not caused by this edit."""
    whole: bool = False
    """Whether the text is the whole file; only then can something be missing from it."""
    command: str = ""
    folder: str = ""
    """The working directory of the command, relative to the project root or absolute."""
    root: str = ""
    """The project on disk, by which absolute paths and folders are resolved; if empty, paths are used as given."""
    written: Mapping[str, Sequence[str]] | None = None
    """The files that the command writes, as `written_files` returned them on the project's own machine."""


@dataclass(frozen=True, slots=True)
class Check:
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    action: Response = "inform"
    message: str = ""

    @property
    def digest(self) -> str:
        return digest(canonical(self.to_json()))

    def to_json(self) -> dict[str, Any]:
        return {
            "paths": list(self.paths),
            "commands": list(self.commands),
            "must": list(self.must),
            "must_not": list(self.must_not),
            "action": self.action,
            "message": self.message,
        }

    def to_fields(self) -> dict[str, Value]:
        """The check as fields of a block; empty ones are left out."""
        shown: dict[str, Value] = {}
        for name, values in (
            ("paths", self.paths),
            ("commands", self.commands),
            ("must", self.must),
            ("must_not", self.must_not),
        ):
            if values:
                shown[FIELDS[name]] = values[0] if len(values) == 1 and "," not in values[0] else list(values)
        shown[FIELDS["action"]] = self.action
        return {**shown, FIELDS["message"]: self.message} if self.message else shown

    def in_words(self) -> str:
        """The check in one line, for the person who is asked to approve it."""
        about = [
            f"edits of {', '.join(self.paths)}" if self.paths else "",
            f"commands {', '.join(self.commands)}" if self.commands else "",
        ]
        wants = [
            f"must hold {', '.join(self.must)}" if self.must else "",
            f"must not hold {', '.join(self.must_not)}" if self.must_not else "",
        ]
        said = " and ".join(part for part in wants if part) or "are not meant to happen"
        return f"{self.action}: {' and '.join(part for part in about if part)} {said}"

    def fires(self, action: GuardedAction) -> bool:
        return self._fires_at_edit(action) or self._fires_at_command(action)

    def _fires_at_edit(self, action: GuardedAction) -> bool:
        touched = any(path_matches(glob, path) for glob in self.paths for path in action.paths)
        # A bare check applies to any change of such a file.
        if not touched or not (self.must or self.must_not):
            return touched
        # Only what this edit adds. Otherwise a file with an old violation could no longer be edited.
        added = [it for it in self.must_not if text_contains(it, action.text) and not text_contains(it, action.before)]
        return bool(added) or (action.whole and self._lacks(action.text))

    def _fires_at_command(self, action: GuardedAction) -> bool:
        if not action.command:
            return False
        if len(action.command) >= LONGEST_LINE:
            return True  # a line that cannot be parsed completely is not allowed
        for command in read_line(action.command):
            if any(command_matches(pattern, command.named) for pattern in self.commands):
                # Each command of the line separately: `echo "git push --force"` is an echo.
                if self._offends(command.line):
                    return True
            elif self.paths and not self.must and not self.must_not and self._writes(command, action):
                return True
        return False

    def _writes(self, command: Simple, action: GuardedAction) -> bool:
        """Whether a command changes a guarded file. The text it would write is unknown, so only bare checks apply."""
        known = action.written
        words = ((known or {}).get(word) or _written(action, word, command.destroys) for word in command.writes)
        return any(
            path == TOO_MANY or path_matches(glob, path) for paths in words for path in paths for glob in self.paths
        )

    def _offends(self, line: str) -> bool:
        bare = not self.must and not self.must_not
        return bare or self._lacks(line) or any(text_contains(pattern, line) for pattern in self.must_not)

    def _lacks(self, text: str) -> bool:
        return any(not text_contains(pattern, text) for pattern in self.must)


TOO_MANY = "\0"
"""Represents the rest of a folder with more than MOST_FILES files: treated as if it included a guarded file."""


def written_files(action: GuardedAction) -> dict[str, list[str]]:
    """The files that a shell command line writes or deletes, by the word that names them; for guards
    that are evaluated on another machine."""
    return {
        word: list(_written(action, word, command.destroys))
        for command in read_line(action.command[:LONGEST_LINE])
        for word in command.writes
    }


def _written(action: GuardedAction, word: str, destroys: bool) -> Iterator[str]:
    """The files that a word refers to; for a folder that is deleted, also its contents."""
    placed = [_placed(action, path) for path in _expanded(action, word)]
    yield from placed
    for folder in placed if destroys else ():
        yield from _files_within(action.root, folder)


def _files_within(root: str, folder: str) -> Iterator[str]:
    place = os.path.join(root, folder)
    if not root or not os.path.isdir(place) or os.path.islink(place):
        return
    names = (os.path.join(at, name) for at, _, files in os.walk(place) for name in files)
    for number, name in enumerate(names):
        if number >= MOST_FILES:
            yield TOO_MANY
            return
        yield os.path.relpath(name, root).replace(os.sep, "/")


_WILD = frozenset("*?[{")


def _expanded(action: GuardedAction, word: str) -> list[str]:
    """The word itself, and the files that a shell would expand it to."""
    if not action.root or not _WILD & set(word):
        return [word]
    base = os.path.join(os.path.realpath(action.root), action.folder)
    return [word, *islice(iglob(word, root_dir=base), MOST_FILES)]


def _placed(action: GuardedAction, path: str) -> str:
    """A path relative to the project root, wherever the command runs and however it names it."""
    if not action.root:
        return path if path.startswith("/") or not action.folder else f"{action.folder}/{path}"
    base = os.path.realpath(action.root)
    full = os.path.realpath(os.path.join(base, action.folder, path))
    inside = full == base or full.startswith(base.rstrip(os.sep) + os.sep)
    return (os.path.relpath(full, base) if inside else full).replace(os.sep, "/")


@lru_cache(maxsize=64)
def read_line(command: str) -> tuple[Simple, ...]:
    """A cached parse: a line is parsed once, however many guards look at it."""
    return tuple(simple_commands(command))


def read_check(given: Mapping[str, Any]) -> Check:
    """The check from a caller's input; refused if it is empty or invalid."""
    unknown = next((name for name in given if name not in FIELDS), None)
    if unknown is not None:
        raise invalid("guard", f"{shorten(str(unknown), 40)!r} is no part of a check", f"Use {', '.join(FIELDS)}.")
    patterns = {name: _patterns(name, given.get(name)) for name in ("paths", "commands", "must", "must_not")}
    action = given.get("action") or "inform"
    if action not in RESPONSES:
        raise invalid("guard.action", f"{shorten(str(action), 40)!r} is unknown", f"Use {', '.join(RESPONSES)}.")
    if not patterns["paths"] and not patterns["commands"]:
        raise invalid("guard", "names neither paths nor commands", "Say which files or commands it concerns.")
    message = clean(str(given.get("message") or ""))[:500]
    return Check(**patterns, action=cast(Response, action), message=" ".join(message.split()))


def _patterns(name: str, given: Any) -> tuple[str, ...]:
    values = [given] if isinstance(given, str) else given or []
    if not isinstance(values, Sequence) or not all(isinstance(value, str) for value in values):
        raise invalid(f"guard.{name}", "is neither a text nor a list of texts", "Give globs such as src/**/*.sql.")
    found = tuple(dict.fromkeys(text for value in values if (text := " ".join(clean(value).split()))))
    if len(found) > MOST_PATTERNS or any(len(text) > LONGEST_PATTERN for text in found):
        limits = f"at most {MOST_PATTERNS} of at most {LONGEST_PATTERN} characters"
        raise invalid(f"guard.{name}", "has too many or too long patterns", f"Give {limits}.")
    return found


def check_in(fields: Mapping[str, Value]) -> Check | None:
    """The check in a block's fields; None if there is none, an error if it is invalid."""
    if not any(name in fields for name in FIELDS.values()):
        return None
    given: dict[str, Any] = {name: fields[written] for name, written in FIELDS.items() if written in fields}
    given["paths"] = listed(fields.get(FIELDS["paths"]))
    for name in ("action", "message"):
        value = given.get(name)
        given[name] = " ".join(value) if isinstance(value, list) else value
    return read_check({**given, "action": str(given.get("action") or "inform").strip().lower()})


@lru_cache(maxsize=1_000)
def stored_check(fields: str) -> Check:
    """An approved check; it was validated when it was approved."""
    return read_check(orjson.loads(fields))


# Globs that cannot hang: every character of the text costs the same, whatever the pattern is.
#
# Guards run before each tool call of an agent, on text that the agent wrote, with patterns from any
# author. A regular expression can take minutes there. A glob is enough for paths and commands, and all
# its states fit into the bits of one number: a step is a shift and a few masks.
#
# In paths `*` matches anything within a folder, `**` also across folders, `?` one character. In
# commands `*` matches anything within a word, and alone any words; a word with blanks is quoted, such
# as `psql * -c "*DROP TABLE*"`. In texts `*` matches anything.

LONGEST_PATTERN = 300
LONGEST_TEXT = 20_000
MOST_OPTIONAL = 3
"""Each `**/` may also match nothing, which doubles the variants: three of them make eight."""
BREAK = "\x1f"
"""Separates the words of a command, which may contain blanks themselves."""
_WORDS = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_SIGNS = re.compile(r"\*\*|\*|\?|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern without optional parts. Bit n of a state means that the first n elements have matched."""

    masks: dict[str, int]
    """Character -> the states that it advances."""
    any: int
    """States that any character advances: `?`."""
    loops: int
    """States that stay, whatever the character: `**`, and `*` outside of paths."""
    part_loops: int
    """States that stay until the separator: `*` in paths and commands."""
    end: int
    between: str
    """The separator: a slash between folders, BREAK between words."""

    def matches(self, text: str) -> bool:
        state = 1
        for character in text[:LONGEST_TEXT]:
            # A single `*` does not match the separator; `**` does.
            stay = state & (self.loops if character == self.between else self.loops | self.part_loops)
            state = ((state & (self.masks.get(character, 0) | self.any)) << 1) | stay
            if not state:
                return False
        return bool(state & self.end)


def _compiled(pattern: str, between: str) -> Glob:
    masks: dict[str, int] = {}
    any_ = loops = part_loops = 0
    bit = 1
    for sign in _SIGNS.findall(pattern):
        if sign == "**" or (sign == "*" and not between):
            loops |= bit
        elif sign == "*":
            part_loops |= bit
        else:
            if sign == "?":
                any_ |= bit
            else:
                masks[sign] = masks.get(sign, 0) | bit
            bit <<= 1
    return Glob(masks, any_, loops, part_loops, bit, between)


def _variants(pattern: str, optional: str, without: str) -> list[str]:
    """The pattern with and without each optional part; only the first few are treated as optional."""
    found = [""]
    parts = pattern.split(optional)
    for number, part in enumerate(parts):
        if number == 0:
            found = [part]
        elif number <= MOST_OPTIONAL:
            found = [before + sign + part for before in found for sign in (optional, without)]
        else:
            found = [before + optional + part for before in found]
    return found


@lru_cache(maxsize=2_000)
def _path_globs(pattern: str) -> tuple[Glob, ...]:
    """The globs of a path pattern: a name without a folder matches anywhere, a folder matches everything in it."""
    bare = pattern.strip().removeprefix("./").rstrip("/")[:LONGEST_PATTERN]
    # As in .gitignore: a pattern without a slash is a name in any folder.
    placed = bare.removeprefix("/") if "/" in bare else f"**/{bare}"
    return tuple(_compiled(variant + below, "/") for variant in _variants(placed, "**/", "") for below in ("", "/**"))


@lru_cache(maxsize=2_000)
def _command_globs(pattern: str) -> tuple[Glob, ...]:
    """The globs of a command pattern: a lone `*` between words may match no word, and further words may follow."""
    words = ["".join(found) for found in _WORDS.findall(pattern[:LONGEST_PATTERN])]
    line = BREAK.join("**" if word == "*" else word for word in words)
    variants = _variants(line, f"{BREAK}**{BREAK}", BREAK)
    return tuple(_compiled(variant + more, BREAK) for variant in variants for more in ("", f"{BREAK}**"))


@lru_cache(maxsize=2_000)
def _text_glob(pattern: str) -> Glob:
    return _compiled(f"*{pattern.strip()[:LONGEST_PATTERN]}*", "")


def path_matches(pattern: str, path: str) -> bool:
    """Whether a glob matches a path relative to the project root."""
    return any(glob.matches(path) for glob in _path_globs(pattern))


def command_matches(pattern: str, words: Sequence[str]) -> bool:
    """Whether a simple command begins with the words of the pattern."""
    line = BREAK.join(words)
    return any(glob.matches(line) for glob in _command_globs(pattern))


def text_contains(pattern: str, text: str) -> bool:
    return _text_glob(pattern).matches(text)
