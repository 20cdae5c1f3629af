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
LARGEST = 1_000_000
READ_ON = """
const text = document.querySelector("#detail pre.text"), later = document.querySelector("#pieces [title='Later part']");
let read = text.textContent;
while (!later.disabled) { later.click(); read += text.textContent; }
return read;
"""


def unharmed(page: Page) -> bool:
    foreign = "script:not([src^='/static/']), iframe, img:not([src$='/clew.svg']), style, [onerror], [onload]"
    return bool(page.js("return window.hacked === undefined && !document.querySelector(arguments[0])", foreign))


def think(agent: Caller, session: str, thought: str, **more: object) -> None:
    agent("thought", thought=thought, nextThoughtNeeded=True, sessionId=session, **more)


@pytest.fixture
def hostile(agent: Caller) -> str:
    session: str = agent("start_new", title=ATTACKS[1], tags=["<b>tag</b>"])["sessionId"]
    for text in ATTACKS:
        think(agent, session, text)
    return session


def test_markup_in_thoughts_is_text(page: Page, hostile: str) -> None:
    page.open_session(hostile, len(ATTACKS))
    page.says("h1.title", ATTACKS[1])
    page.says("#sessions", ATTACKS[1])
    for number, text in enumerate(ATTACKS, 1):
        page.says(page.node(f"{hostile}:{number}"), text)
        page.open_thought(f"{hostile}:{number}")
        assert page.text("#detail pre.text") == text
    assert unharmed(page)


def test_markup_that_arrives_live_is_text(page: Page, agent: Caller, hostile: str) -> None:
    page.open_session(hostile, len(ATTACKS))
    for text in ATTACKS:
        think(agent, hostile, text)
    page.until_drawn(2 * len(ATTACKS))
    page.open_thought(f"{hostile}:{2 * len(ATTACKS)}")
    assert page.text("#detail pre.text") == ATTACKS[-1]
    assert unharmed(page)


def test_right_to_left_marks_stay_inside_their_text(page: Page, agent: Caller) -> None:
    """An override that is never closed must not turn around what stands beside it."""
    session = agent("start_new", title="\u202eeltit")["sessionId"]
    think(agent, session, "\u202etsrif \u2067 open")
    think(agent, session, "\u202ehcnarb", branchId="b", branchFromThought=1)
    think(agent, session, "S2|R|^[S1]| second", isRevision=True, revisesThought=1)
    page.open_session(session, 3)
    page.open_thought(f"{session}:2")
    page.until("document.querySelector('#detail .references button').textContent.includes('tsrif')")
    apart = "(e) => ['isolate', 'plaintext', 'isolate-override'].includes(getComputedStyle(e).unicodeBidi)"
    for selector in ("h1.title", "#sessions strong", ".node p", ".lane .name", "#detail pre.text", ".references bdi"):
        assert page.js(f"return [...document.querySelectorAll(arguments[0])].every({apart})", selector), selector
    # The number stands left of the kind in every node, whatever follows.
    left = "Math.round(e.getBoundingClientRect().left)"
    numbers = page.each(".node .number", left)
    assert all(number <= start for number, start in zip(numbers, page.each(".node p", left), strict=True))


@pytest.mark.parametrize("arrives", ["before", "live"])
def test_the_longest_thought_is_cut_on_its_node_and_whole_in_the_panel(page: Page, agent: Caller, arrives: str) -> None:
    session = agent("start_new", title="Long")["sessionId"]
    long = ("<b>long</b> \u202e " * (LARGEST // 14 + 1))[: LARGEST - 5] + "<end>"
    if arrives == "before":
        think(agent, session, long)
        page.open_session(session, 1)
    else:
        page.open_session(session, 0)
        think(agent, session, long)
        page.until_drawn(1)
    assert page.text(page.node(f"{session}:1")).endswith("…")
    assert len(page.text(page.node(f"{session}:1"))) < 400
    page.open_thought(f"{session}:1")
    page.says("#pieces", "characters 1 to 10,000 of 1,000,000")
    assert page.text("#detail pre.text") == long[:10_000]
    assert page.js(READ_ON) == long
    page.says("#pieces", "characters 990,001 to 1,000,000 of 1,000,000")
    think(agent, session, "and on it goes")
    page.until_drawn(2)
    assert unharmed(page)


def test_ids_with_quotes_are_ids(page: Page, agent: Caller) -> None:
    branch, card, other = 'it\'s a "b" <i>', "E'1\"><img src=x onerror=window.hacked=1>", "%2F&amp;"
    agent("branch_create", name=branch)
    nodes = [{"op": "node_upsert", "id": name, "type": "note", "title": f"of {name}"} for name in (card, other)]
    agent(
        "graph_apply", branch=branch, ops=[*nodes, {"op": "edge_upsert", "from": card, "rel": "supports", "to": other}]
    )
    page.open("ws/know/branches/main")
    page.until("[...document.querySelectorAll('#diff-to option')].some((o) => o.value === arguments[0])", branch)
    chosen = "const b = document.getElementById('diff-to'); b.value = arguments[0];"
    page.js(f"{chosen} b.dispatchEvent(new Event('change'))", branch)
    page.says("#diff-cards", f"of {card}")
    page.reload()
    page.says("#diff-cards", f"of {card}")
    page.js("location.hash = `#/ws/o/${encodeURIComponent(arguments[0])}`", card)
    page.says(".record-title", f"of {card}")
    page.says(".links", f"of {other}")
    assert unharmed(page)


def test_markup_on_the_other_pages_is_text(page: Page, agent: Caller) -> None:
    text = ATTACKS[1]
    agent("graph_apply", ops=[{"op": "node_upsert", "id": "bad", "type": "note", "title": text, "text": ATTACKS[0]}])
    agent("anchors_bootstrap", anchors=[{"id": "a:bad", "title": text, "kind": "component"}])
    agent("tasks_macro_start", plan_title=text, task_title=text, steps=[{"title": text, "success_criteria": [text]}])
    job = agent("tasks_jobs_create", title=text, prompt=text)["job"]["job_id"]
    agent("propose_update", block_type="decision", statement=f"Never write {text} into a page")
    places = {"ws/know/lists": "#records", "map": "#area-table", "work": ".board", "jobs": "#open-jobs",
              f"jobs/{job}": "h1", "ws/inbox": "#matters"}  # fmt: skip
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
