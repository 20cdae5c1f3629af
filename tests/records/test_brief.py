"""The cut of a brief: never over its limit, in the fixed order, with true counts."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from clew.records.brief import WIDTHS, Brief, BriefLine, Section, fit

NAMES = ("done", "then", "doubts", "rules", "decisions", "known", "open", "since")
KINDS = {
    "done": ("done step",),
    "then": ("open step",),
    "doubts": ("contradiction",),
    "rules": ("rule", "preference"),
    "decisions": ("decision", "rejected"),
    "known": ("lesson",),
    "open": ("question", "hypothesis"),
    "since": ("change",),
}
INLINE = ("done", "then", "since")


@st.composite
def sections(draw: st.DrawFn, name: str) -> Section:
    count = draw(st.integers(0, 12))
    entries = [
        BriefLine(
            draw(st.sampled_from(KINDS[name])),
            f"{name.upper()}-{number}",
            draw(st.text("abc é\n", min_size=1, max_size=200)),
            draw(st.sampled_from(["", "proposed", "REJECTED"])),
            draw(st.sampled_from([0.0, 1.0, 2.5])) if name != "since" else 0.0,
            draw(st.sampled_from(["", "", "UNPROVEN", "STALE: 3 files changed"])) if name != "since" else "",
        )
        for number in range(count)
    ]
    entries.sort(key=lambda entry: -entry.rank)
    return Section(name, tuple(entries), inline=name in INLINE)


BRIEFS = st.builds(
    Brief,
    head=st.just("TASK-001 envmerge (PLAN-001) 1/3 done"),
    now=st.just("now s:1 merge: the last wins; test: pytest -q"),
    sections=st.tuples(*(sections(name) for name in NAMES)),
    waits=st.sampled_from(["", "waits: 1 proposal for a person"]),
    next=st.just("close step=s:1"),
    again=st.just({"task": "TASK-001"}),
)


def ids(brief: Brief, *names: str) -> set[str]:
    return {entry.id for name in names for entry in brief.section(name).entries}


def calm(brief: Brief, *names: str) -> set[str]:
    return {entry.id for name in names for entry in brief.section(name).entries if not entry.alarm}


@given(BRIEFS, st.integers(0, 6000))
def test_a_brief_never_exceeds_its_limit(brief: Brief, limit: int) -> None:
    assert len(fit(brief, limit).text) <= limit


@given(BRIEFS, st.integers(150, 6000))
def test_what_matters_more_goes_only_after_what_matters_less(brief: Brief, limit: int) -> None:
    shown = fit(brief, limit).shown
    lost = {name: ids(brief, name) - ids(shown, name) for name in NAMES}
    alarms = {entry.id for section in brief.sections for entry in section.entries if entry.alarm}
    if lost["done"]:
        assert not ids(shown, "since"), "history goes before done steps"
    if lost["decisions"] - alarms:
        assert not ids(shown, "since") and not calm(shown, "done")
    if lost["rules"] - alarms:
        assert not calm(shown, "decisions", "known", "open", "done")
    if any(lost[name] & alarms for name in NAMES):
        assert not calm(shown, "rules", "decisions", "known", "open", "done") and not ids(shown, "since")
    for name in ("rules", "decisions", "open"):
        kept = [entry.rank for entry in shown.section(name).entries if not entry.alarm]
        gone = [entry.rank for entry in brief.section(name).entries if entry.id in lost[name] - alarms]
        assert not kept or not gone or min(kept) >= max(gone), "the lowest-ranked go first"


@given(BRIEFS, st.integers(400, 6000))
def test_counts_are_true_and_the_call_shows_the_rest(brief: Brief, limit: int) -> None:
    cut = fit(brief, limit)
    all_of = Counter(entry.kind for section in brief.sections for entry in section.entries)
    left = Counter(entry.kind for section in cut.shown.sections for entry in section.entries)
    assert Counter(cut.omitted) == all_of - left
    more = re.search(r"^more: (.*): resume max_chars=(\d+) task=TASK-001$", cut.text, re.MULTILINE)
    assert (more is not None) == bool(cut.omitted)
    if more is not None:
        assert sum(int(number) for number in re.findall(r"(\d+) ", more[1])) == sum(cut.omitted.values())
        assert not fit(brief, int(more[2])).omitted


@given(BRIEFS, st.integers(400, 5000), st.integers(0, 1000))
def test_more_room_never_shows_fewer_records(brief: Brief, limit: int, more: int) -> None:
    small, large = fit(brief, limit), fit(brief, limit + more)
    assert sum(large.omitted.values()) <= sum(small.omitted.values())


@given(BRIEFS)
def test_head_next_step_and_next_call_are_there_while_anything_is(brief: Brief) -> None:
    text = fit(brief, 250).text
    assert text.startswith(brief.head) and brief.now in text and text.endswith("next: close step=s:1")


def test_a_record_is_one_line_of_a_fixed_width() -> None:
    long = BriefLine("rule", "R-1", "errors are\none line " * 40, "preference, proposed")
    text = fit(Brief("head", sections=(Section("rules", (long,)),)), 2000).text
    assert text.splitlines()[2].startswith("  R-1 preference, proposed: errors are one line")
    assert len(text.splitlines()[2]) <= WIDTHS[0] + len("  R-1 preference, proposed: ")
