"""Jobs on the page: who needs somebody and why, the thread, the reply."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.conftest import Caller

RUNNER = "runner:quay"


def claimed(agent: Caller, title: str) -> tuple[str, int]:
    job = agent("tasks_jobs_create", title=title, prompt=f"Do this: {title}")["job"]["job_id"]
    agent("tasks_runner_heartbeat", runner_id=RUNNER, status="live", active_job_id=job)
    return job, agent("tasks_jobs_claim", job=job, runner_id=RUNNER)["job"]["revision"]


def report(agent: Caller, job: str, claim: int, kind: str, message: str) -> None:
    agent("tasks_jobs_report", job=job, runner_id=RUNNER, claim_revision=claim, kind=kind, message=message)


@pytest.mark.parametrize(("kind", "mark"), [("question", "? asks you"), ("error", "! reports an error")])
def test_attention_marks_say_what_a_job_needs(page: Reader, agent: Caller, kind: str, mark: str) -> None:
    job, claim = claimed(agent, f"Count the gulls, {kind}")
    page.open("jobs")
    row = f'[data-job="{job}"]'
    page.says(row, "running")
    assert not page.all(f"{row} .attention")
    report(agent, job, claim, kind, "Which gulls?")
    page.says(f"{row} .attention", mark)
    page.says(row, "Which gulls?")
    page.says(f'#runners [data-runner="{RUNNER}"]', "live")


def test_a_reply_settles_a_question_and_survives_news(page: Reader, agent: Caller) -> None:
    job, claim = claimed(agent, "Measure the lock")
    report(agent, job, claim, "question", "How many processes?")
    page.open(f"jobs/{job}")
    page.says("#job-state .attention", "asks you")
    page.says('#thread [data-kind="question"]', "How many processes?")
    page.type("textarea", "Use eight processes")
    report(agent, job, claim, "progress", "warming up")
    page.says("#thread", "warming up")
    assert page.value("textarea") == "Use eight processes"
    page.submit("form.reply")
    page.says("#thread .mine", "Use eight processes")
    page.gone("#job-state .attention")
    page.until("document.querySelector('textarea').value === ''")
    events = agent("tasks_jobs_open", job=job, include_events=True, fmt="json")["events"]
    assert "Use eight processes" in {event["message"] for event in events}


def test_an_ended_job_takes_no_reply(page: Reader, agent: Caller) -> None:
    job, claim = claimed(agent, "Fold the maps")
    ended = {"job": job, "runner_id": RUNNER, "claim_revision": claim, "status": "DONE"}
    agent("tasks_jobs_complete", **ended, summary="All folded", refs=["LINK: maps"])
    page.open("jobs")
    page.says(f'#ended-jobs [data-job="{job}"]', "All folded")
    page.open(f"jobs/{job}")
    page.says("main", "it takes no more messages")
    assert not page.all("form")


def test_a_runner_whose_lease_ran_out_is_not_live(page: Reader, agent: Caller) -> None:
    agent("tasks_runner_heartbeat", runner_id="runner:wreck", status="live", lease_ttl_ms=1000)
    page.open("ws/now/job")
    row = '[data-runner="runner:wreck"]'
    page.until("document.querySelector(arguments[0])?.textContent.includes('its lease has run out')", row)
    assert not page.all(f"{row} .badge.good")


def test_a_reply_keeps_its_lines_is_sent_by_ctrl_enter_and_names_no_job_of_its_own(page: Reader, agent: Caller) -> None:
    job, claim = claimed(agent, "Caulk the seams")
    report(agent, job, claim, "question", "Which seams?")
    page.open(f"ws/now/job/{job}")
    page.find("form.reply textarea")
    page.settled()
    page.type("form.reply textarea", "All of them.\nThe bow first.")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#thread .mine", "The bow first.")
    lines = page.js("return document.querySelector('#thread .mine .prose').innerText.trim().split('\\n')")
    assert lines == ["All of them.", "The bow first."]
    assert not page.all(f'#thread .mine a[href$="{job}"]')
