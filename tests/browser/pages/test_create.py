"""What a person writes on the page: notes, records and jobs by its forms, kept with their name; taken back and queued
again from the panel."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_jobs import RUNNER
from tests.browser.pages.test_memory import decide
from tests.conftest import Caller

ME = "@tess-tester"
PANEL = "document.querySelector('#panel .record-title')?.textContent"


def by_palette(page: Reader, words: str) -> None:
    """Ctrl-K, the words of an action, Enter."""
    page.chord(Keys.CONTROL, "k")
    page.find("#find-anything")
    page.keys(*words)
    page.until("document.querySelector('#found [aria-selected=true] .what')?.textContent === arguments[0]", words)
    page.keys(Keys.ENTER)
    page.gone("#palette")
    page.find("#ask")


def by_list(page: Reader, kind: str) -> None:
    """`c`, and a press on what is to be made."""
    page.keys("c")
    page.press_on(f'#create [data-make="{kind}"]')
    page.find("#ask")


def written(page: Reader, title: str, /, **values: str) -> str:
    """Fills the form, sends it by Ctrl-Enter and reads in the panel what came of it; the id."""
    for name, value in values.items():
        page.type(f"#ask-{name}", value)
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.until(f"{PANEL} === arguments[0]", title)
    page.says("#panel .record-head", "by you")
    made = str(page.js("return decodeURIComponent(location.hash.split('/').pop())"))
    page.says("#notices", "Written")
    return made


def opened_from_list(page: Reader, title: str) -> None:
    page.type("#list-words", title)
    rows = "[...document.querySelectorAll('#records li')]"
    page.until(f"{rows}.length && {rows}.every((row) => row.textContent.includes(arguments[0]))", title)
    page.settled()
    page.press_on("#records li a")
    page.until(f"{PANEL} === arguments[0]", title)


def author(agent: Caller, id: str) -> str:
    return str(agent("record_view", id=id)["author"])


def asked(page: Reader, action: str, **values: str) -> None:
    """Presses an action of the panel and answers what it asks."""
    page.press_on(f'#panel [data-act="{action}"]')
    for name, value in values.items():
        page.type(f"#ask-{name}", value)
    page.press_on("#ask .primary")
    page.gone("#ask")


def begun(page: Reader, place: str = "ws/now/board") -> None:
    page.open(place)
    page.settled()


def test_a_note_is_written_and_others_read_whose_it_is(page: Reader, agent: Caller) -> None:
    begun(page)
    by_palette(page, "Write a note")
    note = written(page, "Low water at dawn", title="Low water at dawn", content="The bar dries out for an hour.")
    page.says("#panel", "The bar dries out for an hour.")
    assert author(agent, note) == ME
    begun(page, "ws/home")
    page.says("#digest", "Low water at dawn")
    page.sign_in("@olaf-other")
    try:
        page.open(f"ws/o/{note}")
        page.says("main .record-head", f"by {ME}")
    finally:
        page.sign_in()


@pytest.mark.parametrize("kind", ["decision", "rule"])
def test_a_record_is_written_listed_and_taken_back(page: Reader, agent: Caller, kind: str) -> None:
    text = {"decision": "The lamp burns colza oil", "rule": "Nobody rows alone after dark"}[kind]
    begun(page)
    by_list(page, "decision")
    page.choose("#ask-kind", kind)
    record = written(page, text, text=text, why="So it was agreed")
    page.says("#panel .record-head", kind)
    page.says("#panel", "So it was agreed")
    assert author(agent, record) == ME
    begun(page, "ws/know/lists")
    opened_from_list(page, text)
    asked(page, "retract", why="The harbour has electricity")
    page.says("#notices", f"Withdrawn: {text}")
    page.says("#panel .warns", "The harbour has electricity")
    page.says("#panel .warns", "(you)")
    page.gone('#panel [data-act="retract"]')
    assert agent("record_view", id=record)["retraction"]["why"] == "The harbour has electricity"


def test_a_person_takes_back_at_once_what_another_wrote(page: Reader, agent: Caller) -> None:
    record = decide(agent, "The pilot boat is painted grey")
    begun(page, "ws/know/lists")
    opened_from_list(page, "The pilot boat is painted grey")
    asked(page, "retract", why="Nobody sees it in fog")
    page.says("#notices", "Withdrawn: The pilot boat is painted grey")
    page.says("#panel .warns", "Nobody sees it in fog")
    retraction = agent("record_view", id=record)["retraction"]
    assert (retraction["why"], retraction["by"]) == ("Nobody sees it in fog", ME)


def test_a_job_is_handed_out_and_queued_again_from_its_panel(page: Reader, agent: Caller) -> None:
    begun(page)
    by_palette(page, "Create a job")
    job = written(page, "Sound the channel", title="Sound the channel", prompt="Every fathom, both sides.")
    page.says("#panel", "Every fathom, both sides.")
    assert author(agent, job) == ME
    claim = agent("tasks_jobs_claim", job=job, runner_id=RUNNER)["job"]["revision"]
    ended = {"job": job, "runner_id": RUNNER, "claim_revision": claim, "status": "FAILED"}
    agent("tasks_jobs_complete", **ended, summary="The lead is lost", refs=["LINK: lead"])
    page.says("#panel", "The lead is lost")
    asked(page, "requeue", reason="A new lead has come")
    page.says("#notices", "Queued again: Sound the channel")
    page.gone('#panel [data-act="requeue"]')
    assert agent("tasks_jobs_open", job=job, fmt="json")["job"]["status"] == "QUEUED"
    page.open("ws/now/job")
    page.says(f'[data-job="{job}"]', "Sound the channel")
