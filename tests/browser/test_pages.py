"""The pages beside the graph: each shows what is stored and acts through the same operations."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.chromium import Page
from tests.conftest import Caller


def conflict(agent: Caller, card: str) -> str:
    """An open conflict over one card; its id."""
    branch = f"try-{card}"
    node = {"op": "node_upsert", "id": card, "type": "note", "title": card}
    agent("graph_apply", ops=[{**node, "text": "old"}])
    agent("branch_create", name=branch)
    agent("graph_apply", branch=branch, ops=[{**node, "text": "theirs"}])
    agent("graph_apply", ops=[{**node, "text": "ours"}])
    found: str = agent("graph_merge", from_=branch)["conflict_ids"][0]
    return found


def outcome(agent: Caller, card: str, conflict_id: str) -> tuple[object, ...]:
    node = next(node for node in agent("graph_query", ids=[card])["nodes"] if node["id"] == card)
    shown = agent("graph_conflict_show", conflict_id=conflict_id)["conflict"]
    return node["text"], node["type"], node["title"].replace(card, ""), shown["status"], shown["resolution"]


@pytest.mark.parametrize("resolution", ["use_from", "use_into"])
def test_a_conflict_resolved_on_the_page_equals_the_operation(page: Page, agent: Caller, resolution: str) -> None:
    clicked, called = conflict(agent, f"clicked-{resolution}"), conflict(agent, f"called-{resolution}")
    page.open("cards/main/conflicts")
    card = f'[data-conflict="{clicked}"]'
    for side in ("old", "ours", "theirs"):
        page.says(card, f'"text": "{side}"')
    page.click(f'{card} [data-resolution="{resolution}"]')
    page.until("!document.querySelector(arguments[0])", card)
    agent("graph_conflict_resolve", conflict_id=called, resolution=resolution)
    assert outcome(agent, f"clicked-{resolution}", clicked) == outcome(agent, f"called-{resolution}", called)


def test_cards_show_type_status_and_their_edges(page: Page, agent: Caller) -> None:
    agent("branch_create", name="cards")
    agent("graph_apply", branch="cards", ops=[
        {"op": "node_upsert", "id": "H1", "type": "hypothesis", "title": "The lock starves writers", "status": "open"},
        {"op": "node_upsert", "id": "E1", "type": "evidence", "title": "A profile", "text": "80 % in fsync"},
        {"op": "edge_upsert", "from": "E1", "rel": "supports", "to": "H1"},
    ])  # fmt: skip
    page.open("cards/cards")
    page.says('[data-card="H1"]', "The lock starves writers")
    assert "card-hypothesis" in str(page.find('[data-card="H1"]').get_attribute("class"))
    assert page.all("path.edge.rel-supports")
    page.click('[data-card="E1"]')
    page.says("#card", "80 % in fsync")
    page.says("#card", "supports H1")
    more = {"op": "node_upsert", "id": "Q1", "type": "question", "title": "Who else waits?"}
    agent("graph_apply", branch="cards", ops=[more])
    page.find('[data-card="Q1"]')
    page.says("#card", "80 % in fsync")
    page.open("cards/main/diff/cards")
    page.says("#cards-body", "H1 The lock starves writers")


def fate(agent: Caller, proposal: str) -> str:
    found = agent("list_proposals", limit=50)["proposals"]
    return str(next(item["status"] for item in found if item["proposal_id"] == proposal))


def test_a_proposal_is_approved_and_rolled_back_on_the_page(page: Page, agent: Caller) -> None:
    said = "Keep one store for each team"
    proposal = agent("propose_update", block_type="decision", statement=said)["proposal_id"]
    page.open("memory/review")
    card = f'[data-proposal="{proposal}"]'
    page.says(card, said)
    page.says(f"{card} .diff", "+")
    page.click(f'{card} [data-act="approve"]')
    page.until("!document.querySelector(arguments[0])", card)
    assert fate(agent, proposal) == "applied"
    assert said in agent("recall", query=said)["results"][0]["excerpt"]
    page.click('[data-act="rollback"]')
    page.until("!document.querySelector('[data-act=rollback]')")
    assert fate(agent, proposal) == "rolled_back"


def test_a_proposal_is_rejected_only_with_a_reason(page: Page, agent: Caller) -> None:
    told = {"block_type": "decision", "statement": "Store everything twice"}
    proposal = agent("propose_update", **told)["proposal_id"]
    page.open("memory/review")
    card = f'[data-proposal="{proposal}"]'
    page.click(f'{card} [data-act="reject"]')
    page.says("#notices", "Say why")
    page.find(f"{card} input").send_keys("Twice the trouble")
    page.click(f'{card} [data-act="reject"]')
    page.until("!document.querySelector(arguments[0])", card)
    assert fate(agent, proposal) == "rejected"
    page.says("#memory", "Twice the trouble")


def test_the_recall_playground_explains_its_scores(page: Page, agent: Caller) -> None:
    agent("notes_commit", title="Locks", content="Writers starve when the lock is held while files are rendered")
    page.open("memory")
    page.find("#sources")
    page.js("document.getElementById('sources').value = 'all'")
    page.find("#query").send_keys("why do writers starve", Keys.ENTER)
    page.says("#intent", "Intent")
    page.says("#results", "Writers starve")
    page.js("document.querySelector('.result details').open = true")
    assert page.all(".result table tr")
    assert " = " in page.text(".result table")


def test_a_job_is_answered_on_its_page(page: Page, agent: Caller) -> None:
    job = agent("tasks_jobs_create", title="Measure the lock", prompt="Run the benchmark")["job"]["job_id"]
    page.open("jobs")
    page.says(f'[data-job="{job}"]', "Measure the lock")
    page.open(f"jobs/{job}")
    page.find("textarea").send_keys("Use eight processes")
    agent("tasks_jobs_message", job=job, message="from elsewhere")
    page.says("#thread", "from elsewhere")
    assert page.find("textarea").get_property("value") == "Use eight processes"
    page.click("form button")
    page.says("#thread", "Use eight processes")
    events = agent("tasks_jobs_open", job=job, include_events=True, fmt="json")["events"]
    assert "Use eight processes" in {event["message"] for event in events}


def test_the_map_shows_anchors_and_their_lens(page: Page, agent: Caller) -> None:
    agent("anchors_bootstrap", anchors=[
        {"id": "a:core", "title": "Core", "kind": "component"},
        {"id": "a:api", "title": "Interface", "kind": "boundary", "parent_id": "a:core", "depends_on": ["a:core"]},
    ])  # fmt: skip
    page.open("map")
    page.says(".map", "Interface")
    assert page.all("path.edge.contains") and page.all("path.edge.depends")
    page.click('.anchor[aria-label^="a:api"]')
    page.says("#lens h2", "Interface")


def test_work_shows_the_board_the_steps_and_the_next_action(page: Page, agent: Caller) -> None:
    page.open("work")
    page.find("h1")
    started = agent("tasks_macro_start", plan_title="Locks", task_title="Render after the commit", steps=[
        {"title": "Measure", "success_criteria": ["Numbers are written down"], "tests": ["make bench"]},
    ])  # fmt: skip
    page.says(".board", "Render after the commit")
    task = started["task_id"]
    page.open(f"work/{task}")
    page.says("#steps", "Measure")
    page.says("#next", "Next")
    assert page.all("#next button")


def test_home_shows_what_waits_and_what_happens(page: Page, agent: Caller) -> None:
    proposal = agent("propose_update", block_type="decision", statement="Ask before deleting")["proposal_id"]
    page.open("home")
    page.says("#needs-you", f"{proposal} Ask before deleting")
    page.until("document.getElementById('link').textContent === 'live'")
    page.until("document.getElementById('log')")
    agent("notes_commit", content="something happened")
    page.says("#log", "note")


def test_keys_lead_to_every_page(page: Page) -> None:
    page.open("home")
    page.until("document.querySelector('#tabs a[aria-current]')")
    for key, name in zip("rcwjmah", ["reasoning", "cards", "work", "jobs", "memory", "map", "home"], strict=True):
        page.press("g", key)
        page.until("document.querySelector('#tabs a[aria-current]')?.dataset.page === arguments[0]", name)


def test_light_and_dark(page: Page) -> None:
    page.open("home")
    ground = "getComputedStyle(document.body).backgroundColor"
    page.until("document.querySelector('#tabs a')")
    page.find("body").send_keys("t")
    page.until("document.documentElement.dataset.theme === 'light'")
    light = page.js(f"return {ground}")
    page.find("body").send_keys("t")
    page.until("document.documentElement.dataset.theme === 'dark'")
    assert page.js(f"return {ground}") != light
    page.driver.refresh()
    page.until("document.querySelector('#tabs a')")
    assert page.js("return document.documentElement.dataset.theme") == "dark", "the choice is remembered"
    page.find("body").send_keys("t")
