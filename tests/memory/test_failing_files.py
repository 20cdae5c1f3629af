"""The n-th open, write, sync or rename of a memory file fails: nothing acknowledged is lost, no save, and all mends."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
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


@pytest.mark.parametrize("engine", ["sqlite"])
def test_every_folder_with_a_new_file_is_synced_before_the_state_says_so(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ext4 commits all renames together. Elsewhere a power cut could leave an old file beside a state of the new one,
    and that would read as a hand edit that takes an approved change back."""
    done: list[str] = []
    fsync, replace, exchange = os.fsync, os.replace, swap_module.exchange

    def synced(file: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{file}").readlink()))
        fsync(file)

    def replaced(old: Any, new: Any) -> None:
        done.append(str(new))
        replace(old, new)

    def exchanged(draft: Path, target: Path) -> bool:
        done.append(str(target))
        return exchange(draft, target)

    memory.decide("Use Redis")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(swap_module, "exchange", exchanged)
    memory.decide("Keep logs for a week")
    file, state = memory.root / DECISIONS, str(memory.root / ".clew" / "state.json")
    after = done[done.index(str(file)) :]
    assert str(file.parent) in after[: after.index(state)]
