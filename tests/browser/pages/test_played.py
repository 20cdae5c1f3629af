"""Tasks played from their beginning to their end with what a person sees and touches: by the pointer alone, by the
keyboard alone, on a desk and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from clew.memory import blocks
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import print_block
from clew.memory.kinds import kind_of
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_accessibility import DESK
from tests.browser.pages.test_decide import as_agent, dispute, said, status_of
from tests.browser.pages.test_export import CATCH
from tests.browser.screenshots import SMALL
from tests.browser.stage import visited
from tests.browser.think import start, think_many
from tests.conftest import Caller

VISIBLE = """(() => {
  const texts = (node) => [...node.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data).join("")
    .trim();
  const named = [...document.querySelectorAll("body *")]
    .filter((node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }));
  const node = named.findLast((one) => !one.closest(".hidden-text") && [texts(one), one.ariaLabel, one.placeholder,
    one.innerText?.trim()].includes(arguments[0]) && one.closest(arguments[1]));
  if (!node) return null;
  const box = node.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  if (hit && (node.contains(hit) || hit.contains(node))) return [x, y];
  node.scrollIntoView({ block: "center", behavior: "instant" });
  return null;
})()"""
"""Where something with these words is seen and not covered by anything else."""


def press(page: Reader, words: str, among: str = "*") -> None:
    """Presses what has these words, wherever it is: no test knows its id."""
    where = None
    while where != (where := page.until(VISIBLE, words, among)):
        pass
    page.press_at(*where)


def reads(page: Reader, words: str) -> None:
    page.until("document.body.innerText.includes(arguments[0])", words)


def write(page: Reader, label: str, text: str) -> None:
    """Into the field with this label: what it held is replaced."""
    press(page, label, "label, label *")
    page.until("['INPUT', 'TEXTAREA'].includes(document.activeElement.tagName)")
    page.chord(Keys.CONTROL, "a")
    page.keys(*text)


@pytest.fixture(params=[DESK, SMALL], ids=["desk", "phone"])
def screen(request: pytest.FixtureRequest, own_page: Reader) -> Iterator[Reader]:
    own_page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", request.param)
    yield own_page
    own_page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


NOTICES = {"Replace the old one": "Now in force", "Both hold": "Both hold", "Keep the old one": "Not in force"}


def test_three_disputes_are_decided_with_both_reasons_in_sight(screen: Reader, own_agent: Caller) -> None:
    ends = {"Replace the old one": ("superseded", "active"), "Both hold": ("active", "active")}
    ends["Keep the old one"] = ("active", "rejected")
    made = {words: dispute(own_agent, thing) for words, thing in zip(ends, ("parcel", "letter", "crate"), strict=True)}
    screen.open("ws/home")
    press(screen, "3 items for you to decide")
    for (words, (old, new, _)), thing in zip(made.items(), ("parcel", "letter", "crate"), strict=True):
        press(screen, f"A failed {thing} is not retried five times", "[role=option]")
        for reason in (f"the {thing} queue is short", "five was not enough on Sunday"):
            reads(screen, reason)
        screen.until("!document.querySelector('#ways [aria-disabled], [data-fresh]')")
        press(screen, words, "button")
        if words == "Keep the old one":
            press(screen, "Keep the old one", "dialog button")
        screen.says("#notices", f"{NOTICES[words]}: A failed {thing} is not retried five times")
        assert (status_of(own_agent, old), status_of(own_agent, new)) == ends[words]


def test_a_record_is_made_edited_and_taken_along_by_the_pointer(screen: Reader, own_agent: Caller) -> None:
    as_agent(own_agent, "codex", "remember", kind="lesson", text="Lamps burn out in autumn")
    screen.open("ws/home")
    screen.settled()
    press(screen, str(screen.js("return document.querySelector('#new').innerText.trim()")), "button")
    press(screen, "Write a decision, rule or lesson", "button")
    write(screen, "What it says", "The pier lamp burns all night")
    write(screen, "Why", "Boats come late")
    press(screen, "Save", "dialog button")
    reads(screen, "The pier lamp burns all night")
    screen.until("!document.querySelector('dialog[open]')")
    press(screen, "Edit", "#panel button")
    write(screen, "What it says", "The pier lamp burns until dawn")
    press(screen, "Save", "dialog button")
    screen.until("!document.querySelector('dialog[open]')")
    screen.says("#panel .record-title", "The pier lamp burns until dawn")
    screen.js(CATCH)
    press(screen, "Copy as Markdown", "#panel button")
    text = str(screen.until("window.copied[0]"))
    assert "The pier lamp burns until dawn" in text and "Boats come late" in text
    record = own_agent("list_blocks", words="pier lamp")["blocks"][0]["block_id"]
    assert said(own_agent, record) == "The pier lamp burns until dawn"


def test_the_same_by_the_keyboard_alone(own_page: Reader, own_agent: Caller) -> None:
    page = own_page
    as_agent(own_agent, "codex", "remember", kind="lesson", text="Buoys drift in autumn")
    page.open("ws/home")
    page.settled()
    page.keys("c")
    page.find("#create")
    tab_to(page, "Write a decision")
    page.keys(Keys.ENTER)
    page.find("#ask-text")
    page.keys(*"The bell buoy is painted red")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#panel .record-title", "The bell buoy is painted red")
    page.until("!document.querySelector('dialog[open]')")
    tab_to(page, "Edit")
    page.keys(Keys.ENTER)
    page.until("document.activeElement.id === 'ask-statement'")
    page.chord(Keys.CONTROL, "a")
    page.keys(*"The bell buoy is painted green")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#panel .record-title", "The bell buoy is painted green")
    page.until("!document.querySelector('dialog[open]')")
    page.js(CATCH)
    tab_to(page, "Copy as Markdown")
    page.keys(Keys.ENTER)
    assert "The bell buoy is painted green" in str(page.until("window.copied[0]"))
    assert len(own_agent("list_blocks", words="bell buoy")["blocks"]) == 1


def tab_to(page: Reader, words: str) -> None:
    """Tab until what has the focus has these words; the way is never long."""
    for _ in range(60):
        if page.there("document.activeElement.innerText?.trim().startsWith(arguments[0])", words):
            return
        page.keys(Keys.TAB)
    raise AssertionError(f"no Tab leads to {words}")


def test_an_edited_proposal_says_the_edited_words_and_an_approval_is_undone_the_next_day(
    screen: Reader, own_agent: Caller
) -> None:
    _, new, _ = dispute(own_agent, "telegram")
    screen.open("ws/inbox")
    press(screen, "A failed telegram is not retried five times", "[role=option]")
    screen.until("!document.querySelector('#ways [aria-disabled], [data-fresh]')")
    press(screen, "Edit", "button")
    write(screen, "What it says", "A failed telegram is retried on Mondays only")
    press(screen, "Save", "dialog button")
    screen.says("#notices", "Saved as edited")
    assert said(own_agent, new) == "A failed telegram is retried on Mondays only"
    assert said(own_agent, new, "Rationale") == "five was not enough on Sunday"
    screen.leave()  # the ten seconds of the notice are over
    screen.open(f"ws/o/{new}")
    screen.settled()
    press(screen, "Undo", "main button")
    screen.says("#notices", "Undone")
    screen.says("main .record-title", "A failed telegram is not retried five times")
    assert status_of(own_agent, new) == "proposed"
    screen.open("ws/home")
    reads(screen, "1 item for you to decide")


def test_a_question_to_an_agent_is_asked_and_its_answer_read(screen: Reader, own_agent: Caller) -> None:
    record = as_agent(own_agent, "codex", "remember", kind="decision", text="The ferry waits for the train")["id"]
    screen.open(f"ws/o/{record}")
    screen.settled()
    press(screen, "Ask the agent", "button")
    write(screen, "Your question", "Also on Sundays?")
    press(screen, "Ask the agent", "dialog button")
    reads(screen, "Waits for an agent")
    assert "Also on Sundays?" in as_agent(own_agent, "codex", "resume")["text"]
    question = own_agent("comment_list")["threads"][0]["question"]
    as_agent(own_agent, "codex", "comment_answer", question=question, text="Yes, all week.")
    reads(screen, "Yes, all week.")


RECORDS, THOUGHTS = 1_000, 5_000
DAY = 86_400_000


def keep_many(agent: Caller, who: str, prefix: str, thing: str) -> None:
    """A thousand records of an agent in one transaction."""
    with governed_transaction(Context(agent.clew.dispatcher, Connection(agent_id=who), "large", who)) as ctx:
        for _ in range(RECORDS):
            ctx.ws.count(prefix)
        texts = {
            f"{prefix}-{number}": print_block(
                f"{prefix}-{number}", {"Date": "2026-01-02", "Status": "active", "Statement": f"{thing} {number}"}
            )
            for number in range(1, RECORDS + 1)
        }
        blocks.add_all(ctx, texts, file=kind_of(f"{prefix}-1").file, origin="remember")


@pytest.fixture(scope="module")
def large(heap: Heap) -> Caller:
    """3,000 records and 5,000 thoughts of three agents, all of yesterday."""
    from clew.clock import system_clock

    agent = heap.agent_of("large", clock=lambda: system_clock() - DAY)
    for who, prefix, thing in (("claude-code", "L", "Pier"), ("codex", "F", "Buoy"), ("gemini-cli", "X", "Raise lamp")):
        keep_many(agent, who, prefix, thing)
    agent.session = Connection(toolset="full", agent_id="gemini-cli")
    session = start(agent, "Why do invoices arrive twice?")
    think_many(agent, session, [f"S{n}|O|| invoice {n}" for n in range(1, THOUGHTS + 1)], "large", "gemini-cli")
    return agent


def test_home_says_in_words_what_three_agents_did_yesterday_however_much(
    driver: Any, heap: Heap, large: Caller
) -> None:
    for page in visited(Reader(driver, heap.server.address)):
        page.open("large/home")
        press(page, "Since yesterday", "a")
        for who, words in (
            ("claude-code", f"learned Pier 1, Pier 2, Pier 3, Pier 4, Pier 5 and {RECORDS - 5} more"),
            ("codex", f"noted the fact Buoy 1, Buoy 2, Buoy 3, Buoy 4, Buoy 5 and {RECORDS - 5} more"),
            ("gemini-cli", "ruled out Raise lamp 1, "),
            ("gemini-cli", f"noted {THOUGHTS} thoughts on Why do invoices arrive twice?"),
        ):
            page.until(
                "document.querySelector(arguments[0])?.innerText.includes(arguments[1])",
                f'[data-author="{who}"]',
                words,
            )
        press(page, "claude-code", "a")
        reads(page, f"and {RECORDS - 5} more")
