"""History: the slider leads to any moment of the workspace, by pointer and by keys, and compares it with now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selenium.webdriver.common.keys import Keys

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_memory import decide, propose
from tests.browser.stage import visited
from tests.conftest import Caller
from tests.faces.web.server import Server

SLIDER = "#as-of"
ROW = '#change-list [data-key="{}"]'


def moment(agent: Caller) -> str:
    found: str = agent("workspace_at")["moment"]["at"]
    return found


def a_task(agent: Caller, title: str) -> str:
    found: str = agent("tasks_macro_start", plan_title="Harbour", task_title=title)["task_id"]
    return found


def at(page: Reader) -> str:
    return str(page.js("return new URLSearchParams(location.hash.split('?')[1]).get('at') ?? ''"))


def test_a_moment_is_compared_with_now(page: Reader, agent: Caller) -> None:
    kept = decide(agent, "The lighthouse burns oil")
    task = a_task(agent, "Trim the wick")
    other = a_task(agent, "Fill the lamp")
    then = moment(agent)
    agent.session = Connection(toolset="full", person="@ines")  # whoever approved it
    agent("retract", id=kept, why="It is electric now")
    agent("tasks_edit", task=task, title="Change the bulb")
    agent("tasks_complete", task=other, status="CANCELED")
    agent("remember", kind="rule", text="Nobody smokes in the lamp room")
    page.open(f"ws/history?at={then}")
    page.says(ROW.format(kept), "no longer holds")
    page.says(ROW.format(task), "Trim the wick → Change the bulb")
    page.says(ROW.format(other), "closed")
    page.says("#change-list", "Nobody smokes in the lamp room")
    page.settled()
    page.press_on('.facet[data-change="closed"]')
    page.until(
        "document.querySelectorAll('#change-list > li').length > 0 && !document.querySelector(arguments[0])",
        ROW.format(kept),
    )
    assert page.seen(ROW.format(other))
    assert at(page) == then, "the moment stays in the address"
    page.reload()
    page.says(ROW.format(other), "closed")
    assert not page.all(ROW.format(kept))


def test_what_it_held_then_stands_as_it_stood_then(page: Reader, agent: Caller) -> None:
    task = a_task(agent, "Splice the rope")
    then = moment(agent)
    agent("tasks_edit", task=task, title="Buy a chain")
    page.open(f"ws/history?show=held&source=task&at={then}")
    page.says(f'#held-list [data-key="{task}"]', "Splice the rope")
    assert "Buy a chain" not in page.text("#held-list")
    page.settled()
    page.press_on("#to-now")
    page.says(f'#held-list [data-key="{task}"]', "Buy a chain")
    page.until("!location.hash.includes('at=')")


def test_the_slider_is_moved_by_keys_and_says_its_date(page: Reader, agent: Caller) -> None:
    decide(agent, "Buoys are counted in spring")
    page.open("ws/history")
    page.settled()
    page.says("#moment-event", "Now")
    page.js("document.querySelector(arguments[0]).focus()", SLIDER)
    for _ in range(3):
        page.keys(Keys.ARROW_LEFT)
    page.until("/at=/.test(location.hash)")
    page.says("#moment-event", "3 events since then")
    value, last = (
        int(page.js(f"return document.querySelector(arguments[0]).{name}", SLIDER)) for name in ("value", "max")
    )
    assert value == last - 3, "one step is one event"
    year = page.js("return String(new Date().getFullYear())")
    spoken = page.js("return document.querySelector(arguments[0]).getAttribute('aria-valuetext')", SLIDER)
    assert year in spoken and page.text("#moment") == spoken
    assert page.there("document.activeElement.id === 'as-of'"), "the focus stays where the keys are"
    page.keys(Keys.HOME)
    page.until("document.querySelector(arguments[0]).value === '0'", SLIDER)
    page.says("#moment", "Before anything was written")
    page.keys(Keys.END)
    page.says("#moment-event", "Now")
    page.until("!location.hash.includes('at=')")


def test_the_list_says_what_it_leaves_out_and_shows_more(page: Reader, agent: Caller) -> None:
    then = moment(agent)
    for number in range(55):
        agent("notes_commit", content=f"wave {number}", title=f"Wave {number}")
    page.open(f"ws/history?source=note&change=added&at={then}")
    page.says("#past-left", "50 of 55 are shown")
    page.settled()
    page.js("document.querySelector('#past-more').scrollIntoView({block: 'center'})")
    page.press_on("#past-more")
    page.until("document.querySelectorAll('#change-list > li').length === 55")
    page.says("#change-list", "Wave 0")


def test_the_past_stays_while_others_write(page: Reader, agent: Caller) -> None:
    task = a_task(agent, "Watch the tide")
    then = moment(agent)
    page.open(f"ws/history?show=held&source=task&at={then}")
    page.says(f'#held-list [data-key="{task}"]', "Watch the tide")
    page.settled()
    page.js("window.untouched = document.querySelector(arguments[0])", f'#held-list [data-key="{task}"]')
    before = int(page.js("return document.querySelector(arguments[0]).max", SLIDER))
    agent("tasks_edit", task=task, title="Watch the moon")
    page.until("Number(document.querySelector(arguments[0]).max) > arguments[1]", SLIDER, before)
    page.says(f'#held-list [data-key="{task}"]', "Watch the tide")
    assert at(page) == then
    assert page.there("window.untouched.isConnected"), "the row stays the same element"
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", f'#held-list [data-key="{task}"]')
    page.press_on(f'#held-list [data-key="{task}"] a')
    page.says("#panel .record-title", "Watch the moon")


def test_an_approval_adds_a_record_and_removes_nothing(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("approvals")
    proposal = propose(agent, "Light the beacon at dusk")
    then = moment(agent)
    block = agent("approve_apply", proposal_id=proposal, dry_run=False)["blocks"][0]
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"approvals/history?at={then}")
        page.says(ROW.format(block), "added")
        page.settled()
        assert "removed" not in page.text("#compare"), "nobody removed anything"
        page.says('#change-list [data-change="closed"]', "Light the beacon at dusk")


def test_an_empty_history_offers_no_command(driver: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none")
    page = Reader(driver, server.address)
    page.open("ws/history")
    page.says("main", "once something is written")
    assert not page.all("main .command")
    page.leave()
    server.stop()
