"""Reading and printing blocks: nothing is lost, nothing is invented, only the touched block changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.memory.files.markdown import (
    append_item,
    clean,
    gap_problems,
    listed,
    parse_block,
    parse_file,
    print_block,
    set_field,
)
from clew.memory.governance.patches import Op, printed, read

FRAGMENTS = [
    "[D-20260101-001]",
    "[D-20260101-002] ",
    "[d-lower]",
    "[T-1] and more",
    "Status: active",
    "Status:active",
    "Tags:",
    "- item",
    "  - indented",
    "  continued",
    "\tcontinued",
    "    deeper",
    "---",
    "--- rule",
    "",
    "   ",
    "prose",
    "Ünïcode: 値",
    "日本語の文章",
    "http://example.org",
    "\\- escaped",
    "> [D-YYYYMMDD-NNN]",
    "\u2028",
]
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12), max_size=30).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines))
)
values = st.text(alphabet=st.sampled_from(" \n\\-[]:DSa1ü値\t\u2028#"), max_size=40).map(clean).filter(bool)
fields = st.dictionaries(
    st.sampled_from(["Statement", "Tags", "Context", "Next", "History"]),
    values | st.lists(values, min_size=1),
    min_size=1,
)


@given(texts)
def test_parse_then_print_is_the_identity(text: str) -> None:
    assert parse_file(text).join() == text


@given(texts)
def test_any_text_can_be_read(text: str) -> None:
    for part in parse_file(text).parts:
        assert parse_block(part.text).id == part.id
        gap_problems(part.gap)


@given(fields)
def test_what_is_printed_is_read_back(given_fields: dict[str, str | list[str]]) -> None:
    text = print_block("D-1", given_fields)
    parsed = parse_file(text)
    assert [part.id for part in parsed.parts] == ["D-1"]
    assert parsed.parts[0].text == text
    assert parse_block(text).fields == given_fields
    assert parse_block(text).problems == []


@given(fields, values)
def test_setting_a_field_leaves_the_others_alone(given_fields: dict[str, str | list[str]], value: str) -> None:
    text = set_field(print_block("D-1", given_fields), "Context", value)
    assert parse_block(text).fields == {**given_fields, "Context": value}


@given(
    st.lists(st.tuples(fields, st.sampled_from(["\n\n---\n\n", "\n\n", "\n---\nprose\n\n"])), min_size=1, max_size=6)
)
def test_changing_one_block_changes_no_other_byte(blocks: list[tuple[dict[str, str | list[str]], str]]) -> None:
    chunks = [(print_block(f"D-{n}", given_fields), gap) for n, (given_fields, gap) in enumerate(blocks)]
    text = "# Title\n\n" + "".join(body + gap for body, gap in chunks)
    parsed = parse_file(text)
    middle = len(chunks) // 2
    changed = set_field(parsed.parts[middle].text, "Status", "revoked")
    before = "# Title\n\n" + "".join(body + gap for body, gap in chunks[:middle])
    after = chunks[middle][1] + "".join(body + gap for body, gap in chunks[middle + 1 :])
    assert text == before + parsed.parts[middle].text + after
    assert parse_file(before + changed + after).join() == before + changed + after


ops = st.builds(
    Op,
    op=st.just("replace_range"),
    target=st.just("D-1"),
    start=values.filter(lambda text: "\n" not in text),
    end=values,
    value=values,
    patch=values.map(lambda text: f"[D-2]\n{text}"),
)


@given(st.lists(ops, min_size=1, max_size=4))
@settings(max_examples=50)
def test_operations_are_read_back_as_written(given_ops: list[Op]) -> None:
    text = print_block("P-1", {"Ops": printed(given_ops)})
    assert read(parse_block(text).fields["Ops"]) == given_ops


def test_what_people_write_is_understood() -> None:
    text = "\n".join(
        [
            "[D-20260101-001]",
            "Status:active",
            "Tags: a",
            "- b",
            "Statement: first",
            "  second",
            "",
            "  after a blank line",
            "Sources:",
            "  - one",
            "  - two",
            "stray prose",
            "Status: revoked",
        ]
    )
    parsed = parse_block(text)
    assert parsed.fields == {
        "Status": "revoked",
        "Tags": ["a", "b"],
        "Statement": "first\nsecond\n\nafter a blank line",
        "Sources": ["one", "two"],
    }
    assert [line for line, _ in parsed.problems] == [11, 12]


def test_lists_in_every_form() -> None:
    assert listed("a, b") == listed("[a, b]") == listed(["a", "b"]) == ["a", "b"]
    assert append_item("[D-1]\nTags: a", "Tags", "b") == "[D-1]\nTags:\n- a\n- b"
