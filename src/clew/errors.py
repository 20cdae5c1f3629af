"""The one error type, and every code it may carry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

ERROR_CODES: dict[str, str] = {
    "INVALID_INPUT": "An argument is missing, of the wrong type, out of range or contradicts another.",
    "UNKNOWN_ID": "No such task, plan, step, job, branch, card, template, conflict, block or reference.",
    "UNKNOWN_TOOL": "No operation has this name.",
    "REVISION_MISMATCH": "The object changed since the revision you expected.",
    "CHECKPOINTS_NOT_CONFIRMED": "A step's required checkpoints are not confirmed yet.",
    "PROOF_REQUIRED": "A step asks for proof that has not been captured.",
    "REASONING_REQUIRED": "Strict mode: the step's reasoning is not complete enough to close it.",
    "STEP_LEASE_HELD": "Another agent holds the lease of this step.",
    "STEP_LEASE_NOT_HELD": "You do not hold the lease of this step.",
    "CONFLICT": "The object exists already or is in a state that does not allow this.",
    "MERGE_NOT_SUPPORTED": "A graph merges back only into the branch it was created from.",
    "WORKSPACE_LOCKED": "This server is locked to one workspace and the call names another.",
    "WORKSPACE_NOT_ALLOWED": "The workspace is not on this server's allow list.",
    "PROJECT_GUARD_MISMATCH": "The workspace belongs to another project.",
    "BATCH_FAILED": "An operation of the batch failed.",
    "NO_CHECKOUT": "No branch is checked out where one is needed.",
    "NOT_ALLOWED": "The call is understood and not permitted here, by a rule the message names.",
    "STAGE_REQUIREMENT_NOT_MET": "The thought gateway has not reached the stage that this operation needs.",
    "SESSION_NOT_FOUND": "No thought session has this id.",
    "THOUGHT_NOT_FOUND": "The session has no thought with this number on this chain.",
    "SAMPLING_NOT_SUPPORTED": "The client does not let the server ask its model.",
    "INVALID_OPERATION": "Thought gateway: no such operation.",
    "INVALID_PAYLOAD": "Thought gateway: the operation's arguments were refused; details.code says why.",
    "STORAGE_ERROR": "Thought gateway: the store could not do it; details.code says why.",
    "INTERNAL_ERROR": "Thought gateway: a defect in Clew; nothing was written.",
    "UNAVAILABLE": "A part this needs is not installed, not configured or not running.",
    "TIMEOUT": "The work did not end within its time limit.",
    "STORE_LOCKED": "The database stayed locked by another process beyond the time limit.",
    "STORE_FULL": "The disk or the database has no room left; nothing was written.",
    "STORE_READ_ONLY": "The database or its directory cannot be written.",
    "STORE_CORRUPT": "The database file is damaged or is not a database.",
    "STORE_TOO_NEW": "The database was written by a newer Clew.",
    "STORE_TOO_OLD": "The database has an older schema, and auto_migrate is off.",
    "STORE_UNAVAILABLE": "The database cannot be reached.",
    "STORE_ERROR": "The database refused a statement; nothing was written.",
    "IO_ERROR": "A file could not be read or written.",
    "NOT_FOUND": "No such file.",
    "INTERNAL": "A defect in Clew; the recovery says whether something may have been written.",
}

Suggestion = dict[str, Any]
Hint = dict[str, Any]


class ClewError(Exception):
    """What a caller did wrong or the world did to us, with the way out."""

    def __init__(
        self,
        code: str,
        message: str,
        recovery: str | None = None,
        hints: Iterable[Hint] = (),
        suggestions: Sequence[Suggestion] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        if code not in ERROR_CODES:
            raise ValueError(f"error code {code} is not declared in ERROR_CODES")
        super().__init__(message)
        self.code = code
        self.message = message
        self.recovery = recovery
        self.hints = list(hints)
        self.suggestions = list(suggestions)
        self.details = details or {}
        self.unknown: str | None = None
        """The id that nothing has, as it was given: the answer names what is near it."""

    def to_dict(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.recovery:
            error["recovery"] = self.recovery
        if self.hints:
            error["hints"] = self.hints
        if self.details:
            error["details"] = self.details
        return error


def suggest(target: str, reason: str, priority: str = "high", /, **params: Any) -> Suggestion:
    """A call that can be executed unchanged."""
    return {
        "action": "call_tool",
        "target": target,
        "reason": reason,
        "priority": priority,
        "validated": True,
        "params": {key: value for key, value in params.items() if value is not None},
    }


def warning(code: str, message: str, recovery: str) -> dict[str, str]:
    return {"code": code, "message": message, "recovery": recovery}


def invalid(
    field: str,
    message: str,
    recovery: str | None = None,
    suggestions: Sequence[Suggestion] = (),
    **hint: Any,
) -> ClewError:
    """INVALID_INPUT about one field; `hint` becomes the structured hint."""
    described = {"kind": hint.pop("kind", "value"), "field": field, **hint}
    return ClewError("INVALID_INPUT", f"{field}: {message}", recovery, [described], suggestions)


def unknown_id(what: str, value: str, recovery: str, suggestions: Sequence[Suggestion] = ()) -> ClewError:
    error = ClewError("UNKNOWN_ID", f"unknown {what}: {shorten(value, 120)}", recovery, (), suggestions)
    error.unknown = value
    return error


def shorten(text: str, limit: int) -> str:
    """Trimmed text of at most `limit` characters, the last one an ellipsis where it was cut."""
    text = text.strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"
