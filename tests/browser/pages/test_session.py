"""A session of thoughts, with the pointer and the keys of a person: what one chose stays in sight."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import SEEN, Reader
from tests.browser.think import start, think, think_many
from tests.conftest import Caller

WHERE = "document.querySelector(arguments[0])?.getBoundingClientRect().toJSON()"
IN_GRAPH = f"""(() => {{
  const node = document.querySelector(arguments[0]), frame = document.getElementById("graph").getBoundingClientRect();
  const box = node?.getBoundingClientRect();
  return ({SEEN})(node) && box.left >= frame.left && box.right <= frame.right && box.top >= frame.top
    && box.bottom <= frame.bottom;
}})()"""
SOME_IN_VIEW = """return [...document.querySelectorAll(".node")].filter((node) => {
  const box = node.getBoundingClientRect(), frame = document.getElementById("graph").getBoundingClientRect();
  return box.left > frame.left && box.right < frame.right && box.top > frame.top && box.bottom < frame.bottom - 130;
}).map((node) => node.dataset.id)"""


@pytest.fixture
def long(agent: Caller) -> str:
    session = start(agent, "A long way")
    kinds = "HEQPC"
    think_many(agent, session, [f"S{n}|{kinds[n % 5]}|| step {n} of the way" for n in range(1, 121)])
    return session


def test_the_thought_that_is_clicked_stays_under_the_hand(page: Reader, long: str) -> None:
    page.open_session(long, 120)
    for thought in page.js(SOME_IN_VIEW)[-3:]:
        node = page.node(thought)
        before = page.js(f"return {WHERE}", node)
        page.press_on(node)
        page.says("#detail h2", f"Thought {thought.rpartition(':')[2]}")
        page.until(IN_GRAPH, node)
        after = page.js(f"return {WHERE}", node)
        assert after["top"] == pytest.approx(before["top"], abs=1), "the panel moves nothing up or down"
        page.keys(Keys.ESCAPE)
        page.until("document.getElementById('detail').hidden")


def test_the_address_of_a_thought_shows_it(page: Reader, long: str) -> None:
    page.open(f"ws/now/session/{long}/{long}%3A90")
    page.says("#detail h2", "Thought 90")
    page.until(IN_GRAPH, page.node(f"{long}:90"))


def test_a_replay_pauses_and_goes_on(page: Reader, long: str) -> None:
    page.open_session(long, 120)
    page.choose("#speed", "1")
    page.press_on("#play")
    page.says("#play", "pause")
    page.until("Number(document.getElementById('time').value) >= 3")
    page.press_on("#play")
    page.says("#play", "play")
    stopped = page.value("#time")
    assert int(stopped) < 120
    page.says("#moment", f"after {stopped} of 120")
    page.js("document.getElementById('graph').focus()")
    page.keys(" ")
    page.says("#play", "pause")
    page.until("Number(document.getElementById('time').value) > arguments[0]", int(stopped))
    page.press_on("#live")
    page.says("#play", "play")


def test_show_all_fills_the_window_and_each_box_can_be_opened(page: Reader, long: str) -> None:
    page.open_session(long, 120)
    page.press_on('button[title^="Show all"]')
    page.until("document.getElementById('graph').matches('.far')")
    # Not a strip: the whole takes the form of the window, and so does its small picture.
    page.until("(({width, height}) => width >= 60 && height >= 60)(document.querySelector('.minimap canvas'))")
    point = page.js("""
      const frame = document.getElementById("graph").getBoundingClientRect();
      const [, x, y, scale] = document.querySelector(".world").style.transform
        .match(/translate\\(([-\\d.]+)px, ([-\\d.]+)px\\) scale\\(([\\d.]+)\\)/).map(Number);
      return [frame.left + x + 100 * scale, frame.top + y + 40 * scale];
    """)
    page.press_at(*point)
    page.says("#detail h2", "Thought 1")
    page.until(IN_GRAPH, page.node(f"{long}:1"))


def test_a_search_counts_its_hits_and_enter_goes_on(page: Reader, long: str) -> None:
    page.open_session(long, 120)
    page.press_on("#find")
    page.keys(*"step 11")
    page.says("#found", "1 of 11")
    page.keys(Keys.ENTER)
    page.says("#found", "2 of 11")
    page.until(IN_GRAPH, page.node(f"{long}:110"))
    page.keys(*"xyz")
    page.says("#found", "none")
    assert not page.all("#notices > *"), "no notice for each letter"


def test_a_thought_is_shown_as_prose_and_the_session_speaks_for_itself(page: Reader, agent: Caller) -> None:
    session = start(agent, "Plain words")
    think(agent, session, "S1|H|| The lock is held too long")
    think(agent, session, "S2|Q|[S1]| Who holds it?")
    page.open_session(session, 2)
    page.press_on(page.node(f"{session}:2"))
    page.until("document.querySelector('#detail pre.text')")
    assert page.text("#detail pre.text") == "Who holds it?"
    face = page.js("return getComputedStyle(document.querySelector('#detail pre.text')).fontFamily")
    assert face == page.js("return getComputedStyle(document.body).fontFamily")
    assert not page.all("#detail .figures"), "figures of the session do not repeat in each thought"
    page.press_on("#figures > summary")
    page.says("#figures", "Straightness")


def test_arrow_keys_walk_from_thought_to_thought(page: Reader, long: str) -> None:
    page.open(f"ws/now/session/{long}/{long}%3A1")
    page.says("#detail h2", "Thought 1")
    page.settled()
    page.js("document.querySelector(arguments[0]).focus()", page.node(f"{long}:1"))
    for number in (2, 3):
        page.keys(Keys.ARROW_RIGHT)
        page.says("#detail h2", f"Thought {number}")
        page.until("document.activeElement.dataset.id === arguments[0]", f"{long}:{number}")
    page.keys(Keys.ESCAPE)
    page.until("document.getElementById('detail').hidden")
    assert page.there("document.activeElement !== document.body")


def test_the_outline_tells_the_same_and_keeps_to_some_kinds(page: Reader, long: str) -> None:
    page.open_session(long, 120)
    page.press_on("#turn")
    page.until("document.querySelectorAll('#outline li[data-id]').length === 120")
    assert not page.seen("#graph")
    page.press_on("#outline .kinds .kind-C")
    page.until("[...document.querySelectorAll('#outline li')].filter((row) => row.checkVisibility()).length === 24")
    page.press_on("#outline li:not([hidden]) .row")
    page.says("#detail h2", "Thought 4")
    page.press_on("#turn")
    page.until(f"({SEEN})(document.getElementById('graph'))")


def test_an_unknown_session_leaves_the_list_to_choose_another(page: Reader, long: str) -> None:
    page.open("ws/now/session/00000000-0000-4000-8000-00000000dead")
    page.says("h1.title", "There is no such session here")
    page.until(f"({SEEN})(document.querySelector('#sessions a'))")
    page.press_on(f'#sessions a[href*="{long}"]')
    page.says("h1.title", "A long way")


def test_the_outline_is_live_and_shows_each_branch_under_the_thought_it_leaves(page: Reader, agent: Caller) -> None:
    session = start(agent, "Which way round the island?")
    think_many(agent, session, [f"S{n}|H|| leg {n}" for n in range(1, 4)])
    branch = {"sessionId": session, "branchId": "north", "nextThoughtNeeded": True}
    agent("thought", thought="S1|H|| against the current", branchFromThought=2, **branch)
    page.open_session(session, 4)
    page.press_on("#turn")
    page.says("#outline", "against the current")
    rows = "[e.dataset.depth, e.textContent.replace(/^[0-9]+/, '').replace('hypothesis', '').trim()]"
    assert page.each("#outline .outline > li", rows) == [
        ["0", "leg 1"],
        ["0", "leg 2"],
        ["1", "Branch north"],
        ["1", "against the current"],
        ["0", "leg 3"],
    ]
    left = page.each("#outline .outline > li", "e.getBoundingClientRect().left")
    assert left[2] == left[3] > left[1] == left[4], "a branch is indented"
    pressed = page.js("return getComputedStyle(document.getElementById('turn')).backgroundColor")
    think(agent, session, "S4|H|| leg 4")
    page.says("#outline", "leg 4")
    assert page.text("#facts").startswith("5 thoughts") and len(page.all("#outline [data-id]")) == 5
    page.press_on("#turn")
    page.until("document.getElementById('outline').hidden")
    page.js("document.activeElement.blur(); document.getElementById('turn').dispatchEvent(new Event('pointerleave'))")
    released = page.js("return getComputedStyle(document.getElementById('turn')).backgroundColor")
    assert pressed != released, "the button shows that it is pressed"
