"""Work on the page: the board, the steps with checkpoints and proofs, stale ones marked, the next action to copy."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.stage import visited
from tests.conftest import ROOT, Caller
from tests.tasks.test_receipts import prove as seen_run

FILE = "pyproject.toml"


STEPS = [
    {"title": "Measure", "success_criteria": ["Numbers are written down"], "tests": ["make bench"]},
    {"title": "Mend", "success_criteria": ["p95 under a second"]},
]


@pytest.fixture
def task(agent: Caller) -> str:
    told = {"plan_title": "Locks", "task_title": "Render after the commit", "steps": STEPS}
    found: str = agent("tasks_macro_start", **told)["task_id"]
    return found


def step(path: str) -> str:
    return f'#steps [data-path="{path}"]'


def prove(agent: Caller, task: str, path: str, digest: str) -> None:
    proof: dict[str, Any] = {"command": f"make bench-{path[-1]}", "exit_code": 0, "files": {FILE: digest}}
    agent("tasks_evidence_capture", task=task, path=path, artifacts=[proof])


def test_a_task_shows_its_proofs_and_copies_the_command_that_proves_it_again(
    page: Reader, agent: Caller, task: str
) -> None:
    run: dict[str, Any] = {"output_tail": "12 passed in 3 s", "files": {"keel.py": "0" * 64}, "git_dirty": False}
    receipt = seen_run(agent.clew, task, "s:0", "pytest -q", **run)["receipt"]["id"]
    page.open(f"ws/o/{task}")
    for words in ("proven", "pytest -q", "exit 0", "just now", "covers keel.py", receipt):
        page.says("main .proofs", words)
    page.js("document.querySelector('main .proofs details').scrollIntoView({block: 'center'})")
    page.press_on("main .proofs details summary")
    page.until("document.querySelector('main .proofs pre')?.checkVisibility()")
    page.says("main .proofs pre", "12 passed in 3 s")
    page.js("navigator.clipboard.writeText = (text) => Promise.resolve((window.copied = text))")
    page.press_on("main .proofs header button")
    copied = page.until("window.copied")
    assert copied.startswith("cd ") and copied.endswith(f"prove --again {task}"), copied


def test_the_board_follows_the_work(page: Reader, agent: Caller, task: str) -> None:
    page.open("work")
    page.says('[data-status="TODO"]', "Render after the commit")
    agent("tasks_complete", task=task, status="ACTIVE")
    page.says(f'[data-status="ACTIVE"] [data-key="{task}"]', "0/2 steps")
    agent("tasks_macro_close_step", task=task, path="s:0", checkpoints="all", note="done")
    page.says(f'[data-status="ACTIVE"] [data-key="{task}"]', "1/2 steps")
    page.click(f'[data-status="ACTIVE"] [data-key="{task}"] a')
    page.says("h1", "Render after the commit")


def test_steps_show_checkpoints_proofs_and_stale_proofs(page: Reader, agent: Caller, task: str) -> None:
    prove(agent, task, "s:0", hashlib.sha256((ROOT / FILE).read_bytes()).hexdigest())
    prove(agent, task, "s:1", hashlib.sha256(b"as it was").hexdigest())
    agent("tasks_verify", task=task, path="s:0", checkpoints={"criteria": {"confirmed": True}})
    page.open(f"work/{task}")
    page.says(step("s:0"), "criteria ✓")
    page.says(step("s:0"), "tests open")
    page.says(step("s:0"), "Numbers are written down")
    page.says(f"{step('s:0')} .proofs", "proof, files unchanged make bench-0 exit 0")
    page.says(f"{step('s:1')} .stale", "stale proof")
    page.says(f"{step('s:1')} .stale", f"Changed since: {FILE}")
    page.says("#warnings", "One proof covers files that have changed")
    assert not page.all(f"{step('s:0')} .stale")


def test_blocked_steps_say_why_and_steps_nest(page: Reader, agent: Caller, task: str) -> None:
    agent("tasks_block", task=task, path="s:1", blocked=True, reason="The office is closed")
    agent(
        "tasks_decompose", task=task, parent="s:0", steps=[{"title": "On one core", "success_criteria": ["a number"]}]
    )
    page.open(f"work/{task}")
    page.says(f"{step('s:1')}.blocked", "The office is closed")
    page.says(f'{step("s:0.s:0")}[data-depth="1"]', "On one core")
    page.says("#warnings", "The office is closed")


def test_the_next_action_is_copied(page: Reader, agent: Caller, task: str) -> None:
    page.open(f"work/{task}")
    page.says("#next h2", "Measure")
    command = page.text("#next .command code")
    page.js("window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text) }")
    page.click("#next .command button")
    page.says("#next .command button", "copied")
    assert page.js("return window.copied") == [command]
    assert command and not command.startswith("CMD:"), "it runs as it stands"


def test_the_timeline_and_the_plan(page: Reader, agent: Caller, task: str) -> None:
    agent("tasks_macro_close_step", task=task, path="s:0", checkpoints="all", note="done")
    page.open(f"work/{task}")
    page.says("#timeline", "step closed Measure")
    plan = agent("tasks_context", include_all=True, tasks_limit=200)["tasks"]
    parent = next(item["parent"] for item in plan if item["id"] == task)
    page.open(f"work/{parent}")
    page.says("h1", "Locks")
    page.says(f'.board [data-key="{task}"]', "1/2 steps")


def test_an_unknown_task_is_explained(page: Reader) -> None:
    page.open("work/TASK-999")
    page.says("[role=alert]", "TASK-999")
    assert "{" not in page.text("[role=alert]")
    page.press_on("#way-back")
    page.find(".board, .teach")


def test_a_plan_shows_its_tasks_however_many_others_there_are(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("crowd")
    earlier = agent("tasks_create", kind="plan", title="An earlier plan")["id"]
    for number in range(201):
        agent("tasks_create", title=f"Earlier task {number}", parent=earlier)
    plan = agent("tasks_create", kind="plan", title="The newest plan")["id"]
    agent("tasks_create", title="The newest task", parent=plan)
    for page in visited(Reader(driver, heap.server.address)):
        page.open("crowd/now/board")
        page.says(f'.plans [data-key="{plan}"]', "0 of 1 task")
        page.press_on(f'.plans [data-key="{plan}"]')
        page.says('.board [data-status="TODO"]', "The newest task")
        page.says('.column[data-status="TODO"] h2', "1")


def test_the_board_marks_what_is_blocked_and_what_nobody_saw_proven(page: Reader, agent: Caller, task: str) -> None:
    proven = agent("tasks_macro_start", plan_title="Locks", task_title="Proven", steps=STEPS)["task_id"]
    seen_run(agent.clew, proven, "s:0", "make bench")
    for one in (task, proven):
        agent("tasks_macro_close_step", task=one, path="s:0", checkpoints="all", note="done")
    agent("tasks_block", task=task, path="s:1", blocked=True, reason="Fog")
    page.open("ws/now/board")
    page.says(f'[data-task="{task}"]', "1 blocked")
    page.says(f'[data-task="{task}"]', "1 of 1 not proven")
    assert page.all(f'[data-task="{task}"] progress.doubtful')
    page.find(f'[data-task="{proven}"] progress')
    assert not page.all(f'[data-task="{proven}"] progress.doubtful')
    assert "not proven" not in page.text(f'[data-task="{proven}"]')
    colour = "return getComputedStyle(document.querySelector(arguments[0])).getPropertyValue('--bar')"
    colours = [page.js(colour, f'[data-task="{one}"] progress') for one in (task, proven)]
    assert colours[0] != colours[1], "green is for what was seen"
    agent("tasks_block", task=task, path="s:1", blocked=False)
    page.until("!document.querySelector(arguments[0]).textContent.includes('blocked')", f'[data-task="{task}"]')


def test_the_page_of_a_task_shows_what_agents_wrote(page: Reader, agent: Caller, task: str) -> None:
    agent.session = Connection(toolset="full", agent_id="bosun")
    agent("tasks_note", task=task, path="s:0", note="Forty seconds for the index")
    agent("tasks_macro_close_step", task=task, path="s:0", checkpoints="all", note="Written into the log book")
    agent("tasks_step_lease_claim", task=task, path="s:1", agent_id="bosun")
    agent("tasks_edit", task=task, priority="HIGH", tags=["locks"])
    agent("tasks_patch", kind="task_detail", task=task, ops=[{"op": "set", "field": "assignee", "value": "rigger"}])
    page.open(f"ws/now/board/{task}")
    page.says(step("s:0"), "Forty seconds for the index")
    page.says(step("s:0"), "Written into the log book")
    page.says(step("s:0"), "unproven")
    page.says(step("s:1"), "held by bosun")
    for words in ("assigned to rigger", "high priority", "locks"):
        page.says("main .head", words)
    page.says("#timeline", "bosun")
    page.settled()
    page.press_on(f"{step('s:0')} a.what")
    page.says("#panel", "Forty seconds for the index")


def test_a_plan_is_counted_by_the_server_and_goes_on_where_its_tasks_do(page: Reader, agent: Caller) -> None:
    plan = agent("tasks_create", kind="plan", title="The last plan")["id"]
    mine = [agent("tasks_create", title=f"Late task {number}", parent=plan)["id"] for number in range(3)]
    agent("tasks_complete", task=mine[0], status="DONE")
    agent("tasks_complete", task=mine[1], status="ACTIVE")
    page.open("ws/now/board")
    page.says(f'.plans [data-key="{plan}"]', "1 of 3 tasks done")
    page.says('[data-status="ACTIVE"]', "Late task 1")
    page.open(f"ws/now/board/{plan}")
    page.says('[data-status="TODO"]', "Late task 2")
    page.says("main .head .badge", "in work")


def test_how_far_work_is_follows_from_its_steps_and_proofs(own_page: Reader, own_agent: Caller) -> None:
    """Nobody sets a status: the board, the task and its panel read it from what was done."""
    page, agent = own_page, own_agent
    task = agent("start", title="Rig the mast", steps=["Step it; test: make mast", "Stay it", "Tune it", "Paint it"])[
        "task"
    ]
    seen_run(agent.clew, task, "s:0", "make mast")
    agent("close", task=task, step="s:0")
    for path in ("s:1", "s:2"):
        agent("close", task=task, step=path, unproven="Looks straight")
    decision = agent("remember", kind="decision", text="The mast is of pine", why="Spruce was wet", task=task)["id"]
    page.open("ws/now/board")
    page.says('[data-status="ACTIVE"]', "Rig the mast")
    page.says(f'[data-task="{task}"]', "without a plan")
    page.open(f"ws/now/board/{task}")
    page.says("main .head .badge", "in work")
    page.says("#next h2", "Next: Paint it")
    assert "macro_" not in page.text("main"), "no operation of the machine is told to a person"
    page.says("#task-records", "The mast is of pine")
    page.settled()
    page.js(
        "document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", f'#task-records a[href$="{decision}"]'
    )
    page.press_on(f'#task-records a[href$="{decision}"]')
    page.says("#panel .record-title", "The mast is of pine")
    page.js("location.hash = `#/${arguments[0]}/o/${arguments[1]}`", page.space, task)
    page.says("#panel .record-title", "Rig the mast")
    good = "[...document.querySelectorAll('#panel .badge')].filter((e) => e.textContent === 'proven')"
    page.until(f"{good}.length && {good}.every((e) => e.classList.contains('good'))")
    agent("close", task=task, step="s:3", unproven="Blue")
    page.open("ws/now/board")
    page.says('[data-status="DONE"]', "Rig the mast")
