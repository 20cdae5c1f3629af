"""The first run on an empty store, questions to agents, and all projects side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp_types import Implementation

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_accessibility import DESK
from tests.browser.pages.test_inbox import opened, pressed
from tests.browser.pages.test_memory import decide, propose
from tests.browser.screenshots import SMALL
from tests.browser.stage import visited
from tests.conftest import Caller
from tests.faces.web.server import Server


@pytest.fixture
def fresh(tmp_path: Any) -> Iterator[Server]:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


@pytest.fixture(params=[DESK, SMALL], ids=["desk", "phone"])
def newcomer(request: pytest.FixtureRequest, driver: Any, fresh: Server) -> Iterator[Reader]:
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", request.param)
    yield from visited(Reader(driver, fresh.address))
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.anyio
async def test_an_empty_store_shows_how_to_connect_and_who_has(newcomer: Reader, fresh: Server) -> None:
    page = newcomer
    page.open("")
    page.says("#first-run", "Clew remembers what your agents decide")
    page.says("#first-agent", "waiting for the first agent")
    address = fresh.address.removeprefix("http://")
    lines = page.each("#first-run .command code", "e.textContent")
    assert lines and all(address in line for line in lines), "each line connects to this very address"
    links = page.each('#first-run [data-client="Cursor"] a', "e.href")
    assert links and links[0].startswith("cursor://"), "a link where the client takes one"
    page.says("#demo code", "clew demo")
    page.settled()
    assert page.there("document.querySelector('main').scrollWidth <= innerWidth"), "nothing leads sideways"
    page.js("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    page.press_on("#first-run .command button")
    page.until("window.copied === arguments[0]", lines[0])
    hello = Implementation(name="claude-code", version="1")
    async with Client(f"{fresh.address}/mcp", mode="auto", client_info=hello) as client:
        await client.call_tool("resume", {})
        page.until("document.querySelector('#first-agent .good')?.checkVisibility()")
        page.says("#first-agent", "claude-code")
        await client.call_tool("remember", {"kind": "lesson", "text": "The quay is slippery at low water"})
    page.says("#digest", "learned The quay is slippery at low water")
    page.gone("#first-run")


def test_a_question_reaches_the_next_resume_and_its_answer_the_thread(page: Reader, agent: Caller) -> None:
    record = decide(agent, "The ferry waits for the train")
    page.open(f"ws/o/{record}")
    page.says("main h1", "The ferry waits for the train")
    page.settled()
    page.press_on('[data-act="ask"]')
    page.type("#ask-text", "Also on Sundays?")
    page.press_on("#ask .primary")
    page.gone("#ask")
    page.says("#questions", "Also on Sundays?")
    page.says("#questions", "Waits for an agent")
    agent.session = Connection(toolset="full", agent_id="codex")
    told = agent("resume")["text"]
    assert f'@tess-tester asks about {record}: "Also on Sundays?"' in told
    question = agent("comment_list")["threads"][0]["question"]
    agent("comment_answer", question=question, text="Yes, all week.")
    page.says("#questions", "Yes, all week.")
    assert "Also on Sundays?" not in agent("resume")["text"], "an answered question is not asked again"
    proposal = propose(agent, "Sell ice on the ferry")
    opened(page, proposal)
    pressed(page, "ask")
    page.type("#ask-text", "At what price?")
    page.press_on("#ask .primary")
    page.gone("#ask")
    page.says("#matter #questions", "At what price?")
    assert "At what price?" in agent("resume")["text"]
    agent("comment_answer", question=agent("comment_list")["threads"][0]["question"], text="Two crowns.")
    page.says("#matter #questions", "Two crowns.")


def test_projects_stand_side_by_side_and_are_searched_together(driver: Any, heap: Heap) -> None:
    one, other = heap.agent_of("harbour"), heap.agent_of("railway")
    one.session = Connection(toolset="full", agent_id="claude-code")
    propose(one, "Dredge the basin in spring")
    one("remember", kind="lesson", text="Zinc anodes last two winters")
    task = other("start", title="Lay the points", steps=["Saw"])["task"]
    other("close", task=task, step="s:0", unproven="No rail here")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("harbour/home/projects")
        page.says('[data-project="harbour"]', "claude-code")
        shown = page.js("return [...document.querySelector('[data-project=harbour]').cells].map((e) => e.textContent)")
        assert shown[1] == "1" and "just now" in shown[3]
        page.says('[data-project="railway"]', "0 % of 1")
        page.type("#projects-words", "how long do zinc anodes last")
        page.says("#projects-found", "Zinc anodes last two winters")
        page.press_on('[data-project="railway"] th a')
        page.until("location.hash === '#/railway/home'")
