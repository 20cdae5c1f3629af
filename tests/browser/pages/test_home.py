"""Home: how much waits, who did what in sentences that lead to the records, by period; the page of an agent."""

from __future__ import annotations

from typing import Any

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.stage import visited


def test_home_says_who_did_what_and_each_name_leads_to_its_record(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("home")
    agent.session = Connection(toolset="full", agent_id="claude-code")
    agent("remember", kind="decision", text="Retry with jitter", why="the herd")
    for number in range(12):
        agent("remember", kind="lesson", text=f"Pier {number} has {number * 3} bollards of iron")
    agent.session = Connection(toolset="full", agent_id="codex")
    agent("propose_update", block_type="decision", statement="Every message gets an id")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("home/home")
        page.says("#waiting", "1 item for you to decide")
        page.says('[data-author="claude-code"]', "decided Retry with jitter")
        page.says('[data-author="claude-code"]', "and 7 more")
        page.says('[data-author="codex"]', "proposed Every message gets an id")
        shown = page.text("#digest")
        assert "memory file" not in shown and "block" not in shown and "linked" not in shown
        page.press_on('[data-author="claude-code"] .sentences a')
        page.says("#panel .record-title", "Retry with jitter")
        page.open("home/home")
        page.press_on('[data-since="today"]')
        page.until("location.hash.includes('since=today')")
        page.says('[data-author="codex"]', "Every message gets an id")
        page.press_on('#done [data-act="copy-markdown"]')
        page.says("#notices", "Copied as Markdown")
        page.press_on('[data-author="claude-code"] h3 a')
        page.says("main h1", "claude-code")
        page.says("#deeds", "decided Retry with jitter")
        page.press_on("#tabs [data-page=home]")
        page.press_on("#waiting")
        page.until("location.hash.includes('/inbox')")


def test_much_of_the_same_is_counted_in_one_line_and_read_by_a_press(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("batches")
    agent.session = Connection(toolset="full", agent_id="codex")
    for number in range(8):
        task = agent("start", title=f"Import batch {number}", steps=["Read", "Store"])["task"]
        agent("close", task=task, step="s:0", unproven="Looked at it")
    for page in visited(Reader(driver, heap.server.address)):
        page.open("batches/home")
        page.says('[data-author="codex"] summary', "closed 3 steps of 3 more tasks 3 unproven")
        page.press_on('[data-author="codex"] summary')
        page.until("document.querySelector('[data-author=codex] details a')?.checkVisibility()")
        page.open("batches/now/board")
        page.says(".plan", "in work")
        page.says('[data-status="ACTIVE"]', "Import batch 7")
        page.open(f"batches/o/{task}")
        page.says("main .links", "in work")
