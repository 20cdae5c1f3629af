"""The Inbox: list and detail, keys, undo, arrivals that wait, authors, and a person who clears it by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Heap, Reader
from tests.browser.pages.test_branches import conflict
from tests.browser.pages.test_jobs import claimed, report
from tests.browser.pages.test_memory import decide, fate, propose
from tests.browser.stage import visited
from tests.conftest import Caller

CHOSEN = "document.querySelector('.matter[aria-selected=\"true\"]')"
OPEN = "document.querySelectorAll('.matter:not(.gone)').length"


WORK = "wash mend sell paint count label weigh store lend hang dry fold oil rinse stack grind sort ship melt carve"
THINGS = "deck net oar hull gull crate anchor sail rope bell towel flag winch bucket plank blade fish barrel wax mast"


def row(id: str) -> str:
    return f'[data-matter="{id}"]'


def way(name: str) -> str:
    return f'#ways [data-act="{name}"]'


def opened(page: Reader, id: str) -> None:
    """The Inbox with this matter chosen, as its link opens it."""
    page.open(f"ws/inbox/{id}")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", id)


def pressed(page: Reader, name: str) -> None:
    """Presses the button of a way; right after a change of the detail presses are ignored."""
    ready = "document.querySelector(arguments[0])?.ariaDisabled !== 'true' && !document.querySelector('[data-fresh]')"
    page.until(f"document.querySelector(arguments[0]) && {ready}", way(name))
    page.press_on(way(name))


def looked(page: Reader) -> None:
    """Until everything that has to be seen is there: before that no key answers."""
    waits = "#ways [aria-disabled], [data-fresh]"
    page.until(f"document.querySelector('#ways button') && !document.querySelector('{waits}')")


def author_of(agent: Caller, type: str, subject: str) -> str:
    events = agent("events_list", types=[type], limit=200)["events"]
    return str(next(event["agent"] for event in events if event["subject"] == subject))


def test_the_link_to_a_proposal_leads_to_it_and_says_who_asks(page: Reader, agent: Caller) -> None:
    for number in range(15):
        propose(agent, f"Number buoy {number} by hand")
    wanted = propose(agent, "Refuse the second sale", rationale="31 double sales in 14 days")
    propose(agent, "Ring the bell at noon")
    opened(page, wanted)
    assert page.seen(row(wanted)), "the row is in the window"
    page.says("#matter-title", "Refuse the second sale")
    assert page.seen("#matter-title") and page.seen(way("approve"))
    page.says('#sides [data-side="new"]', "Refuse the second sale")
    page.says('#sides [data-side="new"]', "31 double sales in 14 days")
    page.says("#matter", "Without a decision")


def test_an_approval_has_an_author_and_is_undone(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Keep one store for each team")
    opened(page, proposal)
    pressed(page, "approve")
    page.says("#notices", "Approved: Keep one store")
    assert fate(agent, proposal) == "applied"
    assert author_of(agent, "proposal_applied", proposal) == "@tess-tester"
    page.keys("z")
    page.says("#notices", "Undone")
    assert fate(agent, proposal) == "staged"
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", proposal)


def test_a_notice_covers_no_button(page: Reader, agent: Caller) -> None:
    first, second = propose(agent, "Store everything twice"), propose(agent, "Store everything thrice")
    opened(page, first)
    pressed(page, "reject")
    page.keys(Keys.ENTER)
    page.says("#notices", "Rejected")
    page.press_on(row(second))
    pressed(page, "reject")
    page.until("document.querySelector('#ask-reason')?.value === 'Not wanted'")
    page.keys(*"Too much", Keys.ENTER)
    page.until("document.querySelector(arguments[0]).classList.contains('gone')", row(second))
    assert (fate(agent, first), fate(agent, second)) == ("rejected", "rejected")
    page.keys("z")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", second)
    assert fate(agent, second) == "staged", "a rejection can be taken back"


def test_nothing_changes_under_the_pointer(page: Reader, agent: Caller) -> None:
    mine = propose(agent, "Paint the fleet orange")
    opened(page, mine)
    page.find(way("approve"))
    under = "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
    under += " window.spot = [box.x + 5, box.y + 5]; window.node = document.elementFromPoint(...window.spot)"
    page.js(under, way("approve"))
    other = propose(agent, "Paint the fleet purple")
    page.find("#fresh")
    assert page.js("return document.elementFromPoint(...window.spot) === window.node")
    assert not page.all(row(other)), "what is new waits"
    agent("reject_proposal", proposal_id=mine, reason="Somebody else decided")
    page.until("document.querySelector(arguments[0])?.classList.contains('gone')", row(mine))
    page.press_on("#fresh")
    page.find(row(other))
    page.gone(row(mine))


def test_put_off_with_a_day_and_taken_up_again(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Move to another harbour")
    opened(page, proposal)
    looked(page)
    page.keys("h")
    page.find("#ask-days")
    page.keys(Keys.ENTER)
    page.says("#notices", "Until")
    assert fate(agent, proposal) == "deferred"
    page.press_on('.facets a[href$="inbox/later"]')
    page.press_on(row(proposal))
    assert "T" not in page.text(row(proposal)).split("until")[1], "a day, no machine's stamp"
    pressed(page, "again")
    page.says("#notices", "Taken up again")
    assert fate(agent, proposal) == "staged"


def test_edited_before_it_is_approved(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Count the gulls dayly", rationale="They are many")
    opened(page, proposal)
    looked(page)
    page.keys("e")
    page.find("#ask-statement")
    page.type("#ask-statement", "Count the gulls daily")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#notices", "Approved as edited")
    (found,) = agent("list_blocks", words="gulls daily")["blocks"]
    assert found["says"] == "Count the gulls daily"
    assert agent("open", id=found["block_id"])["block"]["fields"]["Rationale"] == "They are many"


def test_a_contradiction_is_settled_and_its_undo_brings_it_back(page: Reader, agent: Caller) -> None:
    one, other = decide(agent, "Use glass bottles for ink"), decide(agent, "Do not use glass bottles for ink")
    pairs = agent("list_contradictions")["resolutions"]
    pair = next(item["contradiction_id"] for item in pairs if one in (item["block_a"], item["block_b"]))
    opened(page, pair)
    page.says("#matter-title", "Do not use glass bottles for ink")
    page.says("#against", "Contradicts “Use glass bottles for ink”")
    looked(page)
    page.keys("1")
    page.find("#ask-reason")
    page.keys(Keys.ENTER)
    page.says("#notices", "Not in force")
    now = {block: agent("block_history", block_id=block)["status"] for block in (one, other)}
    assert now == {one: "active", other: "superseded"}
    page.keys("z")
    page.says("#notices", "Undone")
    assert agent("block_history", block_id=other)["status"] == "active"


def test_what_a_scan_proposed_ends_with_the_contradiction_it_was_about(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("twins")
    older, newer = decide(agent, "Use tar for the hull"), decide(agent, "Do not use tar for the hull")
    stronger = {"op": "update_field", "target": newer, "field": "Priority", "value": "P0"}
    edit = agent("propose_edit", ops=[stronger], rationale="It matters more")
    agent("approve_apply", proposal_id=edit["proposal_id"], dry_run=False)
    agent("scan")
    (twin,) = [one["proposal_id"] for one in agent("list_proposals", status="staged")["proposals"]]
    (pair,) = agent("inbox_list")["items"]
    assert twin in pair["facts"]["covers"], "the scan asks the same as the contradiction"
    for page in visited(Reader(driver, heap.server.address)):
        page.open(f"twins/inbox/{twin}")
        page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", pair["id"])
        assert len(page.all(".matter")) == 1, "one dispute is one item, whatever a scan proposed about it"
        page.says("#advice", "Keep “Do not use tar for the hull”")
        pressed(page, "replace")
        page.says("#notices", "Now in force: Do not use tar for the hull")
    assert fate(agent, twin) == "expired"
    now = {block: agent("block_history", block_id=block)["status"] for block in (older, newer)}
    assert now == {older: "superseded", newer: "active"}


def conflict_state(agent: Caller, card: str, conflict_id: str) -> tuple[str, str, str | None]:
    """What the destination holds, and how the conflict stands."""
    (node,) = agent("graph_query", branch="main", ids=[card])["nodes"]
    shown = agent("graph_conflict_show", conflict_id=conflict_id)["conflict"]
    return node["text"], shown["status"], shown["resolution"]


@pytest.mark.parametrize(("name", "key", "resolution"), [("theirs", "2", "use_from"), ("ours", "1", "use_into")])
def test_a_conflict_is_decided_as_the_operation_does_and_undone(
    page: Reader, agent: Caller, name: str, key: str, resolution: str
) -> None:
    mine, called = conflict(agent, f"mine-{name}"), conflict(agent, f"called-{name}")
    agent("graph_conflict_resolve", conflict_id=called, resolution=resolution)
    page.open("ws/inbox?kind=conflict")
    # The first row is chosen as soon as it stands, and the address then names it too.
    page.until("/\\/inbox(\\/[^?]+)?\\?kind=conflict/.test(location.hash)")
    page.press_on(row(mine))
    for side, text in (("base", "old"), ("ours", "ours"), ("theirs", "theirs")):
        page.says(f'#matter [data-field="text"] [data-side="{side}"]', text)
    looked(page)
    page.keys(key)
    page.until("document.querySelector(arguments[0])?.classList.contains('gone')", row(mine))
    assert conflict_state(agent, f"mine-{name}", mine) == conflict_state(agent, f"called-{name}", called)
    page.keys("z")
    page.says("#notices", "Undone")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", mine)
    assert conflict_state(agent, f"mine-{name}", mine) == ("ours", "open", None), "it waits again"


def test_a_conflict_is_merged_field_by_field(page: Reader, agent: Caller) -> None:
    mine = conflict(agent, "fieldwise")
    opened(page, mine)
    page.press_on('#matter [data-field="text"] [data-side="theirs"] input')
    pressed(page, "mixed")
    page.says("#notices", "Merged: text from try-fieldwise, the rest as on main")
    page.until("document.querySelector(arguments[0])?.classList.contains('gone')", row(mine))
    assert conflict_state(agent, "fieldwise", mine) == ("theirs", "resolved", "use_into")
    page.keys("z")
    page.says("#notices", "Undone")
    page.until(f"{CHOSEN}?.dataset.matter === arguments[0]", mine)
    assert conflict_state(agent, "fieldwise", mine) == ("ours", "open", None), "the card and the conflict are as before"


def test_a_conflict_shows_what_the_destination_holds_now(page: Reader, agent: Caller) -> None:
    first = conflict(agent, "overtaken")
    agent("branch_create", name="late", from_="main")
    node = {"op": "node_upsert", "id": "overtaken", "type": "note", "title": "overtaken"}
    agent("graph_apply", branch="late", ops=[{**node, "text": "late"}])
    agent("graph_apply", branch="main", ops=[{**node, "text": "ours, later"}])
    second = agent("graph_merge", from_="late", into="main")["conflict_ids"][0]
    opened(page, first)
    pressed(page, "theirs")
    page.says("#notices", "Taken from try-overtaken")
    page.press_on(row(second))
    page.says('#matter [data-field="text"] [data-side="ours"]', "theirs")
    pressed(page, "ours")
    page.until("document.querySelector(arguments[0])?.classList.contains('gone')", row(second))
    assert conflict_state(agent, "overtaken", second)[0] == "theirs", "what was shown is what was kept"


def test_a_job_is_answered_and_line_breaks_stay(page: Reader, agent: Caller) -> None:
    job, claim = claimed(agent, "Ask the pilot")
    report(agent, job, claim, "question", "Port or starboard?")
    opened(page, job)
    page.says("#matter", "Port or starboard?")
    looked(page)
    page.keys("a")
    page.find("#ask-message")
    page.type("#ask-message", "Starboard.\nThen port.")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.says("#notices", "Answered")
    told = agent("tasks_jobs_open", job=job, include_events=True, fmt="json")["events"]
    assert any(event["message"] == "Starboard.\nThen port." for event in told)


KINDS = {
    "job": 3,
    "step": 4,
    "conflict": 4,
    "contradiction": 3,
    "proposal": 9,
    "fact": 5,
    "review": 4,
    "proof": 4,
    "signal": 4,
}
"""Every kind that the Inbox knows, forty in all."""
CAPTURED = """\
We decided to keep the bells polished
We decided to sell the old crane
We decided to rent a second boat
We decided to close the pier in winter
"""


def forty(agent: Caller) -> None:
    """Forty matters of all kinds, as agents leave them."""
    for number in range(KINDS["job"]):
        job, claim = claimed(agent, f"Ask pilot {number}")
        report(agent, job, claim, "question", "Port or starboard?")
    steps = [{"title": f"Paint pier {number}", "success_criteria": ["painted"]} for number in range(8)]
    task = agent("tasks_macro_start", plan_title="Piers", task_title="Paint", steps=steps)["task_id"]
    for number in range(4):
        agent("tasks_block", task=task, path=f"s:{number}", blocked=True, reason="Rain")
    for number in range(4, 8):
        agent("close", task=task, step=f"s:{number}", unproven="Looked at it")
    for number in range(KINDS["conflict"]):
        conflict(agent, f"card-{number}")
    for thing in ("salt on the ice", "glass bottles for ink", "copper under the roof"):
        decide(agent, f"Use {thing}")
        decide(agent, f"Do not use {thing}")
    for work, thing in zip(WORK.split()[: KINDS["proposal"]], THINGS.split(), strict=False):
        propose(agent, f"{work.title()} every {thing}")
    for number in range(KINDS["fact"]):
        agent("share_fact", text=f"Pier {number} has {number} bollards")
    for work in ("Tar the hull", "Grease the winch", "Wax the mast", "Mend the nets"):
        decide(agent, work, review_by="2024-05-01")
    agent("capture", text=CAPTURED, source="standup.md")


KEYS = {
    "job": [*"a", *"yes", Keys.CONTROL + Keys.ENTER],
    "conflict": ["2"],
    "contradiction": ["1", Keys.ENTER],
    "proof": ["h", Keys.ENTER],
    "signal": ["r", Keys.ENTER],
}
"""How each kind is dealt with; all others by `a` alone. What is pressed together counts as two."""
UNDONE = ("step", "conflict", "contradiction", "proposal", "fact", "review", "proof", "signal")


def test_forty_matters_of_all_kinds_are_cleared_by_keyboard(driver: Any, heap: Heap) -> None:
    agent = heap.agent_of("ws")
    forty(agent)
    assert agent("inbox_list")["counts"] == KINDS and sum(KINDS.values()) == 40
    for page in visited(Reader(driver, heap.server.address)):
        page.open("ws/inbox")
        page.until(f"{OPEN} === 40 && {CHOSEN}")
        page.until("document.title.startsWith('(40) ')")
        presses, tried = 0, set[str]()
        for left in range(39, -1, -1):
            kind = page.js(f"return {CHOSEN}.dataset.key.split(' ')[0]")
            presses += dealt_with(page, kind, left)
            if kind in UNDONE and kind not in tried:
                tried.add(kind)
                page.keys("z")
                page.until(f"{OPEN} === arguments[0]", left + 1)
                page.until(f"{CHOSEN}?.dataset.key.split(' ')[0] === arguments[0]", kind)
                assert agent("inbox_list")["counts"].get(kind) == kinds_left(page, kind), f"undo restores a {kind}"
                presses += 1 + dealt_with(page, kind, left)
            agree(page)
            if left == 20:
                still(page, agent)
        assert tried == set(UNDONE)
        assert presses < 90, presses
        assert agent("inbox_list")["total"] == 1, "only what came in meanwhile"
        page.keys("n")
        page.until(f"{OPEN} === 1")
        page.until("document.title.startsWith('(1) ')")


def dealt_with(page: Reader, kind: str, left: int) -> int:
    """Deals with the chosen matter; how many keys were pressed."""
    pressed = 0
    looked(page)
    for key in KEYS.get(kind, ["a"]):
        if key in (Keys.ENTER, "y"):
            page.find("#ask")
        if len(key) > 1:
            page.chord(*key)
        else:
            page.keys(key)
        pressed += len(key)
    page.until(f"{OPEN} === arguments[0]", left)
    assert page.js("return document.activeElement !== document.body"), "the focus never falls to the body"
    return pressed


def agree(page: Reader) -> None:
    """The number in the tab is that of the list, at every moment."""
    shown = page.js(
        "return ['#tabs [data-page=inbox] .count', '#inbox .facets a']"
        ".map((name) => document.querySelector(name).textContent)"
    )
    assert f"All {shown[0] or 0}" == shown[1]


def kinds_left(page: Reader, kind: str) -> int:
    return len(page.all(f'.matter:not(.gone)[data-key^="{kind} "]'))


def still(page: Reader, agent: Caller) -> None:
    """Another one comes in: every row stays where it is, the new one waits behind its button."""
    tops = "[...document.querySelectorAll('.matter')].map((e) => Math.round(e.getBoundingClientRect().top))"
    before = page.js(f"return {tops}")
    propose(agent, "Hoist a second flag")
    page.says("#fresh", "1 new")
    assert page.js(f"return {tops}") == before, "nothing moves under the pointer"
