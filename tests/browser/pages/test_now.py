"""Now and History: who is working, what changed since you last looked, the log as it grows."""

from __future__ import annotations

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_jobs import claimed
from tests.browser.pages.test_memory import decide
from tests.conftest import Caller

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
