"""What others write arrives: all of it, once, in order, in the right session, at a cost that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clew.app import Clew
from tests.browser.chromium import Page
from tests.browser.think import start, think, think_many
from tests.conftest import Caller
from tests.faces.web.server import Server

WATCH = """
window.made = [];
const ids = (nodes) => [...nodes].map((node) => node.dataset.id ?? node.dataset.branch);
new MutationObserver((changes) => {
  for (const change of changes) made.push(...ids(change.addedNodes));
}).observe(document.querySelector(".world"), { childList: true });
"""
HOLD_FRAMES = """
window.held = [];
window.frame = requestAnimationFrame;
requestAnimationFrame = (draw) => held.push(draw);
"""
RIGHT = "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})"
OUT = """document.querySelector('button[title^="Zoom out"]').click()"""


def at_once(*works: Callable[[], object]) -> None:
    """All of them at the same time; the first problem of any is raised."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_all_of_a_burst_arrives_once_and_in_order(page: Page, agent: Caller) -> None:
    session = start(agent, "Burst")
    page.open_session(session, 0)
    page.js(f"{OUT}; {OUT}; {OUT}; {WATCH}")
    # No more than the window holds at this size, so that each is drawn even if all of them come at once.
    for number in range(1, 25):
        think(agent, session, f"S{number}|O|| number {number}")
    page.until_drawn(24)
    assert page.js("return made") == [f"{session}:{number}" for number in range(1, 25)]
    grown = page.digest
    page.reload()
    page.until_drawn(24)
    assert page.digest == grown


def test_a_thought_that_arrives_while_the_picture_moves_is_drawn(page: Page, agent: Caller) -> None:
    session = start(agent, "Moving")
    think(agent, session, "first")
    page.open_session(session, 1)
    page.js(HOLD_FRAMES)
    page.js(f"document.getElementById('graph').dispatchEvent({RIGHT})")
    think(agent, session, "second")
    page.says(f'#sessions a[data-session="{session}"]', "2 thoughts")
    page.js("requestAnimationFrame = frame; for (const draw of held) frame(draw)")
    page.until_drawn(2)


def test_sessions_that_are_written_at_once_never_mix(page: Page, clew: Clew, agent: Caller) -> None:
    here, there = start(agent, "Here"), start(agent, "There")

    def write(session: str, words: str) -> None:
        writer = Caller(clew)
        for _ in range(25):
            think(writer, session, words)

    page.open_session(here, 0)
    page.js(WATCH)
    at_once(lambda: write(here, "ours"), lambda: write(there, "theirs"))
    page.until_drawn(25)
    assert all(id.startswith(here) for id in page.js("return made"))
    assert set(page.each(".node p", "e.textContent")) == {"ours"}
    for session in (here, there):
        page.says(f'#sessions a[data-session="{session}"]', "25 thoughts")


def test_switching_fast_ends_at_the_last_one_chosen(page: Page, agent: Caller) -> None:
    """Pictures of sessions that were left meanwhile are on their way; they must not be shown."""
    sessions = [start(agent, f"Session {number}") for number in range(4)]
    for count, session in enumerate(sessions, 1):
        think_many(agent, session, [f"of {count}"] * count)
    page.open_session(sessions[0], 1)
    page.until("document.querySelectorAll('#sessions a').length >= 4")
    hashes = [f"#/reasoning/{session}" for session in sessions * 3]
    page.js("for (const hash of arguments[0]) location.hash = hash", hashes)
    page.until_drawn(4)
    page.says("h1.title", "Session 3")
    think(agent, sessions[0], "not here")
    think(agent, sessions[3], "of 4")
    page.until_drawn(5)
    assert set(page.each(".node p", "e.textContent")) == {"of 4"}


def test_nothing_that_ten_agents_write_is_lost(page: Page, server: Server, agent: Caller) -> None:
    session = start(agent, "Ten agents")
    think(agent, session, "begin")
    page.open_session(session, 1)

    def work(number: int) -> None:
        told = {"sessionId": session, "nextThoughtNeeded": True, "branchId": f"agent-{number}"}
        for step in range(20):
            fork = {"branchFromThought": 1} if step == 0 else {}
            assert server.call("thought", thought=f"step {step} of {number}", **told, **fork)["success"]

    at_once(*(lambda number=number: work(number) for number in range(10)))
    page.until_drawn(201)
    stored = agent("session_outline", sessionId=session, limit=1000, max_chars=10**7)["thoughts"]
    assert len(stored) == 201
    grown = page.digest
    page.reload()
    page.until_drawn(201)
    assert page.digest == grown


@pytest.fixture(scope="module")
def long_session(clew: Clew) -> str:
    agent = Caller(clew)
    session = start(agent, "Five thousand")
    think_many(agent, session, [f"S{number}|O|| thought {number} of many" for number in range(1, 5001)])
    return session


def elements(page: Page) -> int:
    return int(page.js("return document.querySelectorAll('.world *').length"))


def counted(agent: Caller, session: str) -> int:
    count: int = agent("session_outline", sessionId=session, limit=1)["session"]["thoughtCount"]
    return count


def test_five_thousand_thoughts_are_few_elements(page: Page, agent: Caller, long_session: str) -> None:
    count = counted(agent, long_session)
    page.open_session(long_session, count)
    assert elements(page) < 600
    page.says(page.node(f"{long_session}:{count}"), "thought 5000 of many" if count == 5000 else "one more")
    page.scrub(2500)
    page.says(page.node(f"{long_session}:2500"), "thought 2500 of many")
    page.click("#live")
    page.until_drawn(count)
    page.js("const f = document.getElementById('find'); f.value = 'thought 7 of'; f.dispatchEvent(new Event('input'))")
    page.says(page.node(f"{long_session}:7"), "thought 7 of many")
    page.click('button[title^="Show all"]')
    page.until("document.querySelector('#graph').classList.contains('far')")
    assert elements(page) < 600


def test_one_more_thought_makes_one_node_and_touches_no_other(page: Page, agent: Caller, long_session: str) -> None:
    count = counted(agent, long_session)
    page.open_session(long_session, count)
    page.click('button[title="Newest thought"]')
    page.until("document.querySelector(arguments[0])", page.node(f"{long_session}:{count}"))
    page.js(WATCH)
    page.js("""
      window.moved = 0;
      new MutationObserver((changes) => { moved += changes.length; })
        .observe(document.querySelector(".world"), { subtree: true, attributeFilter: ["style"], characterData: true });
      document.querySelectorAll(".node").forEach((node) => { node.seen = true; });
    """)
    think(agent, long_session, f"S{count + 1}|E|| one more")
    page.until_drawn(count + 1)
    assert page.js("return made") == [f"{long_session}:{count + 1}"]
    others = "[...document.querySelectorAll('.node')].filter((node) => !node.seen).length"
    assert page.js(f"return {others}") == 1
    # The picture may follow by a row, which takes the topmost nodes away; no other node is made, filled or moved.
    changes: Any = page.js("return moved")
    assert changes <= 2, "the new node's own place and the picture's"


def test_a_page_that_lost_its_connection_misses_nothing(page: Page, agent: Caller) -> None:
    session = start(agent, "Cut off")
    think(agent, session, "before")
    page.open_session(session, 1)
    module = "document.querySelector('link[rel=modulepreload][href*=\"/socket.js\"]').href"
    page.js(f"import({module}).then(({{ feed }}) => feed.socket.close())")
    think(agent, session, "meanwhile")
    page.until_drawn(2)
    think(agent, session, "after")
    page.until_drawn(3)
    page.until_live()
