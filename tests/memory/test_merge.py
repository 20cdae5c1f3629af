"""Files merged and ordered: the arithmetic under hand edits, against the plain way to do it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.memory.files.file_merge import merge
from clew.memory.files.hand_edits import PORTION, portion_of
from clew.memory.files.markdown import MarkdownPart, ParsedFile, gap_problems, parse_file

BODY = st.text("ab:[]- \n", max_size=20)


@given(BODY, BODY, BODY)
def test_a_merge_without_a_change_of_the_store_is_the_edited_text(first: str, second: str, third: str) -> None:
    base = f"# T\n\n[D-1]\n{first}\n\n[D-2]\n{second}\n"
    edited = f"# T\n\n[D-1]\n{first}\n\n[D-2]\n{third}\n"
    known = {part.id: part.text for part in reversed(parse_file(base).parts)}
    assert merge(known, parse_file(base), parse_file(edited)).join() == edited


def part(id: str, text: str = "") -> MarkdownPart:
    return MarkdownPart(id, f"[{id}]\n{text}", "\n\n")


def test_portions_lead_from_what_is_stored_to_what_was_edited() -> None:
    stored = ParsedFile("old\n", [part(f"D-{number}") for number in range(PORTION)])
    edited = ParsedFile("new\n", [part(f"D-{number}", "changed") for number in range(3 * PORTION)])
    seen = []
    while (portion := portion_of(stored, edited)) is not edited:
        before, after = set(stored.parts), {item.id: item for item in portion.parts}
        assert sum(item not in before for item in portion.parts) <= PORTION
        assert {item.id for item in stored.parts} <= after.keys(), "nothing is removed on the way"
        seen.append(len(portion.parts))
        stored = portion
    assert seen == [PORTION, 2 * PORTION]


def test_repeats_of_an_id_take_no_portion() -> None:
    edited = ParsedFile("", [part("D-1", f"text {number}") for number in range(3 * PORTION)])
    assert portion_of(ParsedFile("", [part("D-1", "text 0")]), edited) is edited
    assert portion_of(ParsedFile("", []), edited) is edited


def test_problems_between_blocks_are_found_with_their_lines() -> None:
    gap = "prose\n[D-1]\n\n[d-2]\nmore\n[D-1]\n"
    lines = [(line, text.split()[0]) for line, text in gap_problems(gap)]
    assert lines == [(1, "D-1"), (3, "'[d-2]'"), (5, "D-1")]
