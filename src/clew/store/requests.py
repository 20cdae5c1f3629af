"""Calls that carry a request id: what was answered first is answered again, and nothing is done twice.

The answer is written in the transaction of the call itself, so it is there exactly when the call took effect. A caller
that does not know what became of a call, because the answer was lost, repeats it with the same id.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from clew.errors import ClewError
from clew.store.database import OUTCOME_UNKNOWN, Transaction

LONGEST_ID = 128
KEPT_MS = 3 * 86_400_000
"""Three days: longer than any client repeats a call by itself, and over a weekend."""
UNFINISHED = "null"


class StoredRequest(NamedTuple):
    """`digest` stands for the arguments: an id belongs to one call with its arguments."""

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
    """The answer that the first call with this id got; None when there was no such call."""
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
    # An operation of several transactions was begun and not ended; to run it again might do part of it twice.
    if row["answer"] == UNFINISHED:
        raise ClewError(
            "CONFLICT",
            f"the first call with request_id {request.id} was begun, and its end is not known",
            "Look at what is there. To call again all the same, use another request_id.",
            details=OUTCOME_UNKNOWN,
        )
    return orjson.loads(row["answer"])


def keep_answer(tx: Transaction, request: StoredRequest, answer: Any | None, now_ms: int) -> None:
    """Keep the answer of a call, or None for one that has only begun. Answers that are old are dropped."""
    # Swept here, by those who use request ids, so that nobody else pays for it.
    tx.run("DELETE FROM request WHERE workspace = ? AND ts_ms < ?", request.workspace, now_ms - KEPT_MS)
    text = orjson.dumps(answer).decode()
    tx.run(_KEEP, request.workspace, request.id, request.operation, request.digest, text, now_ms)


def forget_request(tx: Transaction, request: StoredRequest) -> None:
    """A call that was refused has done nothing; it may be made again under its id."""
    tx.run("DELETE FROM request WHERE workspace = ? AND id = ?", request.workspace, request.id)


_KEEP = (
    "INSERT INTO request (workspace, id, operation, digest, answer, ts_ms) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (workspace, id) DO UPDATE SET answer = excluded.answer"
)
