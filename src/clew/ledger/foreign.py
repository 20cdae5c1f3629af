"""Thoughts that come from outside: any shape becomes drafts that the ledger can hold, and what was bent is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from clew.ids import CHAIN
from clew.ledger.chains import MAIN
from clew.ledger.notation import KINDS
from clew.ledger.titles import slug

MAX_NUMBER = 999_999_999
DEEPEST = 32
_KNOWN_DATA = frozenset(
    {
        "thought", "thoughtNumber", "totalThoughts", "nextThoughtNeeded", "isRevision", "revisesThought",
        "branchFromThought", "branchId", "timestamp", "critique", "type", "agentId",
    }
)  # fmt: skip
_KNOWN_NODE = frozenset({"id", "data", "prev", "next", "revisesNode", "branchOrigin", "branchId", "revisionMetadata"})


@dataclass
class Foreign:
    """One node: its data made sound, its pointers still in the ids it came with."""

    id: str
    chain: str
    label: str | None
    number: int | None
    text: str
    total: int | None
    next_needed: bool
    ts_ms: int | None
    is_revision: bool
    kind: str | None
    agent: str | None
    critique: dict[str, Any] | None
    prev: str | None
    revises: str | None
    origin: str | None
    extra: dict[str, Any] = field(default_factory=dict)


class Chains:
    """Branch ids as anyone may have written them, and the ids they get here."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def name(self, raw: str | None) -> tuple[str, str | None]:
        if not raw:
            return MAIN, None
        if raw not in self._given:
            wanted = raw if CHAIN.fullmatch(raw) else slug(raw) or "branch"
            taken, tries = set(self._given.values()), 2
            chosen = wanted
            while chosen in taken:
                chosen, tries = f"{wanted[:58]}-{tries}", tries + 1
            self._given[raw] = chosen
        chosen = self._given[raw]
        return chosen, raw if raw != chosen else None


def foreign_node(node: dict[str, Any], session: str, chains: Chains, labels: dict[str, str]) -> Foreign:
    """Take a node as it is found; nothing in it is trusted to have the right type."""
    data = node.get("data") if isinstance(node.get("data"), dict) else {}
    assert isinstance(data, dict)
    raw = _text(node.get("branchId")) or _text(data.get("branchId")) or None
    chain, label = chains.name(raw)
    number = sound_number(data.get("thoughtNumber"))
    key = _text(node.get("id")) or f"{session}:{raw + ':' if raw else ''}{data.get('thoughtNumber')}"
    extra = {name: value for name, value in data.items() if name not in _KNOWN_DATA}
    if number is None and data.get("thoughtNumber") is not None:
        extra["originalNumber"] = data["thoughtNumber"]
    more = {name: value for name, value in node.items() if name not in _KNOWN_NODE}
    if more:
        extra["nodeFields"] = more
    return Foreign(
        id=key,
        chain=chain,
        label=label or labels.get(chain),
        number=number,
        text=storable(data.get("thought") if isinstance(data.get("thought"), str) else ""),
        total=sound_number(data.get("totalThoughts")),
        next_needed=data.get("nextThoughtNeeded") is not False,
        ts_ms=time_ms(data.get("timestamp")),
        is_revision=data.get("isRevision") is True or _text(node.get("revisesNode")) != "",
        kind=_text(data.get("type")) if _text(data.get("type")) in KINDS else None,
        agent=_text(data.get("agentId")) or None,
        critique=_critique(data.get("critique")),
        prev=_text(node.get("prev")) or None,
        revises=_text(node.get("revisesNode")) or _same_chain(session, raw, data.get("revisesThought")),
        origin=_text(node.get("branchOrigin")) or _main_line(session, data.get("branchFromThought")),
        extra=sound(extra),
    )


def _same_chain(session: str, raw: str | None, number: Any) -> str | None:
    return f"{session}:{raw + ':' if raw else ''}{number}" if sound_number(number) else None


def _main_line(session: str, number: Any) -> str | None:
    return f"{session}:{number}" if sound_number(number) else None


def _critique(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    kept: dict[str, Any] = sound(value)
    return kept if "status" in kept else {"status": "ok", **kept}


def _text(value: Any) -> str:
    return storable(value) if isinstance(value, str) else ""


def storable(text: Any) -> str:
    """Without the characters that no store takes."""
    plain = str(text).replace("\x00", "\ufffd")
    return plain.encode("utf-8", "replace").decode() if not plain.isascii() else plain


def sound(value: Any, depth: int = 0) -> Any:
    """JSON that the store can hold: texts without what it does not take, and an ellipsis for what lies too deep."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, (dict, list)) and depth > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {storable(name): sound(item, depth + 1) for name, item in value.items()}
    return [sound(item, depth + 1) for item in value] if isinstance(value, list) else value


def sound_number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= MAX_NUMBER:
        return None
    return int(value) if value == int(value) else None


def time_ms(value: Any) -> int | None:
    """Milliseconds of an ISO time or a number; None when it is neither."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value) if 0 <= value < 253_402_300_800_000 else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    ms = round(aware.timestamp() * 1000)
    return ms if ms >= 0 else None
