"""What holds on every page: contrast, small screens, titles, addresses, keys, themes, motion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_memory import propose
from tests.browser.screenshots import SMALL, Shot, shots
from tests.browser.story import Story
from tests.conftest import ROOT, Caller

CONTRAST = Path(__file__).with_name("contrast.js").read_text()
PLACES = ["inbox", "now", "know", "history"]
STICKS_OUT = """
const width = document.documentElement.clientWidth, main = document.getElementById("main");
const cuts = (node) => ["auto", "scroll", "hidden"].includes(getComputedStyle(node).overflowX);
const clipped = (node) => {
  for (let at = node.parentElement; at; at = at.parentElement) if (at !== main && cuts(at)) return true;
  return false;
};
const seen = [...document.querySelectorAll("main *, header *")].filter((node) => node.checkVisibility());
const out = seen.filter((node) => node.getBoundingClientRect().right > width + 1 && !clipped(node));
const scrolls = document.documentElement.scrollWidth > width || main.scrollWidth > main.clientWidth + 1;
return scrolls || out.length ? out.slice(0, 5).map((node) => node.outerHTML.slice(0, 120)) : null;
"""
FAINT = """
const line = document.createElement("p");
line.textContent = "hardly there";
line.style.color = "#999";
document.querySelector("main > *").append(line);
"""
MOVING = """
const main = document.getElementById("main");
main.setAttribute("aria-busy", "true");
return getComputedStyle(main, "::before").animationName;
"""


@pytest.fixture
def small(driver: Any) -> Iterator[None]:
    """A phone, held upright."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SMALL)
    yield
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def visit(page: Reader, shot: Shot) -> None:
    """Goes there as a link does, without loading anew; what was shown before must be gone."""
    drawn = "document.querySelector('main > .stage > *, main > :not(.stage)')"
    page.js(f"{drawn}.dataset.old = ''; location.hash = '#/ws/' + arguments[0]", shot.place)
    page.until("!document.querySelector('main [data-old]') && document.querySelector(arguments[0])", shot.ready)
    page.settled()
    page.js(shot.act)
    page.until("document.querySelector(arguments[0])", shot.then)


def test_text_keeps_its_contrast_on_every_page_in_both_themes(page: Reader, story: Story) -> None:
    page.open("ws/now/board")
    page.settled()
    page.js(FAINT)
    assert page.js(CONTRAST)["problems"], "the measure sees what is faint"
    found: list[str] = []
    for shot in shots(story):
        visit(page, shot)
        for theme in ("light", "dark"):
            page.js("document.documentElement.dataset.theme = arguments[0]", theme)
            judged = page.js(CONTRAST)
            assert judged["judged"] > 15, f"{shot.name}: hardly any text was seen"
            found += [f"{shot.name} {theme} {problem}" for problem in judged["problems"]]
    assert found == []


def test_nothing_sticks_out_of_a_small_screen(page: Reader, story: Story, small: None) -> None:
    page.open("ws/now/board")
    page.settled()
    found = []
    for shot in shots(story):
        if shot.name != "reasoning":
            visit(page, shot)
            seen = page.js(STICKS_OUT)
            found += [(shot.name, seen)] if seen is not None else []
    assert found == []


def test_the_chosen_matter_takes_the_room_that_the_list_leaves(page: Reader, story: Story) -> None:
    page.open("ws/inbox")
    page.find("#matter h2")
    page.settled()
    list_, detail = page.each("#inbox > *", "e.getBoundingClientRect().width")
    assert list_ == 360 and detail > 800, "no other view's rules make it narrow"


def test_everything_is_reached_on_a_small_screen(page: Reader, small: None) -> None:
    page.open("ws/inbox")
    page.settled()
    for name in [*PLACES[1:], "inbox"]:
        page.press_on(f'#tabs [data-page="{name}"]')
        page.until("document.querySelector('#tabs a[aria-current]')?.dataset.page === arguments[0]", name)


def test_titles_and_addresses(page: Reader, story: Story) -> None:
    for place, title in (
        ("ws/now/board", "Board · Now · Clew"),
        ("ws", "Home · Clew"),
        ("ws/nowhere", "Home · Clew"),
        ("ws/know/recall/%E0%A4%A", "Recall · Know · Clew"),
    ):
        page.open(place)
        page.settled()
        page.until("document.title.endsWith(arguments[0])", title)
    job = story.job_ids[0]
    page.open(f"ws/now/job/{job}")
    page.says("h1", "Replay the peak")
    page.reload()
    page.says("h1", "Replay the peak")


