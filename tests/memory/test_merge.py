"""Files merged and ordered: the arithmetic under hand edits, against the plain way to do it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.memory.files.file_merge import merge
from clew.memory.files.markdown import MarkdownPart, gap_problems, parse_file

BODY = st.text("ab:[]- \n", max_size=20)


@given(BODY, BODY, BODY)
def test_a_merge_without_a_change_of_the_store_is_the_edited_text(first: str, second: str, third: str) -> None:
    base = f"# T\n\n[D-1]\n{first}\n\n[D-2]\n{second}\n"
    edited = f"# T\n\n[D-1]\n{first}\n\n[D-2]\n{third}\n"
    known = {part.id: part.text for part in reversed(parse_file(base).parts)}
    assert merge(known, parse_file(base), parse_file(edited)).join() == edited


def part(id: str, text: str = "") -> MarkdownPart:
    return MarkdownPart(id, f"[{id}]\n{text}", "\n\n")


def test_problems_between_blocks_are_found_with_their_lines() -> None:
    gap = "prose\n[D-1]\n\n[d-2]\nmore\n[D-1]\n"
    lines = [(line, text.split()[0]) for line, text in gap_problems(gap)]
    assert lines == [(1, "D-1"), (3, "'[d-2]'"), (5, "D-1")]
