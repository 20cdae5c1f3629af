"""A telephone held upright, touched by fingers: everything is in reach, nothing is covered, no keys are named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.pages.conftest import Heap, Reader
from tests.browser.screenshots import SMALL
from tests.browser.story import Story
from tests.browser.think import start, think_many


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
    for name in ("#search", "#theme", "#you", "#workspace", '[data-page="settings"]'):
        assert phone.seen(name), name
        box = phone.js("return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", name)
        assert min(box["width"], box["height"]) >= 36, (name, box)
    before = phone.js("return document.documentElement.dataset.theme")
    phone.press_on("#theme")
    phone.press_on("#theme")
    phone.until("document.documentElement.dataset.theme !== arguments[0]", before)
    phone.press_on("#search")
    phone.find("#find-anything")
    phone.type("#find-anything", "settings")
    phone.press_on("#found-0")
    phone.until("location.hash === '#/ws/settings'")
    phone.settled()
    phone.js("localStorage.removeItem('clew.theme')")


@pytest.mark.parametrize("place", ["inbox", "know/recall", "know/lists", "know/branches/main", "settings"])
def test_no_key_is_named_to_fingers(phone: Reader, story: Story, place: str) -> None:
    opened(phone, place)
    assert phone.js("return [...document.querySelectorAll('kbd')].filter((e) => e.checkVisibility()).length") == 0
    assert not [words for words in phone.each("[placeholder]", "e.placeholder") if "/ )" in words]


def test_what_is_said_covers_nothing(phone: Reader, story: Story) -> None:
    opened(phone, "inbox")
    for _ in range(3):
        phone.press_on("#theme")
    phone.until("document.querySelectorAll('#notices .notice').length === 1")
    shown = phone.js("return [...document.querySelectorAll('.notice')].filter((e) => e.checkVisibility()).length")
    assert shown == 1, "only the newest is shown"
    edges = "const box = (name) => document.querySelector(name).getBoundingClientRect();"
    stage, said, places = phone.js(f"{edges} return [box('#main').bottom, box('#notices').top, box('#tabs').top]")
    assert stage <= said + 1, "it stands below what is read"
    assert phone.js(f"{edges} return box('#notices').bottom") <= places + 1, "and above the places"
    phone.js("localStorage.removeItem('clew.theme')")


OVERLAPPING = """
const boxes = [...document.querySelectorAll(".ticks span")].filter((one) => one.checkVisibility())
  .map((one) => one.getBoundingClientRect());
return boxes.some((box, index) => boxes.slice(index + 1).some((other) => box.left < other.right
  && other.left < box.right));
"""


def test_a_long_workspace_leaves_the_bar_one_line_and_everything_can_be_made(phone: Reader, heap: Heap) -> None:
    space = "harbour-authority/northern-islands"
    agent = heap.agent_of(space)
    session = start(agent, "Which knot holds in the wet?")
    think_many(agent, session, [f"S{n}|H|| knot {n}" for n in range(1, 9)], space)
    reader = Reader(phone.driver, heap.server.address)
    reader.space = space.replace("/", "%2F")
    reader.open("ws/home")
    reader.settled()
    assert reader.js("return document.querySelector('.top').getBoundingClientRect().height") < 64, "one line"
    for name in ("#new", "#search", "#theme", "#you", "#workspace"):
        assert reader.seen(name), name
    reader.press_on("#new")
    reader.find('#create [data-make="decision"]')
    reader.open(f"ws/now/session/{session}")
    reader.until_drawn(8)
    assert reader.js("return document.querySelector('#graph').clientHeight") > 350, "the picture has the room"
    reader.open("ws/history")
    reader.find(".ticks")
    assert not reader.js(OVERLAPPING)
    reader.leave()
