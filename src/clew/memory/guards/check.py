"""A check: what a rule or decision asks of an edit or a command, in fields that people write into its block.

    GuardPaths: src/store/migrations/*.sql
    GuardCommands: git push * --force
    GuardMust: --dry-run
    GuardMustNot: print(
    GuardAction: deny
    GuardMessage: Migrations are never edited; add a new one.

A check with paths concerns edits of these files, one with commands these commands. It fires when something that must
stand in the new text or the command is missing, when something stands there that must not, or, where neither is said,
whenever such a file or command is touched at all."""

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
"""From the mildest to the strictest."""
GUARDING = ("R", "D")
"""Prefixes of the blocks that may carry a check."""
MOST_PATTERNS = 20
MOST_FILES = 5_000
"""Files of a folder that is removed as a whole at which the search for a guarded one ends."""
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
    """What an agent is about to do: change files, or run a line of shell."""

    paths: tuple[str, ...] = ()
    """From the root of the project; what lies outside of it is absolute."""
    text: str = ""
    """What would be written."""
    before: str = ""
    """What it would replace: an offence that stands there already is not this edit's."""
    whole: bool = False
    """Whether the text is the whole file; only then something can be missing from it."""
    command: str = ""
    folder: str = ""
    """Where the command would run, from the root of the project or absolute."""
    root: str = ""
    """The project on disk, by which absolute paths and folders are resolved; empty: as the words stand."""
    written: Mapping[str, Sequence[str]] | None = None
    """The same from the machine that the project is on, as `written_files` gave it there."""


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
        """As they stand in a block; empty ones are left out."""
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
        # A bare check: to touch such a file at all is what it is about.
        if not touched or not (self.must or self.must_not):
            return touched
        # Only what this edit brings in. Otherwise nobody could edit a file that holds an old offence.
        added = [it for it in self.must_not if text_contains(it, action.text) and not text_contains(it, action.before)]
        return bool(added) or (action.whole and self._lacks(action.text))

    def _fires_at_command(self, action: GuardedAction) -> bool:
        if not action.command:
            return False
        if len(action.command) >= LONGEST_LINE:
            return True  # what cannot be read whole is not let through
        for command in read_line(action.command):
            if any(command_matches(pattern, command.named) for pattern in self.commands):
                # Each command of the line by itself: `echo "git push --force"` is an echo.
                if self._offends(command.line):
                    return True
            elif self.paths and not self.must and not self.must_not and self._writes(command, action):
                return True
        return False

    def _writes(self, command: Simple, action: GuardedAction) -> bool:
        """Whether a command changes a guarded file. What it would write is unknown, so only a bare check is asked."""
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
"""Stands for the rest of a folder that holds more than MOST_FILES: it counts as if a guarded file were among them."""


def written_files(action: GuardedAction) -> dict[str, list[str]]:
    """What a line of shell writes or deletes, by the word that says so; for guards that another machine judges by."""
    return {
        word: list(_written(action, word, command.destroys))
        for command in read_line(action.command[:LONGEST_LINE])
        for word in command.writes
    }


def _written(action: GuardedAction, word: str, destroys: bool) -> Iterator[str]:
    """The files that a word stands for; of a folder that is deleted also what is in it."""
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
    """The word itself, and the files that a shell would put in its place."""
    if not action.root or not _WILD & set(word):
        return [word]
    base = os.path.join(os.path.realpath(action.root), action.folder)
    return [word, *islice(iglob(word, root_dir=base), MOST_FILES)]


def _placed(action: GuardedAction, path: str) -> str:
    """A path from the root of the project, wherever the command runs and however it names it."""
    if not action.root:
        return path if path.startswith("/") or not action.folder else f"{action.folder}/{path}"
    base = os.path.realpath(action.root)
    full = os.path.realpath(os.path.join(base, action.folder, path))
    inside = full == base or full.startswith(base.rstrip(os.sep) + os.sep)
    return (os.path.relpath(full, base) if inside else full).replace(os.sep, "/")


