"""Now and History: who is working, what changed since you last looked, the log as it grows."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp_types import Implementation

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_jobs import claimed
from tests.browser.pages.test_memory import decide, propose
from tests.browser.stage import visited
from tests.browser.story import Story
from tests.conftest import Caller
from tests.faces.web.server import Server

AGO = "const key = 'clew.seen.ws', known = JSON.parse(localStorage.getItem(key)); known.at -= 3_600_000;"
LEAVE = f"{AGO} localStorage.setItem(key, JSON.stringify(known))"
"""As if the last look were an hour old."""


def test_who_is_working_on_what(page: Reader, agent: Caller) -> None:
    agent.session = Connection(toolset="full", agent_id="deckhand")
    agent("notes_commit", content="swabbed", title="The deck is clean")
    job, _ = claimed(agent, "Splice the mainbrace")
    session = agent("start_new", title="Why does the bilge smell?")["sessionId"]
    agent("thought", thought="It is the herring", nextThoughtNeeded=True, sessionId=session)
    page.open("ws/now")
    page.says('[data-worker="deckhand"]', "agent")
    page.says('[data-worker="runner:quay"]', f"works on {job} Splice the mainbrace")
    page.says('[data-worker="Why does the bilge smell?"]', "1 thought")
    assert page.all('[data-worker="deckhand"] .dot.active')


def test_agents_at_work_are_others_and_no_sessions(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("watch")
    agent.session = Connection(toolset="full", agent_id="mate")
    agent("notes_commit", content="all well", title="Eight bells")
    session = agent("start_new", title="Why so calm?")["sessionId"]
    agent("thought", thought="No wind", nextThoughtNeeded=True, sessionId=session)
    agent("tasks_runner_heartbeat", runner_id="runner:capstan", status="live", lease_ttl_ms=300_000)
    agent.session = Connection(toolset="full", agent_id="tess-tester")
    agent("notes_commit", content="mine", title="Written by whoever reads this")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("watch/now")
        page.says('[data-worker="tess-tester"]', "you")
        page.says("main .head", "1 agent and 1 runner at work")


@pytest.mark.anyio
async def test_who_connects_over_http_is_known_by_the_clients_name(page: Reader, server: Server) -> None:
    hello = Implementation(name="gemini-cli", version="1")
    async with Client(f"{server.address}/mcp", mode="auto", client_info=hello) as client:
        await client.call_tool("remember", {"kind": "lesson", "text": "Herring gulls steal chips"})
    page.open("ws/now")
    worker = page.until("document.querySelector('[data-worker^=gemini-cli]')?.dataset.worker")
    page.says(f'[data-worker="{worker}"]', "agent")
    page.open("ws/history/log")
    page.says("#log", "Herring gulls steal chips")
    page.until(
        "[...document.querySelectorAll('#log li')].some((line) => /gemini-cli/.test(line.textContent)"
        " && /Herring gulls/.test(line.textContent))"
    )


def test_what_changed_since_the_last_look(page: Reader, agent: Caller) -> None:
    steps = [{"title": "Count the oars", "success_criteria": ["counted"]}]
    task = agent("tasks_macro_start", plan_title="Oars", task_title="Inventory", steps=steps)["task_id"]
    page.open("ws/history/log")
    page.says("#log", "Inventory")
    page.click("#seen")
    page.says("#changes", "Nothing has changed")
    page.js(LEAVE)
    agent("tasks_macro_close_step", task=task, path="s:0", checkpoints="all", note="twelve")
    decide(agent, "Buy no more oars")
    session = agent("start_new", title="Oars or sails?")["sessionId"]
    for number in range(3):
        agent("thought", thought=f"thought {number}", nextThoughtNeeded=True, sessionId=session)
    page.open("ws/history/log")
    page.says("#changes h2", "Since you last looked")
    page.says('[data-group="done"]', "step closed")
    page.says('[data-group="done"]', "Inventory")
    page.says('[data-group="decided"]', "Buy no more oars")
    page.says('[data-group="thought"]', "thought × 3")
    page.reload()
    page.says('[data-group="decided"]', "Buy no more oars")
    assert "Count the gulls" not in page.text("#changes")


def test_what_does_not_fit_is_said(page: Reader, agent: Caller) -> None:
    for number in range(12):
        agent("branch_create", name=f"mooring-{number}", from_="main")
    page.open("ws/history/log")
    page.says('[data-group="begun"]', "more")
    assert len(page.all('[data-group="begun"] li')) == 6


def test_the_log_begins_full_and_grows(page: Reader, agent: Caller) -> None:
    agent("notes_commit", content="before", title="Written before anybody looked")
    page.open("ws/history/log")
    page.says("#log li", "Written before anybody looked")
    page.js("window.untouched = document.querySelector('#log li')")
    agent("notes_commit", content="now", title="Written while somebody looks")
    page.says("#log li", "Written while somebody looks")
    assert page.there("window.untouched.isConnected"), "what was there stays"


def test_the_log_says_how_much_is_older_and_goes_back_to_it(page: Reader, agent: Caller) -> None:
    agent("notes_commit", content="first", title="The keel is laid")
    for number in range(90):
        agent("notes_commit", content=f"plank {number}", title=f"Plank {number}")
    page.open("ws/history/log")
    page.says("#log", "Plank 89")
    assert "The keel is laid" not in page.text("#log")
    page.until("/^[0-9]+ older events left out/.test(document.querySelector('#log-older')?.textContent)")
    page.click("#log-back")
    page.says("#log", "The keel is laid")
    before = len(page.all("#log li"))
    agent("notes_commit", content="flag", title="The flag is hoisted")
    page.says("#log", "The flag is hoisted")
    assert "The keel is laid" in page.text("#log"), "what was fetched stays while the log grows"
    assert len(page.all("#log li")) >= before


def lane(name: str) -> str:
    return f'#axis [data-lane="{name}"]'


def test_the_axis_shows_who_wrote_when_and_leads_to_that_moment(page: Reader, agent: Caller) -> None:
    agent.session = Connection(toolset="full", agent_id="lookout")
    agent("notes_commit", content="a sail", title="A sail in the west")
    page.open("ws/now")
    page.find(f"{lane('lookout')} .axis-mark")
    page.settled()
    assert page.seen(lane("lookout")), "the axis stands where one looks first"
    left, right = page.js(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect(),"
        " all = document.querySelector(arguments[1]).getBoundingClientRect(); return [box.right, all.right]",
        f"{lane('lookout')} .axis-mark:last-of-type",
        f"{lane('lookout')} .axis-time",
    )
    assert right - left < 40, "what was just written stands at the right edge"
    page.press_on('#axis [data-span="day"]')
    page.until("location.hash.includes('span=day')")
    page.until("document.querySelector('#axis [data-span=day]')?.ariaCurrent === 'true'")
    page.press_on(f"{lane('lookout')} .axis-mark")
    page.until("/history\\?at=/.test(location.hash)")
    page.find("#as-of")


def test_the_period_holds_for_the_log_too(page: Reader, agent: Caller) -> None:
    agent("notes_commit", content="ahoy", title="A ship passes at dawn")
    page.open("ws/now")
    page.says("#log", "A ship passes at dawn")
    page.settled()
    page.js("const real = Date.now; Date.now = () => real() + 7_200_000")  # two hours later, as this page sees it
    page.press_on('#axis [data-span="day"]')
    page.until("document.querySelector('#axis [data-span=day]')?.ariaCurrent === 'true'")
    page.says("#log", "A ship passes at dawn")
    page.press_on('#axis [data-span="hour"]')
    page.until("document.querySelector('#axis [data-span=hour]')?.ariaCurrent === 'true'")
    page.says("#log-card", "Nothing in this time")
    page.says("#log-outside", "outside the time")


def test_what_was_answered_waits_no_more_and_what_is_taken_up_again_says_so(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("answers")
    rejected, later, open_one = [propose(agent, f"Hire a {who}") for who in ("cook", "pilot", "diver")]
    agent("reject_proposal", proposal_id=rejected, reason="We have one")
    agent("defer_proposal", proposal_id=later, reason="In spring", days=3)
    task = agent("tasks_macro_start", plan_title="Crew", task_title="Train", steps=TRAIN)["task_id"]
    for path in ("s:0", "s:1"):
        agent("tasks_block", task=task, path=path, blocked=True, reason="Fog")
    agent("tasks_block", task=task, path="s:0", blocked=False)
    asks, decided = '[data-group="asks"]', '[data-group="decided"]'
    for page in visited(Reader(driver, heap.server.address)):
        page.open("answers/history/log")
        page.says(asks, "Hire a diver")
        page.says(asks, "Swim")
        told = page.text(asks)
        assert "Hire a cook" not in told and "Hire a pilot" not in told and "Row" not in told
        page.says(decided, "was rejectedHire a cook")
        page.says(decided, "put offHire a pilot")
        agent("reopen_proposal", proposal_id=later)
        page.says(asks, "waits againHire a pilot")
        page.open(f"answers/inbox/{open_one}")
        page.until("document.querySelector('.matter[aria-selected=true]')?.dataset.matter === arguments[0]", open_one)
        page.settled()
        page.keys("z")
        page.says("#notices", "Nothing to undo")


TRAIN = [{"title": title, "success_criteria": ["done"]} for title in ("Row", "Swim")]


def test_a_lease_that_ran_out_is_grey_on_the_axis(page: Reader, agent: Caller) -> None:
    agent("tasks_runner_heartbeat", runner_id="runner:hulk", status="live", lease_ttl_ms=1000)
    page.open("ws/now")
    page.find(f"{lane('runner:hulk')}.absent")
    page.says('[data-worker="runner:hulk"]', "its lease has run out")
    assert not page.all('[data-worker="runner:hulk"] .dot.active')


def test_the_places_of_now_and_history_ask_little(page: Reader, story: Story) -> None:
    for place in ("now", "now/board", "now/job", "history", "history/log"):
        page.open("ws/inbox")
        page.settled()
        page.js(COUNT_CALLS)
        page.js("location.hash = arguments[0]", f"#/ws/{place}")
        page.until("window.asked.length > 0")
        page.settled()
        asked = page.js("return window.asked")
        assert len(asked) <= 8, f"{place}: {asked}"


COUNT_CALLS = """
window.asked = [];
const before = window.fetch;
window.fetch = (path, request) => {
  if (String(path) === "/page/call") window.asked.push(JSON.parse(request.body).name);
  return before(path, request);
};
"""
