"""Running a write operation at most once for each request id (see `store/requests`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.canonical import Json
from clew.errors import ClewError
from clew.registry.connection import InputRequired
from clew.registry.context import Context, Remarks
from clew.store.requests import StoredRequest, first_answer, forget_request, keep_answer


def once(ctx: Context, request: StoredRequest | None, run: Callable[[], Any]) -> Any:
    """For an operation of one transaction, which is open: its response is committed together with its writes."""
    result = repeated(ctx, request)
    if result is not None:
        return result
    result = run()
    # A call without changes can be repeated; keeping its response would be a change.
    if request is not None and ctx.ws.changed and isinstance(result, dict):
        keep_answer(ctx.tx, request, _answer(ctx.remarks, result), ctx.now_ms)
    return result


def repeated(ctx: Context, request: StoredRequest | None) -> Any | None:
    """The response of the first call with this id, with its remarks; None if this is the first."""
    answer = first_answer(ctx.tx, request) if request is not None else None
    if answer is None:
        return None
    ctx.remarks.warnings.extend(answer["warnings"])
    ctx.remarks.suggestions.extend(answer["suggestions"])
    return answer["result"]


def once_in_parts(ctx: Context, request: StoredRequest | None, run: Callable[[], Any]) -> Any:
    """For an operation of several transactions: one that was started and not finished is not run again."""
    if request is None:
        return run()
    with ctx.writing() as bound:
        result = repeated(bound, request)
        if result is not None:
            return result
        keep_answer(bound.tx, request, None, bound.now_ms)
    try:
        result = run()
    except (ClewError, InputRequired) as refusal:
        if not isinstance(refusal, ClewError) or "outcome" not in refusal.details:
            _forget(ctx, request)
        raise
    if not isinstance(result, dict):
        _forget(ctx, request)  # the response of another operation, which is called again
        return result
    with ctx.writing() as bound:
        keep_answer(bound.tx, request, _answer(ctx.remarks, result), bound.now_ms)
    return result


def _forget(ctx: Context, request: StoredRequest) -> None:
    with ctx.writing() as bound:
        forget_request(bound.tx, request)


def _answer(remarks: Remarks, result: Json) -> Json:
    return {"result": result, "warnings": remarks.warnings, "suggestions": remarks.suggestions}
