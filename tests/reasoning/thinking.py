"""Short ways to write cards in tests, and to run what the engine proposes."""

from __future__ import annotations

from typing import Any

from clew.registry.catalogue import catalogue
from tests.conftest import Caller

VIEWS = ("think_query", "think_context", "think_frontier", "think_next", "think_pack", "think_watch", "context_pack")


def think(call: Caller, card_id: str, kind: str = "hypothesis", /, **more: Any) -> str:
    """Write a card; edges and places beside `card`, everything else inside it."""
    beside = {name: more.pop(name) for name in ("supports", "blocks", "target", "step", "branch") if name in more}
    card = {"id": card_id, "type": kind, "title": f"{kind} {card_id}", **more}
    assert call("think_card", card=card, **beside)["card_id"] == card_id
    return card_id


def ids(cards: list[dict[str, Any]]) -> list[str]:
    return [card["id"] for card in cards]


def codes(block: dict[str, Any] | None) -> list[str]:
    return [signal["code"] for signal in (block or {"signals": []})["signals"]]


def kinds(block: dict[str, Any] | None) -> list[str]:
    return [action["kind"] for action in (block or {"actions": []})["actions"]]


def run_engine_calls(call: Caller, block: dict[str, Any] | None) -> int:
    """Execute every call of every action as it stands; each must succeed and be listed by then."""
    done = 0
    for action in (block or {"actions": []})["actions"]:
        toolset = call.session.toolset
        for proposed in action["calls"]:
            if proposed["action"] == "call_method":
                toolset = proposed["params"]["toolset"]
                continue
            entry = catalogue().find(proposed["target"])
            assert entry in catalogue().listed(toolset), f"{proposed['target']} is not listed in {toolset}"
            call(proposed["target"], **proposed["params"])
            done += 1
    return done


def a_task(call: Caller, *steps: str) -> str:
    """A task with steps, in focus."""
    plan = call("tasks_create", kind="plan", title="Plan")["id"]
    made = call(
        "tasks_create",
        kind="task",
        title="Task",
        parent=plan,
        steps=[{"title": title, "success_criteria": ["done"], "tests": ["run"]} for title in steps],
    )
    call("tasks_focus_set", task=made["id"])
    return str(made["id"])
