"""The reasoning page in a real browser, while another process writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.keys import Keys

from tests.browser.chromium import Page
from tests.conftest import Caller

KINDS = "HECQRPOAX"


def think(agent: Caller, session: str, thought: str, **more: object) -> str:
    found: str = agent("thought", thought=thought, nextThoughtNeeded=True, sessionId=session, **more)["sessionId"]
    return found


@pytest.fixture
def session(agent: Caller) -> str:
    """Six thoughts, a revision and two branches: ten in all."""
    session: str = agent("start_new", title="Why the writer starves")["sessionId"]
    think(agent, session, "S1|H|| The lock is held too long")
    think(agent, session, "S2|Q|[S1]| Who holds it?")
    think(agent, session, "S3|E|[S2]| Rendering holds it for 80 % of the time")
    think(agent, session, "S4|A|| One file system for all")
    think(agent, session, "S5|R|^[S1]| Rendering is what holds it", isRevision=True, revisesThought=1)
    think(agent, session, "S6|C|[S3]| Render after the commit")
    think(agent, session, "S1|H|| Two files instead?", branchId="two-files", branchFromThought=3)
    think(agent, session, "S2|X|| Twice the trouble", branchId="two-files")
    think(agent, session, "S1|P|| A daemon that writes", branchId="daemon", branchFromThought=4)
    think(agent, session, "S2|O|| One more thing to run", branchId="daemon")
    return session


def test_a_thought_of_another_process_appears_without_a_reload(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    page.js("window.untouched = true")
    think(agent, session, "S7|C|| Measured: it is mended")
    page.until_drawn(11)
    page.says(page.node(f"{session}:7"), "Measured: it is mended")
    assert page.js("return window.untouched")
    assert "11 thoughts" in page.text("#facts")


def test_reload_and_a_second_tab_show_the_same_picture(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    think(agent, session, "live one")
    think(agent, session, "live on a branch", branchId="daemon")
    page.until_drawn(12)
    grown = page.digest
    page.driver.refresh()
    page.until_drawn(12)
    assert page.digest == grown
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    try:
        page.open_session(session, 12)
        assert page.digest == grown
    finally:
        page.driver.close()
        page.driver.switch_to.window(first)


def test_two_sessions_never_mix_and_one_switches_between_them(page: Page, agent: Caller, session: str) -> None:
    other = agent("start_new", title="Another matter")["sessionId"]
    think(agent, other, "elsewhere")
    page.open_session(session, 10)
    think(agent, other, "still elsewhere")
    think(agent, session, "here")
    page.until_drawn(11)
    assert "elsewhere" not in page.text("#graph")
    page.click(f'#sessions a[data-session="{other}"]')
    page.until_drawn(2)
    assert [node.get_attribute("data-id") for node in page.all(".node")] == [f"{other}:1", f"{other}:2"]
    page.says("h1.title", "Another matter")


def test_a_new_session_is_listed_by_itself(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    new = agent("start_new", title="Just begun")["sessionId"]
    think(agent, new, "first")
    page.says("#sessions", "Just begun")


def test_the_chain_runs_like_a_snake(page: Page, session: str) -> None:
    page.open_session(session, 10)
    places = [page.find(page.node(f"{session}:{number}")).location for number in range(1, 7)]
    first_row = [place["x"] for place in places if place["y"] == places[0]["y"]]
    turn = len(first_row)
    assert 1 < turn < 6
    assert first_row == sorted(first_row)
    assert places[turn]["x"] == places[turn - 1]["x"], "the second row starts under the end of the first"
    assert places[turn]["y"] > places[turn - 1]["y"]


def test_branches_have_named_lanes_that_fold_and_unfold(page: Page, session: str) -> None:
    page.open_session(session, 10)
    whole = page.digest
    assert {lane.get_attribute("data-branch") for lane in page.all(".lane")} == {"two-files", "daemon"}
    page.says('.lane[data-branch="daemon"]', "daemon2 thoughts")
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(8)
    page.until("!document.querySelector(arguments[0])", page.node(f"{session}:daemon:1"))
    assert page.find('.lane[data-branch="daemon"]').get_attribute("aria-expanded") == "false"
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(10)
    assert page.digest == whole


def test_every_kind_has_its_colour_and_letter(page: Page, agent: Caller) -> None:
    session = agent("start_new", title="Kinds")["sessionId"]
    for number, kind in enumerate(KINDS, 1):
        think(agent, session, f"S{number}|{kind}|| of kind {kind}")
    page.open_session(session, len(KINDS))
    page.until("document.querySelectorAll('.node').length === arguments[0]", len(KINDS))
    assert "".join(mark.text for mark in page.all(".node abbr.kind")) == KINDS
    colours = [page.find(f".node.kind-{kind}").value_of_css_property("background-color") for kind in KINDS]
    assert len(set(colours)) == len(KINDS)


def test_a_revision_says_what_it_revises(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.says(page.node(f"{session}:5"), "revises 1")
    assert "kind-R" in str(page.find(page.node(f"{session}:5")).get_attribute("class"))


def test_search_marks_what_it_finds(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.find("#find").send_keys("RENDER")
    page.until("document.querySelectorAll('.node.found').length === 3")
    found = {node.get_attribute("data-id") for node in page.all(".node.found")}
    assert found == {f"{session}:{number}" for number in (3, 5, 6)}
    page.find("#find").send_keys(Keys.BACKSPACE * 6)
    page.until("document.querySelectorAll('.node.found').length === 0")


def test_scrubbing_back_shows_what_was_there_then(page: Page, agent: Caller) -> None:
    session = agent("start_new", title="Growing")["sessionId"]
    think(agent, session, "S1|H|| one")
    page.open_session(session, 1)
    then = {1: page.digest}
    for count in range(2, 8):
        branch = {"branchId": "side", "branchFromThought": 2} if count == 5 else {}
        think(agent, session, f"thought {count}", **branch)
        page.until_drawn(count)
        then[count] = page.digest
    assert len(set(then.values())) == 7
    for count in (3, 1, 6):
        page.scrub(count)
        assert page.digest == then[count]
    page.says("#moment", "after 6 of 7")
    think(agent, session, "written meanwhile")
    page.until("document.getElementById('time').max === '8'")
    assert page.digest == then[6], "the past stays as it was while others write"
    page.click("#live")
    page.until_drawn(8)
    page.scrub(7)
    assert page.digest == then[7]


def test_the_panel_shows_the_whole_thought_and_its_references_as_links(page: Page, agent: Caller, session: str) -> None:
    long = "S7|E|[S3]| " + "a long story " * 60 + "with an end"
    think(agent, session, long)
    page.open_session(session, 11)
    page.click(page.node(f"{session}:7"))
    page.says("#detail pre.text", "with an end")
    assert page.text("#detail pre.text") == long
    page.says("#detail", "refers to 3: Rendering holds it")
    page.click("#detail .references button")
    page.says("#detail h2", "Thought 3")
    page.says("#detail", "branch two-files starts here")
    assert page.js("return location.hash").endswith(f"{session}%3A3")
    page.says("#detail .figures", "The session")
    page.click("#detail button.close")
    assert not page.find("#detail").is_displayed()


def test_a_revision_and_its_original_lead_to_each_other(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.click(page.node(f"{session}:1"))
    page.says("#detail .references", "revised by 5")
    page.click("#detail .references button")
    page.says("#detail .references", "revises 1")


def test_the_address_of_a_thought_opens_it(page: Page, session: str) -> None:
    page.open(f"reasoning/{session}/{session}%3Adaemon%3A2")
    page.says("#detail pre.text", "One more thing to run")


PLACE = "document.querySelector('.world').style.transform"
FREE = """
const frame = document.getElementById("graph").getBoundingClientRect();
for (let y = frame.top + 20; y < frame.bottom - 60; y += 7) for (let x = frame.left + 20; x < frame.right - 120; x += 7)
  if (document.elementFromPoint(x, y)?.id === "graph") return [Math.round(x), Math.round(y)];
