"""How much waits is said on every place: in the tab, in the title, and by the browser to whoever wants to be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_jobs import claimed, report
from tests.browser.pages.test_memory import propose
from tests.browser.stage import visited
from tests.conftest import Caller

COUNT = '#tabs [data-page="inbox"] .count'
LISTENING = """
window.asked = 0;
window.told = [];
const real = window.Notification;
window.Notification = class extends real {
  constructor(title, options) {
    super(title, options);
    window.told.push([title, options.body]);
    window.last = this;
  }
  static requestPermission() {
    window.asked += 1;
    return real.requestPermission();
  }
};
"""
"""Keeps how often the page asked for the permission and what it told; the browser does both as ever."""


def asks(agent: Caller, title: str) -> None:
    report(agent, *claimed(agent, title), "question", "Which one?")


def counted(page: Reader, count: int) -> None:
    page.until("document.title.startsWith(arguments[0])", f"({count}) ")
    assert page.text(COUNT) == str(count) and page.seen(COUNT)


def test_the_tab_and_the_title_say_how_much_waits(driver: Any, heap: Heap) -> None:
    space = f"waiting-{len(heap.opened)}"
    agent = heap.agent_of(space)
    agent("tasks_create", kind="plan", title="Watch the tide")
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"{space}/now/board")
        page.settled()
        assert page.js("return document.title") == "Board · Now · Clew" and not page.seen(COUNT)
        proposal = propose(agent, "Ring twice for fog")
        asks(agent, "Oil the bell")
        counted(page, 2)
        page.press_on('#asides [data-page="settings"]')
        page.until("document.title === '(2) Account and server · Settings · Clew'")
        agent("reject_proposal", proposal_id=proposal, reason="Once will do")
        counted(page, 1)


@pytest.fixture
def listener(driver: Any, heap: Heap) -> Iterator[Reader]:
    """A page whose browser may be asked, and whose window can be put away."""
    heard = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": LISTENING})
    frame = driver.get_window_rect()
    page = Reader(driver, heap.server.address)
    yield from visited(page)
    driver.set_window_rect(**frame)
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", heard)
    driver.execute_cdp_cmd("Browser.resetPermissions", {})
    page.js("localStorage.removeItem('clew.notify')")
    page.leave()


def allow(page: Reader, setting: str) -> None:
    told = {"permission": {"name": "notifications"}, "setting": setting, "origin": page.address}
    page.driver.execute_cdp_cmd("Browser.setPermission", told)


def turned(page: Reader, space: str, on: bool) -> None:
    page.js("location.hash = arguments[0]", f"#/{space}/settings")
    page.press_on("#notify")
    page.says("#notify", "Stop notifying me when something waits" if on else "Notify me when something waits")


def looks_away(page: Reader, space: str, place: str, count: int) -> None:
    """At a place that has counted what waits, and then behind other windows."""
    page.js("location.hash = arguments[0]", f"#/{space}/{place}")
    page.settled()
    counted(page, count)
    page.driver.minimize_window()
    page.until("document.hidden")


def looks_again(page: Reader) -> None:
    page.driver.set_window_rect(0, 0, 1280, 800)
    page.until("!document.hidden")


def test_the_browser_tells_only_who_wants_it_and_looks_elsewhere(listener: Reader, heap: Heap) -> None:
    page, space = listener, f"bells-{len(heap.opened)}"
    agent = heap.agent_of(space)
    agent("tasks_create", kind="plan", title="Keep watch")
    page.open(f"{space}/settings")
    page.says("#notify", "Notify me when something waits")
    assert page.js("return window.asked") == 0, "nobody is asked before they want it"
    allow(page, "denied")
    page.press_on("#notify")
    page.says("#notices", "The browser does not allow notifications of this page.")
    assert page.js("return document.getElementById('notify').ariaPressed") == "false"
    allow(page, "granted")
    turned(page, space, on=True)
    assert page.js("return window.asked") == 2
    asks(agent, "Light the lamp")
    counted(page, 1)
    assert page.js("return window.told") == [], "who looks at the page sees it there"
    looks_away(page, space, "now/board", 1)
    asks(agent, "Trim the wick")
    page.until("window.told.length === 1")
    page.js("window.last.dispatchEvent(new Event('click'))")
    # The Inbox writes the matter that it chooses into its address.
    page.until("location.hash.startsWith(arguments[0])", f"#/{space}/inbox")
    looks_again(page)
    page.find(".matter")
    looks_away(page, space, "inbox", 2)
    asks(agent, "Wind the clock")
    page.until("window.told.length === 2")
    heard = "Clew: something waits for you"
    assert page.js("return window.told") == [[heard, f"2 in {space}"], [heard, f"3 in {space}"]]
    looks_again(page)
    turned(page, space, on=False)
    looks_away(page, space, "now/board", 3)
    asks(agent, "Polish the lens")
    page.until("document.title.startsWith('(4) ')")
    assert page.js("return window.told.length") == 2, "whoever stopped it hears nothing"
