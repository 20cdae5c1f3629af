"""Many small things that people stumbled over: names instead of ids, colours that mean something, what a key does."""

from __future__ import annotations

from typing import Any

from selenium.webdriver.common.keys import Keys

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_inbox import opened, pressed
from tests.browser.pages.test_memory import decide, propose
from tests.browser.stage import visited
from tests.browser.think import start, think_many
from tests.conftest import Caller

FIRST_FOUND = "document.querySelector('#found li .quiet')?.textContent"
STYLE = "const s = getComputedStyle(document.querySelector(arguments[0]));"


def test_findings_and_moments_are_told_by_titles(page: Reader, agent: Caller) -> None:
    one = decide(agent, "The ice house is filled in January")
    decide(agent, "The ice house is not filled in January")
    page.open("ws/settings/health")
    page.find("#scan")
    page.settled()
    page.press_on("#scan")
    page.says("#findings", "“The ice house is filled in January”")
    lines = page.each("#findings .what", "e.textContent")
    assert not [line for line in lines if one in line], "no id where a title is known"
    event = next(row for row in agent("events_list", limit=100)["events"] if row["subject"] == one)
    page.open(f"ws/history?at={agent('workspace_at', event=event['seq'])['moment']['at']}")
    page.until("/^Right after/.test(document.getElementById('moment-event')?.textContent)")
    assert one not in page.text("#moment-event"), "a moment is named by what happened to what"


def test_who_wrote_it_is_who_proposed_it_and_own_writes_are_shown_at_once(page: Reader, agent: Caller) -> None:
    agent.session = Connection(toolset="full", agent_id="codex")
    proposal = propose(agent, "Ballast is of stone", rationale="Iron rusts")
    opened(page, proposal)
    pressed(page, "approve")
    page.says("#notices", "Approved")
    block = agent("list_blocks", words="ballast stone")["blocks"][0]["block_id"]
    page.open(f"ws/o/{block}")
    page.says("main .record-head", "by codex")
    page.open("ws/know/lists?words=ballast")
    page.until("document.querySelectorAll('#records > li').length === 1")
    assert not page.all('[data-facet="kind"][data-value="thought"]'), "thoughts are not among what is known"
    page.settled()
    page.press_on("#new")
    page.press_on('#create [data-make="decision"]')
    page.find("#ask")
    sizes = [page.js(f"{STYLE} return [s.fontSize, s.color]", name) for name in ("#ask-text", "#ask-kind", "#ask-why")]
    assert len({tuple(size) for size in sizes}) == 1, "one face and one colour for all fields"
    page.type("#ask-text", "Ballast is trimmed by the mate")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.gone("#ask")
    page.keys(Keys.ESCAPE)
    page.until("document.querySelectorAll('#records > li').length === 2")
    assert not page.all("#show-new"), "whoever wrote it knows that the list changes"


def test_find_offers_actions_first_and_names_kinds(page: Reader, agent: Caller) -> None:
    agent("remember", kind="lesson", text="Wet rope shrinks by a tenth")
    page.open("ws/now/board")
    page.settled()
    page.chord(Keys.CONTROL, "k")
    page.until(f"{FIRST_FOUND} === 'action'")
    page.keys(*"wet rope")
    row = "[...document.querySelectorAll('#found li')].find((e) => e.textContent.includes('shrinks by a tenth'))"
    page.until(f"{row}?.querySelector('.quiet').textContent === 'lesson'")
    page.keys(Keys.ESCAPE)


def test_a_session_opens_at_its_newest_thought_and_is_active_only_while_it_goes_on(page: Reader, agent: Caller) -> None:
    session = start(agent, "Which knot holds in the wet?")
    think_many(agent, session, [f"S{n}|H|| knot {n}" for n in range(1, 26)])
    page.open_session(session, 25)
    page.until(
        "(() => { const box = document.querySelector(arguments[0])?.getBoundingClientRect();"
        " const all = document.getElementById('graph').getBoundingClientRect();"
        " return box && box.bottom <= all.bottom + 1 && box.top >= all.top; })()",
        page.node(f"{session}:25"),
    )
    assert page.all(f'[data-session="{session}"] .dot.active')
    page.js("const real = Date.now; Date.now = () => real() + 86_400_000")
    page.type("#filter", "knot")
    page.until("document.querySelector(arguments[0])?.title === 'quiet'", f'[data-session="{session}"] .dot')


def test_the_agents_of_a_client_are_one_author(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("clients")
    for number in range(3):
        agent.session = Connection(toolset="full", client="claude-code", handle=f"c{number}")
        agent("remember", kind="lesson", text=f"Pier {number} needs {number + 3} new planks")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("clients/know/lists")
        page.until("document.querySelectorAll('#records > li').length === 3")
        assert page.each("[data-facet=author] span", "e.textContent") == ["claude-code", "3"]
        page.settled()
        page.press_on("[data-facet=author]")
        page.until("location.hash.includes('author=claude-code')")
        page.until("document.querySelectorAll('#records > li').length === 3")
        page.open("clients/home")
        page.says('#digest [data-author="claude-code"]', "learned Pier")
        assert page.each("#digest [data-author]", "e.dataset.author") == ["claude-code"]