"""


def test_zoom_pan_and_minimap(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.until(PLACE)

    def moves(act: Callable[[], object]) -> str:
        before = page.js(f"return {PLACE}")
        act()
        return str(page.until(f"{PLACE} !== arguments[0] && {PLACE}", before))

    def drag() -> None:
        x, y = page.js(FREE)
        actions = ActionBuilder(page.driver)
        pointer: Any = actions.pointer_action
        pointer.move_to_location(x, y).pointer_down().move_to_location(x + 60, y + 30).pointer_up()
        actions.perform()

    assert "scale(1.25)" in moves(lambda: page.click('button[title^="Zoom in"]'))
    assert "scale(1.25)" not in moves(lambda: page.find("#graph").send_keys("-"))
    moves(lambda: page.find("#graph").send_keys(Keys.ARROW_RIGHT))
    moves(drag)
    minimap = page.find(".minimap")
    moves(lambda: ActionChains(page.driver).move_to_element_with_offset(minimap, 40, 30).click().perform())
    moves(lambda: page.click('button[title^="Show all"]'))
    for thought in (f"{session}:1", f"{session}:daemon:2"):
        assert page.find(page.node(thought)).is_displayed()
    assert page.js(
        "return document.querySelector('.minimap').getContext('2d').getImageData(0, 0, 180, 120).data.some(Boolean)"
    )


def test_nodes_are_reached_and_opened_with_the_keyboard(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.js("arguments[0].focus()", page.find(page.node(f"{session}:2")))
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.says("#detail h2", "Thought 2")
    assert page.driver.switch_to.active_element.get_attribute("aria-label") == "Close"
