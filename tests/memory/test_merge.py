"""Texts compared and places moved: the arithmetic under hand edits, against the plain way to do it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.memory.files import file_merge as merge
from clew.memory.files.file_merge import common_prefix, common_suffix, header_after, header_before
from clew.memory.files.markdown import HEADER, parse_file
from clew.memory.files.shifts import Shifts

TEXT = st.text("ab\n", max_size=60)
HEADERS = st.lists(st.sampled_from(["[D-1]\n", "[T-2]\n", "text\n", "[no header]\n", "\n", "x [D-3]\n"]), max_size=12)


def shared(a: str, b: str) -> int:
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(TEXT, TEXT, TEXT)
def test_prefix_and_suffix_are_as_long_as_can_be(head: str, tail: str, middle: str) -> None:
    a, b = head + middle + tail, head + tail
    prefix = common_prefix(a, b)
    assert prefix == shared(a, b)
    most = min(len(a), len(b)) - prefix
    suffix = common_suffix(a, b, most)
    assert suffix == min(most, shared(a[::-1], b[::-1]))


def test_long_texts_are_compared_in_slices() -> None:
    size = merge._STRIDE * 2 + 5
    for at in (0, 1, merge._STRIDE - 1, merge._STRIDE, merge._STRIDE + 1, size - 1):
        a, b = "x" * size, "x" * at + "y" + "x" * (size - at - 1)
        assert common_prefix(a, b) == at
        assert common_suffix(a, b, size - at) == size - at - 1


@given(HEADERS, st.integers(0, 80))
def test_headers_are_found_on_both_sides_of_a_place(lines: list[str], place: int) -> None:
    text = "".join(lines)
    place = min(place, len(text))
    starts = [(match.group(1), match.start(), match.end()) for match in HEADER.finditer(text)]
    before = [(id, start) for id, start, end in starts if end < place]
    after = [(id, start) for id, start, _ in starts if start > place]
    assert header_before(text, place) == (before[-1] if before else None)
    assert header_after(text, place) == (after[0] if after else None)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(-9, 9), st.integers(-3, 3)), max_size=20), st.integers(0, 60))
def test_a_place_moves_by_all_shifts_before_it(rows: list[tuple[int, int, int]], ordinal: int) -> None:
    kept = {at: (by, lines) for at, by, lines in rows}
    shifts = Shifts([{"ordinal": at, "bytes": by, "lines": lines} for at, (by, lines) in sorted(kept.items())])
    moved = [sizes for at, sizes in kept.items() if at < ordinal]
    assert shifts.before(ordinal) == (sum(by for by, _ in moved), sum(lines for _, lines in moved))


BODY = st.text("ab:[]- \n", max_size=20)


@given(BODY, BODY, BODY)
def test_a_merge_without_a_change_of_the_store_is_the_edited_text(first: str, second: str, third: str) -> None:
    base = f"# T\n\n[D-1]\n{first}\n\n[D-2]\n{second}\n"
    edited = f"# T\n\n[D-1]\n{first}\n\n[D-2]\n{third}\n"
    known = {part.id: part.text for part in reversed(parse_file(base).parts)}
    assert merge.merge(known, parse_file(base), parse_file(edited)).join() == edited
