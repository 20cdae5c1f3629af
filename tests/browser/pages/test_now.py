"""Now: who is working on what, and what was done, in sentences."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp_types import Implementation

from clew.clock import system_clock
from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_jobs import claimed
from tests.browser.stage import visited
from tests.browser.story import Story
from tests.conftest import Caller
from tests.faces.web.server import Server

HOUR = 3_600_000


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
    agent.session = Connection(toolset="full", person="@tess-tester")
    agent("notes_commit", content="mine", title="Written by whoever reads this")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("watch/now")
        page.says('[data-worker="@tess-tester"]', "you")
        page.says("main .head", "1 agent and 1 runner at work")


@pytest.mark.anyio
async def test_who_connects_over_http_is_known_by_the_clients_name(page: Reader, server: Server) -> None:
    hello = Implementation(name="gemini-cli", version="1")
    async with Client(f"{server.address}/mcp", mode="auto", client_info=hello) as client:
        await client.call_tool("remember", {"kind": "lesson", "text": "Herring gulls steal chips"})
    page.open("ws/now")
    worker = page.until("document.querySelector('[data-worker^=gemini-cli]')?.dataset.worker")
    page.says(f'[data-worker="{worker}"]', "agent")
    assert worker == "gemini-cli", "whatever number its connection has"
    page.says('#done [data-author="gemini-cli"]', "learned Herring gulls steal chips")


def test_the_period_reaches_back_to_the_last_work_unless_one_is_chosen(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("tide", clock=lambda: system_clock() - 2 * HOUR)
    agent.session = Connection(toolset="full", agent_id="lookout")
    agent("remember", kind="lesson", text="Sails in the west come home by dusk")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("tide/now")
        page.says('[data-worker="lookout"]', "learned Sails in the west")
        page.until("document.querySelector('[data-span=day]').ariaCurrent === 'true'")
        page.says("main .head", "no agent at work")
        page.settled()
        page.press_on('[data-span="hour"]')
        page.says("#workers", "No agent wrote in this time")


def test_a_runner_whose_lease_ran_out_is_not_at_work(page: Reader, agent: Caller) -> None:
    agent("tasks_runner_heartbeat", runner_id="runner:hulk", status="live", lease_ttl_ms=1000)
    page.open("ws/now")
    page.says('[data-worker="runner:hulk"]', "its lease has run out")
    assert not page.all('[data-worker="runner:hulk"] .dot.active')


def test_no_place_asks_more_than_seven_times(page: Reader, story: Story) -> None:
    page.open("ws/inbox")
    page.js(COUNT_CALLS)
    for place in (
        *("now", "now/board", f"now/board/{story.task}", f"now/session/{story.session}", "now/job", "history", "home"),
        *("home/agents", "home/projects", "inbox", "know/recall/why%20twice/all", "know/lists", "know/areas"),
        *("know/branches/main/lease-first", "know/around/H-gap", "settings"),
        *(f"now/job/{story.job_ids[0]}"),
    ):
        page.js("location.hash = '#/ws/settings/health'")
        page.says("main h1", "Health")
        page.settled()
        page.js("window.asked = []; location.hash = arguments[0]", f"#/ws/{place}")
        page.until("document.querySelector('main > *') && document.querySelector('main h1')?.textContent !== 'Health'")
        page.settled()
        asked = page.js("return window.asked")
        assert len(asked) <= 7, f"{place}: {asked}"


COUNT_CALLS = """
window.asked = [];
const before = window.fetch;
window.fetch = (path, request) => {
  if (String(path) === "/page/call") window.asked.push(JSON.parse(request.body).name);
  return before(path, request);
};
"""
