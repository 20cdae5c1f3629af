"""The n-th open, write, sync or rename of a memory file fails: nothing acknowledged is lost, no save, and all mends."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from clew.memory.files import swap as swap_module
from tests.memory.conftest import Memory
from tests.memory.test_saves import DECISIONS, add, hold, save_in_place

CALLS: dict[str, list[tuple[Any, str]]] = {
    "open": [(os, "open"), (io, "open")],
    "write": [(os, "fdopen")],
    "sync": [(os, "fdatasync"), (os, "fsync")],
    "rename": [(os, "rename"), (os, "replace"), (os, "link"), (swap_module, "exchange")],
}
"""Where Python asks the kernel; the exchange of two names is asked for through the C library."""


class FailingWrites:
    """A file whose next write fails."""

    def __init__(self, file: Any, fail: Callable[[], None]) -> None:
        self._file, self._fail = file, fail

    def write(self, data: Any) -> int:
        self._fail()
        return int(self._file.write(data))

    def __enter__(self) -> FailingWrites:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Fault:
    """Lets the n-th call of a kind fail as the kernel would, where it is about the files of a directory."""

    def __init__(self, kind: str, number: int, error: int, root: str) -> None:
        self.kind, self.number, self.error, self.root = kind, number, error, root
        self.seen = 0

    @property
    def struck(self) -> bool:
        return self.seen >= self.number

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for place, name in CALLS[self.kind]:
            patch.setattr(place, name, self._failing(getattr(place, name)))

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(first: Any, *rest: Any, **named: Any) -> Any:
            if self.kind == "write":
                return FailingWrites(call(first, *rest, **named), self._count)
            if isinstance(first, int) or str(first).startswith(self.root):
                self._count()
            return call(first, *rest, **named)

        return wrapped

    def _count(self) -> None:
        self.seen += 1
        if self.seen == self.number:
            raise OSError(self.error, os.strerror(self.error))


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(
    ("kind", "error", "first", "stride"),
    [
        ("open", errno.EMFILE, 1, 7),
        ("open", errno.EIO, 4, 7),
        ("write", errno.ENOSPC, 1, 1),
        ("write", errno.EIO, 1, 1),
        ("sync", errno.EIO, 1, 1),
        ("rename", errno.EIO, 1, 2),
        ("rename", errno.ENOSPC, 2, 2),
    ],
)
def test_a_call_that_fails_loses_nothing_and_is_mended_by_the_next(
    memory: Memory, kind: str, error: int, first: int, stride: int
) -> None:
    """Where there are many calls, each of them is one of two rows, or every few: a run of all takes minutes."""
    memory.decide("Use Redis")
    expected = set()
    for number in count(first, stride):
        saved = f"D-20270101-{number:03d}"
        save_in_place(memory.root / DECISIONS, add(memory.read(DECISIONS), saved, f"By hand {number}"))
        expected.add(saved)
        fault = Fault(kind, number, error, str(memory.root))
        with pytest.MonkeyPatch.context() as patch:
            fault.install(patch)
            expected |= decided(memory, f"By an agent {number}")
        memory("scan")
        text = memory.read(DECISIONS)
        assert text == memory.stored(DECISIONS), (kind, number)
        assert {id for id in expected if f"[{id}]" not in text} == set(), (kind, number)
        if not fault.struck:
            break
        assert number < 300
    assert number > first
    hold(memory)


def decided(memory: Memory, statement: str) -> set[str]:
    """The block that a proposal became, when its applying was acknowledged; a refusal is a clear one."""
    proposed = memory.answer("propose_update", block_type="decision", statement=statement).envelope
    if proposed["error"]:
        assert proposed["error"]["code"] != "INTERNAL", proposed["error"]
        return set()
    given = {"proposal_id": proposed["result"]["proposal_id"], "dry_run": False}
    applied = memory.answer("approve_apply", **given).envelope
    if applied["error"]:
        assert applied["error"]["code"] != "INTERNAL", applied["error"]
        return set()
    return {proposed["result"]["block_id"]}
