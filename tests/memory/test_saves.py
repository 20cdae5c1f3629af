"""A person's save is never lost: atomic or in place, around a rendering, around a crash, from several processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
from pathlib import Path
from typing import Any

import pytest

from clew.memory import blocks
from clew.memory.files import directory as directory_module
from clew.memory.files import swap as swap_module
from clew.memory.files.directory import Directory
from clew.memory.files.file_state import known
from clew.memory.files.markdown import parse_file, print_block
from tests.memory.conftest import Memory
from tests.memory.test_processes import WORKER, go
from tests.memory.test_together import start
from tests.waiting import PATIENCE

DECISIONS = "decisions/DECISIONS.md"


def block(id: str, statement: str) -> str:
    return print_block(id, {"Status": "active", "Statement": statement})


def add(text: str, id: str, statement: str) -> str:
    return f"{text.rstrip()}\n\n{block(id, statement)}\n"


def save_atomically(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.editor")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def save_in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


SAVES = {"atomic": save_atomically, "in place": save_in_place}


@pytest.fixture(params=["exchange", "fallback"])
def swapping(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the kernel's exchange, and as on a system that has none."""
    if request.param == "fallback":
        monkeypatch.setattr(swap_module, "_libc", lambda: None)
    return str(request.param)


def hold(memory: Memory) -> None:
    """Store, places and file say the same."""
    memory("scan")
    memory.agree()
    with memory.context().reading() as ctx:
        live = {block.id for block in blocks.current(ctx, prefix="D")}
    assert {part.id for part in parse_file(memory.read(DECISIONS)).parts} == live


@pytest.mark.parametrize("way", SAVES)
def test_a_save_while_the_new_rendering_is_flushed_is_kept(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, way: str, swapping: str
) -> None:
    first, _ = memory.decide("Use Redis")
    path, flush = memory.root / DECISIONS, os.fdatasync
    done: list[Any] = []

    def saving(handle: int) -> None:
        flush(handle)
        if not done:
            done.append(True)
            SAVES[way](path, add(path.read_text(), "D-20270101-001", "Saved meanwhile"))

    proposed = memory.propose("Use Kafka")
    monkeypatch.setattr(os, "fdatasync", saving)
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    monkeypatch.undo()
    hold(memory)
    assert {first, proposed["block_id"], "D-20270101-001"} == {
        part.id for part in parse_file(memory.read(DECISIONS)).parts
    }


