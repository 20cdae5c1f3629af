"""Mind-Mem at work on the same files in the same moment: its locks are taken, waited for, and not for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.contracts.mind_mem import sidecar_lock
from clew.memory.files.markdown import parse_file
from tests.contract.mind_mem import make_workspace
from tests.memory.conftest import Memory

SIGNALS = "intelligence/SIGNALS.md"
LOCKS = (f"{SIGNALS}.capture.lock", f"{SIGNALS}.lock")
SIGNAL = (
    "\n[SIG-20231114-{number:03d}]\nDate: 2023-11-14\nType: auto-capture-decision\nStatus: pending\nExcerpt: {said}\n"
)
ROUNDS = 20


@pytest.fixture
def theirs(make_clew: Callable[..., Clew], tmp_path: Path) -> Memory:
    make_workspace(tmp_path / "memory")
    return Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """As Mind-Mem locks: whoever can make the file has the lock."""
    while True:
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            os.sched_yield()
    os.write(handle, f"{os.getpid()}\n".encode())
    try:
        yield
    finally:
        os.close(handle)
        path.unlink()


def capture(root: Path, said: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """What Mind-Mem does for a signal: it takes the next number of the file and puts the block under that number."""
    file = root / SIGNALS
    with locked(root / LOCKS[0]):
        known = re.findall(r"\[SIG-20231114-(\d{3})\]", file.read_text())
        number = max(map(int, known), default=0) + 1
        meanwhile()
        with locked(root / LOCKS[1]):
            parts = re.split(r"(?m)^(?=\[SIG-)", file.read_text())
            kept = [part for part in parts if not part.startswith(f"[SIG-20231114-{number:03d}]")]
            draft = root / f"{SIGNALS}.tmp"
            draft.write_text("".join(kept) + SIGNAL.format(number=number, said=said))
            draft.replace(file)


def test_a_number_that_mind_mem_gave_to_its_signal_is_not_given_again(theirs: Memory) -> None:
    theirs("scan")
    with ThreadPoolExecutor() as pool:
        ours: list[Future[dict[str, Any]]] = []

        def propose() -> None:
            ours.append(pool.submit(theirs.propose, "Okapi jobs run hourly"))
            wait(ours, timeout=0.3)  # it does not end before the lock is given back

        capture(theirs.root, "Quokka jobs run daily", propose)
        made = ours[0].result()["signal_id"]
    text = theirs.read(SIGNALS)
    assert made in text
    assert [said in text for said in ("Okapi jobs run hourly", "Quokka jobs run daily")] == [True, True]


def capture_in_version_1(root: Path, said: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """The same in version 1, which knows one lock only, and adds at the end."""
    file = root / SIGNALS
    with locked(root / LOCKS[1]):
        known = re.findall(r"\[SIG-20231114-(\d{3})\]", file.read_text())
        meanwhile()
        with file.open("a") as end:
            end.write(SIGNAL.format(number=max(map(int, known), default=0) + 1, said=said))


def test_a_number_that_version_1_gave_to_its_signal_is_not_given_again(theirs: Memory) -> None:
    theirs("scan")
    with ThreadPoolExecutor() as pool:
        ours: list[Future[dict[str, Any]]] = []

        def propose() -> None:
            ours.append(pool.submit(theirs.propose, "Okapi jobs run hourly"))
            wait(ours, timeout=0.3)  # it does not end before the lock is given back

        capture_in_version_1(theirs.root, "Quokka jobs run daily", propose)
        made = ours[0].result()["signal_id"]
    theirs("scan")
    signals = {part.id: part.text for part in parse_file(theirs.read(SIGNALS)).parts}
    assert "Okapi" in signals[made]
    assert sum("Quokka" in text for text in signals.values()) == 1
    assert theirs("scan")["checks"]["duplicate_ids"] == 0


def test_no_signal_is_lost_when_version_1_makes_them_at_once(theirs: Memory) -> None:
    theirs("scan")
    with ThreadPoolExecutor() as pool:
        other = [pool.submit(capture_in_version_1, theirs.root, f"Original {number} of them") for number in range(8)]
        made = [theirs.propose(f"Clew job {number} runs on rack{number}")["signal_id"] for number in range(8)]
        for captured in other:
            captured.result()
    theirs("scan")
    signals = {part.id: part.text for part in parse_file(theirs.read(SIGNALS)).parts}
    assert [f"Clew job {number} " in signals[id] for number, id in enumerate(made)] == [True] * 8
    assert sum("Original" in text for text in signals.values()) == 8


def test_no_signal_is_lost_when_both_make_them_at_once(theirs: Memory) -> None:
    theirs("scan")
    with ThreadPoolExecutor() as pool:
        other = [pool.submit(capture, theirs.root, f"Original {number} of them") for number in range(ROUNDS)]
        for number in range(ROUNDS):
            theirs.propose(f"Clew job {number} runs on rack{number}")
        for captured in other:
            captured.result()
    theirs("scan")
    text = theirs.read(SIGNALS)
    assert [text.count(f"Excerpt: {maker}") for maker in ("Original", "Clew job")] == [ROUNDS, ROUNDS]
    assert not any((theirs.root / lock).exists() for lock in LOCKS)


@pytest.mark.parametrize("left", ["{gone}\n", "released"])
def test_a_lock_that_was_left_behind_is_taken_over(theirs: Memory, left: str) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for lock in LOCKS:
        (theirs.root / lock).write_text(left.format(gone=gone.pid))
    assert theirs.propose("Okapi jobs run hourly")["written"] == 1
    assert not any((theirs.root / lock).exists() for lock in LOCKS)


@pytest.mark.parametrize("held", [f"{os.getpid()}\n", ""], ids=["running", "unsigned"])
def test_a_lock_that_is_held_for_ever_holds_nobody_up(
    theirs: Memory, held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecar_lock, "PATIENCE", 0.01)
    for lock in LOCKS:
        (theirs.root / lock).write_text(held)
    made = theirs.propose("Okapi jobs run hourly")
    assert made["signal_id"] in theirs.read(SIGNALS)
    assert [(theirs.root / lock).read_text() for lock in LOCKS] == [held, held], "it is not ours to remove"
