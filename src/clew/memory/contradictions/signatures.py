"""Constraint signatures: the requirements of a decision, in fields that can be compared exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_HEAD = re.compile(r"ConstraintSignatures?\s*:\s*$")
_PAIR = re.compile(r"(?P<indent> *)(?:- )?(?P<key>[a-z_]+):\s*(?P<value>.*)$")
NESTED = ("scope", "axis", "lifecycle")
SEVERITY = {
    frozenset(("must", "must_not")): "critical",
    frozenset(("should", "must_not")): "medium",
    frozenset(("should", "should_not")): "medium",
    frozenset(("must", "should_not")): "medium",
    frozenset(("may", "must_not")): "low",
}
SURE = {"critical": 0.95, "medium": 0.8, "low": 0.6}


@dataclass
class Signature:
    id: str
    domain: str = "other"
    subject: str = ""
    predicate: str = ""
    object: str = ""
    modality: str = "may"
    priority: int = 1
    relation: str = ""
    enforcement: str = ""
    composes_with: list[str] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    axis: dict[str, Any] = field(default_factory=dict)

    @property
    def group(self) -> str:
        return str(self.axis.get("key") or f"{self.domain}.{self.subject}").lower()


@dataclass(frozen=True)
class Conflict:
    severity: str
    reason: str

    @property
    def confidence(self) -> float:
        return SURE[self.severity]


def signatures(text: str) -> list[Signature]:
    """The signatures in a block; the list ends at the first line that is none."""
    if "ConstraintSignature" not in text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    start = next((number for number, line in enumerate(lines) if _HEAD.match(line)), None)
    if start is None:
        return []
    found: list[dict[str, Any]] = []
    nest = ""
    for line in lines[start + 1 :]:
        match = _PAIR.match(line)
        if match is None or not line.startswith((" ", "- ")):
            break
        if line.startswith("- "):
            found.append({})
            nest = ""
        if not found:
            break
        nest = _take(found[-1], match, nest)
    return [_signature(raw) for raw in found if raw.get("id")]


def _take(raw: dict[str, Any], match: re.Match[str], nest: str) -> str:
    key, value, depth = match.group("key"), _value(match.group("value")), len(match.group("indent"))
    if depth <= 2 and key in NESTED and value in ("", {}):
        raw.setdefault(key, {})
        return key
    if depth >= 4 and nest and isinstance(raw.get(nest), dict):
        raw[nest][key] = value
        return nest
    raw[key] = value
    return ""


def _value(text: str) -> Any:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in _parts(text[1:-1])]
    if text.startswith("{") and text.endswith("}"):
        pairs = (part.partition(":") for part in _parts(text[1:-1]))
        return {key.strip(): _value(value) for key, _, value in pairs}
    plain = text.strip("\"'")
    if plain.lower() in {"true", "false"}:
        return plain.lower() == "true"
    return int(plain) if re.fullmatch(r"-?\d{1,9}", plain) else plain


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.findall(r"(?:[^,\"']|\"[^\"]*\"|'[^']*')+", text) if part.strip()]


def _signature(raw: dict[str, Any]) -> Signature:
    known = Signature(str(raw["id"]))
    for name in ("domain", "subject", "predicate", "object", "modality", "relation", "enforcement"):
        if isinstance(raw.get(name), (str, int, bool)):
            setattr(known, name, str(raw[name]).strip().lower())
    known.priority = raw["priority"] if isinstance(raw.get("priority"), int) else 1
    known.composes_with, known.requires = _names(raw.get("composes_with")), _names(raw.get("requires"))
    known.scope = raw["scope"] if isinstance(raw.get("scope"), dict) else {}
    known.axis = raw["axis"] if isinstance(raw.get("axis"), dict) else {}
    return known


def _names(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)] if value else []


def conflict(a: Signature, b: Signature) -> Conflict | None:
    """Why two signatures of one group cannot both hold."""
    if a.group != b.group or _together(a, b) or not _overlap(a.scope, b.scope):
        return None
    modes = frozenset((a.modality, b.modality))
    differ = a.object and b.object and a.object != b.object
    if not differ and modes in SEVERITY:
        return Conflict(SEVERITY[modes], f"{a.modality} against {b.modality} on {a.group}")
    if differ and a.predicate == b.predicate and len(modes) == 1:
        if "must" in modes and a.axis.get("exclusive") is not False:
            return Conflict("critical", f"{a.object} against {b.object} on {a.group}")
        if "should" in modes:
            return Conflict("low", f"{a.object} against {b.object} on {a.group}")
    return None


def _together(a: Signature, b: Signature) -> bool:
    named = b.id in (*a.composes_with, *a.requires) or a.id in (*b.composes_with, *b.requires)
    return named or (a.relation == b.relation and a.relation in {"composes_with", "requires"})


def _overlap(a: dict[str, Any], b: dict[str, Any]) -> bool:
    for name in ("project", "projects", "channel", "channels"):
        one, other = set(_names(a.get(name))), set(_names(b.get(name)))
        if one and other and not one & other:
            return False
    first, second = a.get("time"), b.get("time")
    if not isinstance(first, dict) or not isinstance(second, dict):
        return True
    start = max(str(first.get("start", "")), str(second.get("start", "")))
    end = min(str(first.get("end") or "9999"), str(second.get("end") or "9999"))
    return start <= end
