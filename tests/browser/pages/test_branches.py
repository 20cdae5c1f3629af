"""Branches on the page: what one has that another has not, and addresses of the places that were retired."""

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
    assert page.js("return location.hash") == "#/ws/know/branches/main/tides", "the old address leads there"
    task = agent("tasks_create", title="Careen the hull")["id"]
    agent("think_card", target=task, card={"type": "note", "title": "Barnacles"})
    page.says("#diff-to", f"Careen the hull · {task}")
    for old, new in (("insight", "home"), ("history/log", "home"), ("know/cards/main", "know/lists")):
        page.open(f"ws/{old}")
        page.until("location.hash === arguments[0]", f"#/ws/{new}")
        page.settled()