def test_addresses_of_earlier_versions_still_lead_there(page: Reader, story: Story) -> None:
    for old, new in (
        ("home", "#/ws/home"),
        (f"work/{story.task}", f"#/ws/now/board/{story.task}"),
        (f"reasoning/{story.session}", f"#/ws/now/session/{story.session}"),
        ("memory/review", "#/ws/inbox"),
        ("cards/main/diff/lease-first", "#/ws/know/branches/main/lease-first"),
        ("map/a%3Ainventory", "#/ws/o/a%3Ainventory"),
    ):
        page.open(old)
        page.until("location.hash.startsWith(arguments[0])", new)
        page.settled()
        assert not page.all("main > .problem")


def test_keys_lead_to_every_place(page: Reader) -> None:
    page.open("ws/inbox")
    page.settled()
    for key, name in zip("nkhi", [*PLACES[1:], "inbox"], strict=True):
        page.keys("g", key)
        page.until("document.querySelector('#tabs a[aria-current]')?.dataset.page === arguments[0]", name)
        page.settled()
        page.keys(Keys.ESCAPE)  # Recall puts the cursor into its field, where letters are letters
    page.keys("?")
    page.says("#keys-help", "Find anything, go anywhere")
    page.keys(Keys.ESCAPE)
    page.gone("#keys-help")


def test_the_question_mark_shows_the_keys_of_what_is_shown(page: Reader, agent: Caller) -> None:
    propose(agent, "Wind the tide gauge daily")
    page.open("ws/inbox")
    page.find(".matter")
    page.settled()
    page.keys("?")
    here = keys_shown(page)
    assert {"j", "k", "a", "r", "e", "h", "x"} <= here.keys() and here["h"] == "Later", here
    assert here["?"] == "These keys" and here["z"] == "Undo what was done last" and here["g n"] == "Now"
    assert page.seen("#keys-help h2") and page.text("#keys-help h2") == "Keys"
    page.press_on("#keys-help header button")
    page.gone("#keys-help")
    page.open("ws/settings")
    page.says("#browser-card", "to see all keys")
    page.settled()
    page.keys("?")
    there = keys_shown(page)
    assert "a" not in there and there["Ctrl-k"] == "Find anything, go anywhere", (
        "keys that do nothing here are not named"
    )
    page.keys(Keys.ESCAPE)
    page.gone("#keys-help")


def keys_shown(page: Reader) -> dict[str, str]:
    page.find("#keys-help dd")
    keys = "[...e.querySelectorAll('kbd')].map((key) => key.textContent).join(' ')"
    return dict(zip(page.each("#keys-help dt", keys), page.each("#keys-help dd", "e.textContent"), strict=True))


def test_the_tab_key_reaches_the_content_and_is_seen(page: Reader) -> None:
    page.open("ws/now/board")
    page.settled()
    page.find("body").send_keys(Keys.TAB)
    assert page.there("document.activeElement.matches('.skip')")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.until("document.activeElement.id === 'main'")
    assert page.js("return location.hash") == "#/ws/now/board", "skipping does not leave the page"
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    ring = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.there("document.querySelector('main').contains(document.activeElement)")
    assert page.js(f"return {ring}") == "solid"


def test_light_and_dark(page: Reader, driver: Any) -> None:
    def system(scheme: str) -> None:
        told = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", told)

    theme = "document.documentElement.dataset.theme === arguments[0]"
    page.open("ws/inbox")
    page.until("document.querySelector('#tabs a')")
    try:
        for scheme in ("dark", "light"):
            system(scheme)
            page.until(theme, scheme)
        page.press("t", "t")
        page.until(theme, "dark")
        ground = page.js("return getComputedStyle(document.body).backgroundColor")
        page.reload()
        page.until("document.querySelector('#tabs a')")
        page.until(theme, "dark")
        assert page.js("return getComputedStyle(document.body).backgroundColor") == ground, "the choice is remembered"
        page.press("t")
        page.until(theme, "light")
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_who_wants_no_motion_gets_none(page: Reader, driver: Any) -> None:
    told = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    page.open("ws/inbox")
    page.settled()
    try:
        assert page.js(MOVING) == "waiting"
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", told)
        page.until("matchMedia('(prefers-reduced-motion: reduce)').matches")
        assert page.js(MOVING) == "none"
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_tests_that_stylesheets_name_exist() -> None:
    sheets = list((ROOT / "src/clew/faces/web/static/css").glob("*.css"))
    named = {name for sheet in sheets for name in re.findall(r"tests/[\w/]+\.py", sheet.read_text())}
    assert named and not [name for name in named if not (ROOT / name).exists()]
