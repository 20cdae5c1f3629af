"""The frame of the page: addresses, panel, Back, Escape, search, names, lost servers, signing out."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from clew.app import open_clew
from clew.settings import load_settings
from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_inbox import THINGS, WORK
from tests.browser.pages.test_memory import decide, propose
from tests.conftest import Caller
from tests.faces.web.server import Server, sign_in_link

SCROLLED = "document.getElementById('main').scrollTop"
DOWN = "document.querySelector('[data-scroll=records]')?.scrollTop"


def test_any_record_opens_beside_what_is_shown_and_escape_leads_back(page: Reader, agent: Caller) -> None:
    block = decide(agent, "Ring the fog bell by hand", rationale="The motor rusts")
    agent("think_card", branch="main", card={"id": "bell-card", "type": "note", "title": f"About {block}"})
    page.open("ws/know/lists")
    page.type("#list-words", "fog bell")
    page.until("document.querySelectorAll('#records li').length === 1")
    page.press_on("#records li a")
    page.says("#panel .record-title", "Ring the fog bell by hand")
    page.says("#panel", "The motor rusts")
    page.says("#panel .chain", "proposal")
    page.says("#panel .links", f"About {block}")
    assert page.seen("#records li a"), "the place stays"
    page.press_on('#panel .links a[href$="bell-card"]')
    page.says("#panel .record-title", f"About {block}")
    page.js("history.back()")
    page.says("#panel .record-title", "Ring the fog bell by hand")
    page.keys(Keys.ESCAPE)
    page.gone("#panel > *")
    assert page.js("return document.activeElement !== document.body"), "the focus is somewhere"
    assert page.value("#list-words") == "fog bell", "what was typed stays"
    page.open(f"ws/o/{block}")
    page.says("main h1", "Ring the fog bell by hand")


def test_a_link_names_its_workspace_and_a_switch_leads_to_the_same_list(
    driver: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("spaces") / "home"
    server = Server(home, CLEW_EMBEDDING_MODEL="none", CLEW_WORKSPACE_LOCK="false")
    flags = {"home": home, "workspace": "ws", "embedding_model": "none", "workspace_lock": False}
    clew = open_clew(load_settings(flags, {}, home))
    agent = Caller(clew)
    page = Reader(driver, server.address)
    try:
        agent("tasks_macro_start", plan_title="Here", task_title="In this one", steps=[])
        page.open("ws/now/board")
        page.settled()
        agent("tasks_macro_start", workspace="acme/quay", plan_title="There", task_title="In the other one", steps=[])
        page.js("document.getElementById('workspace').focus()")
        page.until("[...document.querySelectorAll('#workspace option')].some((o) => o.value === 'acme/quay')")
        page.choose("#workspace", "acme/quay")
        page.says(".board", "In the other one")
        assert page.js("return location.hash") == "#/acme%2Fquay/now/board"
        page.open("ws/o/TASK-001")
        page.says("main h1", "In this one")
        page.open("acme%2Fquay/o/TASK-001")
        page.says("main h1", "In the other one")
        page.open("nowhere/inbox")
        page.says("main h1", "There is no workspace “nowhere” here")
    finally:
        page.leave()
        clew.close()
        server.stop()


def test_a_link_begins_at_the_top_and_back_leads_to_where_one_was(page: Reader, agent: Caller) -> None:
    for work, one, other in zip(WORK.split(), THINGS.split(), reversed(THINGS.split()), strict=True):
        for thing in (one, other):
            decide(agent, f"Never {work} a {thing} at night")
    page.open("ws/know/lists")
    page.until("document.querySelectorAll('#records li').length > 30")
    page.js("document.querySelector('[data-scroll=records]').scrollTo(0, 500)")
    page.until(f"{DOWN} > 400")
    page.press_on('#tabs [data-page="now"]')
    page.until(f"document.querySelector('#tabs [aria-current]').dataset.page === 'now' && {SCROLLED} === 0")
    page.settled()
    page.js("history.back()")
    page.until(f"document.querySelector('#records li') && {DOWN} > 400")


def test_slash_goes_to_the_field_of_what_is_shown_or_to_the_one_for_everything(page: Reader, agent: Caller) -> None:
    block = decide(agent, "Keep the parrot indoors")
    session = agent("start_new", title="Parrots")["sessionId"]
    agent("thought", thought="They talk", nextThoughtNeeded=True, sessionId=session)
    page.open(f"ws/now/session/{session}")
    page.find(".node")
    page.keys("/")
    page.until("document.activeElement.id === 'find'")
    page.open("ws/inbox")
    page.settled()
    page.keys("/")
    page.until("document.activeElement.id === 'find-anything'")
    page.keys(*"parrot indoors")
    page.until("document.querySelector('#found')?.textContent.includes('Keep the parrot indoors')")
    page.keys(Keys.ESCAPE)
    page.gone("#palette")
    page.chord(Keys.CONTROL, "k")
    page.find("#palette")
    page.keys(*block)
    page.until("document.querySelector('#found [aria-selected=true]')?.textContent.includes(arguments[0])", block)
    page.keys(Keys.ENTER)
    page.says("#panel .record-title", "Keep the parrot indoors")


def test_work_is_done_from_the_panel(page: Reader, agent: Caller) -> None:
    steps = [{"title": "Caulk the seams", "success_criteria": ["dry"]}]
    task = agent("tasks_macro_start", plan_title="Hull", task_title="Make it dry", steps=steps)["task_id"]
    step = agent("tasks_resume", task=task, read_only=True)["steps"][0]["step_id"]
    page.open(f"ws/o/{step}")
    page.press_on('[data-act="block"]')
    page.find("#ask-reason")
    page.keys(*"No oakum")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("main", "No oakum")
    page.press_on('[data-act="unblock"]')
    page.find('[data-act="close"]')
    page.press_on('[data-act="close"]')
    page.find("#ask-unproven")
    page.type("#ask-unproven", "Looked at it")
    page.press_on("#ask button.primary")
    page.find('[data-act="note"]')
    page.until("!document.querySelector('[data-act=close]')")
    page.says("main .proofs", "unproven")
    closed = agent("tasks_resume", task=task, read_only=True)["steps"][0]
    assert closed["completed"], "closed, and openly without proof"
    command = page.js(
        "return import(new URL('commands.js', document.querySelector('script[type=module]').src))"
        ".then(({clewCommand}) => clewCommand('call', 'status'))"
    )
    told = subprocess.run(shlex.split(command), capture_output=True, text=True, cwd="/", timeout=60)
    assert told.returncode == 0 and "ws" in told.stdout, "a command that is shown works anywhere"


def test_who_is_not_signed_in_does_it_before_the_first_deed(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Polish the brass on Mondays")
    page.open("ws/inbox")
    page.js("localStorage.removeItem('clew-key')")
    try:
        page.open(f"ws/inbox/{proposal}")
        page.until("document.querySelector('.matter[aria-selected=true]')?.dataset.matter === arguments[0]", proposal)
        page.until("document.querySelector('#ways [data-act=approve]')?.ariaDisabled !== 'true'")
        page.until("document.querySelector('#ways button') && !document.querySelector('[data-fresh]')")
        page.keys("a")
        page.find("#sign-in-code")
        page.type("#sign-in-code", "WRONG")
        page.keys(Keys.ENTER)
        page.says("dialog[open] [role=alert]", "clew login")
        page.problems()  # the browser complains about the refusal
        page.type("#sign-in-code", sign_in_link(page.address, "@jorg-holm").partition("=")[2])
        page.keys(Keys.ENTER)
        page.says("#notices", "Approved")
        events = agent("events_list", types=["proposal_applied"], limit=100)["events"]
        assert next(event["agent"] for event in events if event["subject"] == proposal) == "@jorg-holm"
        page.until("document.getElementById('you').textContent === 'JH'")
    finally:
        page.sign_in()


def test_looking_at_health_writes_nothing(page: Reader, agent: Caller) -> None:
    page.open("ws/settings/health")
    page.find("#scan")
    before = agent("events_list", limit=1)["last_seq"]
    page.reload()
    page.find("#scan")
    assert agent("events_list", limit=1)["last_seq"] == before
    page.press_on("#scan")
    page.says("#notices", "Scanned")


HELD = """
const real = window.fetch;
window.held = [];
window.fetch = (path, request) =>
  request?.body?.includes('"inbox_list"')
    ? new Promise((resolve) => {
        window.held.push(() => {
          const answer = real(path, request);
          resolve(answer);
          return answer;
        });
      })
    : real(path, request);
