"""The check of a rule in its panel: a person approves it there, and takes it back."""

from __future__ import annotations

from tests.browser.pages.conftest import Reader
from tests.conftest import Caller


def state_of(agent: Caller, id: str) -> tuple[str, str | None]:
    [row] = agent("guards", id=id)["guards"]
    return row["state"], row["approved_by"]


def test_a_person_approves_a_check_in_the_panel_and_takes_it_back(page: Reader, agent: Caller) -> None:
    guard = {"commands": ["git push * --force"], "action": "deny", "message": "Ask the harbour master."}
    rule = str(agent("remember", text="The harbour log is never rewritten", kind="rule", guard=guard)["id"])
    page.open(f"ws/o/{rule}")
    page.says("[data-key=guard]", "waits for approval")
    page.says("[data-key=guard]", "git push * --force")
    page.press_on("[data-act=guard_approve]")
    page.says("#ask", rule)
    page.press_on("#ask button.primary")
    page.says("[data-key=guard]", "approved by you")
    state, by = state_of(agent, rule)
    assert state == "guards" and by
    page.press_on("[data-act=guard_revoke]")
    page.says("#ask", rule)
    page.press_on("#ask button.primary")
    page.says("[data-key=guard]", "waits for approval")
    assert state_of(agent, rule) == ("waits", None)


def test_a_rule_without_a_check_says_nothing_of_one(page: Reader, agent: Caller) -> None:
    rule = str(agent("remember", text="The parrot is fed at noon", kind="rule")["id"])
    page.open(f"ws/o/{rule}")
    page.says(".record-title", "The parrot is fed at noon")
    assert not page.there("document.querySelector('[data-key=guard]')")