def test_two_saves_around_one_rendering_become_one_plan(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Format on save: the editor saves twice from one buffer, once before the swap and once behind it."""
    memory.decide("Use Redis")
    path, swap = memory.root / DECISIONS, swap_module.swap
    done: list[Any] = []

    def saving(draft: Path, target: Path) -> list[Path]:
        if target != path or done:
            return swap(draft, target)
        done.append(True)
        text = add(path.read_text(), "D-20270101-001", "Saved meanwhile")
        save_in_place(path, text)
        taken = swap(draft, target)
        save_in_place(path, text.replace("Saved meanwhile", "Saved meanwhile, formatted"))
        return taken

    proposed = memory.propose("Use Kafka")
    monkeypatch.setattr(directory_module, "swap", saving)
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    monkeypatch.undo()
    hold(memory)
    text = memory.read(DECISIONS)
    assert "Saved meanwhile, formatted" in text
    assert proposed["block_id"] in text
    memory.decide("Use NATS")
    hold(memory)


def test_a_crash_after_the_swap_loses_no_save(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.decide("Use Redis")
    path, swap = memory.root / DECISIONS, swap_module.swap

    class Killed(BaseException):
        pass

    def dying(draft: Path, target: Path) -> list[Path]:
        if target == path:
            save_atomically(path, add(path.read_text(), "D-20270101-001", "Saved meanwhile"))
            swap(draft, target)
            raise Killed
        return swap(draft, target)

    proposed = memory.propose("Use Kafka")
    monkeypatch.setattr(directory_module, "swap", dying)
    with pytest.raises(Killed):
        memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    monkeypatch.undo()
    hold(memory)
    assert {"D-20270101-001", proposed["block_id"]} <= {part.id for part in parse_file(memory.read(DECISIONS)).parts}
    assert list((memory.root / ".clew/late").iterdir()) == []


def test_a_writer_that_goes_on_after_the_swap_is_heard(memory: Memory) -> None:
    """A file that is held open over a rendering is still the person's file."""
    memory.decide("Use Redis")
    with (memory.root / DECISIONS).open("a", encoding="utf-8") as file:
        block_id, _ = memory.decide("Use Kafka")
        file.write(f"\n\n{block('D-20270101-001', 'Saved late')}\n")
    memory("list_proposals")
    assert {"D-20270101-001", block_id} <= {part.id for part in parse_file(memory.read(DECISIONS)).parts}
    hold(memory)


def test_a_late_save_that_is_no_text_is_kept_for_its_author(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.decide("Use Redis")
    path, swap = memory.root / DECISIONS, swap_module.swap
    done: list[Any] = []

    def saving(draft: Path, target: Path) -> list[Path]:
        if target == path and not done:
            done.append(path.write_bytes(b"caf\xe9"))
        return swap(draft, target)

    proposed = memory.propose("Use Kafka")
    monkeypatch.setattr(directory_module, "swap", saving)
    answer = memory.answer("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    (warning,) = [item for item in answer.envelope["warnings"] if item["code"] == "FILE_UNREADABLE"]
    assert Path(warning["message"].rpartition(" in ")[2]).read_bytes() == b"caf\xe9"
    hold(memory)


def test_a_link_that_lies_in_wait_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    root = tmp_path / "memory"
    folder = root / ".clew/late"
    folder.mkdir(parents=True)
    (folder / "decisions%2FD.md~new").symlink_to(outside)
    directory = Directory(root)
    with directory.locked():
        written = directory.write("decisions/D.md", b"one", None)
        directory.write("decisions/D.md", b"two", known(written.stamp, 0, b"one"))
    assert outside.read_bytes() == b"mine"
    assert (root / "decisions/D.md").read_bytes() == b"two"


def edit(path: str, way: str, seed: int, count: int, saved: Any) -> None:
    """A person at the editor: reads the file, adds a block, saves; the next time only when the file shows it."""
    chance, file = random.Random(seed), Path(path)
    for number in range(count):
        id = f"D-2027{seed:02d}01-{number:03d}"
        text = read_whole(file)
        if way == "in place" and chance.random() < 0.5:
            with file.open("a", encoding="utf-8") as handle:
                handle.write(f"\n\n{block(id, f'Saved {id}')}\n")
        else:
            SAVES[way](file, add(text, id, f"Saved {id}"))
        saved.put(id)
        os.sched_yield()


def read_whole(file: Path) -> str:
    """The file as it is when it is not being saved in place."""
    while True:
        text = file.read_text(encoding="utf-8")
        if text.endswith("\n"):
            return text


@pytest.mark.parametrize("way", SAVES)
def test_hand_edits_race_with_applies_of_several_processes(
    memory: Memory, database_flags: dict[str, Any], way: str, swapping: str
) -> None:
    """Nothing that was saved or acknowledged is missing: in the store, in its history, and in the file."""
    memory.decide("Use Redis")
    flags = json.dumps({**{k: str(v) for k, v in database_flags.items()}, "memory_dir": str(memory.root)})
    servers = [start(WORKER, flags, "8", tag, "apply") for tag in ("left", "right")]
    context = multiprocessing.get_context("spawn")
    saved: Any = context.Queue()
    editor = context.Process(target=edit, args=(str(memory.root / DECISIONS), way, 7, 12, saved))
    for server in servers:
        go(server)
    editor.start()
    heard = [server.communicate(timeout=240) for server in servers]
    editor.join(240)
    assert [server.returncode for server in servers] == [0, 0], [err for _, err in heard]
    ids = {saved.get(timeout=PATIENCE) for _ in range(12)}
    steps = [json.loads(line) for out, _ in heard for line in out.splitlines()]
    applied = {step["applied"]["block_id"] for step in steps if "applied" in step}
    undone = {step["undone"]["block_id"] for step in steps if "undone" in step}
    hold(memory)
    with memory.context().reading() as ctx:
        known_ids = {row["id"] for row in ctx.tx.all("SELECT DISTINCT id FROM block WHERE workspace = 'ws'")}
        live = {item.id for item in blocks.current(ctx, prefix="D")}
    assert ids <= known_ids, "every save was read"
    assert ids <= live, "and none was undone by another one"
    assert applied - undone <= live
    assert not undone & live
