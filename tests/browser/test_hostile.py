"""What agents write is shown as text, whatever it says; no script of theirs ever runs."""

from __future__ import annotations

import pytest

from tests.browser.chromium import Page
from tests.conftest import Caller

ATTACKS = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<svg onload=window.hacked=1>",
    '"><iframe srcdoc="<script>parent.hacked = 1</script>">',
    "javascript:window.hacked=1",
    "</pre></article><style>*{display:none}</style>",
    "${window.hacked = 1} {{constructor.constructor('window.hacked=1')()}}",
    "right to left \u202e\u2067 dne eht",
]


def unharmed(page: Page) -> bool:
    foreign = "script:not([src^='/static/']), iframe, img:not([src='/static/clew.svg']), style, [onerror], [onload]"
    return bool(page.js("return window.hacked === undefined && !document.querySelector(arguments[0])", foreign))


@pytest.fixture
def hostile(agent: Caller) -> str:
    session: str = agent("start_new", title=ATTACKS[1], tags=["<b>tag</b>"])["sessionId"]
    for text in ATTACKS:
        agent("thought", thought=text, nextThoughtNeeded=True, sessionId=session)
    return session


def test_markup_in_thoughts_is_text(page: Page, hostile: str) -> None:
    page.open_session(hostile, len(ATTACKS))
    page.says("h1.title", ATTACKS[1])
    for number, text in enumerate(ATTACKS, 1):
        page.click(page.node(f"{hostile}:{number}"))
        page.says("#detail h2", f"Thought {number}")
        assert page.text("#detail pre.text") == text
    assert unharmed(page)


def test_markup_that_arrives_live_is_text(page: Page, agent: Caller, hostile: str) -> None:
    page.open_session(hostile, len(ATTACKS))
    for number, text in enumerate(ATTACKS, len(ATTACKS) + 1):
        agent("thought", thought=text, nextThoughtNeeded=True, sessionId=hostile)
        page.until_drawn(number)
    assert unharmed(page)


def test_a_very_long_thought_is_shown_whole_on_demand(page: Page, agent: Caller) -> None:
    session = agent("start_new", title="Long")["sessionId"]
    long = "<b>long</b> " * 17_000
    agent("thought", thought=long, nextThoughtNeeded=True, sessionId=session)
    page.open_session(session, 1)
    assert len(page.text(page.node(f"{session}:1"))) < 400
    page.click(page.node(f"{session}:1"))
    page.says("#detail h2", "Thought 1")
    assert page.text("#detail pre.text") == long
    assert unharmed(page)


def test_ids_with_quotes_are_ids(page: Page, agent: Caller) -> None:
    branch, card, other = 'it\'s a "b" <i>', "E'1\"><img src=x onerror=window.hacked=1>", "%2F&amp;"
    agent("branch_create", name=branch)
    nodes = [{"op": "node_upsert", "id": name, "type": "note", "title": f"of {name}"} for name in (card, other)]
    agent(
        "graph_apply", branch=branch, ops=[*nodes, {"op": "edge_upsert", "from": card, "rel": "supports", "to": other}]
    )
    page.open("cards/main")
    page.until("[...document.querySelectorAll('#branch option')].some((o) => o.value === arguments[0])", branch)
    chosen = "const b = document.getElementById('branch'); b.value = arguments[0]; b.dispatchEvent(new Event('change'))"
    page.js(chosen, branch)
    page.says("h1", f"Cards of {branch}")
    page.until("[...document.querySelectorAll('[data-card]')].some((g) => g.dataset.card === arguments[0])", card)
    page.js("document.querySelectorAll('[data-card]').forEach((g) => g.dispatchEvent(new MouseEvent('click')))")
    page.says("#card", "supports")
    page.driver.refresh()
    page.says("h1", f"Cards of {branch}")
    assert unharmed(page)


def test_markup_on_the_other_pages_is_text(page: Page, agent: Caller) -> None:
    text = ATTACKS[1]
    agent("graph_apply", ops=[{"op": "node_upsert", "id": "bad", "type": "note", "title": text, "text": ATTACKS[0]}])
    agent("anchors_bootstrap", anchors=[{"id": "a:bad", "title": text, "kind": "component"}])
    agent("tasks_macro_start", plan_title=text, task_title=text, steps=[{"title": text, "success_criteria": [text]}])
    job = agent("tasks_jobs_create", title=text, prompt=text)["job"]["job_id"]
    agent("propose_update", block_type="decision", statement=f"Never write {text} into a page")
    places = {"cards/main": "[data-card=bad]", "map": ".map", "work": ".board", "jobs": "#open-jobs",
              f"jobs/{job}": "h1", "memory/review": "article.proposal"}  # fmt: skip
    for place, selector in places.items():
        page.open(place)
        page.says(selector, "<img src=x")
        assert unharmed(page), place


def test_a_hostile_address_is_an_ordinary_address(page: Page) -> None:
    for place in ("reasoning/%3Cimg%20src=x%20onerror=window.hacked=1%3E", "%2e%2e/main", "work/'\"%3E", "reasoning/%"):
        page.open(place)
        page.until("document.querySelector('main').children.length > 0")
        page.until("!document.querySelector('main').textContent.includes('Loading')")
        assert unharmed(page), place
    page.problems()
