"""Card templates: what each type of card asks for, so that nobody has to guess."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import suggest
from clew.reasoning.card_input import check_card_type
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.budget import Budget, Drop
from clew.registry.context import Context
from clew.registry.operation import Bounded, Name, operation

PROMPTS: dict[str, tuple[str, str]] = {
    "frame": ("What this is about", "Goal, limits, what counts as done, what is out of scope."),
    "hypothesis": ("What you believe", "Because ..., we expect ...; it is wrong if ..."),
    "question": ("What must be found out", "Why it matters, who or what can answer it."),
    "test": ("How it could fail", "What you do and which outcome would refute it.\nCMD: <fill: command>"),
    "evidence": ("What came out", "CMD: <fill: command>\nRESULT: <fill: outcome>\nLINK: <fill: where to see it>"),
    "decision": ("What you will do", "The reason, what was ruled out, what would change your mind."),
    "note": ("Something worth keeping", "In your own words."),
    "update": ("What changed", "Before, after, and what that means for the rest."),
}
META: dict[str, dict[str, Any]] = {"test": {"run": {"cmd": "<fill: command>"}, "stale_after_days": 30}}


def template(kind: str) -> dict[str, Any]:
    title, text = PROMPTS[kind]
    return {
        "id": None,
        "type": kind,
        "title": title,
        "text": text,
        "status": "open",
        "tags": [],
        "meta": META.get(kind, {}),
    }


class ThinkTemplate(Bounded):
    type: Annotated[Name, Field(description="Card type, such as hypothesis, test or decision.")]


TEMPLATE_BUDGET = Budget((Drop("supported_types"), Drop("template.meta"), Drop("template.text")), keep=("type",))


@operation("think_template", budget=TEMPLATE_BUDGET, example={"type": "hypothesis"})
def think_template(ctx: Context, args: ThinkTemplate) -> dict[str, Any]:
    """Give a card of a type to fill in."""
    kind = check_card_type(args.type, "type")
    ctx.suggest(suggest("think_card", "Keeps the card; fill it in first.", "low", card=template(kind)))
    return {
        "workspace": ctx.workspace,
        "type": kind,
        "supported_types": list(CARD_TYPES),
        "template": template(kind),
        "truncated": False,
    }
