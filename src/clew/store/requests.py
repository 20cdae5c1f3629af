"""Idempotent calls: a repeated request id returns the first response, and nothing is done twice.

The response is written in the transaction of the call itself, so it exists exactly if the call took effect. A caller
that lost the response repeats the call with the same id.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from clew.errors import ClewError
from clew.store.database import OUTCOME_UNKNOWN, Transaction

LONGEST_ID = 128
KEPT_MS = 3 * 86_400_000
"""Three days: longer than any client retries automatically, and longer than a weekend."""
UNFINISHED = "null"


class StoredRequest(NamedTuple):
    """`digest` identifies the arguments: an id belongs to one call with its arguments."""

    workspace: str
    id: str
    operation: str
    digest: str


def check_request_id(value: Any) -> str:
    if isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable():
        return value
    raise ClewError(
        "INVALID_INPUT",
        f"request_id: expected a text of 1 to {LONGEST_ID} printable characters",
        "Give every call that may be repeated an id of its own, such as a UUID.",
        hints=[{"kind": "type", "field": "request_id", "expected": "string"}],
    )


def first_answer(tx: Transaction, request: StoredRequest) -> Any | None:
    """The response of the first call with this id; None if there was none."""
    sql = "SELECT operation, digest, answer FROM request WHERE workspace = ? AND id = ?"
    row = tx.one(sql, request.workspace, request.id)
    if row is None:
        return None
    if (row["operation"], row["digest"]) != (request.operation, request.digest):
        raise ClewError(
            "CONFLICT",
            f"request_id {request.id} belongs to another call, of {row['operation']}",
            "Repeat a call with the same arguments, or give this one an id of its own.",
        )
    # An operation of several transactions was started and not finished; running it again might do part of it twice.
    if row["answer"] == UNFINISHED:
        raise ClewError(
            "CONFLICT",
            f"the first call with request_id {request.id} was begun, and its end is not known",
            "Look at what is there. To call again all the same, use another request_id.",
            details=OUTCOME_UNKNOWN,
        )
    return orjson.loads(row["answer"])


def keep_answer(tx: Transaction, request: StoredRequest, answer: Any | None, now_ms: int) -> None:
    """Store the response of a call, or None for one that has only started. Old responses are deleted."""
    # Deleted here, so that only calls with request ids pay for it.
    tx.run("DELETE FROM request WHERE workspace = ? AND ts_ms < ?", request.workspace, now_ms - KEPT_MS)
    text = orjson.dumps(answer).decode()
    tx.run(_KEEP, request.workspace, request.id, request.operation, request.digest, text, now_ms)


def forget_request(tx: Transaction, request: StoredRequest) -> None:
    """A refused call has done nothing; it may be repeated with its id."""
    tx.run("DELETE FROM request WHERE workspace = ? AND id = ?", request.workspace, request.id)


_KEEP = (
    "INSERT INTO request (workspace, id, operation, digest, answer, ts_ms) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, id) DO UPDATE SET answer = excluded.answer"
)