"""

LET_GO = """
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
return Promise.all(window.held.splice(0).map((go) => go())).then(drawn).then(drawn);
"""


def test_an_answer_that_comes_late_draws_over_nothing(page: Reader, agent: Caller) -> None:
    agent("tasks_macro_start", plan_title="Boats", task_title="Wait for the late one", steps=[])
    page.open("ws/know/blocks")
    page.settled()
    page.js(HELD)
    page.js("location.hash = '#/ws/inbox'")
    page.until("window.held.length > 0")
    page.js("location.hash = '#/ws/now/board'")
    page.find(".board")
    page.settled()
    page.js(LET_GO)
    assert page.there("document.querySelector('.board')?.checkVisibility()"), "what was asked for last is shown"
    assert not page.all("#matters"), "and nothing of what was left"
    assert page.js("return location.hash") == "#/ws/now/board"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none", CLEW_TOKEN="marlinspike")
    yield server
    server.stop()


UNCONNECTED = """
window.WebSocket = class extends WebSocket {
    constructor(url) { super(window.connects ? url : url.replace("/ws?", "/nowhere?")); }
};
"""


def test_a_page_that_was_never_connected_comes_back_with_its_server_too(driver: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none")
    port = server.address.rsplit(":", 1)[1]
    page = Reader(driver, server.address)
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": UNCONNECTED})
    try:
        driver.get(server.address)
        page.find("#tabs a")
        server.stop()
        page.js("location.hash = '#/ws/now/board'")
        page.says("main [role=alert]", "The server does not answer")
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        server = Server(tmp_path / "home", port, CLEW_EMBEDDING_MODEL="none")
        page.js("window.connects = true")
        page.until("document.querySelector('.teach, .board')")
    finally:
        page.leave()
        server.stop()


def test_the_page_comes_back_with_its_server_and_signs_out(driver: Any, guarded: Server) -> None:
    page = Reader(driver, guarded.address)
    driver.get(guarded.address)
    page.type("#token", "marlinspike")
    page.submit("form.login")
    page.find("#tabs a")
    page.js("location.hash = '#/ws/settings'")
    page.press_on("#sign-out")
    page.says("h1", "Sign in")
    page.type("#token", "marlinspike")
    page.submit("form.login")
    page.find("#tabs a")
    port = guarded.address.rsplit(":", 1)[1]
    guarded.process.terminate()
    guarded.process.wait(20)
    page.js("location.hash = '#/ws/now/board'")
    page.says("main [role=alert]", "The server does not answer")
    again = Server(guarded.home, port, CLEW_EMBEDDING_MODEL="none")
    try:
        page.until("document.querySelector('.teach, .board')")
    finally:
        page.leave()
        again.stop()
