"""Generated sessions of an agent with failures whose fixes are known, to measure dead ends.

Each episode is one command that fails and passes in the end, with the real fix of the failure. The noise is that of
real sessions: tests that fail at random, edits that have nothing to do with the failure, first attempts that do not
help, other failures in between, one message with several causes, errors that hide others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MODULES = """
parser lexer scheduler billing invoice gateway session router mailer indexer exporter importer cache queue worker
planner renderer uploader profile ledger token_store webhook migration search archive
""".split()  # noqa: SIM905
VERBS = "load parse render charge enqueue resolve merge flush validate dispatch".split()  # noqa: SIM905
FIELDS = "timeout currency retries tenant locale checksum cursor quota region priority".split()  # noqa: SIM905
PACKAGES = "httpx orjson pendulum rapidfuzz lxml tenacity".split()  # noqa: SIM905


@dataclass(frozen=True)
class Step:
    """One event of a session: a run with its exit code and output, or an edit with its text."""

    kind: str
    subject: str
    code: int = 0
    text: str = ""
    cause: str = ""
    """Of a failure: which bug it is."""


@dataclass(frozen=True)
class Bug:
    """A recurring failure, and the files or command that really fix it; nothing fixes a flaky one."""

    id: str
    command: str
    error: str
    place: str
    frames: tuple[str, ...]
    remedy: frozenset[str]
    edit_text: str = ""


@dataclass
class Episode:
    session: str
    steps: list[Step] = field(default_factory=list)
    truth: dict[str, frozenset[str]] = field(default_factory=dict)
    """Bug -> its fix; empty if there is none."""


def bugs(chance: random.Random) -> list[Bug]:
    """The bugs of a project: most in a file that the output names, some elsewhere; some share one message."""
    found = []
    for number in range(36):
        module, other = chance.sample(MODULES, 2)
        verb, name = chance.choice(VERBS), chance.choice(FIELDS)
        test = f"tests/test_{module}.py"
        error = chance.choice(
            (
                f"KeyError: '{name}'",
                f"AttributeError: 'NoneType' object has no attribute '{name}'",
                f"TypeError: {verb}_{module}() got an unexpected keyword argument '{name}'",
                f"NameError: name '{verb}_{name}' is not defined",
                f"ValueError: invalid {name} for {module}: <42>",
                f"ImportError: cannot import name '{verb}_{name}' from 'app.{module}'",
                "AssertionError: assert 3 == 4",
            )
        )
        hidden = number % 6 == 5
        fixed = f"app/{other}.py" if hidden else f"app/{module}.py"
        frames = (f"app/{module}.py",)
        command = chance.choice(("pytest -q", f"pytest {test} -q", "make test"))
        text = f"def {verb}_{module}({name}=None):\n    return {name}"
        found.append(Bug(f"B{number}", command, error, f"{test}::test_{verb}", frames, frozenset({fixed}), text))
    for number, package in enumerate(PACKAGES):
        error = f"ModuleNotFoundError: No module named '{package}'"
        command = f"pip install {package}"
        found.append(Bug(f"P{number}", "python -m app", error, "app/main.py", ("app/main.py",), frozenset({command})))
    # One message, several causes: the same text in other places, ended by other files.
    for number, module in enumerate(chance.sample(MODULES, 6)):
        cured = frozenset({f"app/{module}.py"})
        where = f"tests/test_{module}.py::test_limits"
        error = "RuntimeError: connection pool exhausted"
        found.append(Bug(f"S{number}", "pytest -q", error, where, (f"app/{module}.py",), cured, "pool = None"))
    for number, module in enumerate(chance.sample(MODULES, 6)):
        where = f"tests/test_{module}.py::test_slow"
        error = f"TimeoutError: {module} did not answer within 5 s"
        found.append(Bug(f"F{number}", "pytest -q", error, where, (f"app/{module}.py",), frozenset()))
    return found


def output_of(bug: Bug, chance: random.Random) -> str:
    """What the command prints: other numbers, addresses and folders each time."""
    root = chance.choice(("/home/ada/shop", "/tmp/pytest-of-ci/shop", "/build/shop"))
    lines = [f"platform linux -- Python 3.11.{chance.randint(1, 9)}, pytest-8.{chance.randint(0, 4)}", ""]
    lines += [f'  File "{root}/{frame}", line {chance.randint(5, 400)}, in call' for frame in bug.frames]
    if bug.command == "python -m app":
        return "\n".join(["Traceback (most recent call last):", *lines[2:], bug.error])
    lines += [f"    value = run(0x{chance.getrandbits(40):x})", f"E       {bug.error}", ""]
    lines += [
        f"FAILED {bug.place} - {bug.error[:60]}",
        f"1 failed, {chance.randint(3, 90)} passed in 0.{chance.randint(1, 9)}s",
    ]
    return "\n".join(lines)


def episodes(count: int, seed: int) -> Iterator[Episode]:
    chance = random.Random(seed)
    known = bugs(chance)
    for number in range(count):
        bug = chance.choice(known)
        episode = Episode(f"{seed}-{number:04d}-session")
        _play(episode, bug, known, chance)
        yield episode


def _play(episode: Episode, bug: Bug, known: list[Bug], chance: random.Random) -> None:
    _fail(episode, bug, chance)
    if not bug.remedy:
        _play_flaky(episode, bug, chance)
        return
    way = chance.random()
    if way < 0.25:  # a first attempt in the right file that does not help
        _edit(episode, next(iter(bug.frames)), "# tried this first")
        _fail(episode, bug, chance)
    elif way < 0.4:  # another command fails and is fixed in between
        other = chance.choice([it for it in known if it.command != bug.command and it.remedy])
        _fail(episode, other, chance)
        _mend(episode, other, chance)
    elif way < 0.5:  # a mistake that hides the failure for a while
        slip = Bug(
            "T", bug.command, "SyntaxError: invalid syntax", "app/main.py", ("app/main.py",), frozenset({"app/main.py"})
        )
        _edit(episode, "app/main.py", "def broken(:")
        _fail(episode, slip, chance)
        _edit(episode, "app/main.py", "def broken():")
        _fail(episode, bug, chance)
        episode.truth["T"] = slip.remedy
    _noise(episode, chance)
    _mend(episode, bug, chance)
    if chance.random() < 0.3:
        episode.steps.append(Step("run", f"git commit -am 'fix: {bug.error.split(':')[0]} in {_mended(bug)}'"))


def _mended(bug: Bug) -> str:
    return next(iter(bug.remedy)).split()[-1]


def _play_flaky(episode: Episode, bug: Bug, chance: random.Random) -> None:
    """It passes when it is run again; sometimes something was edited meanwhile, which did not help."""
    way = chance.random()
    if way < 0.1:  # even in the file that the output names
        _edit(episode, bug.frames[0], "# a comment")
    elif way < 0.5:
        _noise(episode, chance)
    episode.truth[bug.id] = frozenset()
    episode.steps.append(Step("run", bug.command, 0, "12 passed"))


def _fail(episode: Episode, bug: Bug, chance: random.Random) -> None:
    episode.steps.append(Step("run", bug.command, 1, output_of(bug, chance), bug.id))


def _mend(episode: Episode, bug: Bug, chance: random.Random) -> None:
    if chance.random() < 0.1 and bug.edit_text:
        reverted = f"git checkout {next(iter(bug.remedy))}"
        episode.steps.append(Step("run", reverted))
        episode.truth[bug.id] = frozenset({reverted})
    elif bug.edit_text:
        for path in sorted(bug.remedy):
            _edit(episode, path, bug.edit_text)
        episode.truth[bug.id] = bug.remedy
    else:
        episode.steps.append(Step("run", next(iter(bug.remedy)), 0, "Successfully installed"))
        episode.truth[bug.id] = bug.remedy
    episode.steps.append(Step("run", bug.command, 0, "12 passed"))


def _noise(episode: Episode, chance: random.Random) -> None:
    for _ in range(chance.randint(0, 3)):
        kind = chance.random()
        if kind < 0.4:
            episode.steps.append(
                Step("run", chance.choice(("ls -l", "git status", "git diff", "grep -rn x app")), 0, "ok")
            )
        elif kind < 0.7:
            _edit(
                episode,
                chance.choice(("README.md", "docs/guide.md", "CHANGELOG.md")),
                "Some words about releases",
            )
        else:
            module = chance.choice(MODULES)
            _edit(episode, f"app/{module}.py", f"# comment on {chance.choice(FIELDS)} of {module}")


def _edit(episode: Episode, path: str, text: str) -> None:
    episode.steps.append(Step("edit", path, 0, text))


@dataclass
class Score:
    """How many pairs and previews were right; a pair is right if it credits only the real fix."""

    failures: int = 0
    pairs: int = 0
    right_pairs: int = 0
    told: int = 0
    right_told: int = 0

    def add_pair(self, row: Mapping[str, Any], episode: Episode) -> None:
        if row["remedy"] not in ("edit", "command", "revert"):
            return
        failed = [it for it in episode.steps if it.cause and it.subject == row["command"] and row["error"] in it.text]
        truth = episode.truth.get(failed[0].cause, frozenset()) if failed else frozenset()
        self.pairs += 1
        self.right_pairs += bool(truth) and set(json.loads(row["by_what"])) <= truth

    def add_told(self, cause: str, text: str, episode: Episode) -> None:
        """Right if it names the file or package that fixes this bug, by an edit or a revert."""
        truth = episode.truth.get(cause, frozenset())
        self.told += 1
        self.right_told += any(it.split()[-1] in text for it in truth) if truth else "without a change" in text

    @property
    def precision(self) -> float:
        return self.right_pairs / max(self.pairs, 1)

    @property
    def told_precision(self) -> float:
        return self.right_told / max(self.told, 1)


def score(
    count: int,
    seed: int,
    run: Callable[[str, str, int, str], str],
    edit: Callable[[str, str, str], object],
    pairs: Callable[[], list[dict[str, Any]]],
) -> Score:
    """Play sessions: `run(session, command, code, output)` returns the message, `pairs` lists the detected fixes."""
    found, seen = Score(), len(pairs())
    for episode in episodes(count, seed):
        for step in episode.steps:
            if step.kind == "edit":
                edit(episode.session, step.subject, step.text)
                continue
            said = run(episode.session, step.subject, step.code, step.text)
            found.failures += step.code != 0
            if said:
                found.add_told(step.cause, said, episode)
        rows = pairs()
        for row in rows[seen:]:
            found.add_pair(row, episode)
        seen = len(rows)
    return found
