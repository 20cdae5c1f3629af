"""Parses a card from any form (object, JSON text, `key: value` lines, plain text) and normalizes it; templates."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.canonical import Json, as_json
from clew.errors import ClewError, Hint, Suggestion, invalid, shorten, suggest
from clew.ids import check_node_id, normal_tags
from clew.kinds import statuses
from clew.reasoning.visibility import CARD_TYPES
from clew.registry.arguments import check_inner, nearest
from clew.registry.blank_forms import CARD_FORMS, is_unfilled
from clew.registry.budget import Budget, Drop
from clew.registry.context import Context
from clew.registry.operation import MAX_TEXT, Bounded, Name, operation

CardInput = Annotated[
    Annotated[str, Field(max_length=MAX_TEXT)] | Json,
    Field(
        description="Object with title/text, type, id, status, tags, meta; or its JSON, key: value lines, or a text."
    ),
]

MAX_TITLE = 1000
MAX_STATUS = 64
MAX_TAGS = 200
KEYS = frozenset({"id", "card_id", "type", "title", "text", "status", "tags", "meta"})
RECEIPTS = ("CMD:", "LINK:")
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63}):(?:[ \t]+(.*))?")
_SEPARATOR = re.compile(r"[;,]")
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Card:
    """A card in its normalized form. Without an id it gets one when written."""

    id: str | None
    type: str
    title: str | None
    text: str | None
    status: str = statuses.OPEN
    tags: tuple[str, ...] = ()
    meta: Json = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.title or self.text or ""

    def with_tags(self, *tags: str) -> Card:
        return replace(self, tags=tuple(sorted({*self.tags, *tags})))

    def with_meta(self, **meta: Any) -> Card:
        return replace(self, meta={**self.meta, **meta})


def read_card(given: str | Json, forced_type: str | None = None, default_type: str = "note") -> Card:
    """Parse a card from any form. `forced_type` takes precedence over the type that the card names."""
    raw = given if isinstance(given, dict) else _from_text(given)
    kind = forced_type or check_card_type(_string(raw, "type", 128) or default_type)
    card = Card(
        id=_card_id(raw),
        type=kind,
        title=_string(raw, "title", MAX_TITLE),
        text=_string(raw, "text", MAX_TEXT),
        status=_string(raw, "status", MAX_STATUS) or statuses.OPEN,
        tags=_tags(raw.get("tags")),
        meta=_meta(raw),
    )
    if not card.title and not card.text:
        raise _refused("card", "needs a title or a text", kind="non_empty")
    _refuse_form(card)
    return card


def parse_lines(text: str) -> Json:
    """Parse `key: value` lines as an object, or the whole text as the card's text. Never refuses anything.

    Lines are parsed as fields if the first one names a key of a card. A line that is indented or is not a field
    continues the value above it; so do the receipts `CMD:` and `LINK:` inside of a text.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    opening = _FIELD.fullmatch(first)
    if opening is None or opening.group(1).lower() not in KEYS:
        return {"text": text}
    fields = _gather(text)
    tags = fields.pop("tags", None)
    # A meta line that is not a JSON object is kept as text under its own key.
    meta = _object(fields.get("meta"))
    if meta is not None:
        fields.pop("meta")
    known = {key: value for key, value in fields.items() if key in KEYS and key != "meta"}
    unknown = {key: value for key, value in fields.items() if key not in known}
    parsed = {**known, "meta": {**(meta or {}), **unknown}}
    return parsed if tags is None else {**parsed, "tags": tags}


def check_card_type(value: str, field: str = "card.type") -> str:
    kind = value.strip().lower()
    if kind not in CARD_TYPES:
        near = nearest(kind, list(CARD_TYPES)) or "note"
        message = f"{field}: {shorten(value, 60)!r} is not a card type"
        recovery = f"Use one of: {', '.join(CARD_TYPES)}."
        hints = [{"kind": "choice", "field": field, "expected": ", ".join(CARD_TYPES)}]
        ways = [suggest("think_template", "Shows what such a card looks like.", "high", type=near)]
        details = {"supported_types": list(CARD_TYPES)}
        raise ClewError("INVALID_INPUT", message, recovery, hints, ways, details)
    return kind


def _gather(text: str) -> dict[str, str]:
    fields: dict[str, list[str]] = {}
    current = "text"
    for line in text.split("\n"):
        match = _FIELD.fullmatch(line.rstrip("\r"))
        if match is None or (current == "text" and line.startswith(RECEIPTS)):
            fields.setdefault(current, []).append(line.removeprefix(_INDENT))
            continue
        name = match.group(1)
        current = name.lower() if name.lower() in KEYS else name
        fields.setdefault(current, []).append(match.group(2) or "")
    return {key: "\n".join(lines) for key, lines in fields.items() if key in KEYS or lines}


def _object(value: str | None) -> Json | None:
    try:
        parsed = orjson.loads(value or "null")
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _from_text(text: str) -> Json:
    stripped = text.strip()
    # Text in braces is meant as JSON. Storing broken JSON as a note's text would hide the mistake.
    if stripped.startswith("{") and stripped.endswith("}"):
        try:
            parsed: Any = orjson.loads(stripped)
        except orjson.JSONDecodeError as problem:
            message = f"looks like a JSON object and is not one: {shorten(str(problem), 120)}"
            raise _refused("card", message, kind="type") from None
        return dict(check_inner(parsed, "card"))
    return parse_lines(text)


