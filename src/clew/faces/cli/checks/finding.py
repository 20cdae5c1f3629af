"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """`note` is worth knowing, `problem` keeps something from working; both say how to change it."""

    check: str
    state: State
    detail: str
    mend: str | None = None
    code: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def ok(check: str, detail: str) -> Finding:
    return Finding(check, "ok", detail)


def note(check: str, detail: str, mend: str | None = None) -> Finding:
    return Finding(check, "note", detail, mend)


def problem(check: str, detail: str, mend: str, code: str | None = None) -> Finding:
    return Finding(check, "problem", detail, mend, code)
