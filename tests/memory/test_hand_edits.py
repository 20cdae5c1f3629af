"""Hand edits: read back before the next look, a person wins, nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Callable

import orjson
import pytest

from clew.memory import blocks
from clew.memory.files.markdown import parse_file
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


def shown(memory: Memory) -> dict[str, dict[str, object]]:
    text = memory.clew.dispatcher.read_resource("mind-mem://decisions", memory.session).text
    return {item["_id"]: item for item in orjson.loads(text)}


def check_lines(memory: Memory) -> None:
    """Every block stands on the line that the store names."""
    with memory.context().reading() as ctx:
        for id, (file, line) in blocks.locate(ctx, [block.id for block in blocks.current(ctx)]).items():
            if not file.startswith("intelligence/applied/"):
                assert memory.read(file).split("\n")[line - 1].strip() == f"[{id}]"


def test_a_block_that_was_cut_out_and_put_back_by_hand_is_there_again(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis")
    whole = memory.read(DECISIONS)
    memory.decide("Use Postgres")
    both = memory.read(DECISIONS)
    memory.edit(DECISIONS, whole.partition("[D-")[0])
    assert shown(memory) == {}
    memory.edit(DECISIONS, both)
    assert shown(memory)[block]["Statement"] == "Use Redis"
    assert len(shown(memory)) == 2
    memory.agree()


def test_an_edit_is_a_new_version_and_the_old_one_stays(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis")
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("Use Redis", "Use Valkey"))
    assert shown(memory)[block]["Statement"] == "Use Valkey"
    with memory.context().reading() as ctx:
        versions = blocks.history(ctx, block)
    assert [(v.get("Statement"), v.origin) for v in versions] == [("Use Redis", "apply"), ("Use Valkey", "edit")]
    assert versions[0].until == versions[1].seq
    memory.agree()


def test_blocks_can_be_added_moved_and_removed_by_hand(memory: Memory) -> None:
    first, _ = memory.decide("Use Redis")
    second, _ = memory.decide("Use Kafka")
    parsed = parse_file(memory.read(DECISIONS))
    kept = [part for part in parsed.parts if part.id != first]
    moved = next(part for part in parsed.parts if part.id == first)
    memory.edit(DECISIONS, parsed.preamble + "".join(p.text + p.gap for p in kept) + "[D-hand]\nStatus: active\n")
    memory.edit("decisions/ARCHIVE.md", moved.text + "\n")
    assert list(shown(memory)) == [second, "D-hand"], "as they stand in that file"
    with memory.context().reading() as ctx:
        assert blocks.locate(ctx, [first])[first] == ("decisions/ARCHIVE.md", 1)
        assert not any(version.gone for version in blocks.history(ctx, first))
    memory.edit("decisions/ARCHIVE.md", "nothing here any more\n")
    assert set(shown(memory)) == {second, "D-hand"}
    with memory.context().reading() as ctx:
        assert [version.gone for version in blocks.history(ctx, first)][-1]
    check_lines(memory)
    memory.agree()


def test_an_id_used_twice_is_reported_with_its_line_and_no_text_is_lost(memory: Memory) -> None:
    first = "# T\n\n[D-1]\nStatus: active\nStatement: one\n\n---\n\n"
    text = f"{first}[D-1]\nStatus: active\nStatement: two\n\n[D-2]\nStatus:active\n"
    memory.edit(DECISIONS, text)
    assert shown(memory)["D-1"]["Statement"] == "one"
    found = [item for item in memory("scan")["findings"] if item["check"] == "duplicate_ids"]
    assert [(item["file"], item["line"]) for item in found] == [(DECISIONS, 9)]
    assert memory.read(DECISIONS) == text
    memory.edit(DECISIONS, text.replace("[D-1]", "[D-3]", 1))
    assert {id: block["Statement"] for id, block in shown(memory).items() if id != "D-2"} == {
        "D-3": "one",
        "D-1": "two",
    }
    assert memory("scan")["checks"]["duplicate_ids"] == 0


def test_what_cannot_be_read_is_reported_with_file_and_line(memory: Memory) -> None:
    memory.edit(DECISIONS, "# T\n\n[d-1]\n\n[D-1]\nStatus: active\nloose words\n\n---\n[D-2] trailing\n")
    found = [(item["file"], item["line"]) for item in memory("scan")["findings"] if item["check"] == "unreadable"]
    assert found == [(DECISIONS, 3), (DECISIONS, 7), (DECISIONS, 10)]


def test_a_person_wins_and_a_change_of_another_block_is_kept(make_memory: Callable[[], Memory]) -> None:
    """A second process applies while a person has the old file open and saves it afterwards."""
    memory, other = make_memory(), make_memory()
    block, _ = memory.decide("Use Redis")
    opened = memory.read(DECISIONS)
    added, _ = other.decide("Use Kafka")
    memory.edit(DECISIONS, opened.replace("Use Redis", "Use Valkey"))
    statements = {id: item["Statement"] for id, item in shown(memory).items()}
    assert statements == {block: "Use Valkey", added: "Use Kafka"}, "the editor's file never had the new block"
    with memory.context().reading() as ctx:
        assert blocks.history(ctx, added)[0].get("Statement") == "Use Kafka"
    memory.agree()


def test_a_directory_that_is_behind_merges_hand_edits_with_newer_blocks(
    make_clew: Callable[..., object], memory: Memory
) -> None:
    """Two machines with a directory each on one store."""
    other = Memory(make_clew(memory_dir=memory.root.parent / "second"), memory.root.parent / "second")  # type: ignore[arg-type]
    block, _ = memory.decide("Use Redis")
    kept, _ = memory.decide("Use Nginx")
    other("scan")
    assert other.read(DECISIONS) == memory.read(DECISIONS)
    added, _ = memory.decide("Use Kafka")
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("Use Nginx", "Use Caddy"))
    memory("scan")
    other.edit(DECISIONS, other.read(DECISIONS).replace("Use Redis", "Use Valkey"))
    other("scan")
    statements = {id: item["Statement"] for id, item in shown(other).items()}
    assert statements == {block: "Use Valkey", kept: "Use Caddy", added: "Use Kafka"}
    memory("scan")
    assert other.read(DECISIONS) == memory.read(DECISIONS)
    memory.agree()
    other.agree()


def test_a_lost_or_emptied_file_is_rendered_again(memory: Memory) -> None:
    memory.decide("Use Redis")
    text = memory.read(DECISIONS)
    (memory.root / DECISIONS).unlink()
    memory("scan")
    assert memory.read(DECISIONS) == text
    memory.edit(DECISIONS, "")
    memory("scan")
    assert memory.read(DECISIONS) == text


def test_files_that_are_not_text_are_left_alone_and_named(memory: Memory) -> None:
    memory.decide("Use Redis")
    broken = b"\xff\xfe" + memory.read(DECISIONS).encode()
    (memory.root / DECISIONS).write_bytes(broken)
    answer = memory.answer("propose_update", block_type="decision", statement="Use Kafka")
    assert "FILE_UNREADABLE" in {warning["code"] for warning in answer.envelope["warnings"]}
    assert (memory.root / DECISIONS).read_bytes() == broken


def test_a_directory_that_cannot_be_written_does_not_undo_the_commit(memory: Memory) -> None:
    memory.decide("Use Kafka")
    proposed = memory.propose("Use Redis")
    (memory.root / DECISIONS).unlink()
    (memory.root / DECISIONS).mkdir()
    answer = memory.answer("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert answer.ok
    assert "FILES_BEHIND" in {warning["code"] for warning in answer.envelope["warnings"]}
    (memory.root / DECISIONS).rmdir()
    assert proposed["block_id"] in shown(memory)
    memory.agree()


def test_an_existing_workspace_is_taken_over_as_it_is(memory: Memory) -> None:
    text = "# Mine\r\n\r\n[D-20250101-001]\r\nStatus:active\r\nTags: [a, b]\r\nStatement: CRLF ünïcode\r\n"
    memory.edit(DECISIONS, text)
    memory.edit("entities/projects.md", "[PRJ-x]\nName: X\n")
    assert shown(memory)["D-20250101-001"]["Statement"] == "CRLF ünïcode"
    assert memory.read(DECISIONS) == text
    memory.decide("Use Redis")
    assert memory.read(DECISIONS).startswith(text)
    assert "\n" not in memory.read(DECISIONS).replace("\r\n", "")
    assert memory.read("entities/projects.md") == "[PRJ-x]\nName: X\n"
    memory.agree()
    check_lines(memory)


def test_files_that_only_others_fill_are_kept_and_not_made(memory: Memory) -> None:
    impact = "intelligence/IMPACT.md"
    block, _ = memory.decide("Use Redis")
    assert impact not in memory.files()
    memory.edit(impact, f"# Impact\n\n[I-20260213-001]\nDecision: {block}\n")
    memory("scan")
    assert memory("open", id="I-20260213-001")["block"]["file"] == impact
    memory.decide("Use Kafka")
    assert memory.read(impact).endswith(f"[I-20260213-001]\nDecision: {block}\n")


def test_the_first_record_makes_one_file_and_three_of_ours(memory: Memory) -> None:
    memory("remember", text="Herons are counted in May", kind="fact")
    assert list(memory.files()) == ["knowledge/FACTS.md"]
    made = {path.name for path in (memory.root / ".clew").rglob("*") if path.is_file()}
    assert made == {".gitignore", "lock", "state.json"}


def test_a_save_within_the_clocks_grain_is_noticed(memory: Memory) -> None:
    block, _ = memory.decide("Use Redis")
    path = memory.root / DECISIONS
    with path.open("r+b") as file:  # in place: same inode, same size
        file.write(memory.read(DECISIONS).replace("Use Redis", "Use Kafka").encode())
    assert shown(memory)[block]["Statement"] == "Use Kafka"


@pytest.mark.parametrize("seed", range(6))
def test_any_row_of_edits_and_writes_keeps_files_and_store_equal(memory: Memory, seed: int) -> None:
    """Random hand edits of lines, blocks and prose between governed writes, against the text itself as the model."""
    chance = random.Random(seed)
    for number in range(4):
        memory.decide(f"Decision {number} of ünit {seed}")
    for _ in range(12):
        lines = memory.read(DECISIONS).split("\n")
        for _ in range(chance.randint(1, 3)):
            _scramble(chance, lines)
        memory.edit(DECISIONS, "\n".join(lines))
        written: dict[str, set[str]] = {}
        for part in parse_file("\n".join(lines)).parts:
            written.setdefault(part.id, set()).add(part.text)
        memory("list_proposals")
        assert memory.read(DECISIONS) == "\n".join(lines)
        with memory.context().reading() as ctx:
            live = {block.id: block.text for block in blocks.current(ctx, file=DECISIONS)}
        assert set(live) == set(written)
        assert all(text in written[id] for id, text in live.items())
        memory.agree()
        check_lines(memory)
        memory.decide(f"Decision {chance.random()}")
        memory.agree()
        check_lines(memory)


def _scramble(chance: random.Random, lines: list[str]) -> None:
    place = chance.randrange(len(lines))
    kind = chance.randrange(5)
    if kind == 0:
        lines.insert(place, chance.choice(["", "---", "prose ü", "Status: active", "  more", "[D-new]", "[D-other]"]))
    elif kind == 1:
        del lines[place]
    elif kind == 2:
        lines[place] += chance.choice([" x", "é", ""])
    elif kind == 3:
        other = chance.randrange(len(lines))
        lines[place], lines[other] = lines[other], lines[place]
    else:
        lines[place:place] = lines[chance.randrange(len(lines)) :][:5]
    if not lines:
        lines.append("")


def test_a_save_from_a_stale_buffer_does_not_undo_what_was_approved_since(memory: Memory) -> None:
    first, _ = memory.decide("Use Redis")
    second, _ = memory.decide("Use Kafka")
    fourth, ts = memory.decide("Use Consul")
    buffer = memory.read(DECISIONS)
    third, _ = memory.decide("Use Nomad")
    memory("rollback_proposal", receipt_ts=ts)
    op = {"op": "set_status", "target": second, "status": "revoked"}
    proposed = memory("propose_edit", ops=[op], rationale="Because")
    memory("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    memory.edit(DECISIONS, buffer.replace("Use Redis", "Use Valkey"))
    found = shown(memory)
    assert found[first]["Statement"] == "Use Valkey"
    assert found[third]["Statement"] == "Use Nomad"
    assert second not in found, "it was revoked"
    assert fourth not in found, "it was taken back"
    memory.agree()


def test_a_save_that_only_leaves_a_block_out_removes_it(memory: Memory) -> None:
    first, _ = memory.decide("Use Redis")
    buffer = memory.read(DECISIONS)
    memory.decide("Use Kafka")
    memory.edit(DECISIONS, buffer)
    assert list(shown(memory)) == [first]


def test_a_person_who_saw_a_block_may_remove_it_and_change_another(memory: Memory) -> None:
    first, _ = memory.decide("Use Redis")
    second, _ = memory.decide("Use Kafka")
    third, _ = memory.decide("Use Nomad")
    text = memory.read(DECISIONS)
    start, end = text.index(f"[{second}]"), text.index(f"[{third}]")
    memory.edit(DECISIONS, (text[:start] + text[end:]).replace("Use Redis", "Use Valkey"))
    assert set(shown(memory)) == {first, third}