def _card_id(raw: Json) -> str | None:
    for key in ("id", "card_id"):
        value = _string(raw, key, 1024)
        if value:
            return check_node_id(value, f"card.{key}")
    return None


def _string(raw: Json, key: str, limit: int) -> str | None:
    value = raw.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _refused(f"card.{key}", "expected a string", kind="type", expected="string")
    trimmed = value.strip()
    if len(trimmed) > limit:
        raise _refused(f"card.{key}", f"is longer than {limit} characters", kind="length", max_chars=limit)
    if key in {"status", "title", "type"} and ("\n" in trimmed or "\r" in trimmed):
        raise _refused(f"card.{key}", "must be one line", kind="characters")
    return trimmed or None


def _tags(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    given = _SEPARATOR.split(value) if isinstance(value, str) else value
    if not isinstance(given, list) or not all(isinstance(tag, str) for tag in given):
        raise _refused("card.tags", "expected a list of strings", kind="type", expected="list", items="string")
    if len(given) > MAX_TAGS:
        raise _refused("card.tags", f"holds more than {MAX_TAGS} tags", kind="length", max_items=MAX_TAGS)
    return tuple(normal_tags(given, "card.tags"))


def _meta(raw: Json) -> Json:
    """The given meta, with every unknown key of the card added."""
    given = raw.get("meta")
    if given is not None and not isinstance(given, dict):
        raise _refused("card.meta", "expected an object", kind="type", expected="object")
    unknown = {str(key): value for key, value in raw.items() if key not in KEYS and value is not None}
    return dict(check_inner({**(given or {}), **unknown}, "card.meta"))


def _refused(field: str, message: str, **hint: Any) -> ClewError:
    return invalid(field, message, "Give a card such as the one in the suggestion.", [example_call()], **hint)


def example_call() -> Suggestion:
    return suggest("think_template", "Shows a card to fill in.", "high", type="hypothesis")


def lost_edges(card: Card) -> list[Hint]:
    """Edges that were written inside the card, where they are ignored."""
    return [{"kind": "misplaced", "field": key} for key in ("supports", "blocks") if key in card.meta]


META: dict[str, Json] = {"test": {"run": {"cmd": "<fill: command>"}, "stale_after_days": 30}}


TEST_PROPOSAL = "Smallest check that could prove it wrong."
COUNTER_PROPOSAL = "The strongest case against it, stated so that a test could confirm it."
DOUBT_PROPOSAL = (
    "Counter-hypothesis: it only looks done.\nFalsifier: the smallest check that fails then.\nStop when it passes."
)
OUTCOME_PROPOSAL = "RESULT: what came out\nLINK: where it can be seen"
CLAIM_PROPOSAL = "What must hold for: "
"""Prefix of titles that views once proposed; existing stores contain such cards."""
_PROPOSALS = frozenset(" ".join(text.split()) for text in (TEST_PROPOSAL, COUNTER_PROPOSAL, DOUBT_PROPOSAL))
"""Placeholder texts that the engine and the views propose for an author to replace. A card with such a text is stored,
but does not count until it is rewritten, which its response reports."""


def is_form(title: str | None, text: str | None) -> bool:
    """Whether a card is an unfilled template: it contains `<fill`, or the text of a template or proposal."""
    parts = [" ".join(part.split()) for part in (title, text) if part and part.strip()]
    if any(is_unfilled(part) or any(line in part for line in OUTCOME_PROPOSAL.splitlines()) for part in parts):
        return True
    return bool(parts) and (parts[-1] in _PROPOSALS or parts[0].startswith(CLAIM_PROPOSAL))


def _refuse_form(card: Card) -> None:
    """Refuse an unfilled template. The dispatcher checks arguments only; a card may be JSON or lines inside a text."""
    if any(is_unfilled(part) for part in (card.title or "", card.text or "")):
        way = suggest("think_template", "Shows the form again.", "medium", type=card.type)
        ways = [way] if card.type in CARD_FORMS else []
        recovery = "Write it in your own words; where nothing is known yet, leave the line out."
        raise invalid("card", "is a form that nobody filled in", recovery, ways)


def template(kind: str) -> Json:
    title, text = CARD_FORMS[kind]
    return as_json(Card(None, kind, title, text, meta=META.get(kind, {})))


class ThinkTemplate(Bounded):
    type: Annotated[Name, Field(description="Card type, such as hypothesis, test or decision.")]


TEMPLATE_BUDGET = Budget(
    (Drop("supported_types"), Drop("template.meta"), Drop("template.text")), keep=("type", "template")
)


@operation("think_template", budget=TEMPLATE_BUDGET, example={"type": "hypothesis"})
def think_template(ctx: Context, args: ThinkTemplate) -> Json:
    """Give a card of a type to fill in."""
    kind = check_card_type(args.type, "type")
    return {
        "workspace": ctx.workspace,
        "type": kind,
        "supported_types": list(CARD_TYPES),
        "template": template(kind),
    }
