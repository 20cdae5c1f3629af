"""Replaying the log to a given point gives the picture that was there at that point."""

from __future__ import annotations

from typing import Any

from tests.browser.chromium import Page
from tests.browser.think import start, think
from tests.conftest import Caller

COUNT = 12


def grow(agent: Caller, session: str, count: int) -> None:
    """The count-th thought of a session with revisions and two branches, one inside the other."""
    more: dict[str, Any] = {}
    if count in (5, 6, 9):
        more = {"branchId": "side", **({"branchFromThought": 2} if count == 5 else {})}
    if count == 8:
        more = {"branchId": "inner", "branchFromThought": 3, "branchFromBranch": "side"}
    if count == 10:
        more = {"isRevision": True, "revisesThought": 1}
    think(agent, session, f"thought {count}", **more)


def test_every_moment_can_be_seen_again(page: Page, agent: Caller) -> None:
    session = start(agent, "Growing")
    page.open_session(session, 0)
    then: dict[int, tuple[str, list[Any]]] = {}
    for count in range(1, COUNT + 1):
        grow(agent, session, count)
        page.until_drawn(count)
        then[count] = (page.digest, page.picture)
    assert len({digest for digest, _ in then.values()}) == COUNT

    for count in (7, 1, 11, 5, 12):
        page.scrub(count)
        assert (page.digest, page.picture) == then[count], f"scrubbed to {count}"
    for count in (4, 9):
        page.open(f"reasoning/{session}/%40{count}")
        page.until_drawn(count)
        assert (page.digest, page.picture) == then[count], f"loaded at {count}"

    think(agent, session, "written meanwhile")
    page.until("document.getElementById('time').max === arguments[0]", str(COUNT + 1))
    page.says("#moment", f"after 9 of {COUNT + 1}")
    assert (page.digest, page.picture) == then[9], "the past stays as it was while others write"
    page.click("#live")
    page.until_drawn(COUNT + 1)
    page.says("#moment", "live")
    page.scrub(COUNT)
    assert (page.digest, page.picture) == then[COUNT]


def test_a_session_plays_from_its_beginning_to_now(page: Page, agent: Caller) -> None:
    session = start(agent, "Played")
    for number in range(1, 4):
        think(agent, session, f"thought {number}")
    page.open_session(session, 3)
    now = page.digest
    page.js("""
      window.seen = [];
      new MutationObserver(() => seen.push(document.getElementById("graph").dataset.drawn))
        .observe(document.getElementById("graph"), { attributes: true, attributeFilter: ["data-drawn"] });
    """)
    page.click("#play")
    page.until("window.seen.at(-1) === '3' && document.getElementById('moment').textContent === 'live'")
    assert list(dict.fromkeys(page.js("return window.seen"))) == ["0", "1", "2", "3"]
    assert page.digest == now
