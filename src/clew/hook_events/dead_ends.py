"""Dead ends: known failures, and their fixes.

Found without a model. When a command passes again, each of its errors was fixed by the actions between its last
occurrence and the next run of that command. Only actions related to the error count: a file that its output names, an
edit that shares its names, an installed package that was missing, a reverted change. Without an action in between, the
failure is flaky, and an edit at such a time did not fix it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from clew.errors import shorten
from clew.hook_events.agent_sessions import EDIT, RUN, AgentAction, actions_since_success, programs
from clew.hook_events.failures import Failure
from clew.memory.blocks import day_of
from clew.registry.context import Context
from clew.store.rows import TableRow, load, upsert

BY_EDIT, BY_COMMAND, BY_REVERT, BY_COMMIT, BY_NOTHING, UNCLEAR = (
    "edit",
    "command",
    "revert",
    "commit",
    "rerun",
    "unclear",
)
MOST_REMEMBERED = 50
SHARED_NAMES = 2
"""Names that an edit must share with the output of a failure when the output does not name the file: one may be
chance."""
_INSTALLERS = frozenset(
    {"pip", "pip3", "uv", "npm", "pnpm", "yarn", "apt", "apt-get", "brew", "cargo", "go", "gem", "poetry"}
)
_REVERTS = frozenset({"revert", "restore", "reset", "stash", "checkout"})
_MESSAGE = re.compile(r"(?:-[a-zA-Z]{0,5}m|--message)[ =]+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|(\S+))")
_FIXES = re.compile(r"\s*(?:fix|revert|hotfix|repair|mend|correct|resolve)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeadEnd(TableRow):
    TABLE: ClassVar[str] = "dead_end"
    KEY: ClassVar[tuple[str, ...]] = ("number",)
    LISTS: ClassVar[frozenset[str]] = frozenset({"names", "by_what"})

    number: int
    session: str
    command: str
    error: str
    error_key: str
    place: str | None
    names: tuple[str, ...]
    remedy: str
    by_what: tuple[str, ...]
    committed: str | None
    ts_ms: int

    @property
    def is_known(self) -> bool:
        return self.remedy in (BY_EDIT, BY_COMMAND, BY_REVERT, BY_COMMIT)

    def in_words(self) -> str:
        things = ", ".join(shorten(thing, 80) for thing in self.by_what[:3])
        said = {
            BY_EDIT: f"editing {things}",
            BY_COMMAND: f"running `{things}`",
            BY_REVERT: f"taking the change back (`{things}`)",
            BY_COMMIT: "the commit",
            BY_NOTHING: "running it again without a change",
        }.get(self.remedy, "something else")
        return f'{said}, committed as "{shorten(self.committed, 80)}"' if self.committed else said


def settle(ctx: Context, success: AgentAction) -> list[DeadEnd]:
    """After a command passed: store the fix of each of its errors since it passed before."""
    actions = actions_since_success(ctx, success.subject, success.number)
    found = pairs(actions, success.subject)
    for pair in found:
        upsert(ctx.tx, ctx.workspace, pair)
    return found


def pairs(actions: Sequence[AgentAction], command: str) -> list[DeadEnd]:
    """The errors of a command among these actions, each with its fix. The last action is its success."""
    runs = [at for at, action in enumerate(actions) if action.kind == RUN and action.subject == command]
    last: dict[tuple[str, str | None], int] = {}
    # Without the last run, which is the success.
    for place, at in enumerate(runs[:-1]):
        action = actions[at]
        if action.failed and action.error_key:
            # Overwritten by each later occurrence: actions before the error occurred again did not fix it.
            last[action.error_key, action.place] = place
    found = []
    for place in last.values():
        failure = actions[runs[place]]
        # Up to the next run of the command, not up to the success: actions after a run that failed differently belong
        # to that other error.
        between = actions[runs[place] + 1 : runs[place + 1]]
        found.append(_ended(failure, between))
    return found


def _ended(failure: AgentAction, between: Sequence[AgentAction]) -> DeadEnd:
    remedy, by_what = _remedy(failure, between)
    return DeadEnd(
        failure.number,
        failure.session,
        failure.subject,
        failure.error or "",
        failure.error_key or "",
        failure.place,
        failure.names,
        remedy,
        by_what,
        _commit_subject(between),
        failure.ts_ms,
    )


def _remedy(failure: AgentAction, between: Sequence[AgentAction]) -> tuple[str, tuple[str, ...]]:
    edits = [action for action in between if action.kind == EDIT]
    acts = [action for action in between if action.passed and _acts(action)]
    if not edits and not acts:
        return BY_NOTHING, ()
    belonging = [action.subject for action in edits if belongs(action, failure)]
    if belonging:
        return BY_EDIT, tuple(dict.fromkeys(belonging))
    return _ended_by_act(failure, acts, bool(edits))


def _ended_by_act(failure: AgentAction, acts: Sequence[AgentAction], edited: bool) -> tuple[str, tuple[str, ...]]:
    """The last installation, else the last revert: if something else was edited, only one of what it names."""
    installing = [action.subject for action in acts if _installs(action, failure)]
    if installing:
        return BY_COMMAND, (installing[-1],)
    reverts = [action for action in acts if _reverts(action)]
    reverting = [action.subject for action in reverts if not edited or _names_any(action, failure.names)]
    return (BY_REVERT, (reverting[-1],)) if reverting else (UNCLEAR, ())


def belongs(edit: AgentAction, failure: AgentAction) -> bool:
    """Whether an edit is related to a failure: the output names the file, or both share names."""
    name = posixpath.basename(edit.subject)
    stem = name.partition(".")[0]
    known = set(failure.names)
    if name in known or (failure.place and name in failure.place) or (len(stem) >= 4 and stem in known):
        return True
    # The first name of an edit is its file, which was compared above.
    return len(known & set(edit.names[1:])) >= SHARED_NAMES


def _acts(action: AgentAction) -> bool:
    """Whether a command changes something that a run could depend on."""
    return any(words[0] in _INSTALLERS for words in programs(action.subject)) or _reverts(action)


def _installs(action: AgentAction, failure: AgentAction) -> bool:
    words = {_plain(word) for line in programs(action.subject) if line[0] in _INSTALLERS for word in line[1:]}
    return bool(words & {_plain(name) for name in failure.names if len(name) >= 3})


def _plain(word: str) -> str:
    return re.split(r"[=<>\[@]", word.lower().replace("_", "-"))[0]


def _reverts(action: AgentAction) -> bool:
    return any(words[0] == "git" and words[1:2] and words[1] in _REVERTS for words in programs(action.subject))


def _names_any(action: AgentAction, names: Iterable[str]) -> bool:
    given = {posixpath.basename(word) for line in programs(action.subject) for word in line}
    return bool(given & set(names))


def _commit_subject(between: Sequence[AgentAction]) -> str | None:
    return next((subject for action in reversed(between) if (subject := commit_subject(action))), None)


def commit_subject(action: AgentAction) -> str | None:
    """The first line of the message of a commit that was made."""
    if not action.passed or not any(words[:2] == ["git", "commit"] for words in programs(action.subject)):
        return None
    found = _MESSAGE.search(action.subject)
    message = next((part for part in found.groups() if part), "") if found else ""
    return message.splitlines()[0].strip() or None if message else None


def follow_commit(ctx: Context, commit: AgentAction) -> None:
    """A commit message that announces a fix describes the fix of the errors of this session."""
    subject = commit_subject(commit)
    if subject is None or not _FIXES.match(subject):
        return
    rows = ctx.tx.all(
        "SELECT * FROM dead_end WHERE workspace = ? AND session = ? AND committed IS NULL ORDER BY number DESC LIMIT 5",
        ctx.workspace,
        commit.session,
    )
    words = {word.lower() for word in re.findall(r"\w{3,}", subject)}
    for pair in (load(DeadEnd, row) for row in rows):
        told = {part for name in pair.names for part in re.findall(r"[a-z]{3,}", name.lower())}
        if pair.is_known:
            upsert(ctx.tx, ctx.workspace, replace(pair, committed=subject))
        elif pair.remedy == UNCLEAR and len(words & told) >= SHARED_NAMES:
            upsert(ctx.tx, ctx.workspace, replace(pair, remedy=BY_COMMIT, committed=subject))


@dataclass(frozen=True, slots=True)
class Met:
    """A known failure."""

    times: int
    by_itself: int
    """How often it went away without a change."""
    last: DeadEnd


def met_before(ctx: Context, failure: Failure, command: str) -> Met | None:
    """The matching past failure with its fix; None if it is unknown or ambiguous."""
    rows = ctx.tx.all(
        "SELECT * FROM dead_end WHERE workspace = ? AND error_key = ? ORDER BY number DESC LIMIT ?",
        ctx.workspace,
        failure.key,
        MOST_REMEMBERED,
    )
    return recognised(failure, command, [load(DeadEnd, row) for row in rows])


def _at_the_place(failure: Failure, command: str, known: Sequence[DeadEnd]) -> list[DeadEnd]:
    here = [pair for pair in known if pair.place == failure.place]
    return [pair for pair in here if pair.command == command] or ([] if failure.place is None else here)


def _anywhere(failure: Failure, known: Sequence[DeadEnd]) -> list[DeadEnd]:
    return [pair for pair in known if None in (pair.place, failure.place) or pair.remedy == BY_COMMAND]


def recognised(failure: Failure, command: str, known: Sequence[DeadEnd]) -> Met | None:
    """Find the matching one of the past failures with the same line, given newest first.

    The same line may have several causes. The same place decides. Without it a distinctive line must always have had
    one fix, and be one that has no place, or that the same command fixed wherever it occurred.
    """
    here = _at_the_place(failure, command, known)
    alike = here or (_anywhere(failure, known) if failure.is_distinctive else [])
    if not alike:
        return None
    by_itself = sum(pair.remedy == BY_NOTHING for pair in alike)
    ended = [pair for pair in alike if pair.is_known]
    if not ended:
        return Met(len(alike), by_itself, alike[0]) if by_itself == len(alike) else None
    # A flaky failure was not fixed by the edit that happened to be in between.
    if by_itself and not here:
        return None
    one_way = len({pair.by_what for pair in ended}) == 1
    return Met(len(alike), by_itself, ended[0]) if here or one_way else None


def told(met: Met) -> str:
    """One line that states the fact."""
    times = "once" if met.times == 1 else f"{met.times} times"
    if not met.last.is_known:
        return f"This error was met {times} before and went away when the command was run again without a change."
    often = f"; {met.by_itself} of them went away by themselves" if met.by_itself else ""
    when = f"{day_of(met.last.ts_ms)}, session {met.last.session[:8]}"
    return f"This error was met {times} before{often}; last ended by {met.last.in_words()} ({when})."
