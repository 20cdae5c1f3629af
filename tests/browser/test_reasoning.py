"""The reasoning page in a real browser, while another process writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.common.keys import Keys

from clew.app import Clew
from clew.registry.connection import InputReply
from tests.browser.chromium import Page
from tests.browser.think import start, think
from tests.conftest import Caller

KINDS = "HECQRPOAX"


@pytest.fixture
def session(agent: Caller) -> str:
    """Six thoughts, a revision and two branches: ten in all."""
    session = start(agent, "Why the writer starves")
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
    page.says("#facts", "11 thoughts · 2 branches · 1 revision")


def test_reload_and_a_second_tab_show_the_same_picture(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    think(agent, session, "live one")
    think(agent, session, "live on a branch", branchId="daemon")
    page.until_drawn(12)
    grown = page.digest
    picture = page.picture
    page.reload()
    page.until_drawn(12)
    assert (page.digest, page.picture) == (grown, picture)
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    try:
        page.open_session(session, 12)
        assert (page.digest, page.picture) == (grown, picture)
    finally:
        page.driver.close()
        page.driver.switch_to.window(first)


def test_two_sessions_never_mix_and_one_switches_between_them(page: Page, agent: Caller, session: str) -> None:
    other = start(agent, "Another matter")
    think(agent, other, "elsewhere")
    page.open_session(session, 10)
    think(agent, other, "still elsewhere")
    think(agent, session, "here")
    page.until_drawn(11)
    assert "elsewhere" not in page.text("#graph")
    page.click(f'#sessions a[data-session="{other}"]')
    page.until_drawn(2)
    assert page.each(".node", "e.dataset.id") == [f"{other}:1", f"{other}:2"]
    page.says("h1.title", "Another matter")


def test_a_new_session_is_listed_by_itself(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    new = start(agent, "Just begun")
    think(agent, new, "first")
    page.says("#sessions", "Just begun")


def test_the_chain_runs_like_a_snake(page: Page, session: str) -> None:
    page.open_session(session, 10)
    boxes = page.each(".node", "[e.dataset.id, e.getBoundingClientRect().x, e.getBoundingClientRect().y]")
    found = {id: {"x": x, "y": y} for id, x, y in boxes}
    places = [found[f"{session}:{number}"] for number in range(1, 7)]
    first_row = [place["x"] for place in places if place["y"] == places[0]["y"]]
    turn = len(first_row)
    assert 1 < turn < 6
    assert first_row == sorted(first_row)
    assert places[turn]["x"] == places[turn - 1]["x"], "the second row starts under the end of the first"
    assert places[turn]["y"] > places[turn - 1]["y"]


def test_branches_have_named_lanes_that_fold_and_unfold(page: Page, session: str) -> None:
    page.open_session(session, 10)
    whole = page.digest
    assert set(page.each(".lane", "e.dataset.branch")) == {"two-files", "daemon"}
    page.says('.lane[data-branch="daemon"]', "daemon2 thoughts")
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(8)
    assert f"{session}:daemon:1" not in page.each(".node", "e.dataset.id")
    assert page.each('.lane[data-branch="daemon"]', "e.ariaExpanded") == ["false"]
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(10)
    assert page.digest == whole


def test_a_folded_lane_stays_folded_and_counts_on(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(8)
    think(agent, session, "into the folded lane", branchId="daemon")
    page.says('.lane[data-branch="daemon"]', "daemon3 thoughts")
    think(
        agent,
        session,
        "S3|E|| under the folded lane",
        branchId="deeper",
        branchFromThought=2,
        branchFromBranch="daemon",
    )
    think(agent, session, "S7|O|| on the main line")
    page.until_drawn(9)
    page.says("#facts", "13 thoughts · 3 branches")
    assert "deeper" not in page.each(".lane", "e.dataset.branch"), "what hangs on a folded lane is folded with it"
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(13)
    page.says('.lane[data-branch="deeper"]', "deeper1 thought")


def test_a_folded_lane_stays_folded_after_a_reload(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(8)
    page.reload()
    page.until_drawn(8)
    page.says('.lane[data-branch="daemon"]', "2 thoughts")
    page.click('.lane[data-branch="daemon"]')
    page.until_drawn(10)
    page.reload()
    page.until_drawn(10)


def test_every_kind_has_its_colour_and_letter(page: Page, agent: Caller) -> None:
    session = start(agent, "Kinds")
    for number, kind in enumerate(KINDS, 1):
        think(agent, session, f"S{number}|{kind}|| of kind {kind}")
    page.open_session(session, len(KINDS))
    assert "".join(page.each(".node abbr.kind", "e.textContent")) == KINDS
    look = "getComputedStyle(e).backgroundColor + getComputedStyle(e).backgroundImage"
    assert len(set(page.each(".node", look))) == len(KINDS), "a stripe in its colour, or filled with it"
    plain = page.js("return getComputedStyle(document.querySelector('.node.kind-H')).backgroundColor")
    kind = "/kind-(.)/.exec(e.className)[1]"
    filled = page.each(".node", f"getComputedStyle(e).backgroundColor === '{plain}' ? '' : {kind}")
    assert sorted(filter(None, filled)) == ["C", "Q"], "only what a chain leads to and what it asks is filled"
    struck = page.each(".node.kind-X p", "getComputedStyle(e).textDecorationLine")
    assert struck == ["none"], "what was rejected can be read"


def test_a_revision_says_what_it_revises(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.says(page.node(f"{session}:5"), "revises 1")
    assert page.each(page.node(f"{session}:5"), "e.classList.contains('kind-R')") == [True]


def test_search_marks_what_it_finds(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.find("#find").send_keys("RENDER")
    page.until("document.querySelectorAll('.node.found').length === 3")
    assert set(page.each(".node.found", "e.dataset.id")) == {f"{session}:{number}" for number in (3, 5, 6)}
    page.find("#find").send_keys(Keys.BACKSPACE * 6)
    page.until("document.querySelectorAll('.node.found').length === 0")


def test_the_panel_shows_the_whole_thought_and_its_references_as_links(page: Page, agent: Caller, session: str) -> None:
    long = "a long story " * 60 + "with an end"
    think(agent, session, f"S7|E|[S3]| {long}")
    page.open_session(session, 11)
    page.open_thought(f"{session}:7")
    assert page.text("#detail pre.text") == long
    page.says("#detail", "refers to 3: Rendering holds it")
    page.click("#detail .references button")
    page.says("#detail h2", "Thought 3")
    page.says("#detail", "branch two-files starts here")
    assert page.js("return location.hash").endswith(f"{session}%3A3")
    page.click("#detail button.close")
    page.until("document.getElementById('detail').hidden")


def test_the_figures_of_a_session_say_what_they_mean(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.click("#figures > summary")
    page.says("#figures", "Straightness")
    page.says("#figures", "thoughts that neither revise another nor start a branch")
    page.says("#figures", "hypotheses that nothing supports, concludes, revises or rejects")
    assert "density" not in page.text("#figures").lower()
    page.click("#figures dd button")
    page.says("#detail h2", "Thought 1 on two-files")


def test_a_critique_is_shown_and_appears_live(page: Page, agent: Caller, clew: Clew, session: str) -> None:
    critic = Caller(clew)
    critic.session.sampler = lambda asked, seconds: InputReply("What if it is <b>the network</b>?", "a-model")
    think(critic, session, "S7|C|| It was the lock", critique=True)
    page.open_session(session, 11)
    page.says(page.node(f"{session}:7"), "critique")
    page.open_thought(f"{session}:7")
    page.says("#critique", "ok a-model")
    assert page.each("#critique pre", "e.textContent") == ["What if it is <b>the network</b>?"]
    think(critic, session, "S8|C|| And the disk", critique=True)
    page.until_drawn(12)
    page.click('button[title="Newest thought"]')
    page.says(page.node(f"{session}:8"), "critique")


def test_a_session_is_renamed_and_completed_live(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    agent("session_update", sessionId=session, title="Why the writer starved")
    page.says("h1.title", "Why the writer starved")
    agent("thought", thought="done", nextThoughtNeeded=False, sessionId=session)
    page.says("#facts", "completed")


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
  if (document.elementFromPoint(x, y)?.id === "graph") return [x, y];
"""
MIDDLE = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return [box.left + box.width / 2, box.top + box.height / 2];
"""


def moves(page: Page, act: Callable[[], object]) -> str:
    """Where the picture stands once the act has moved it."""
    before = page.js(f"return {PLACE}")
    act()
    return str(page.until(f"{PLACE} !== arguments[0] && {PLACE}", before))


def test_zoom_pan_and_minimap(page: Page, session: str) -> None:
    page.open_session(session, 10)
    assert "scale(1.25)" in moves(page, lambda: page.click('button[title^="Zoom in"]'))
    assert "scale(1.25)" not in moves(page, lambda: page.find("#graph").send_keys("-"))
    moves(page, lambda: page.find("#graph").send_keys(Keys.ARROW_RIGHT))
    moves(page, lambda: page.drag(page.js(FREE), 60, 30))
    moves(page, lambda: page.drag(page.js(MIDDLE, ".minimap"), 1, 1))
    moves(page, lambda: page.click('button[title^="Show all"]'))
    shown = page.each(".node", "e.dataset.id")
    assert f"{session}:1" in shown and f"{session}:daemon:2" in shown
    painted = (
        "document.querySelector('.minimap canvas').getContext('2d').getImageData(0, 0, 180, 120).data.some(Boolean)"
    )
    assert page.js(f"return {painted}")


def test_a_drag_that_starts_on_a_node_pans_and_a_click_opens(page: Page, session: str) -> None:
    page.open_session(session, 10)
    node = page.node(f"{session}:2")
    moves(page, lambda: page.drag(page.js(MIDDLE, node), 40, 30))
    assert page.js("return document.getElementById('detail').hidden"), "a drag opens nothing"
    page.drag(page.js(MIDDLE, node), 2, 1)
    page.says("#detail h2", "Thought 2")


def test_nodes_are_reached_and_opened_with_the_keyboard(page: Page, session: str) -> None:
    page.open_session(session, 10)
    page.js("arguments[0].focus()", page.find(page.node(f"{session}:2")))
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.says("#detail h2", "Thought 2")
    page.until("document.activeElement.ariaLabel === 'Close'")


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_no_picture_makes_the_page_scroll_sideways(page: Page, agent: Caller, width: int) -> None:
    session = start(agent, "Wide " * 20)
    think(agent, session, "S1|H|| " + "a" * 300)
    for depth in range(1, 7):
        more = {"branchFromBranch": f"b{depth - 1}"} if depth > 1 else {}
        think(agent, session, "deeper", branchId=f"b{depth}", branchFromThought=depth, **more)
    size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open_session(session, 7)
        page.open_thought(f"{session}:1")
        for element in ("document.documentElement", "document.body", "document.querySelector('main')"):
            assert page.js(f"return {element}.scrollWidth <= {element}.clientWidth"), element
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_nothing_is_animated_for_whoever_wants_no_motion(page: Page, agent: Caller, session: str) -> None:
    page.open_session(session, 10)
    think(agent, session, "S7|O|| arrives")
    page.until_drawn(11)
    animation = (page.node(f"{session}:7"), "getComputedStyle(e).animationName")
    assert page.each(*animation) == ["arrive"]
    wish = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    try:
        assert page.each(*animation) == ["none"]
        moving = (
            "[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length"
        )
        assert page.js(f"return document.getAnimations().length + {moving}") == 0
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_sessions_are_filtered_on_the_server(page: Page, agent: Caller, session: str) -> None:
    start(agent, "Quite another matter")
    page.open_session(session, 10)
    page.says("#sessions", "Quite another matter")
    page.find("#filter").send_keys("starves")
    page.until("!document.getElementById('sessions').textContent.includes('Quite another matter')")
    page.says("#sessions", "Why the writer starves")
