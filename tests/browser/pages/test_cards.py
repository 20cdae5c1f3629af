"""Cards on the page: the picture with the engine's signals, the difference of branches."""

from __future__ import annotations

from tests.browser.pages.conftest import Reader
from tests.conftest import Caller


def conflict(agent: Caller, card: str) -> str:
    """An open conflict over one card; its id."""
    branch = f"try-{card}"
    node = {"op": "node_upsert", "id": card, "type": "note", "title": card}
    agent("graph_apply", branch="main", ops=[{**node, "text": "old"}])
    agent("branch_create", name=branch, from_="main")
    agent("graph_apply", branch=branch, ops=[{**node, "text": "theirs"}])
    agent("graph_apply", branch="main", ops=[{**node, "text": "ours"}])
    found: str = agent("graph_merge", from_=branch, into="main")["conflict_ids"][0]
    return found


def test_cards_show_type_status_edges_and_signals(page: Reader, agent: Caller) -> None:
    agent("branch_create", name="cards", from_="main")
    agent("graph_apply", branch="cards", ops=[
        {"op": "node_upsert", "id": "H1", "type": "hypothesis", "title": "The lock starves writers", "status": "open"},
        {"op": "node_upsert", "id": "H2", "type": "hypothesis", "title": "The disk is slow", "status": "closed"},
        {"op": "node_upsert", "id": "E1", "type": "evidence", "title": "A profile", "text": "80 % in fsync"},
        {"op": "edge_upsert", "from": "E1", "rel": "supports", "to": "H1"},
        {"op": "edge_upsert", "from": "E1", "rel": "blocks", "to": "H2"},
    ])  # fmt: skip
    page.open("cards/cards")
    page.says('[data-card="H1"]', "The lock starves")
    page.says('[data-card="H2"]', "hypothesis · closed")
    assert page.all('.card-hypothesis[data-card="H1"]') and page.all('.shut[data-card="H2"]')
    assert page.all('path[data-rel="supports"][data-from="E1"]') and page.all("path.rel-blocks")
    page.says("#signals", "Hypothesis has no test: The lock starves writers")
    page.says('[data-card="H1"] .flag title', "Hypothesis has no test")
    page.click('[data-card="E1"]')
    page.says("#card .prose", "80 % in fsync")
    page.says("#card", "supports The lock starves writers")
    more = {"op": "node_upsert", "id": "Q1", "type": "question", "title": "Who else waits?"}
    agent("graph_apply", branch="cards", ops=[more])
    page.find('[data-card="Q1"]')
    page.says("#card .prose", "80 % in fsync")
    page.open("cards/main/diff/cards")
    page.says('[data-change="H1"]', "new")
    page.says('[data-change="H1"]', "The lock starves writers")


def test_the_difference_shows_changed_fields(page: Reader, agent: Caller) -> None:
    node = {"op": "node_upsert", "id": "D9", "type": "decision", "title": "Sail at noon"}
    agent("graph_apply", branch="main", ops=[{**node, "text": "with the tide"}])
    agent("branch_create", name="tides", from_="main")
    agent("graph_apply", branch="tides", ops=[{**node, "text": "before the tide"}])
    agent("notes_commit", branch="tides", content="Moon tables checked")
    page.open("cards/main/diff/tides")
    page.says('[data-change="D9"] .removed', "-text: with the tide")
    page.says('[data-change="D9"] .added', "+text: before the tide")
    page.says("#diff-notes", "Moon tables checked")


def test_the_cards_of_a_task(page: Reader, agent: Caller) -> None:
    steps = [{"title": "Look", "success_criteria": ["seen"]}]
    task = agent("tasks_macro_start", plan_title="Harbour", task_title="Dredge", steps=steps)["task_id"]
    agent("think_card", card={"type": "question", "title": "How deep is it?"}, target=task)
    page.open(f"cards/{task}")
    page.says("#cards-field", "How deep is it?")
    page.says("h1", f"Cards of {task}")


def test_the_picture_stays_where_it_is_while_others_write(page: Reader, agent: Caller) -> None:
    agent("branch_create", name="tall", from_="main")
    cards = [{"op": "node_upsert", "id": f"T{n}", "type": "note", "title": f"Note {n}"} for n in range(40)]
    agent("graph_apply", branch="tall", ops=cards)
    page.open("ws/know/cards/tall?card=T4")
    page.says('[data-card="T39"]', "Note 39")
    page.press_on('[data-card="T4"]')
    page.says("#card", "Note 4")
    page.until("document.activeElement?.dataset.card === 'T4'")
    wheel = "new WheelEvent('wheel', {deltaY: 90, cancelable: true})"
    page.js(f"document.querySelector('#cards-field').dispatchEvent({wheel})")
    there = page.js("return document.querySelector('#cards-field .plane').style.transform")
    agent("graph_apply", branch="tall", ops=[{"op": "node_upsert", "id": "T40", "type": "note", "title": "Note 40"}])
    page.says('[data-card="T40"]', "Note 40")
    assert page.js("return document.querySelector('#cards-field .plane').style.transform") == there
    assert page.js("return document.activeElement.dataset.card") == "T4", "focus stays where it is"


def test_an_open_card_survives_a_reload_and_recall_leads_to_it(page: Reader, agent: Caller) -> None:
    kelp = {"op": "node_upsert", "id": "KELP", "type": "hypothesis", "title": "Kelp slows the rudder"}
    agent("graph_apply", branch="main", ops=[kelp])
    page.open("ws/know/cards/main?card=KELP")
    page.says("#card h2", "Kelp slows the rudder")
    page.open("ws/know/recall/kelp%20rudder")
    page.says("main", "Kelp slows the rudder")
    page.press_on('.result[data-ref="KELP"] .said a')
    page.until("location.hash.endsWith('/o/KELP')")


def test_branches_of_tasks_are_chosen_by_their_titles(page: Reader, agent: Caller) -> None:
    task = agent("tasks_create", title="Careen the hull")["id"]
    agent("think_card", target=task, card={"type": "note", "title": "Barnacles"})
    page.open(f"ws/know/cards/{task}")
    page.says("#branch", f"Careen the hull · {task}")
