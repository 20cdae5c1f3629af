"""What is shown can be taken along: as Markdown, and on paper."""

from __future__ import annotations

from typing import Any

from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_memory import decide
from tests.browser.think import start, think_many
from tests.conftest import Caller

CATCH = """
window.copied = [];
navigator.clipboard.writeText = (text) => { window.copied.push(text); return Promise.resolve(); };
window.saved = [];
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { blob.text().then((text) => window.saved.push(text)); return make(blob); };
HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; };
"""
ON_PAPER = """return [...document.querySelectorAll('.top, .actions, main button')]
  .filter((node) => node.getClientRects().length).length"""


def copied(page: Reader, root: str) -> str:
    """What the button of a place copies, and that the other one saves the same."""
    page.find(f"{root} [data-act=copy-markdown]")
    page.settled()
    page.js(CATCH)
    for act in ("copy-markdown", "save-markdown"):
        button = f"{root} [data-act={act}]"
        page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", button)
        page.press_on(button)
    text = str(page.until("window.copied[0]"))
    assert page.until("window.saved[0]") == text
    assert str(page.js("return window.savedAs")).endswith(".md")
    return text


def test_records_plans_sessions_and_answers_are_saved_as_markdown(page: Reader, agent: Caller) -> None:
    record = decide(agent, "Anchors are weighed by hand", rationale="The winch is loud")
    page.open(f"ws/o/{record}")
    text = copied(page, "main")
    assert text.startswith("# Anchors are weighed by hand\n") and "**Why:** The winch is loud" in text
    task = agent("start", title="Weigh the anchors", steps=["Lift", "Log"])["task"]
    agent("close", task=task, step="s:0", unproven="Done by eye")
    page.open(f"ws/now/board/{task}")
    text = copied(page, "#work-actions")
    assert "# Weigh the anchors" in text and "- [x] Lift" in text and "- [ ] Log" in text
    session = start(agent, "How deep is it here?")
    think_many(agent, session, ["S1|H|| Ten fathoms", "S2|E|| The lead says nine"])
    page.open_session(session, 2)
    page.press_on("#as-record")
    page.says("#panel .record-title", "How deep is it here?")
    text = copied(page, "#panel")
    assert "Ten fathoms" in text and "The lead says nine" in text
    page.open("ws/know/recall/how%20are%20anchors%20weighed/all")
    page.says("#results", "weighed by hand")
    text = copied(page, "#results")
    assert "- Anchors are weighed by hand" in text and f"({record}, in force" in text


def test_a_record_is_printed_without_the_page_around_it(page: Reader, agent: Caller, driver: Any) -> None:
    record = decide(agent, "Charts are kept dry")
    page.open(f"ws/o/{record}")
    page.says("main h1", "Charts are kept dry")
    assert page.js(ON_PAPER) > 3
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert page.js(ON_PAPER) == 0
        assert page.seen("main h1")
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
