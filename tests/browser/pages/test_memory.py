"""Memory on the page: recall explained, blocks with their history, the review queue, contradictions as pairs."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.conftest import Caller

VISIBLE = "[...document.querySelectorAll('.result')].filter((item) => item.checkVisibility()).length"
"""What a person sees, whatever its attributes say."""
QUOKKAS = VISIBLE.replace("item.checkVisibility()", "item.checkVisibility() && /uokka/.test(item.textContent)")


def propose(agent: Caller, statement: str, **more: object) -> str:
    found: str = agent("propose_update", block_type="decision", statement=statement, **more)["proposal_id"]
    return found


def decide(agent: Caller, statement: str, **more: object) -> str:
    """The id of the block that an approved proposal made."""
    proposal = propose(agent, statement, **more)
    found: str = agent("approve_apply", proposal_id=proposal, dry_run=False)["blocks"][0]
    return found


def fate(agent: Caller, proposal: str) -> str:
    found = agent("list_proposals", limit=200)["proposals"]
    return str(next(item["status"] for item in found if item["proposal_id"] == proposal))


def test_recall_answers_first_and_keeps_its_scores_behind_details(page: Reader, agent: Caller) -> None:
    agent("notes_commit", title="Locks", content="Writers starve when the lock is held while files are rendered")
    decide(agent, "Zeppelin hangars are swept daily")
    decide(agent, "Zeppelin hangars are not swept daily")
    agent("scan")
    page.open("memory")
    page.type("#query", "why do writers starve")
    page.submit("form.ask")
    page.says("#results", "Writers starve")
    assert not page.seen(".result .features"), "a number explains nothing to a person"
    page.settled()
    page.press_on(".result summary")
    page.says(".result .features", "window")
    page.reload()
    page.says("#results", "Writers starve")
    assert page.value("#query") == "why do writers starve", "the address keeps the question"
    page.type("#query", "are zeppelin hangars swept")
    page.submit("form.ask")
    page.until(
        "[...document.querySelectorAll('.result .badge.bad')].some((e) => /^disputed with D-/.test(e.textContent))"
    )
    page.js("document.getElementById('query').focus()")
    page.keys(Keys.ESCAPE)
    page.gone(".result")
    assert page.value("#query") == "", "an empty question has no answers"


def test_recall_is_narrowed_by_source_and_status(own_page: Reader, own_agent: Caller) -> None:
    page, agent = own_page, own_agent
    agent("notes_commit", content="The zeppelin hangar needs paint")
    old = decide(agent, "Paint the zeppelin hangar blue")
    decide(agent, "Paint the zeppelin hangar white", supersedes=old)
    page.open("ws/know/recall/paint%20zeppelin%20hangar/all")
    # What was replaced is folded under the new one.
    page.until("[...document.querySelectorAll('.result')].filter((e) => /aint/.test(e.textContent)).length === 2")
    page.choose("#sources", "notes")
    page.until("[...document.querySelectorAll('.result')].every((item) => item.textContent.includes('note'))")
    page.choose("#sources", "blocks")
    page.until("[...document.querySelectorAll('.result')].some((item) => item.textContent.includes('hangar white'))")
    page.choose("#holds", "active")
    page.until(f"document.querySelector('.result') && !document.querySelector('[data-ref=\"{old}\"]')")


def test_facets_narrow_what_is_shown(page: Reader, agent: Caller) -> None:
    agent("notes_commit", content="Quokkas sleep at noon")
    decide(agent, "Feed the quokkas at noon")
    page.open("memory/recall/quokkas%20at%20noon/all")
    page.until(f"{QUOKKAS} === 2")
    page.press_on('#facets [data-value="note"]')
    page.until(f"{QUOKKAS} === 1")
    page.says(".result:not([hidden])", "Quokkas sleep")
    page.until("/^1 of \\d+ results shown/.test(document.querySelector('#shown-results').textContent)")
    page.reload()
    page.until(f"{QUOKKAS} === 1")  # the address holds the facet
    page.js("history.back()")
    page.until(f"{QUOKKAS} === 2")
    page.press_on('#facets [data-value="note"]')
    page.until(f"{QUOKKAS} === 1")
    page.press_on('#facets [data-value="note"]')
    page.until(f"{QUOKKAS} === 2")
    assert page.text(".result mark").lower() in ("quokkas", "noon"), "the words of the question are marked"


def test_silence_names_the_nearest_miss(page: Reader, agent: Caller) -> None:
    page.open("memory/recall/xylophone%20quartz%20vortex/all")
    page.says("#silence", "Nothing is known about this")
    page.says("#silence", "No record shares a word")


def test_blocks_are_found_and_shown_with_history_and_provenance(page: Reader, agent: Caller) -> None:
    block = decide(agent, "Ship wombats by rail", rationale="They dislike flying")
    change = {"op": "update_field", "target": block, "field": "Rationale", "value": "They love trains"}
    proposal = agent("propose_edit", ops=[change], rationale="Kinder")["proposal_id"]
    agent("approve_apply", proposal_id=proposal, dry_run=False)
    page.open("ws/know/lists")
    page.type("#list-words", "wombats")
    page.until("document.querySelectorAll('#records li').length === 1")
    assert page.js("return document.activeElement.id") == "list-words", "typing goes on while the list changes"
    page.until("location.hash.endsWith('words=wombats')")
    page.press_on("#records li a")
    page.says("#panel .record-title", "Ship wombats by rail")
    for words in ("They love trains", "decisions/DECISIONS.md:", "Where it comes from", "proposal"):
        page.says("#panel", words)
    page.press_on('#panel [data-version="2"] summary')
    page.says('#panel [data-version="2"] .removed', "-Rationale: They dislike flying")
    page.says('#panel [data-version="2"] .added', "+Rationale: They love trains")
    page.press_on(f'#panel [data-version="2"] a[href$="{proposal}"]')
    page.says("#panel .record-title", "Change the reason of “Ship wombats by rail”")
    page.keys(Keys.ESCAPE)
    page.gone("#panel > *")
    assert page.js("return location.hash") == "#/ws/know/lists?words=wombats", "the place below is still there"
    assert page.seen("#records li a")


def test_overdue_reviews_are_listed(page: Reader, agent: Caller) -> None:
    late = decide(agent, "Count the puffins every spring", review_by="2024-05-01")
    page.open("memory/blocks")
    page.type("#list-words", "puffins")
    page.says(f'#records [data-key="{late}"]', "review by 2024-05-01")