@lru_cache(maxsize=64)
def read_line(command: str) -> tuple[Simple, ...]:
    """A line is read once, however many guards look at it."""
    return tuple(simple_commands(command))


def read_check(given: Mapping[str, Any]) -> Check:
    """The check that a caller describes; refused when it says nothing or cannot be read."""
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
    """The check that a block's fields describe; None when there is none, an error when it cannot be read."""
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
    """A check as it was approved; it was read once already."""
    return read_check(orjson.loads(fields))


# Globs that cannot hang: every character of the text costs the same, whatever the pattern is.
#
# Guards run before each tool call of an agent, on text that the agent wrote, with patterns that anybody may write. A
# regular expression can take minutes there. A glob is enough for paths and commands, and all its states fit into the
# bits of one number: a step is a shift and a few masks.
#
# In paths `*` stands for anything within a folder, `**` also across folders, `?` for one character. In commands `*`
# stands for anything within a word, and alone for any words; a word with blanks is quoted, such as
# `psql * -c "*DROP TABLE*"`. In texts `*` stands for anything.

LONGEST_PATTERN = 300
LONGEST_TEXT = 20_000
MOST_OPTIONAL = 3
"""Each `**/` may also stand for nothing, which doubles the variants: three of them make eight."""
BREAK = "\x1f"
"""Stands between the words of a command, which may hold blanks themselves."""
_WORDS = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_SIGNS = re.compile(r"\*\*|\*|\?|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern without optional parts. Bit n of a state says that the first n elements have been matched."""

    masks: dict[str, int]
    """Character -> the states from which it leads on."""
    any: int
    """States that every character leads on from: `?`."""
    loops: int
    """States that stay where they are, whatever comes: `**`, and `*` outside of paths."""
    part_loops: int
    """States that stay where they are until the sign between two parts comes: `*` in paths and commands."""
    end: int
    between: str
    """What stands between two parts: a slash between folders, BREAK between words."""

    def matches(self, text: str) -> bool:
        state = 1
        for character in text[:LONGEST_TEXT]:
            # A single `*` does not reach over the sign between two parts; `**` does.
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
    """The pattern with and without each optional part, of which only the first few count as optional."""
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
    """A name without a folder is meant anywhere, and a folder means everything in it."""
    bare = pattern.strip().removeprefix("./").rstrip("/")[:LONGEST_PATTERN]
    # As in .gitignore: a pattern without a slash is a name in any folder.
    placed = bare.removeprefix("/") if "/" in bare else f"**/{bare}"
    return tuple(_compiled(variant + below, "/") for variant in _variants(placed, "**/", "") for below in ("", "/**"))


@lru_cache(maxsize=2_000)
def _command_globs(pattern: str) -> tuple[Glob, ...]:
    """A lone `*` between words may stand for no word, and further words may follow."""
    words = ["".join(found) for found in _WORDS.findall(pattern[:LONGEST_PATTERN])]
    line = BREAK.join("**" if word == "*" else word for word in words)
    variants = _variants(line, f"{BREAK}**{BREAK}", BREAK)
    return tuple(_compiled(variant + more, BREAK) for variant in variants for more in ("", f"{BREAK}**"))


@lru_cache(maxsize=2_000)
def _text_glob(pattern: str) -> Glob:
    return _compiled(f"*{pattern.strip()[:LONGEST_PATTERN]}*", "")


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path, given from the root of the project, is meant by a glob."""
    return any(glob.matches(path) for glob in _path_globs(pattern))


def command_matches(pattern: str, words: Sequence[str]) -> bool:
    """Whether a simple command begins as the pattern says, word by word."""
    line = BREAK.join(words)
    return any(glob.matches(line) for glob in _command_globs(pattern))


def text_contains(pattern: str, text: str) -> bool:
    return _text_glob(pattern).matches(text)
