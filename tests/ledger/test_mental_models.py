"""Mental models: the seed's fifteen with its tags, and a user's own."""

from __future__ import annotations

import re

import pytest

from clew.app import Clew
from clew.ledger.mental_models import ORDER, TAGS, built_in
from clew.registry.connection import Connection
from tests.conftest import Caller

SEED = {
    "rubber-duck": ("Rubber Duck Debugging", {"debugging"}),
    "five-whys": ("Five Whys", {"debugging", "problem-solving"}),
    "pre-mortem": ("Pre-Mortem Analysis", {"planning", "risk-management"}),
    "steelmanning": ("Steelmanning", {"decision-making"}),
    "fermi-estimation": ("Fermi Estimation", {"planning", "analysis"}),
    "trade-off-matrix": ("Trade-off Matrix", {"decision-making"}),
    "decomposition": ("Problem Decomposition", {"planning", "problem-solving"}),
    "inversion": ("Inversion", {"decision-making", "risk-management"}),
    "abstraction-laddering": ("Abstraction Laddering", {"problem-solving", "analysis"}),
    "constraint-relaxation": ("Constraint Relaxation", {"problem-solving"}),
    "assumption-surfacing": ("Assumption Surfacing", {"analysis"}),
    "adversarial-thinking": ("Adversarial Thinking", {"risk-management"}),
    "time-horizon-shifting": ("Time Horizon Shifting", {"planning", "decision-making"}),
    "impact-effort-grid": ("Impact-Effort Grid", {"planning", "decision-making"}),
    "opportunity-cost": ("Opportunity Cost", {"decision-making"}),
}


@pytest.fixture
def engine() -> str:
    """Nothing here depends on the engine."""
    return "sqlite"


def test_the_catalogue_is_the_seeds() -> None:
    assert {name: (model.title, set(model.tags)) for name, model in built_in().items()} == SEED
    assert tuple(built_in()) == ORDER


@pytest.mark.parametrize("name", ORDER)
def test_a_text_has_its_parts_and_its_length(name: str) -> None:
    content = built_in()[name].content
    headings = re.findall(r"^## (.+)$", content, re.MULTILINE)
    for part in ("When to use", "Process", "Key principle", "Worked example", "Anti-patterns"):
        assert part in headings
    assert 300 <= len(content.split()) <= 600


def test_a_model_is_got_by_either_argument(call: Caller) -> None:
    first = call("mental_models_get_model", modelId="inversion")
    assert first == call("mental_models_get_model", model="inversion")
    assert first["content"].startswith("# Inversion")


def test_an_unknown_model_names_the_nearest_and_all(call: Caller) -> None:
    error = call.error("mental_models_get_model", modelId="five-why")
    assert "five-whys" in error["recovery"]
    assert error["details"]["availableModels"] == list(ORDER)


def test_tags_narrow_the_list_and_unknown_ones_are_refused(call: Caller) -> None:
    found = call("mental_models_list_models", tag="debugging")
    assert [model["name"] for model in found["models"]] == ["rubber-duck", "five-whys"]
    assert found["filter"] == "debugging"
    both = call("mental_models_list_models", tags=["planning", "risk-management"])
    assert [model["name"] for model in both["models"]] == ["pre-mortem"]
    assert call.error("mental_models_list_models", tag="magic")["code"] == "INVALID_INPUT"


def test_tags_are_listed_with_their_use(call: Caller) -> None:
    assert {tag["name"] for tag in call("mental_models_list_tags")["tags"]} == set(TAGS)


def test_a_domain_narrows_what_is_listed(call: Caller) -> None:
    gate = "thoughtbox_gateway"
    call(gate, operation="start_new", cipher=True)
    call(gate, operation="navigate", domain="debugging")
    found = call(gate, operation="mental_models", subOperation="list_models")
    assert found["count"] == 2


def test_users_may_add_and_replace_models(clew: Clew, call: Caller) -> None:
    folder = clew.settings.home / "mental-models"
    folder.mkdir(parents=True)
    (folder / "rule-of-three.md").write_text("# Rule of Three\n\nWait for the third case. Then abstract.\n")
    (folder / "inversion.md").write_text("---\ntitle: Ours\ntags: house\n---\n# Ours\n\nText.\n")
    (folder / "Bad Name.md").write_text("x")
    assert call("mental_models_get_model", modelId="rule-of-three")["title"] == "Rule of Three"
    assert call("mental_models_get_model", modelId="inversion")["title"] == "Ours"
    listed = call("mental_models_list_models")
    assert listed["count"] == 16
    assert listed["unreadable"]
    assert call("mental_models_list_models", tag="house")["count"] == 1


def test_models_are_resources_with_completions(clew: Clew) -> None:
    session = Connection()
    text = clew.dispatcher.read_resource("thoughtbox://mental-models/debugging/five-whys", session).text
    assert text.split("---\n\n")[1].startswith("# Five Whys")
    assert "five-whys" in clew.dispatcher.read_resource("thoughtbox://mental-models", session).text
    uri = "thoughtbox://mental-models/{tag}/{model}"
    assert clew.dispatcher.complete("resource", uri, "model", "f", session) == ["five-whys", "fermi-estimation"]
