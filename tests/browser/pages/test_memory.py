"""Memory on the page: recall explained, blocks with their history, the review queue, contradictions as pairs."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.conftest import Caller


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


def test_recall_explains_its_scores_in_plain_words(page: Reader, agent: Caller) -> None:
    agent("notes_commit", title="Locks", content="Writers starve when the lock is held while files are rendered")
    page.open("memory")
    page.type("#query", "why do writers starve")
    page.submit("form.ask")
    page.says("#intent", "Read as WHY")
    page.says("#results", "Writers starve")
    page.says(".result [data-feature=window]", "your words, here and nearby")
    assert page.there("document.querySelector('.result [data-feature=window] rect.plus').width.baseVal.value > 2")
    page.reload()
    page.says("#results", "Writers starve")
    assert page.value("#query") == "why do writers starve", "the address keeps the question"


def test_recall_is_narrowed_by_intent_source_and_status(page: Reader, agent: Caller) -> None:
    agent("notes_commit", content="The zeppelin hangar needs paint")
    old = decide(agent, "Paint the zeppelin hangar blue")
    decide(agent, "Paint the zeppelin hangar white", supersedes=old)
    page.open("memory/recall/zeppelin%20hangar/all")
    page.says("#intent", "Read as WHAT")
    page.until("document.querySelectorAll('.result').length === 2")  # what was replaced is folded under the new one
    page.choose("#intent-wanted", "WHY")
    page.says("#intent", "Read as WHY (100 % sure)")
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
    page.click("#facets button:nth-child(1)")
    page.until("document.querySelector('.result[hidden]')")
    page.click("#facets button:nth-child(1)")
    page.until("!document.querySelector('.result[hidden]')")


def test_silence_names_the_nearest_miss(page: Reader, agent: Caller) -> None:
    page.open("memory/recall/xylophone%20quartz%20vortex/all")
    page.says("#silence", "Nothing relevant is known")
    page.says("#silence", "No stored text shares a word")


def test_blocks_are_found_and_shown_with_history_and_provenance(page: Reader, agent: Caller) -> None:
    block = decide(agent, "Ship wombats by rail", rationale="They dislike flying")
    change = {"op": "update_field", "target": block, "field": "Rationale", "value": "They love trains"}
    proposal = agent("propose_edit", ops=[change], rationale="Kinder")["proposal_id"]
    agent("approve_apply", proposal_id=proposal, dry_run=False)
    page.open("ws/know/blocks")
    page.type("#blocks-search", "wombats")
    page.until("document.querySelectorAll('#blocks li').length === 1")
    assert page.js("return document.activeElement.id") == "blocks-search", "typing goes on while the list changes"
    page.press_on("#blocks li a")
    page.says("#panel .record-title", "Ship wombats by rail")
    for words in ("They love trains", "decisions/DECISIONS.md:", "Where it comes from", "proposal"):
        page.says("#panel", words)
    page.press_on('#panel [data-version="2"] summary')
    page.says('#panel [data-version="2"] .removed', "-Rationale: They dislike flying")
    page.says('#panel [data-version="2"] .added', "+Rationale: They love trains")
    page.press_on(f'#panel [data-version="2"] a[href$="{proposal}"]')
    page.says("#panel .record-title", "Change Rationale of “Ship wombats by rail”")
    page.keys(Keys.ESCAPE)
    page.gone("#panel > *")
    assert page.js("return location.hash") == "#/ws/know/blocks", "the place below is still there"
    assert page.seen("#blocks li a")


def test_overdue_reviews_are_listed(page: Reader, agent: Caller) -> None:
    late = decide(agent, "Count the puffins every spring", review_by="2024-05-01")
    page.open("memory/blocks")
    page.type("#blocks-search", "puffins")
    page.says(f'#blocks [data-key="{late}"]', "review by 2024-05-01")
