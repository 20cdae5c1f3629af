"""A person acts directly: writes and edits apply at once and say what they contradict, and every entry of a record's
history has a way back, however old."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_memory import decide
from tests.conftest import Caller

PERSON = Connection(toolset="full", person="@tess-tester")


def opened(page: Reader, id: str, title: str) -> None:
    page.open("ws/now/board")
    page.settled()
    page.js("location.hash = `#/ws/o/${arguments[0]}`", id)
    page.says("#panel .record-title", title)


def acted(page: Reader, name: str) -> None:
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", f'#panel [data-act="{name}"]')
    page.press_on(f'#panel [data-act="{name}"]')
    page.find("#ask")


def sent(page: Reader) -> None:
    page.press_on("#ask .primary")
    page.gone("#ask")


def history(page: Reader, selector: str) -> None:
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
    page.press_on(selector)


def test_an_edit_applies_at_once_and_each_version_has_a_way_back(page: Reader, agent: Caller) -> None:
    record = decide(agent, "The gangway is raised at ten", rationale="The tide")
    opened(page, record, "The gangway is raised at ten")
    acted(page, "edit")
    page.until("document.querySelector('#ask-statement')?.value === 'The gangway is raised at ten'")
    page.type("#ask-statement", "The gangway is raised at nine")
    sent(page)
    page.says("#panel .record-title", "The gangway is raised at nine")
    page.says("#panel", "The tide")
    acted(page, "edit")
    page.type("#ask-statement", "The gangway is raised at eight")
    sent(page)
    page.says("#panel .record-title", "raised at eight")
    history(page, '#panel [data-version="3"] [data-undo]')
    page.says("#panel .record-title", "raised at nine")
    page.reload()
    page.says("main .record-title", "raised at nine")
    page.settled()
    history(page, '[data-version="1"] [data-back]')
    page.says("main .record-title", "raised at ten")
    assert agent("record_view", id=record)["title"] == "The gangway is raised at ten"


def test_what_was_withdrawn_is_restored_and_old_writes_are_undone_by_key(page: Reader, agent: Caller) -> None:
    record = decide(agent, "The foghorn sounds twice")
    opened(page, record, "The foghorn sounds twice")
    acted(page, "retract")
    page.type("#ask-why", "It wakes the town")
    page.type("#ask-instead", "gangway")
    page.until("document.querySelector('#ask .picker .found')")
    page.js("document.getElementById('ask-instead').value = ''")
    sent(page)
    page.says("#panel .record-head", "withdrawn")
    page.js("document.querySelector('#notices').replaceChildren()")
    acted(page, "restore")
    sent(page)
    page.says("#panel .record-head", "in force")
    page.says("#notices", "In force again")
    page.reload()  # what was offered for ten seconds is gone with the page
    page.says("main .record-head", "in force")
    page.settled()
    page.keys("z")
    page.says("#undo-list", f"restored {record}")
    page.press_on("#undo-list li:first-child [data-undo]")
    page.gone("#undo-list")
    page.says("main .record-head", "withdrawn")


def test_a_contradiction_is_said_before_it_is_kept(page: Reader, agent: Caller) -> None:
    rejected = agent("remember", kind="rejected", text="Raise the mooring fee to 60 crowns", why="Boats leave")["id"]
    opened(page, rejected, "Raise the mooring fee to 60 crowns")
    head = page.text("#panel .record-head")
    assert "rejected" in head and "in force" not in head and not page.all("#panel .record-head .badge.good")
    page.keys(Keys.ESCAPE)
    page.press_on("#new")
    page.press_on('#create [data-make="decision"]')
    page.find("#ask")
    page.type("#ask-text", "Raise the mooring fee to 60 crowns")
    page.choose("#ask-kind", "decision")
    sent(page)
    page.says("#notices", "it contradicts “Raise the mooring fee to 60 crowns")
    page.says('#sides [data-side="against"]', "Raise the mooring fee")
    page.says("#ways", "Both hold")
    held = decide(agent, "The slip is greased with tallow", rationale="Boats slide by themselves")
    other = decide(agent, "The slip is painted")
    opened(page, other, "The slip is painted")
    acted(page, "edit")
    page.type("#ask-statement", "The slip is not greased with tallow")
    page.press_on("#ask .primary")
    for words in ("It would contradict “The slip is greased with tallow”", "Why: Boats slide by themselves"):
        page.says("#ask .form-problem", words)
    page.press_on("#ask .form-problem button")
    page.gone("#ask")
    page.says("#panel .record-title", "not greased")
    assert agent("record_view", id=held)["state"] == "replaced"


def test_a_disputed_record_says_so_wherever_it_is_shown(page: Reader, agent: Caller) -> None:
    one, other = decide(agent, "Lanterns are lit at dusk"), decide(agent, "Lanterns are not lit at dusk")
    agent("scan")
    page.open("ws/know/lists?words=lanterns%20lit")
    page.says(f'#records [data-key="{one}"]', f"disputed with {other}")
    opened(page, one, "Lanterns are lit at dusk")
    page.says("#panel .record-head", f"disputed with {other}")
    page.says("#disputed", "Lanterns are not lit at dusk")
    page.press_on("#disputed a.button")
    page.until("location.hash.includes('/inbox/')")
    page.says("#sides", "Lanterns are not lit at dusk")
