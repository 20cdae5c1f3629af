"""Deciding: both sides are seen before anything can be pressed, one dispute is one item, edited words are the record,
and what somebody typed is never lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from clew.registry.connection import Connection
from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_inbox import CHOSEN, looked, opened, pressed, row
from tests.browser.pages.test_memory import decide, fate, propose
from tests.browser.stage import visited
from tests.conftest import Caller
from tests.faces.web.server import Server


def as_agent(agent: Caller, who: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    before, agent.session = agent.session, Connection(toolset="full", agent_id=who)
    try:
        return agent(name, **arguments)
    finally:
        agent.session = before


def dispute(agent: Caller, thing: str, why: str = "five was not enough on Sunday") -> tuple[str, str, str]:
    """Two agents that decided the opposite of each other: the older record, the newer one and its proposal."""
    text, opposite = f"A failed {thing} is retried five times", f"A failed {thing} is not retried five times"
    old = as_agent(agent, "claude-code", "remember", kind="decision", text=text, why=f"the {thing} queue is short")
    new = as_agent(agent, "codex", "remember", kind="decision", text=opposite, why=why)
    assert new["state"] == "proposed"
    return old["id"], new["id"], new["proposal"]


def status_of(agent: Caller, id: str) -> str:
    return str(agent("block_history", block_id=id)["status"])


def said(agent: Caller, id: str, field: str = "Statement") -> str:
    return str(agent("open", id=id)["block"]["fields"].get(field))


def side(role: str) -> str:
    return f'#sides [data-side="{role}"]'


def test_a_dispute_shows_both_statements_with_reason_author_and_what_rests_on_them(page: Reader, agent: Caller) -> None:
    old, _, proposal = dispute(agent, "parcel")
    as_agent(agent, "claude-code", "remember", kind="lesson", text="Parcels pile up on Mondays", rests_on=[old])
    opened(page, proposal)
    page.says("#matter-title", "A failed parcel is not retried five times")
    page.says("#against", "Contradicts “A failed parcel is retried five times”")
    for role, words in (
        (
            "against",
            ("In force", "A failed parcel is retried", "the parcel queue is short", "claude-code", "Parcels pile"),
        ),
        ("new", ("Proposed", "A failed parcel is not retried", "five was not enough on Sunday", "codex")),
    ):
        for text in words:
            page.says(side(role), text)
    assert page.each(f"{side('new')} ins", "e.textContent") == ["not"], "the word that differs is marked"
    left, right = (page.js("return document.querySelector(arguments[0]).getBoundingClientRect().x", side(role))
                   for role in ("against", "new"))  # fmt: skip
    assert left < right, "the two stand beside each other"
    page.press_on(f"{side('against')} .said a")
    page.says("#panel .record-title", "A failed parcel is retried")
    assert "Mark “" not in page.text("main")
    assert not page.all("#changes"), "that it is proposed is said by its card, and no value without a new one"


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("replace", "2", ("superseded", "active")),
        ("keep", "1", ("active", "rejected")),
        ("both", "3", ("active", "active")),
    ],
)  # fmt: skip
def test_a_dispute_is_decided_by_key_and_undone(
    page: Reader, agent: Caller, name: str, key: str, expected: tuple[str, str]
) -> None:
    old, new, proposal = dispute(agent, f"letter-{name}")
    opened(page, proposal)
    looked(page)
    page.keys(key)
    if name == "keep":
        page.find("#ask-reason")
        page.keys(*"Sunday was odd", Keys.ENTER)
    page.until("document.querySelector(arguments[0]).classList.contains('gone')", row(proposal))
    page.says("#notices", f"A failed letter-{name} is not retried five times")
    assert (status_of(agent, old), status_of(agent, new)) == expected
    assert not [one for one in agent("inbox_list")["items"] if new in str(one["facts"])], "nothing comes in behind it"
    page.keys("z")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", proposal)
    assert (status_of(agent, old), status_of(agent, new)) == ("active", "proposed")
    page.says(row(proposal), "codex")


def test_a_dispute_cannot_be_approved_blind(page: Reader, agent: Caller) -> None:
    old, new, proposal = dispute(agent, "ferry")
    opened(page, proposal)
    looked(page)
    assert not page.all('#ways [data-act="approve"]')
    page.keys("a")
    page.says("#notices", "1: Keep the old one")
    assert status_of(agent, new) == "proposed"
    pressed(page, "replace")
    page.says("#notices", "Now in force")
    assert (status_of(agent, old), status_of(agent, new)) == ("superseded", "active")


def test_edited_words_become_the_record_and_its_reason_stays(page: Reader, agent: Caller) -> None:
    old, new, proposal = dispute(agent, "telegram")
    opened(page, proposal)
    pressed(page, "edit")
    page.until("document.querySelector('#ask-statement')?.value === 'A failed telegram is not retried five times'")
    assert page.value("#ask-why") == "five was not enough on Sunday"
    page.js("const field = document.querySelector('#ask-statement'); field.setSelectionRange(999, 999)")
    page.keys(*" from Monday")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#notices", "Saved as edited")
    assert said(agent, new) == "A failed telegram is not retried five times from Monday"
    assert said(agent, new, "Rationale") == "five was not enough on Sunday"
    assert (status_of(agent, old), status_of(agent, new)) == ("superseded", "active")


def test_one_dispute_is_one_item_however_much_lies_behind_it(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("one-item")
    old, new = decide(agent, "Use brass for the bell"), decide(agent, "Do not use brass for the bell")
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"one-item/o/{old}")
        page.says("main", "It contradicts “Do not use brass for the bell”")
        page.open("one-item/know/lists")
        disputed = "[...document.querySelectorAll('#records .badge')].map((e) => e.textContent)"
        page.until(f"{disputed}.includes(`disputed with ${{arguments[0]}}`)", old)
        page.until(f"{disputed}.includes(`disputed with ${{arguments[0]}}`)", new)
        page.open(f"one-item/inbox/{new}")
        page.until("document.querySelectorAll('.matter').length === 1")
        page.says(side("against"), "Use brass for the bell")
        pressed(page, "both")
        page.says("#notices", "Both hold")
        page.until("document.querySelector('#tabs .count').hidden")
    agent("scan")
    assert agent("inbox_list")["total"] == 0, "a scan does not find it again"
    assert (status_of(agent, old), status_of(agent, new)) == ("active", "active")


def test_the_new_status_is_said_and_not_only_the_old_one(page: Reader, agent: Caller) -> None:
    block = decide(agent, "Moor the yacht at the east pier")
    op = {"op": "update_field", "target": block, "field": "Statement", "value": "Moor the yacht at the west pier"}
    edit = agent("propose_edit", ops=[op], rationale="The east pier leaks")["proposal_id"]
    opened(page, edit)
    page.says("#changes", "west")
    assert page.each("#changes del", "e.textContent") == ["east"]
    assert page.each("#changes ins", "e.textContent") == ["west"]


def test_buttons_wait_until_both_sides_are_there_and_do_not_move(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("buttons-wait")
    proposal = propose(agent, "Paint the buoys in stripes")
    other = propose(agent, "Paint the buoys in dots")
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"buttons-wait/inbox/{proposal}")
        page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", proposal)
        looked(page)
        slow = "const real = window.fetch; window.fetch = async (...a) => {"
        held = "await new Promise((go) => (window.letGo = go)); return real(...a);"
        page.js(f"{slow} if (String(a[1]?.body).includes('decision_view')) {{ {held} }} return real(...a); }}")
        page.press_on(row(other))
        page.until(f"{CHOSEN}?.dataset.matter === arguments[0] && !!window.letGo", other)
        place = "JSON.stringify(document.querySelector('#ways [data-act=approve]').getBoundingClientRect())"
        before = page.js(f"return {place}")
        page.keys("a")
        page.press_on('#ways [data-act="approve"]')
        assert fate(agent, other) == "staged"
        page.js("window.letGo()")
        looked(page)
        assert page.js(f"return {place}") == before
        page.keys("a")
        page.says("#notices", "Approved")
        assert fate(agent, other) == "applied"


def test_the_button_does_what_its_key_does_for_everything_that_is_selected(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("the-button-do")
    first, second, third = (propose(agent, f"Feed gull number {word}") for word in ("one", "two", "three"))
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"the-button-do/inbox/{first}")
        page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", first)
        page.press_on(f'[data-pick="{first}"]')
        page.press_on(f'[data-pick="{second}"]')
        page.press_on(row(third))
        page.says("#picked", "Feed gull number one")
        assert "number three" not in page.text("#matter")
        page.says('#ways [data-act="reject"]', "Reject 2")
        pressed(page, "reject")
        page.until("document.querySelector('#ask-reason')?.value === 'Not wanted'")
        page.keys(Keys.ENTER)
        page.says("#notices", "2 items")
        assert [fate(agent, one) for one in (first, second, third)] == ["rejected", "rejected", "staged"]


def test_a_key_that_is_pressed_twice_answers_once(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("a-key-that-is")
    proposal = propose(agent, "Weigh the anchor at dawn")
    after = propose(agent, "Weigh the anchor at dusk")
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"a-key-that-is/inbox/{proposal}")
        page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", proposal)
        looked(page)
        page.keys("a", "a")
        page.says("#notices", "Approved: Weigh the anchor at dawn")
        assert not page.all("#problems .notice") and fate(agent, after) == "staged"


def test_a_settled_item_says_so_and_nothing_else_takes_its_place(page: Reader, agent: Caller) -> None:
    settled, waiting = propose(agent, "Repair the lighthouse stairs"), propose(agent, "Repair the lighthouse door")
    agent("approve_apply", proposal_id=settled, dry_run=False)
    page.open(f"ws/inbox/{settled}")
    page.says("#settled", "This is decided already")
    page.says("#settled", "Repair the lighthouse stairs")
    assert not page.there(f"{CHOSEN}") and not page.seen("#ways")
    page.keys("a")
    assert fate(agent, waiting) == "staged"
    page.press_on('#settled [data-act="undo"]')
    page.says("#notices", "it waits again")
    page.until("document.querySelector(arguments[0])", row(settled))
    assert fate(agent, settled) == "staged"
    page.open("ws/inbox/P-20200101-001")
    page.says("#settled", "There is nothing called P-20200101-001")


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


def test_what_was_typed_survives_a_lost_server_an_error_and_escape(
    driver: Any, own_server: Server, tmp_path: Path
) -> None:
    page = Reader(driver, own_server.address)
    page.leave()
    page.open("ws/inbox")
    page.keys("c")
    page.press_on('[data-make="decision"]')
    page.find("#ask-text")
    page.keys(*"Prices are integers")
    own_server.stop()
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#ask .form-problem", "The server does not answer")
    assert page.value("#ask-text") == "Prices are integers"
    page.keys(Keys.ESCAPE)
    page.gone("#ask")
    page.says("#notices", "What you typed is kept")
    port = own_server.address.rsplit(":", 1)[1]
    again = Server(tmp_path / "home", port, CLEW_EMBEDDING_MODEL="none")
    try:
        page.until_live()
        page.reload()
        page.keys("c")
        page.press_on('[data-make="decision"]')
        page.until("document.querySelector('#ask-text')?.value === 'Prices are integers'")
        page.says("#draft-kept", "what you typed before")
        page.chord(Keys.CONTROL, Keys.ENTER)
        page.gone("#ask")
        page.says("#panel .record-title", "Prices are integers")
        page.open("ws/inbox")
        page.keys("c")
        page.press_on('[data-make="decision"]')
        page.find("#ask-text")
        assert page.value("#ask-text") == "", "what was sent is no draft any more"
        page.keys(Keys.ESCAPE)
    finally:
        page.leave()
        again.stop()
