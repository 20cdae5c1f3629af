"""A telephone held upright, touched by fingers: everything is in reach, nothing is covered, no keys are named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.pages.conftest import Reader
from tests.browser.screenshots import SMALL
from tests.browser.story import Story
from tests.conftest import Caller

INSIDE = """(inner, outer) => {
  const a = inner.getBoundingClientRect(), b = outer.getBoundingClientRect();
  return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
}"""
CENTERED = "document.querySelector('#around[data-drawn]') && document.querySelector('#around .plane').style.transform"


@pytest.fixture
def phone(page: Reader) -> Iterator[Reader]:
    driver = page.driver
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SMALL)
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    yield page
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def opened(phone: Reader, place: str) -> None:
    phone.open(f"ws/{place}")
    phone.settled()


def test_search_colours_and_every_place_are_in_reach(phone: Reader, story: Story) -> None:
    opened(phone, "now/board")
    assert phone.js("return document.documentElement.scrollWidth") <= 390
    assert phone.js("return document.querySelector('.top').getBoundingClientRect().height") < 64, "one line"
    for name in ("#search", "#theme", "#you", "#workspace", '[data-page="insight"]', '[data-page="settings"]'):
        assert phone.seen(name), name
        box = phone.js("return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", name)
        assert min(box["width"], box["height"]) >= 36, (name, box)
    before = phone.js("return document.documentElement.dataset.theme")
    phone.press_on("#theme")
    phone.press_on("#theme")
    phone.until("document.documentElement.dataset.theme !== arguments[0]", before)
    phone.press_on("#search")
    phone.find("#find-anything")
    phone.type("#find-anything", "insight")
    phone.press_on("#found-0")
    phone.until("location.hash === '#/ws/insight'")
    phone.settled()
    phone.js("localStorage.removeItem('clew.theme')")


@pytest.mark.parametrize("place", ["inbox", "know/recall", "know/lists", "know/cards/main", "settings"])
def test_no_key_is_named_to_fingers(phone: Reader, story: Story, place: str) -> None:
    opened(phone, place)
    assert phone.js("return [...document.querySelectorAll('kbd')].filter((e) => e.checkVisibility()).length") == 0
    assert not [words for words in phone.each("[placeholder]", "e.placeholder") if "/ )" in words]


def test_what_is_said_covers_nothing(phone: Reader, story: Story) -> None:
    opened(phone, "inbox")
    for _ in range(3):
        phone.press_on("#theme")
    phone.until("document.querySelectorAll('.notice').length >= 2")
    shown = phone.js("return [...document.querySelectorAll('.notice')].filter((e) => e.checkVisibility()).length")
    assert shown == 1, "only the newest is shown"
    edges = "const box = (name) => document.querySelector(name).getBoundingClientRect();"
    stage, said, places = phone.js(f"{edges} return [box('#main').bottom, box('#notices').top, box('#tabs').top]")
    assert stage <= said + 1, "it stands below what is read"
    assert phone.js(f"{edges} return box('#notices').bottom") <= places + 1, "and above the places"
    phone.js("localStorage.removeItem('clew.theme')")


def test_a_neighbourhood_is_seen_at_once(phone: Reader, agent: Caller) -> None:
    agent("think_card", branch="main", card={"id": "quay", "type": "decision", "title": "Build a quay"})
    for name in ("crane", "shed", "rail"):
        card = {"id": name, "type": "evidence", "title": f"The {name} by the water"}
        agent("think_card", branch="main", card=card, supports=["quay"])
    opened(phone, "know/around/quay")
    phone.until(CENTERED)
    outside = f"[...document.querySelectorAll('#around [data-box]')].filter((e) => !({INSIDE})(e, frame))"
    phone.until(f"((frame) => !{outside}.length)(document.querySelector('#around'))")
    assert len(phone.all("#around [data-box]")) == 4
    wide = phone.js("return document.querySelector('#around [data-box]').getBoundingClientRect().width")
    assert wide > 140, "large enough to be read"
