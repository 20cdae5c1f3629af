"""From the steps of a transcript to turns: what was asked and answered, commands with their results, and edits."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from clew.history.port import Reading, SessionMessage, ToolCall, ToolResult, UnreadableStep
from clew.hook_events.failures import read_failure
from clew.private_parts import without_private
from clew.secrets import masked
from clew.store.rows import TableRow

LONGEST_SAID = 20_000
OUTPUT_HEAD, OUTPUT_TAIL = 500, 3_000
"""Characters kept of an output: it says first what ran, and last how it ended."""
LONGEST_EDIT = 2_000
SHORTEST = 2
_FENCES = re.compile(r"<(clew-memory|system-reminder|hook_context)\b.*?(?:</\1>|\Z)", re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class HistoryTurn(TableRow):
    TABLE: ClassVar[str] = "history_turn"
    KEY: ClassVar[tuple[str, ...]] = ("number",)
    LISTS: ClassVar[frozenset[str]] = frozenset({"files"})

    number: int
    session: str
    uid: str
    kind: str
    ts_ms: int
    text: bytes
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    error: str | None = None
    error_key: str | None = None

    @property
    def words(self) -> str:
        return zlib.decompress(self.text).decode()

    @property
    def failed(self) -> bool:
        return self.exit_code not in (None, 0)


@dataclass(frozen=True, slots=True)
class ReadTurn:
    """A turn as a transcript has it: nothing of it is masked yet."""

    session: str
    uid: str
    kind: str
    ts_ms: int
    text: str
    exit_code: int | None = None
    files: tuple[str, ...] = ()


def prepared(turns: Sequence[ReadTurn]) -> list[HistoryTurn]:
    """Turns as they are stored: secrets masked, which is looked for in all texts together, and texts compressed."""
    texts, _ = masked([_UNSTORABLE.sub("", turn.text) for turn in turns])
    return [_prepared(turn, text) for turn, text in zip(turns, texts, strict=True)]


def _prepared(turn: ReadTurn, text: str) -> HistoryTurn:
    failure = read_failure(text) if turn.exit_code not in (None, 0) else None
    return HistoryTurn(
        0,
        turn.session,
        turn.uid,
        turn.kind,
        turn.ts_ms,
        packed(text),
        turn.exit_code,
        turn.files,
        failure.line if failure else None,
        failure.key if failure else None,
    )


def packed(text: str) -> bytes:
    return zlib.compress(text.encode(), 1)


@dataclass
class TurnReader:
    """Puts the steps of one session together, and knows where reading has to begin the next time."""

    session: str
    project: str
    read_to: int
    problems: list[str] = field(default_factory=list)
    _open: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)
    """Calls whose result has not come yet, each with its position."""

    def turns(self, readings: Iterable[Reading]) -> Iterator[ReadTurn]:
        for reading in readings:
            turn = self._turn(reading)
            self.read_to = max(self.read_to, reading.end)
            if turn is not None:
                yield turn
        for _, call in self._open.values():
            yield self._called(call, None)

    @property
    def resume_at(self) -> int:
        """Where the next reading begins: a call whose result is still to come is read again together with it."""
        return min([self.read_to, *(place for place, _ in self._open.values())])

    def _turn(self, reading: Reading) -> ReadTurn | None:
        step = reading.step
        if isinstance(step, UnreadableStep):
            self.problems.append(f"{reading.place}: {step.problem}")
        elif isinstance(step, ToolCall):
            self._open[step.id] = (reading.place, step)
        elif isinstance(step, ToolResult):
            _, call = self._open.pop(step.id, (0, None))
            return self._called(call, step) if call else None
        else:
            return self._said(step, f"{self.session}@{reading.place}")
        return None

    def _said(self, step: SessionMessage, place: str) -> ReadTurn | None:
        text = _FENCES.sub("", without_private(step.text)).strip()
        if len(text) < SHORTEST:
            return None
        return ReadTurn(self.session, step.uid or place, step.role, step.ts_ms, text[:LONGEST_SAID])

    def _called(self, call: ToolCall, result: ToolResult | None) -> ReadTurn:
        if call.kind == "edit":
            files = tuple(relative(self.project, path) for path in call.files)
            text = "\n".join([*files, call.text[:LONGEST_EDIT]])
            return ReadTurn(self.session, call.id, "edit", call.ts_ms, text, None, files)
        output = _ends(result.output) if result else ""
        text = f"$ {call.text[:LONGEST_EDIT]}\n{output}".rstrip()
        return ReadTurn(self.session, call.id, "command", call.ts_ms, text, result.exit_code if result else None)


def relative(project: str, path: str) -> str:
    """A file as the project calls it; others keep their whole path."""
    inside = path.startswith(project + os.sep)
    return (path[len(project) + 1 :] if inside else path).replace(os.sep, "/").removeprefix("./")


def _ends(output: str) -> str:
    if len(output) <= OUTPUT_HEAD + OUTPUT_TAIL:
        return output
    return f"{output[:OUTPUT_HEAD]}\n…\n{output[-OUTPUT_TAIL:]}"
