"""Insight: every figure on the page is the one that the store was given."""

from __future__ import annotations

from typing import Any

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_memory import propose
from tests.browser.stage import visited
from tests.conftest import Caller
from tests.moments.hooked import Hooked
from tests.tasks.test_receipts import prove

SILENT = "xylophone quartz vortex"
TABLE = "[...e.querySelectorAll('th, td')].map((cell) => cell.textContent)"


def called(agent: Caller, name: str) -> Caller:
    agent.session = Connection(toolset="full", agent_id=name)
    return agent


def remembered(agent: Caller) -> None:
    """Two decisions of three that the mate proposed, one of the cook's that waits, a note and a card."""
    called(agent, "mate")
    wanted = [propose(agent, f"{things} on Fridays") for things in ("Tar the ropes", "Count prices", "Paint the boats")]
    agent("reject_proposal", proposal_id=wanted.pop(), reason="They are green already")
    for proposal in wanted:
        agent("approve_apply", proposal_id=proposal, dry_run=False)
    called(agent, "cook")
    propose(agent, "Serve the soup at noon")
    agent("notes_commit", title="Locks", content="The sluice opens at high water")
    agent("think_card", branch="main", card={"id": "oar-card", "type": "note", "title": "Oars are of ash"})


def worked(agent: Caller) -> None:
    """Four steps: one proven, one claimed, one closed without proof, one open."""
    steps = [{"title": title, "success_criteria": ["done"]} for title in ("Saw", "Plane", "Oil", "Carry")]
    task = agent("tasks_macro_start", plan_title="Oars", task_title="Make an oar", steps=steps)["task_id"]
    prove(agent.clew, task, "s:0", workspace=agent.clew.settings.workspace)
    agent("close", task=task, step="s:0")
    agent("close", task=task, step="s:1", proof={"command": "look along it", "exit_code": 0})
    agent("close", task=task, step="s:2", unproven="The can is empty")


def told(agent: Caller) -> dict[str, int]:
    """Three questions, of which two meet silence, one resume and one hook; the tokens of the last two."""
    agent("recall", query="count prices")
    for _ in range(2):
        agent("recall", query=SILENT, sources=["all"])
    said = Hooked(agent.clew).start()
    text = agent("resume")["text"]
    return {"hooks": round(len(said) / 4), "resume": round(len(text) / 4)}


def test_the_figures_are_those_of_the_store(driver: Any, heap: Heap) -> None:
    space = f"figures-{len(heap.opened)}"
    agent = heap.agent_of(space)
    remembered(agent)
    worked(agent)
    tokens = told(agent)
    agent("insight")  # what this process has counted is in the store from here on
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"{space}/insight")
        page.find("#unused")
        page.settled()
        growth(page)
        asked(page)
        contexts(page, tokens)
        acceptance(page)
        proof(page)
        unused(page)
        page.press_on('.facets a[href*="days=7"]')
        page.says("main .head", "The last 7 days")
        growth(page)
        page.press_on("#asked .lines a")
        page.until("decodeURIComponent(location.hash).includes(arguments[0])", f"know/recall/{SILENT}")
        page.settled()


def growth(page: Reader) -> None:
    rows = dict(page.each("#growth tbody tr", TABLE))
    assert rows == {"block": "3", "card": "1", "evidence": "2", "note": "1", "task": "6"}
    assert page.text("#growth .count").strip() == "13"
    assert sum(page.each("#growth rect title", "Number(e.textContent.split(': ').pop())")) == 13, (
        "the bars say the same"
    )


def asked(page: Reader) -> None:
    assert page.text("#asked .count").strip() == "3"
    page.says("#asked", "2 questions of 3 met silence")
    assert page.each("#asked .lines .what", "e.textContent") == [SILENT]
    page.says("#asked .lines", "2 times")


def contexts(page: Reader, tokens: dict[str, int]) -> None:
    """Each of them counted once, as long as what the agent read."""
    assert page.each("#told dt, #told dd", "e.textContent") == [
        "given by hooks",
        f"about {tokens['hooks']} tokens in 1 answer",
        "asked for by resume",
        f"about {tokens['resume']} tokens in 1 answer",
    ]


def acceptance(page: Reader) -> None:
    assert page.each("#acceptance tr", TABLE) == [
        ["who", "proposed", "accepted", "rejected", "waiting"],
        ["mate", "3", "2", "1", "0"],
        ["cook", "1", "0", "0", "1"],
    ]


def proof(page: Reader) -> None:
    page.says("#proof-rate", "33 % of 3 closed steps are proven.")
    assert page.each("#proof-rate dt, #proof-rate dd", "e.textContent") == [
        "proven: seen by Clew",
        "1",
        "claimed: somebody said so",
        "1",
        "closed without proof",
        "1",
    ]


def unused(page: Reader) -> None:
    assert page.text("#unused .count").strip() == "3"
    titles = page.each("#unused .lines a", "e.textContent.trim()")
    assert len(titles) == 3 and not any("Count prices" in title for title in titles), titles
    for wanted in ("Tar the ropes on Fridays", "Serve the soup at noon", "Oars are of ash"):
        assert any(wanted in title for title in titles), titles
