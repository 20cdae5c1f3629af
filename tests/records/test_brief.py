"""The cut of a brief: never over its limit, in the fixed order, with true counts."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.records.brief import WIDTHS, Brief, BriefLine, Section
from clew.records.brief_fit import fit

KINDS = {
    "done": ("done step",),
    "then": ("open step",),
    "doubts": ("contradiction",),
    "rules": ("rule", "preference"),
    "decisions": ("decision", "rejected"),
    "since": ("change",),
    "open": ("question", "hypothesis"),
    "known": ("lesson", "fact"),
    "notes": ("note",),
    "thoughts": ("thought",),
}
NAMES = tuple(KINDS)
INLINE = ("done", "then", "since")
TEXTS = ("a", "é\nb", "ab cd " * 10, "abc é\n" * 20, "long " * 40)
CALM = ("done", "then", "rules", "since", "notes", "thoughts")


@st.composite
def lines(draw: st.DrawFn, name: str, number: int) -> BriefLine:
    alarms = [""] if name in CALM else ["", "", "SUSPECT", "STALE: 3 files changed"]
    line = BriefLine(
        draw(st.sampled_from(KINDS[name])),
        f"{name.upper()}-{number}",
        draw(st.sampled_from(TEXTS)),
        draw(st.sampled_from(["", "proposed", "REJECTED"])),
        draw(st.sampled_from([0.0, 1.0, 2.5])) if name not in CALM else 1.0,
        "CONTRADICTED" if name == "doubts" else draw(st.sampled_from(alarms)),
    )
    if name in ("rules", "decisions") and draw(st.integers(0, 5)) == 0:
        return replace(line, instead=BriefLine(line.kind, f"NEW-{number}", "what holds soon", why="it is better"))
    return line


@st.composite
def sections(draw: st.DrawFn, name: str) -> Section:
    entries = [draw(lines(name, number)) for number in range(draw(st.integers(0, 9)))]
    entries.sort(key=lambda entry: -entry.rank)
    return Section(name, tuple(entries), inline=name in INLINE)


BRIEFS = st.builds(
    Brief,
    head=st.just("TASK-001 envmerge (PLAN-001)"),
    done=st.just("1 of 3 done: 1 claimed"),
    now=st.just("now s:1 merge: the last wins; test: pytest -q"),
    sections=st.tuples(*(sections(name) for name in NAMES)),
    waits=st.sampled_from(["", "waits: 1 proposal for a person"]),
    next=st.just("close step=s:1"),
    again=st.just({"task": "TASK-001"}),
)


def entries(brief: Brief, names: Iterable[str] = NAMES) -> list[BriefLine]:
    return [entry for name in names for entry in brief.section(name).entries]


def urgent(entry: BriefLine) -> bool:
    return bool(entry.alarm)


def calm(brief: Brief, *kinds: str) -> list[BriefLine]:
    return [entry for entry in entries(brief) if entry.kind in kinds and not urgent(entry)]


def weight(found: Iterable[BriefLine]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for entry in found:
        counts[entry.kind] += 1 + (entry.instead is not None)
    return counts


@given(BRIEFS, st.integers(0, 6000))
def test_a_brief_never_exceeds_its_limit(brief: Brief, limit: int) -> None:
    assert len(fit(brief, limit).text) <= limit


@given(BRIEFS, st.integers(150, 6000))
def test_no_rule_goes_before_anything_else(brief: Brief, limit: int) -> None:
    cut = fit(brief, limit)
    rules, others = brief.section("rules").entries, [name for name in NAMES if name != "rules"]
    if len(cut.shown.section("rules").entries) < len(rules):
        assert not entries(cut.shown, others), "a rule went while something else was still told"
    if entries(cut.shown, others):
        for rule in rules:
            told = " ".join(rule.text.split())
            assert rule.instead or len(told) > WIDTHS[1] or told in cut.text, "rules are shortened last"


@given(BRIEFS, st.integers(150, 6000))
def test_what_matters_more_goes_only_after_what_matters_less(brief: Brief, limit: int) -> None:
    shown = fit(brief, limit).shown
    kept = {id(entry) for entry in entries(shown)}
    lost = [entry for entry in entries(brief) if id(entry) not in kept]
    if any(entry.kind != "note" for entry in lost):
        assert not shown.section("notes").entries, "notes go first"
    if any(entry.kind not in ("note", "done step") for entry in lost):
        assert not shown.section("done").entries, "names of done steps go next"
    related = [entry for entry in lost if entry.kind == "decision" and entry.rank and not urgent(entry)]
    if related:
        assert not calm(shown, "note", "thought")
        unrelated = calm(shown, "decision", "rejected", "fact", "lesson")
        assert all(entry.rank for entry in unrelated), "what has nothing to do with the task goes before"
        if len(calm(shown, "decision")) < 8:
            assert not calm(shown, "fact", "lesson", "rejected")
    if any(urgent(entry) and entry.kind not in KINDS["rules"] for entry in lost):
        assert not calm(shown, "decision", "rejected", "fact", "lesson", "question", "hypothesis", "change")
    for kind in ("decision", "rejected", "question", "fact", "lesson"):
        least = [entry.rank for entry in calm(shown, kind)]
        gone = [entry.rank for entry in lost if entry.kind == kind and not urgent(entry)]
        assert not least or not gone or min(least) >= max(gone), "the lowest-ranked go first"


@given(BRIEFS, st.integers(400, 6000))
def test_counts_are_true_and_the_call_shows_the_rest(brief: Brief, limit: int) -> None:
    cut = fit(brief, limit)
    assert Counter(cut.omitted) == weight(entries(brief)) - weight(entries(cut.shown))
    more = re.search(r"^more: (.*): resume max_chars=(\d+) task=TASK-001$", cut.text, re.MULTILINE)
    assert (more is not None) == bool(cut.omitted)
    if more is not None:
        assert sum(int(number) for number in re.findall(r"(\d+) ", more[1])) == sum(cut.omitted.values())
        whole = fit(brief, int(more[2]))
        assert not whole.omitted and whole.text.count(" Why: it is better") == sum(
            entry.instead is not None for entry in entries(brief)
        ), "with room, the reasons too"


@given(BRIEFS, st.integers(400, 5000), st.integers(0, 1000))
def test_more_room_never_shows_fewer_records(brief: Brief, limit: int, more: int) -> None:
    small, large = fit(brief, limit), fit(brief, limit + more)
    assert all(large.omitted[kind] <= small.omitted.get(kind, 0) for kind in large.omitted)


@given(BRIEFS)
def test_head_next_step_and_next_call_are_there_while_anything_is(brief: Brief) -> None:
    text = fit(brief, 250).text
    assert text.startswith(brief.head) and brief.now in text and text.endswith("next: close step=s:1")


def test_a_record_is_one_line_of_a_fixed_width() -> None:
    long = BriefLine("rule", "R-1", "errors are\none line " * 40, "preference, proposed")
    text = fit(Brief("head", sections=(Section("rules", (long,)),)), 2000).text
    assert text.splitlines()[2].startswith("  R-1 preference, proposed: errors are one line")
    assert len(text.splitlines()[2]) <= WIDTHS[0] + len("  R-1 preference, proposed: ")


def crowded(count: int) -> Brief:
    texts = [f"The importer keeps {number} rows of each file in memory while it reads on" for number in range(count)]
    decisions = tuple(
        BriefLine("decision", f"D-{number}", text, rank=number % 3, why="it is read once")
        for number, text in enumerate(texts)
    )
    return Brief("TASK-001 importer", sections=(Section("decisions", decisions),), next="close step=s:1")


def calls_of(action: Callable[[], object]) -> int:
    """How many functions an action calls: work that does not depend on how busy the machine is."""
    called = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("limit", [2_000, 20_000])
def test_the_work_of_a_cut_grows_with_the_records_and_not_with_their_square(limit: int) -> None:
    few, many = (calls_of(partial(fit, crowded(count), limit)) for count in (500, 5_000))
    assert many < 12 * few
