"""What the page says is so, and said once: counts that a press confirms, failures that look like failures, work that
nothing proves without a check mark, and nothing that is cut off, overlaps or jumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selenium.webdriver.common.keys import Keys

from clew.clock import system_clock
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_decide import as_agent, dispute
from tests.browser.pages.test_memory import propose
from tests.browser.pages.test_phone import OVERLAPPING, phone
from tests.browser.pages.test_played import DAY, press, reads
from tests.browser.stage import visited
from tests.conftest import Caller

__all__ = ["phone"]

FAILED = {"command": "pytest -q tests/test_horn.py", "exit_code": 1, "output": "1 failed"}


def test_the_rail_counts_what_each_author_wrote_as_its_list_shows(own_page: Reader, own_agent: Caller) -> None:
    for number in range(4):
        as_agent(own_agent, "codex", "remember", kind="lesson", text=f"Pier {number} has {number * 7} bollards")
    as_agent(own_agent, "claude-code", "remember", kind="fact", text="The ferry is white")
    old = as_agent(own_agent, "claude-code", "remember", kind="fact", text="The bell weighs ninety kilos")["id"]
    as_agent(own_agent, "claude-code", "retract", id=old, why="It was weighed again")
    own_page.open("ws/know/lists")
    own_page.settled()
    shown = dict(own_page.each("[data-facet=author]", "[...e.children].map((part) => part.textContent)"))
    assert shown == {"codex": "4", "claude-code": "2"}
    press(own_page, "codex", "[data-facet=author] *")
    own_page.until("document.querySelectorAll('#records > li').length === 4")
    press(own_page, "All filters off", "a") if own_page.all("#chosen-filters .facet:nth-child(2)") else None
    press(own_page, "by codex", "a")
    own_page.until("document.querySelectorAll('#records > li').length === 6")
    press(own_page, "withdrawn", "[data-facet=status] *")
    own_page.until("document.querySelectorAll('#records > li').length === 1")
    reads(own_page, "The bell weighs ninety kilos")


def test_a_failed_run_is_marked_and_nothing_unproven_has_a_check_mark(own_page: Reader, own_agent: Caller) -> None:
    steps = [{"title": name, "success_criteria": ["heard"], "tests": [FAILED["command"]]} for name in ("Try", "File")]
    task = own_agent("tasks_macro_start", plan_title="Horn", task_title="Mend the horn", steps=steps)["task_id"]
    own_agent.error("close", task=task, step="s:0", proof=FAILED)
    own_agent("close", task=task, step="s:1", unproven="by ear")
    own_page.open("ws/now/board")
    press(own_page, "Mend the horn", "a")
    own_page.says('#steps [data-path="s:0"] .badge.bad', "failed")
    own_page.says('#steps [data-path="s:0"] .proofs .badge.bad', "failed")
    own_page.says('#steps [data-path="s:1"]', "unproven")
    assert "✓" not in own_page.text('#steps [data-path="s:1"] .grow'), "nobody saw it hold"
    own_page.open("ws/know/recall/pytest%20horn/all")
    own_page.says("#results .result[data-ref^=EV] header", "proof")
    own_page.says("#results .result[data-ref^=EV] .badge.bad", "failed")
    own_page.open("ws/home")
    reads(own_page, "failed at 1 step of Mend the horn")


def test_a_record_says_once_and_by_titles_what_became_of_it(own_page: Reader, own_agent: Caller) -> None:
    fact = as_agent(own_agent, "codex", "remember", kind="fact", text="The quay has two cranes")["id"]
    text = "Unload at the quay"
    plan = as_agent(own_agent, "claude-code", "remember", kind="decision", text=text, rests_on=[fact])["id"]
    as_agent(own_agent, "claude-code", "retract", id=fact, why="One was sold")
    own_page.open(f"ws/o/{plan}")
    own_page.settled()
    own_page.says(".warns", "it rests on “The quay has two cranes”, which was withdrawn: One was sold")
    assert "RestsOn" not in own_page.text("main"), "that stands among its links"
    own_page.says("main .record-head .badge.warn", "suspect: rests on")
    press(own_page, "“The quay has two cranes”", ".warns a")
    own_page.says("#panel .record-title", "The quay has two cranes")
    own_page.until("document.querySelectorAll('#panel [data-version]').length === 2")
    said = own_page.each("#panel [data-version] p", "e.innerText.replaceAll('\\n', ' ')")
    assert said[0].startswith("2 withdrawn by claude-code") and said[1].startswith("1 written by codex"), said
    own_page.says("#panel .record-head", "by codex")
    own_page.says("#panel .links .badge.warn", "suspect: rests on")


def test_a_proposal_leads_to_its_decision(own_page: Reader, own_agent: Caller) -> None:
    _, _, proposal = dispute(own_agent, "barrel")
    own_page.open(f"ws/o/{proposal}")
    own_page.settled()
    assert "Digest" not in own_page.text("main"), "nobody reads how it is kept"
    press(own_page, "Decide", "a")
    own_page.says("#matter-title", "A failed barrel is not retried five times")
    own_page.says("#matter", "It stays proposed, and the old one stays in force.")


def test_history_opens_with_what_is_held_and_branches_with_one_that_was_named(
    own_page: Reader, own_agent: Caller
) -> None:
    own_agent("remember", kind="lesson", text="Fog comes from the east")
    own_page.open("ws/history")
    own_page.says("#compare", "Fog comes from the east")
    press(own_page, "Compared with now", "a")
    own_page.says("#compare", "Nothing has changed since then")
    own_agent("start", title="Paint the buoys", steps=["Sand"])
    own_agent("branch_create", name="red-lead", **{"from": "main"})
    own_page.open("ws/know/branches")
    own_page.settled()
    assert own_page.value("#diff-to") == "red-lead"


def test_nothing_moves_when_something_is_said(own_page: Reader, own_agent: Caller) -> None:
    dispute(own_agent, "very long and heavy wooden crate from the northern islands")
    own_page.open("ws/inbox")
    own_page.until("document.querySelector('#ways button') && !document.querySelector('#ways [aria-disabled]')")
    top = own_page.js("return document.querySelector('#main').getBoundingClientRect().top")
    own_page.until("!document.querySelector('[data-fresh]')")
    press(own_page, "Replace the old one", "button")
    own_page.says("#notices", "Now in force")
    assert own_page.js("return document.querySelector('#main').getBoundingClientRect().top") == top


def test_no_ring_goes_around_the_page_after_an_answer_by_key(own_page: Reader, own_agent: Caller) -> None:
    dispute(own_agent, "keg")
    propose(own_agent, "Ring at noon")
    own_page.open("ws/inbox")
    own_page.until("document.querySelector('#ways button') && !document.querySelector('#ways [aria-disabled]')")
    own_page.until("!document.querySelector('[data-fresh]')")
    own_page.keys("1")
    own_page.find("#ask-reason")
    own_page.keys(Keys.ENTER)
    own_page.says("#notices", "Not in force")
    own_page.gone("#ask")
    rings = """return [...document.querySelectorAll('main, main > *, .list, .detail')]
      .filter((one) => one.matches(':focus') && getComputedStyle(one).outlineStyle !== 'none').length"""
    assert own_page.js(rings) == 0
    own_page.keys("j")
    own_page.until("document.activeElement.id === 'matters'")


def aged(back: int) -> Callable[[], int]:
    return lambda: system_clock() - back * DAY


def test_a_telephone_shows_every_place_and_cuts_nothing_off(phone: Reader, heap: Heap) -> None:
    agents = [heap.agent_of("days", clock=aged(back)) for back in (6, 5, 4, 3, 2, 1, 0)]
    for number in range(42):
        text = f"Lock {number} lifts {number * 3} metres"
        as_agent(agents[number // 6], "codex", "remember", kind="fact", text=text, about=["src/lock/main.py"])
    for number in range(12):
        propose(agents[-1], f"Number buoy {number} by hand")
    for reader in visited(Reader(phone.driver, heap.server.address)):
        reader.open("days/home")
        reader.until("Number(document.querySelector('#tabs .count').textContent) >= 10")
        edges: list[Any] = reader.each("#tabs a", "[e.getBoundingClientRect().right, e.scrollWidth <= e.clientWidth]")
        assert all(right <= 390 and fits for right, fits in edges), edges
        press(reader, "History", "#tabs a")
        reader.find(".ticks span")
        assert len(reader.all(".ticks span")) > 1 and not reader.js(OVERLAPPING)
        for place in ("home/projects", "know/areas"):
            reader.open(f"days/{place}")
            reader.settled()
            wide = "[...document.querySelectorAll('.wide')].every((e) => e.scrollWidth <= e.clientWidth)"
            assert reader.there(wide), f"{place} leads sideways"
