"""The Inbox: list and detail, keys, undo, arrivals that wait, authors, and a person who clears it by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from clew.app import open_clew
from clew.settings import load_settings
from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_cards import conflict
from tests.browser.pages.test_jobs import claimed, report
from tests.browser.pages.test_memory import decide, fate, propose
from tests.browser.stage import visited
from tests.conftest import Caller
from tests.faces.web.server import Server

CHOSEN = "document.querySelector('.matter[aria-selected=\"true\"]')"
OPEN = "document.querySelectorAll('.matter:not(.gone)').length"


WORK = "wash mend sell paint count label weigh store lend hang dry fold oil rinse stack grind sort ship melt carve"
THINGS = "deck net oar hull gull crate anchor sail rope bell towel flag winch bucket plank blade fish barrel wax mast"


def row(id: str) -> str:
    return f'[data-matter="{id}"]'


def way(name: str) -> str:
    return f'#ways [data-act="{name}"]'


def opened(page: Reader, id: str) -> None:
    """The Inbox with this matter chosen, as its link opens it."""
    page.open(f"ws/inbox/{id}")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", id)


def pressed(page: Reader, name: str) -> None:
    """Presses the button of a way; right after a change of the detail presses are ignored."""
    page.until("document.querySelector(arguments[0]) && !document.querySelector('[data-fresh]')", way(name))
    page.press_on(way(name))


def author_of(agent: Caller, type: str, subject: str) -> str:
    events = agent("events_list", types=[type], limit=200)["events"]
    return str(next(event["agent"] for event in events if event["subject"] == subject))


def test_the_link_to_a_proposal_leads_to_it_and_says_who_asks(page: Reader, agent: Caller) -> None:
    for number in range(15):
        propose(agent, f"Number buoy {number} by hand")
    wanted = propose(agent, "Refuse the second sale", rationale="31 double sales in 14 days")
    propose(agent, "Ring the bell at noon")
    opened(page, wanted)
    assert page.seen(row(wanted)), "the row is in the window"
    page.says("#matter-title", "Refuse the second sale")
    assert page.seen("#matter-title") and page.seen(way("approve"))
    page.says("#matter", "31 double sales in 14 days")
    page.says("#matter .changes", "Refuse the second sale")
    page.says("#matter", "If nobody acts")


def test_an_approval_has_an_author_and_is_undone(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Keep one store for each team")
    opened(page, proposal)
    pressed(page, "approve")
    page.says("#notices", "Approved: Keep one store")
    assert fate(agent, proposal) == "applied"
    assert author_of(agent, "proposal_applied", proposal) == "tess-tester"
    page.keys("z")
    page.says("#notices", "Undone")
    assert fate(agent, proposal) == "staged"
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", proposal)


def test_a_notice_covers_no_button(page: Reader, agent: Caller) -> None:
    first, second = propose(agent, "Store everything twice"), propose(agent, "Store everything thrice")
    opened(page, first)
    pressed(page, "reject")
    page.keys(Keys.ENTER)
    page.says("#notices", "Rejected")
    page.press_on(row(second))
    pressed(page, "reject")
    page.until("document.querySelector('#ask-reason')?.value === 'Not wanted'")
    page.keys(*"Too much", Keys.ENTER)
    page.until("document.querySelector(arguments[0]).classList.contains('gone')", row(second))
    assert (fate(agent, first), fate(agent, second)) == ("rejected", "rejected")
    page.keys("z")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", second)
    assert fate(agent, second) == "staged", "a rejection can be taken back"


def test_nothing_changes_under_the_pointer(page: Reader, agent: Caller) -> None:
    mine = propose(agent, "Paint the fleet orange")
    opened(page, mine)
    page.find(way("approve"))
    under = "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
    under += " window.spot = [box.x + 5, box.y + 5]; window.node = document.elementFromPoint(...window.spot)"
    page.js(under, way("approve"))
    other = propose(agent, "Paint the fleet purple")
    page.find("#fresh")
    assert page.js("return document.elementFromPoint(...window.spot) === window.node")
    assert not page.all(row(other)), "what is new waits"
    agent("reject_proposal", proposal_id=mine, reason="Somebody else decided")
    page.until("document.querySelector(arguments[0])?.classList.contains('gone')", row(mine))
    page.press_on("#fresh")
    page.find(row(other))
    page.gone(row(mine))


def test_put_off_with_a_day_and_taken_up_again(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Move to another harbour")
    opened(page, proposal)
    page.keys("h")
    page.find("#ask-days")
    page.keys(Keys.ENTER)
    page.says("#notices", "Until")
    assert fate(agent, proposal) == "deferred"
    page.press_on('.facets a[href$="inbox/later"]')
    page.press_on(row(proposal))
    assert "T" not in page.text(row(proposal)).split("until")[1], "a day, no machine's stamp"
    pressed(page, "again")
    page.says("#notices", "Taken up again")
    assert fate(agent, proposal) == "staged"


def test_edited_before_it_is_approved(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Count the gulls dayly", rationale="They are many")
    opened(page, proposal)
    page.keys("e")
    page.type("#ask-statement", "Count the gulls daily")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#notices", "Approved as edited")
    found = agent("list_blocks", words="gulls daily")["blocks"]
    assert [block["says"] for block in found] == ["Count the gulls daily"]


def test_a_contradiction_is_settled_and_its_undo_brings_it_back(page: Reader, agent: Caller) -> None:
    one, other = decide(agent, "Use glass bottles for ink"), decide(agent, "Do not use glass bottles for ink")
    pairs = agent("list_contradictions")["resolutions"]
    pair = next(item["contradiction_id"] for item in pairs if one in (item["block_a"], item["block_b"]))
    opened(page, pair)
    page.says("#matter-title", "“Use glass bottles for ink” against “Do not use glass bottles for ink”")
    page.keys("1")
    page.says("#notices", "Kept “Use glass bottles for ink”")
    now = {block: agent("block_history", block_id=block)["status"] for block in (one, other)}
    assert now == {one: "active", other: "superseded"}
    page.keys("z")
    page.says("#notices", "Undone")
    assert agent("block_history", block_id=other)["status"] == "active"


def test_a_conflict_is_merged_field_by_field(page: Reader, agent: Caller) -> None:
    conflict(agent, "fieldwise")
    found = agent("inbox_list", kind="conflict")["items"]
    mine = next(item["id"] for item in found if "fieldwise" in str(item))
    opened(page, mine)
    page.press_on('#matter [data-field="text"] label:nth-of-type(2) input')
    page.press_on('#matter [data-act="mixed"]')
    page.until("document.querySelector(arguments[0])?.classList.contains('gone')", row(mine))
    shown = agent("graph_conflict_show", conflict_id=mine)["conflict"]
    assert shown["status"] == "resolved"


def test_a_job_is_answered_and_line_breaks_stay(page: Reader, agent: Caller) -> None:
    job, claim = claimed(agent, "Ask the pilot")
    report(agent, job, claim, "question", "Port or starboard?")
    opened(page, job)
    page.says("#matter", "Port or starboard?")
    page.keys("a")
    page.type("#ask-message", "Starboard.\nThen port.")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#notices", "Answered")
    told = agent("tasks_jobs_open", job=job, include_events=True, fmt="json")["events"]
    assert any(event["message"] == "Starboard.\nThen port." for event in told)


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Caller]]:
    """A store of its own with forty matters of several kinds."""
    home: Path = tmp_path_factory.mktemp("heap") / "home"
    server = Server(home, CLEW_EMBEDDING_MODEL="none")
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "embedding_model": "none"}, {}, home))
    agent = Caller(clew)
    for work, thing in zip(WORK.split(), THINGS.split(), strict=True):
        propose(agent, f"{work.title()} every {thing}")
    for number in range(8):
        agent("share_fact", text=f"Pier {number} has {number} bollards")
    steps = [{"title": f"Paint pier {number}", "success_criteria": ["painted"]} for number in range(8)]
    task = agent("tasks_macro_start", plan_title="Piers", task_title="Paint", steps=steps)["task_id"]
    for number in range(8):
        agent("tasks_block", task=task, path=f"s:{number}", blocked=True, reason="Rain")
    for work in ("Tar the hull", "Grease the winch", "Wax the mast", "Mend the nets"):
        decide(agent, work, review_by="2024-05-01")
    yield server, agent
    clew.close()
    server.stop()


def test_forty_matters_are_cleared_by_keyboard(driver: Any, heap: tuple[Server, Caller]) -> None:
    server, agent = heap
    assert agent("inbox_list")["total"] == 40
    for page in visited(Reader(driver, server.address)):
        page.open("ws/inbox")
        page.until(f"{OPEN} === 40 && {CHOSEN}")
        page.until("document.title.startsWith('(40) ')")
        presses = 0
        for left in range(39, -1, -1):
            reject = left % 5 == 0 and left > 20
            keys = ["r", Keys.ENTER] if reject and page.all(way("reject")) else ["a"]
            for key in keys:
                page.keys(key)
                presses += 1
                if key == "r":
                    page.find("#ask-reason")
            page.until(f"{OPEN} === arguments[0]", left)
            assert page.js("return document.activeElement !== document.body"), "the focus never falls to the body"
        assert presses < 90
        page.until("document.title.startsWith('Inbox')")
        assert agent("inbox_list")["total"] == 0
        page.keys("z")
        page.until(f"{OPEN} === 1")
        assert agent("inbox_list")["total"] == 1, "undo restores"
