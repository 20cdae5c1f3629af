"""Memory never switches itself off: names that cannot be files, directories that cannot be written, sizes."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.memory import blocks
from clew.memory.files import hand_edits as edits
from clew.memory.files.changed_files import LONGEST_BLOCK
from clew.memory.files.directory import MOST_BYTES
from clew.memory.files.markdown import print_block
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"
TOOL = "[TOOL-evil]\nName: Evil"


def works(memory: Memory) -> None:
    """Every way to read and write memory answers."""
    memory("recall", query="redis")
    memory("scan")
    memory("index_stats")
    _, receipt = memory.decide(f"Use the abacus {time.monotonic_ns()}")
    memory("rollback_proposal", receipt_ts=receipt)
    memory("list_proposals")


@pytest.mark.parametrize(
    "file",
    [
        f"{DECISIONS}/x.md",
        f"entities/{'x' * 201}.md",
        f"entities/{'y' * 280}/x.md",
        "entities/.hidden.md",
        "entities/.git/x.md",
        "decisions/folder.md",
    ],
)
def test_a_name_that_cannot_be_a_file_is_refused(memory: Memory, file: str) -> None:
    memory.decide("Use Redis")
    (memory.root / "decisions/folder.md").mkdir()
    answer = memory.answer("propose_edit", ops=[{"op": "append_block", "file": file, "patch": TOOL}], rationale="Evil")
    assert answer.envelope["error"]["code"] in ("INVALID_INPUT", "CONFLICT")
    works(memory)


def test_a_folder_made_of_a_known_file_is_refused_without_a_directory(memory: Memory) -> None:
    """The store knows its files even where the disk does not show them."""
    memory.edit("entities/things/more.md", "[TOOL-abacus]\nName: Abacus\n")
    memory("list_proposals")
    for path in ("entities/things/more.md", "entities/things"):
        target = memory.root / path
        target.unlink() if target.is_file() else target.rmdir()
    op = {"op": "append_block", "file": "entities/things/more.md/x.md", "patch": TOOL}
    assert memory.answer("propose_edit", ops=[op], rationale="Evil").envelope["error"]["code"] == "CONFLICT"


def test_a_file_that_cannot_be_written_does_not_stop_the_others(memory: Memory) -> None:
    """As an older version could leave it: a file of the store whose name the disk cannot hold."""
    memory.decide("Use Redis")
    with memory.context().writing() as ctx:
        for id, file in (("TOOL-evil", f"{DECISIONS}/x.md"), ("TOOL-long", f"entities/{'y' * 280}.md")):
            blocks.write(ctx, id, print_block(id, {"Name": id}), origin="test", file=file)
    answer = memory.answer("recall", query="redis")
    assert answer.envelope["result"]["results"]
    assert {item["code"] for item in answer.envelope["warnings"]} == {"FILES_BEHIND"}
    block, _ = memory.decide("Use Kafka")
    assert block in memory.read(DECISIONS)
    works(memory)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_is_read_only_is_still_remembered(memory: Memory) -> None:
    memory.decide("Use Redis")
    memory.edit(DECISIONS, memory.read(DECISIONS) + "\n")
    (memory.root / ".clew/lock").chmod(0o400)
    works(memory)
    (memory.root / ".clew/lock").chmod(0o600)


def test_a_directory_that_cannot_be_locked_is_a_warning(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis")
    memory.edit(DECISIONS, memory.read(DECISIONS) + "\n")
    lock = memory.root / ".clew/lock"
    lock.unlink()
    lock.mkdir()
    answer = memory.answer("recall", query="redis")
    assert [hit["_id"] for hit in answer.envelope["result"]["results"]][:1] == [block]
    assert [item["code"] for item in answer.envelope["warnings"]] == ["FILES_BEHIND"]
    works(memory)
    lock.rmdir()
    works(memory)
    memory.agree()


def test_a_linked_clew_folder_is_not_followed(memory: Memory) -> None:
    outside = memory.root.parent / "outside"
    outside.mkdir()
    (outside / "state.json").write_text("mine")
    memory.root.mkdir()
    (memory.root / ".clew").symlink_to(outside)
    memory.decide("Use Redis")
    works(memory)
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"state.json": "mine"}


def test_a_link_below_the_clew_folder_is_not_followed(memory: Memory) -> None:
    outside = memory.root.parent / "outside"
    outside.mkdir()
    (memory.root / ".clew/base").mkdir(parents=True)
    (memory.root / ".clew/base/decisions").symlink_to(outside)
    (memory.root / ".clew/late").symlink_to(outside)
    memory.decide("Use Redis")
    works(memory)
    assert list(outside.iterdir()) == []


def test_a_huge_file_is_left_alone_without_being_read(memory: Memory) -> None:
    memory.decide("Use Redis")
    path = memory.root / "decisions/HUGE.md"
    with path.open("wb") as file:
        file.truncate(3_000_000_000)
    begun = time.process_time()
    (finding,) = [item for item in memory("scan")["findings"] if item["check"] == "unreadable"]
    assert time.process_time() - begun < 10, "reading it takes half a minute"
    assert f"{MOST_BYTES:,}" in finding["message"]
    works(memory)


def test_a_long_file_is_taken_in_while_others_write(memory: Memory, make_memory: Callable[[], Memory]) -> None:
    """In portions, each a transaction of its own: nobody waits for the whole file."""
    memory.decide("Use Redis")
    ids = [f"D-20270101-{number:04d}" for number in range(3 * edits.PORTION)]
    text = "\n".join(print_block(id, {"Status": "active", "Statement": f"Number {id}"}) + "\n" for id in ids)
    memory.edit("decisions/LONG.md", text)
    other, reading = make_memory(), threading.Event()
    between: list[int] = []

    def write() -> None:
        assert reading.wait(60)
        while reading.is_set():
            other("notes_commit", content=f"meanwhile {len(between)}")
            between.append(blocks_stored(other))

    writer = threading.Thread(target=write)
    writer.start()
    reading.set()
    memory("scan")
    reading.clear()
    writer.join()
    # Some notes were written when a part of the file was stored and the rest was not.
    assert any(0 < count < len(ids) for count in between), between
    assert blocks_stored(memory) == len(ids)


def blocks_stored(memory: Memory) -> int:
    with memory.clew.database.read() as tx:
        return int(tx.value("SELECT count(*) FROM place WHERE file = 'decisions/LONG.md'"))


def test_a_huge_block_is_left_alone_and_named(memory: Memory) -> None:
    memory.decide("Use Redis")
    path = "decisions/LONG.md"
    memory.edit(path, f"[D-1]\nStatement: Short\n\n[D-2]\nStatement: {'long words ' * (LONGEST_BLOCK // 10)}\n")
    (finding,) = [item for item in memory("scan")["findings"] if item["check"] == "unreadable"]
    assert (finding["file"], finding["line"]) == (path, 4)
    works(memory)


def test_a_long_statement_is_read_in_within_seconds(memory: Memory) -> None:
    memory.decide("Use Redis")
    words = " ".join(f"word{number}" for number in range(30_000))
    memory.edit("decisions/LONG.md", f"[D-1]\nStatus: active\nStatement: Never {words}\n")
    begun = time.process_time()
    memory("list_proposals")
    assert time.process_time() - begun < 20
    assert memory("block_history", block_id="D-1")["status"] == "active"


def packed(place: Path, files: dict[str, bytes]) -> str:
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb") as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data.getvalue())
    return place.name


@pytest.mark.parametrize(
    "files",
    ids=["nul", "tombstones", "tombstone without reason", "bomb", "long name", "hidden", "below a file", "long block"],
    argvalues=[
        {DECISIONS: b"[D-1]\nStatement: a\x00b\n"},
        {DECISIONS: b"[D-1]\nStatement: a\n", "tombstones.jsonl": b"nonsense\n"},
        {DECISIONS: b"[D-1]\nStatement: a\n", "tombstones.jsonl": b'{"proposal": "P-1", "statement": "x"}\n'},
        {DECISIONS: b"\n" * 110_000_000},
        {f"entities/{'x' * 303}.md": b"[TOOL-x]\nName: x\n"},
        {"entities/.x.md": b"[TOOL-x]\nName: x\n"},
        {f"{DECISIONS}/x.md": b"[TOOL-x]\nName: x\n"},
        {DECISIONS: b"[D-1]\nStatement: " + b"x" * (LONGEST_BLOCK + 1) + b"\n"},
    ],
)
def test_an_archive_that_memory_cannot_hold_changes_nothing(memory: Memory, files: dict[str, bytes]) -> None:
    memory.decide("Use Redis")
    before = memory.files()
    name = packed(memory.clew.dispatcher.settings.home / "exports/ws/bad.tar.gz", files)
    answer = memory.answer("import_memory", path=name)
    assert answer.envelope["error"]["code"] in ("INVALID_INPUT", "CONFLICT"), answer.envelope
    assert memory.files() == before
    works(memory)


def test_workspaces_do_not_see_each_others_exports(memory: Memory) -> None:
    memory.decide("Use Redis")
    memory("export_memory", path="memory.tar.gz")
    answer = memory.answer("import_memory", path="memory.tar.gz", workspace="other")
    assert answer.envelope["error"]["code"] == "IO_ERROR"
    memory("export_memory", path="memory.tar.gz", workspace="other")
    assert memory("import_memory", path="memory.tar.gz")["same"] > 0


def test_an_export_with_categories_can_be_imported(memory: Memory) -> None:
    memory.decide("Use Redis")
    memory("reindex")
    memory("export_memory", path="memory.tar.gz")
    assert memory("import_memory", path="memory.tar.gz")["conflicts"] == 0
