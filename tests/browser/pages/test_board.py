"""The board can be edited: plans, tasks and steps are made, moved, blocked, closed and taken back where they stand."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_jobs import RUNNER, claimed
from tests.conftest import Caller

CENTRE = (
    "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
    " return [box.x + box.width / 2, box.y + {}]"
)


@pytest.fixture
def plan(agent: Caller) -> str:
    found: str = agent("tasks_create", kind="plan", title="Build the quay")["id"]
    return found


@pytest.fixture
def task(agent: Caller, plan: str) -> str:
    found: str = agent("tasks_create", title="Drive the piles", parent=plan)["id"]
    return found


def card(status: str, task: str) -> str:
    return f'[data-status="{status}"] [data-task="{task}"]'


def status(agent: Caller, task: str) -> str:
    return str(agent("tasks_resume", task=task, read_only=True)["target"]["status"])


def shown(page: Reader, plan: str) -> None:
    """The board of one plan: small, whatever other tests have made."""
    page.open(f"ws/now/board/{plan}")
    page.find(".board")
    page.settled()


def drag_to(page: Reader, task: str, column: str) -> None:
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", f'[data-task="{task}"]')
    start = page.js(CENTRE.format("box.height - 8"), f'[data-task="{task}"]')
    end = page.js(CENTRE.format("24"), f'.column[data-status="{column}"]')
    page.drag(start, end[0] - start[0], end[1] - start[1])


def press(page: Reader, selector: str) -> None:
    """Scrolls to a button and presses it, as who has to look for it does."""
    page.find(selector)
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
    page.press_on(selector)


def test_a_task_is_dragged_to_another_column_and_undone(page: Reader, agent: Caller, plan: str, task: str) -> None:
    shown(page, plan)
    drag_to(page, task, "ACTIVE")
    page.find(card("ACTIVE", task))
    assert status(agent, task) == "ACTIVE"
    assert "/now/board/PLAN" in page.js("return location.hash"), "a drag is no click"
    page.press("z")
    page.find(card("TODO", task))
    assert status(agent, task) == "TODO", "undone by the operation itself"


def test_a_task_is_moved_by_keys_and_keeps_the_focus(page: Reader, agent: Caller, plan: str, task: str) -> None:
    shown(page, plan)
    page.js("document.querySelector(arguments[0]).focus()", f"{card('TODO', task)} a")
    page.keys(">")
    page.find(card("ACTIVE", task))
    page.until("document.activeElement.closest('[data-task]')?.dataset.task === arguments[0]", task)
    page.keys("<")
    page.find(card("TODO", task))
    page.until("document.activeElement.closest('[data-task]')?.dataset.task === arguments[0]", task)
    page.keys("m")
    page.choose("#ask-status", "PARKED")
    page.press_on("#ask .primary")
    page.find(card("PARKED", task))
    assert status(agent, task) == "PARKED"


def test_plan_task_and_step_are_made_on_the_board(page: Reader, agent: Caller) -> None:
    page.open("ws/now/board")
    page.settled()
    page.press_on('[data-make="plan"]')
    page.type("#ask-title", "Raise the crane")
    page.press_on("#ask .primary")
    page.says("#panel .record-title", "Raise the crane")
    made = page.js("return location.hash.split('/').pop()")
    assert made.startswith("PLAN-")
    shown(page, made)
    page.press_on('[data-make="task"]')
    page.type("#ask-title", "Grease the wheel")
    page.says("#ask .picked-record", "Raise the crane")
    page.press_on("#ask .primary")
    page.says("#panel .record-title", "Grease the wheel")
    task = page.js("return location.hash.split('/').pop()")
    page.keys(Keys.ESCAPE)
    page.find(card("TODO", task))
    page.settled()
    page.js("document.querySelector(arguments[0]).focus()", f"{card('TODO', task)} a")
    page.keys("s")
    page.type("#ask-title", "Buy grease")
    page.press_on("#ask .primary")
    page.says(card("TODO", task), "0/2 steps")


def test_a_step_is_blocked_unblocked_and_closed_with_the_rules_of_proof(page: Reader, agent: Caller, task: str) -> None:
    agent("tasks_decompose", task=task, steps=[{"title": "Measure the depth", "success_criteria": ["measured"]}])
    page.open(f"ws/now/board/{task}")
    step = '#steps [data-path="s:0"]'
    page.find(f'{step} [data-act="block"]')
    page.settled()
    press(page, f'{step} [data-act="block"]')
    page.type("#ask-reason", "The lead is lost")
    page.press_on("#ask .primary")
    page.says(f"{step}.blocked", "The lead is lost")
    press(page, f'{step} [data-act="unblock"]')
    page.until("!document.querySelector(arguments[0]).matches('.blocked')", step)
    press(page, f'{step} [data-act="close"]')
    page.type("#ask-command", "sound the bottom")
    page.type("#ask-exit", "1")
    page.press_on("#ask .primary")
    page.until("document.querySelector('#ask .form-problem')?.checkVisibility()")
    assert not page.all(f"{step}.done"), "a run that failed closes nothing"
    assert page.value("#ask-command") == "sound the bottom", "what was typed is still there"
    page.type("#ask-command", "")
    page.type("#ask-unproven", "The tide was too high")
    page.press_on("#ask .primary")
    page.find(f"{step}.done")
    page.press("z")
    page.until("document.querySelector(arguments[0])?.matches(':not(.done)')", step)


def test_an_ended_job_is_queued_again_and_the_page_says_first_that_it_is_final(page: Reader, agent: Caller) -> None:
    job, claim = claimed(agent, "Paint the bollards")
    ended = {"job": job, "runner_id": RUNNER, "claim_revision": claim, "status": "FAILED"}
    agent("tasks_jobs_complete", **ended, summary="No paint", refs=["LINK: paint"])
    page.open(f"ws/now/job/{job}")
    page.find('[data-act="requeue"]')
    page.settled()
    page.press_on('[data-act="requeue"]')
    page.says("#ask", "This cannot be undone")
    page.type("#ask-reason", "Paint has come")
    page.press_on("#ask .primary")
    page.until("document.querySelector('.record-head .badge')?.textContent === 'queued'")
    assert agent("tasks_jobs_open", job=job, fmt="json")["job"]["status"] == "QUEUED"


def test_a_branch_is_merged_after_a_look_at_what_it_brings(page: Reader, agent: Caller) -> None:
    node = {"op": "node_upsert", "id": "merged-on-the-page", "type": "note", "title": "Dredge the channel"}
    agent("branch_create", name="dredging", from_="main")
    agent("graph_apply", branch="dredging", ops=[{**node, "text": "in March"}])
    page.open("ws/know/branches/main/dredging")
    page.find("#merge")
    page.settled()
    page.press_on("#merge")
    page.says("#ask", "1 change of cards and links")
    page.says("#ask", "cannot be undone as a whole")
    page.press_on("#ask .primary")
    page.says("#diff-cards", "The same cards on both")
    found = agent("graph_query", branch="main", ids=["merged-on-the-page"])["nodes"]
    assert [one["title"] for one in found] == ["Dredge the channel"]


def test_a_task_and_a_plan_are_edited_and_undone(page: Reader, agent: Caller, plan: str, task: str) -> None:
    page.open(f"ws/now/board/{task}")
    page.find('#work-actions [data-act="edit"]')
    page.settled()
    page.press_on('#work-actions [data-act="edit"]')
    page.type("#ask-title", "Drive the steel piles")
    page.type("#ask-description", "Twelve of them, by the north wall")
    page.type("#ask-priority", "HIGH")
    page.press_on("#ask .primary")
    page.says("main h1", "Drive the steel piles")
    page.says("main", "Twelve of them, by the north wall")
    page.says("main .head", "high priority")
    page.press_on('#work-actions [data-act="edit"]')
    page.until("document.querySelector('#ask-priority')?.value === 'HIGH'")  # what stands there is offered
    page.keys(Keys.ESCAPE)
    page.gone("#ask")
    page.press("z")
    page.until("document.querySelector('main h1')?.textContent === 'Drive the piles'")
    page.open(f"ws/o/{plan}")
    page.find('[data-act="edit"]')
    page.settled()
    page.press_on('[data-act="edit"]')
    page.type("#ask-title", "Build the long quay")
    page.press_on("#ask .primary")
    page.says("main h1", "Build the long quay")
    assert agent("tasks_resume", plan=plan, read_only=True)["target"]["title"] == "Build the long quay"
