"""Files as they really turn up: other line ends, other encodings, links, renamed, not files at all."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"
MORE = "decisions/MORE.md"
BLOCK = "[D-20200101-001]\nStatus: active\nStatement: Use the abacus\n"


def found(memory: Memory, check: str) -> list[tuple[str, int | None, str]]:
    findings = memory("scan")["findings"]
    return [(item["file"], item.get("line"), item["message"]) for item in findings if item["check"] == check]


def statements(memory: Memory) -> dict[str, str]:
    hits = memory("recall", query="abacus", limit=50)["results"]
    return {hit["_id"]: hit["excerpt"] for hit in hits if hit["type"] not in ("drift", "signal")}


def change(memory: Memory, value: str) -> None:
    op = {"op": "update_field", "target": "D-20200101-001", "field": "Statement", "value": value}
    proposed = memory("propose_edit", ops=[op], rationale="Because")
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "marked"])
def test_a_byte_order_mark_and_either_line_end_are_kept(memory: Memory, mark: str, ends: str) -> None:
    text = mark + BLOCK.replace("\n", ends)
    memory.edit(MORE, text)
    assert list(statements(memory)) == ["D-20200101-001"]
    change(memory, "Use two abacuses")
    assert memory.read(MORE) == text.replace("Use the abacus", "Use two abacuses")
    memory.agree()


@pytest.mark.parametrize(
    ("data", "line", "said"),
    ids=["latin-1", "utf-16", "nul"],
    argvalues=[
        ("[D-20200101-002]\nStatement: café\n".encode("latin-1"), 2, "not UTF-8"),
        (BLOCK.encode("utf-16"), 1, "not UTF-8"),
        (b"[D-20200101-002]\n\nStatement: a\x00b\n", 3, "NUL"),
    ],
)
def test_other_encodings_are_named_with_their_line_and_left_alone(
    memory: Memory, data: bytes, line: int, said: str
) -> None:
    memory.decide("Use the abacus")
    (memory.root / MORE).write_bytes(data)
    ((file, at, message),) = found(memory, "unreadable")
    assert (file, at) == (MORE, line)
    assert said in message
    answer = memory.answer("propose_update", block_type="decision", statement="Use the slide rule")
    assert (memory.root / MORE).read_bytes() == data
    assert [item["code"] for item in answer.envelope["warnings"]] == ["FILE_UNREADABLE"], "said once"


def test_links_are_neither_read_nor_written_through(memory: Memory) -> None:
    block, _ = memory.decide("Use the abacus")
    outside = memory.root.parent / "outside.md"
    outside.write_text("[D-20200101-009]\nStatus: active\nStatement: Use the stolen abacus\n")
    (memory.root / MORE).symlink_to(outside)
    (memory.root / DECISIONS).unlink()
    (memory.root / DECISIONS).symlink_to(outside)
    assert list(statements(memory)) == [block]
    memory.decide("Use the slide rule")
    assert {file for file, _, _ in found(memory, "unreadable")} == {MORE, DECISIONS}
    assert "slide rule" not in outside.read_text()
    (memory.root / DECISIONS).unlink()
    memory("list_proposals")
    assert "slide rule" in memory.read(DECISIONS), "the file is rendered again when the link is gone"


def test_a_linked_folder_is_left_alone(memory: Memory) -> None:
    memory.decide("Use the abacus")
    memory.edit("entities/people.md", "[PER-ada]\nName: Ada\n")
    other = memory.root.parent / "other"
    shutil.move(memory.root / "entities", other)
    before = {path.name: path.read_bytes() for path in other.iterdir()}
    (memory.root / "entities").symlink_to(other)
    op = {"op": "append_block", "file": "entities/tools.md", "patch": "[TOOL-abacus]\nName: Abacus"}
    proposed = memory("propose_edit", ops=[op], rationale="Because")
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert [file for file, _, _ in found(memory, "unreadable")] == ["entities"]
    assert {path.name: path.read_bytes() for path in other.iterdir()} == before
    assert "TOOL-abacus" in statements(memory)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_named_and_the_rest_works(memory: Memory, make: object) -> None:
    block, _ = memory.decide("Use the abacus")
    (memory.root / DECISIONS).unlink()
    assert callable(make)
    make(memory.root / DECISIONS)
    ((file, _, message),) = found(memory, "unreadable")
    assert (file, "not an ordinary file" in message) == (DECISIONS, True)
    assert list(statements(memory)) == [block]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named_and_the_rest_works(memory: Memory) -> None:
    block, _ = memory.decide("Use the abacus")
    memory.edit(DECISIONS, memory.read(DECISIONS) + "\n")  # what did not change since it was read is known anyway
    (memory.root / DECISIONS).chmod(0)
    ((file, _, _),) = found(memory, "unreadable")
    assert file == DECISIONS
    assert list(statements(memory)) == [block]
    (memory.root / DECISIONS).chmod(0o600)


def test_a_private_file_stays_private_when_it_is_written(memory: Memory) -> None:
    """So do the copies that are kept of it where Mind-Mem works in the folder too."""
    memory.decide("Use the abacus")
    (memory.root / ".mind-mem").mkdir()
    (memory.root / DECISIONS).chmod(0o600)
    _, ts = memory.decide("Use the slide rule")
    assert "slide rule" in memory.read(DECISIONS)
    kept = [DECISIONS, f"intelligence/applied/{ts}/{DECISIONS}"]
    assert [stat.S_IMODE((memory.root / path).stat().st_mode) & 0o077 for path in kept] == [0, 0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everything")
def test_a_read_only_file_is_not_replaced(memory: Memory) -> None:
    memory.decide("Use the abacus")
    (memory.root / DECISIONS).chmod(0o444)
    block, _ = memory.decide("Use the slide rule")
    assert "slide rule" not in memory.read(DECISIONS)
    found = memory("recall", query="slide rule")["results"]
    assert found[0]["_id"] == block, "memory answers from the store"
    (memory.root / DECISIONS).chmod(0o644)
    memory("recall", query="slide rule")
    assert "slide rule" in memory.read(DECISIONS)


def test_a_renamed_file_takes_its_blocks_along(memory: Memory) -> None:
    block, _ = memory.decide("Use the abacus")
    (memory.root / DECISIONS).rename(memory.root / MORE)
    hits = memory("recall", query="abacus")["results"]
    assert [(hit["_id"], hit["file"]) for hit in hits] == [(block, MORE)]
    assert found(memory, "duplicate_ids") == []
    assert not (memory.root / DECISIONS).exists()
    memory.decide("Use the slide rule")
    assert "slide rule" in memory.read(DECISIONS), "new decisions still go where decisions go"
    memory.agree()


def test_blocks_left_in_a_lost_file_come_back_without_those_that_moved(memory: Memory) -> None:
    first, _ = memory.decide("Use the abacus")
    second, _ = memory.decide("Use the slide rule")
    text = memory.read(DECISIONS)
    start = text.index(f"[{second}]")
    (memory.root / DECISIONS).unlink()
    memory.edit(MORE, text[start:])
    memory("list_proposals")
    assert first in memory.read(DECISIONS)
    assert second not in memory.read(DECISIONS)
    assert found(memory, "duplicate_ids") == []
    memory.agree()


def test_ids_that_differ_in_capitals_are_two_blocks_and_pointed_out(memory: Memory) -> None:
    memory.edit(MORE, "[D-abc]\nStatement: Use the abacus\n\n[D-ABC]\nStatement: Use another abacus\n")
    assert set(statements(memory)) == {"D-abc", "D-ABC"}
    (message,) = [item["message"] for item in memory("scan")["findings"] if item["check"] == "similar_ids"]
    assert "D-ABC" in message
    assert "D-abc" in message
    memory.agree()


def test_a_file_of_ten_megabytes_is_read_and_changed_in_place(memory: Memory) -> None:
    rationale = "\n".join(f"  {number} {'lorem' * 200}" for number in range(10_000))
    text = f"{BLOCK}Rationale: told at length\n{rationale}\n\n[D-20200101-002]\nStatus: active\nStatement: Short\n"
    assert len(text) > 10_000_000
    memory.edit(MORE, text)
    change(memory, "Use two abacuses")
    assert memory.read(MORE) == text.replace("Use the abacus", "Use two abacuses")


ILL_NAMED = {
    "latin-1": (b"caf\xe9.md", "caf\\xe9.md", "UTF-8"),
    "newline": (b"two\nlines.md", "two\\nlines.md", "cannot be shown"),
    "folder": (b"f\xf6lder", "f\\xf6lder", "UTF-8"),
}


@pytest.mark.parametrize(("name", "shown", "said"), ILL_NAMED.values(), ids=ILL_NAMED)
def test_a_name_that_cannot_be_stored_is_passed_over_and_named(
    memory: Memory, name: bytes, shown: str, said: str
) -> None:
    block, _ = memory.decide("Use the abacus")
    place = os.fsencode(memory.root / "decisions") + b"/" + name
    if name.endswith(b".md"):
        with open(place, "w") as handle:  # noqa: PTH123  (a Path of bytes is none)
            handle.write(BLOCK)
    else:
        os.mkdir(place)  # noqa: PTH102
    warnings = memory.answer("list_proposals").envelope["warnings"]
    assert [(item["code"], shown in item["message"]) for item in warnings] == [("FILE_UNREADABLE", True)]
    ((file, _, message),) = found(memory, "unreadable")
    assert (file, said in message) == (f"decisions/{shown}", True)
    assert list(statements(memory)) == [block]
    memory("resume")
    second, _ = memory.decide("Use the slide rule")
    assert second in memory.read(DECISIONS), "what is written goes on too"


MERGE = """<<<<<<< HEAD
Statement: Use the abacus
=======
Statement: Use the slide rule
>>>>>>> theirs
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_file_with_the_marks_of_a_merge_is_no_edit(memory: Memory, ends: str) -> None:
    block, _ = memory.decide("Use the abacus")
    other, _ = memory.decide("Keep logs for a week")
    text = memory.read(DECISIONS)
    marked = text.replace("Statement: Use the abacus\n", MERGE).replace("\n", ends)
    memory.edit(DECISIONS, marked)
    line = marked[: marked.index("<<<<<<<")].count("\n") + 1
    answer = memory.answer("resume")
    (warning,) = [item for item in answer.envelope["warnings"] if item["code"] == "FILE_UNREADABLE"]
    assert f"{DECISIONS} line {line}" in warning["message"] and "conflict markers" in warning["message"]
    assert list(statements(memory)) == [block], "what the store holds stays"
    assert memory("block_history", block_id=block)["versions_total"] == 1
    (item,) = memory("inbox_list", kind="file")["items"]
    assert (item["id"], item["facts"]["line"]) == (DECISIONS, line)
    (wrong,) = memory("index_stats", check_files=True)["file_disagreements"]
    assert wrong.startswith(f"{DECISIONS}: line {line}") and "conflict markers" in wrong
    third, _ = memory.decide("Ship on Mondays")
    assert memory.read(DECISIONS) == marked, "the file is left alone"
    memory.edit(DECISIONS, text.replace("Use the abacus", "Use the slide rule"))
    memory("list_proposals")
    assert "Ship on Mondays" in memory.read(DECISIONS), "what was decided meanwhile is written now"
    assert "slide rule" in memory("open", id=block)["block"]["text"]
    assert memory("inbox_list", kind="file")["items"] == []
    assert {other, third} <= {item["block_id"] for item in memory("list_blocks", kind="decision")["blocks"]}
    memory.agree()


def test_text_that_looks_like_half_a_merge_is_an_edit(memory: Memory) -> None:
    memory.edit(MORE, f"{BLOCK}\n=======\n<<<<<<< HEAD\n")
    assert list(statements(memory)) == ["D-20200101-001"]
