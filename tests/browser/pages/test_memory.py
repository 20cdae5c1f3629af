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


def card(proposal: str) -> str:
    return f'[data-proposal="{proposal}"]'


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
    page.open("memory/health")
    page.says("#findings", f"{late} was to be reviewed by 2024-05-01")


def test_a_proposal_is_approved_and_rolled_back(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Keep one store for each team")
    page.open("memory/review")
    page.says(f"{card(proposal)} .diff .added", "+[D-")
    page.click(f'{card(proposal)} [data-act="approve"]')
    page.gone(card(proposal))
    assert fate(agent, proposal) == "applied"
    page.click(f'[data-done="{proposal}"] [data-act="rollback"]')
    page.gone(f'[data-done="{proposal}"] [data-act="rollback"]')
    assert fate(agent, proposal) == "rolled_back"


def test_a_proposal_is_rejected_only_with_a_reason(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Store everything twice")
    page.open("memory/review")
    page.click(f'{card(proposal)} [data-act="reject"]')
    page.until("document.querySelector(arguments[0]).validationMessage.includes('Say why')", f"{card(proposal)} input")
    assert fate(agent, proposal) == "staged"
    page.type(f"{card(proposal)} input", "Twice the trouble")
    page.click(f'{card(proposal)} [data-act="reject"]')
    page.gone(card(proposal))
    assert fate(agent, proposal) == "rejected"
    page.says(f'[data-done="{proposal}"]', "Twice the trouble")


def test_a_proposal_is_put_off(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Move to another harbour")
    page.open("memory/review")
    page.type(f"{card(proposal)} input", "After the season")
    page.click(f'{card(proposal)} [data-act="defer"]')
    page.says(card(proposal), "put off")
    assert fate(agent, proposal) == "deferred"


def test_a_reason_that_is_being_typed_survives_news(page: Reader, agent: Caller) -> None:
    proposal = propose(agent, "Paint the fleet orange")
    page.open("memory/review")
    field = f"{card(proposal)} input"
    page.type(field, "Half a reas")
    other = propose(agent, "Paint the fleet purple")
    page.find(card(other))
    assert page.value(field) == "Half a reas"
    assert page.there("document.activeElement === document.querySelector(arguments[0])", field)
    page.open("home")
    page.open("memory/review")
    page.find(field)


def test_a_refused_approval_is_explained(page: Reader, agent: Caller) -> None:
    gone = decide(agent, "Use the old pier")
    change = {"op": "set_status", "target": gone, "status": "revoked"}
    proposal = agent("propose_edit", ops=[change], rationale="It sank")["proposal_id"]
    page.open("memory/review")
    page.find(f"{card(proposal)} .diff")
    agent("governance", mode="detect_only")
    try:
        page.click(f'{card(proposal)} [data-act="approve"]')
        page.says("#notices [role=alert]", "detect_only")
        page.says("#notices [role=alert]", " call governance mode=propose")
        assert "{" not in page.text("#notices [role=alert]"), "no raw JSON"
        page.click("#notices button:last-of-type")
    finally:
        agent("governance", mode="propose")
    assert fate(agent, proposal) == "staged"


def pair_of(agent: Caller, block: str) -> str:
    found = agent("list_contradictions")["resolutions"]
    return str(next(item["contradiction_id"] for item in found if block in (item["block_a"], item["block_b"])))


def test_a_contradiction_is_a_pair_and_settled_with_one_click(page: Reader, agent: Caller) -> None:
    keep, drop = decide(agent, "Use glass bottles for ink"), decide(agent, "Do not use glass bottles for ink")
    pair = f'[data-pair="{pair_of(agent, keep)}"]'
    page.open("memory/contradictions")
    page.says(f'{pair} [data-side="{keep}"]', "Use glass bottles for ink")
    page.says(f'{pair} [data-side="{drop}"]', "Do not use glass bottles for ink")
    page.says(pair, "One denies what the other says")
    page.click(f'{pair} [data-keep="{keep}"]')
    page.gone(pair)
    now = {block: agent("block_history", block_id=block)["status"] for block in (keep, drop)}
    assert now == {keep: "active", drop: "superseded"}


def test_a_contradiction_may_be_left_for_now(page: Reader, agent: Caller) -> None:
    one = decide(agent, "Use brass lamps on deck")
    decide(agent, "Do not use brass lamps on deck")
    entry = pair_of(agent, one)
    page.open("memory/contradictions")
    page.click(f'[data-pair="{entry}"] [data-way="defer"]')
    page.gone(f'[data-pair="{entry}"]')
    assert agent("block_history", block_id=entry)["status"] == "deferred"


def test_neither_side_may_hold(page: Reader, agent: Caller) -> None:
    one, other = decide(agent, "Use rope ladders at night"), decide(agent, "Do not use rope ladders at night")
    entry = pair_of(agent, one)
    page.open("memory/contradictions")
    page.click(f'[data-pair="{entry}"] [data-way="revoke"]')
    page.gone(f'[data-pair="{entry}"]')
    assert {agent("block_history", block_id=block)["status"] for block in (one, other)} == {"revoked"}
