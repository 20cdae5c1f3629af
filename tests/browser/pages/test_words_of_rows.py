"""What a row, a key and a badge say: nothing that misleads, nothing that runs together, nothing that hides the page."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_history import ROW, moment
from tests.browser.pages.test_inbox import looked, opened, row
from tests.browser.pages.test_jobs import RUNNER, claimed, report
from tests.browser.pages.test_memory import decide, propose
from tests.browser.stage import visited
from tests.browser.think import start, think_many
from tests.conftest import Caller
from tests.waiting import until

TOUCHING = """return [...document.querySelectorAll(arguments[0])].flatMap((row) => {
  const parts = [...row.querySelectorAll("*")].filter((e) => !e.children.length && e.textContent.trim()
    && e.checkVisibility() && !e.closest(".hidden-text, p, button"));
  return parts.slice(1).flatMap((part, index) => {
    const [one, two] = [parts[index], part].map((e) => {
      const words = document.createRange();
      words.selectNodeContents(e);
      return words.getBoundingClientRect();
    });
    const sameLine = Math.abs(one.top + one.height / 2 - two.top - two.height / 2) < 6;
    const gap = two.left - one.right;
    return sameLine && gap > -2 && gap < 3 ? [`${parts[index].textContent}|${part.textContent}`] : [];
  });
});"""
"""Neighbours on one line of a row without a gap that an eye sees."""


def two_steps(agent: Caller, title: str) -> tuple[str, list[str]]:
    """A task whose two steps are closed without proof, and the ids of the steps."""
    steps = [{"title": f"{title} {part}", "success_criteria": ["seen"]} for part in ("bow", "stern")]
    task = agent("tasks_macro_start", plan_title="Fleet", task_title=title, steps=steps)["task_id"]
    for path in ("s:0", "s:1"):
        agent("close", task=task, step=path, unproven=f"Looked at {path}")
    waiting = agent("inbox_list", kind="proof", limit=200)["items"]
    return task, [item["id"] for item in waiting if item["facts"]["task"] == task]


def test_the_same_key_asks_for_a_reason_on_every_kind(page: Reader, agent: Caller) -> None:
    _, (step, _) = two_steps(agent, "Caulk the launch")
    job, claim = claimed(agent, "Weigh the launch")
    report(agent, job, claim, "question", "With the mast?")
    for item in (step, job, propose(agent, "The launch is painted green")):
        opened(page, item)
        looked(page)
        page.keys("r")
        page.find("#ask-reason")
        page.keys(Keys.ESCAPE)
        page.gone("#ask")
        assert not page.all(f"{row(item)}.gone"), "nothing has happened yet"
    assert agent("tasks_jobs_open", job=job, fmt="json")["job"]["status"] == "RUNNING"
    assert agent("record_view", id=step)["status"] == "done"


def test_a_job_says_that_its_runner_is_offline_and_its_row_what_it_asks(own_page: Reader, own_agent: Caller) -> None:
    page, agent = own_page, own_agent
    job, claim = claimed(agent, "Sound the channel")
    report(agent, job, claim, "question", "At low water or at high?")
    agent("tasks_runner_heartbeat", runner_id=RUNNER, status="live", active_job_id=job, lease_ttl_ms=1_000)
    until(lambda: agent("tasks_jobs_radar", fmt="json")["runner_status"]["status"] == "offline")
    opened(page, job)
    page.says(row(job), "At low water or at high?")
    page.says("#matter", "Its runner is offline")
    page.says("#final", "reads it as soon as it is online")
    page.open(f"ws/now/job/{job}")
    page.says("#job-state", "runner offline")


def test_unproven_work_names_its_task_and_shows_its_own_proof_only(page: Reader, agent: Caller) -> None:
    _, (bow, stern) = two_steps(agent, "Varnish the cutter")
    opened(page, bow)
    page.says(row(bow), "Varnish the cutter bow")
    assert page.text(row(stern)).count("Varnish the cutter") == 2, "the step's own name, and its task's"
    page.says("#matter .proofs", "Looked at s:0")
    assert "Looked at s:1" not in page.text("#matter")


def test_what_a_successor_replaced_is_replaced_in_history(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("replaced")
    old = decide(agent, "The ferry sails on the hour")
    then = moment(agent)
    agent.session = Connection(toolset="full", person="@ines")
    agent("remember", kind="decision", text="The ferry sails on the half hour", replaces=old)
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"replaced/history?at={then}")
        page.says(ROW.format(old), "replaced")
        words = page.text(ROW.format(old))
        assert "withdrawn" not in words and "taken back" not in words and "removed" not in words, words


@pytest.mark.parametrize("place", ["know/recall", "know/lists", "inbox"])
def test_what_one_came_for_stands_at_the_top(own_page: Reader, own_agent: Caller, place: str) -> None:
    page, agent = own_page, own_agent
    propose(agent, f"The quay is swept before {place}")
    page.driver.set_window_size(1440, 900)  # an earlier test may have left a telephone's
    page.open(f"ws/{place}")
    page.until(
        "document.querySelector('main [data-search], main #query, main .matter')"
        "?.getBoundingClientRect().top < innerHeight / 3"
    )


def test_the_minimap_of_a_long_session_is_a_picture(page: Reader, agent: Caller) -> None:
    session = start(agent, "A very long way")
    think_many(agent, session, [f"S{n}|{'HEQPC'[n % 5]}|| step {n}" for n in range(1, 1_001)])
    page.open_session(session, 1_000)
    page.until(
        "(() => { const box = document.querySelector('.minimap')?.getBoundingClientRect();"
        " return box?.width >= 20 && box.height >= 60; })()"
    )


def test_the_facts_of_a_row_keep_a_distance(page: Reader, agent: Caller) -> None:
    area = agent("anchors_bootstrap", anchors=[{"id": "a:yard", "title": "Yard", "kind": "component"}])
    assert area
    decide(agent, "The winch is greased with tallow", tags="a:yard", review_by="2024-05-01")
    task, _ = two_steps(agent, "Scrape the barge")
    for place, rows in (
        ("inbox", ".matter"),
        ("know/lists", "#records > li"),
        (f"now/board/{task}", "#steps > *, #timeline > li"),
        ("now", "#workers tr"),
        ("history?show=held", "#held-list > li"),
        ("home", "#digest li"),
    ):
        page.open(f"ws/{place}")
        page.find(rows)
        page.settled()
        assert page.js(TOUCHING, rows) == [], place


def test_keys_move_the_ring_of_a_row_and_not_one_around_the_list(page: Reader, agent: Caller) -> None:
    wanted = propose(agent, "The bell is rung twice in fog")
    propose(agent, "The horn is blown twice in fog")
    opened(page, wanted)
    looked(page)
    page.keys("j", "k")
    page.until("document.activeElement.id === 'matters'")
    width = "return getComputedStyle(document.querySelector(arguments[0])).outlineStyle"
    assert page.js(width, "#matters") == "none", "no ring around the whole list"
    assert page.js(width, '.matter[aria-selected="true"]') == "solid"
