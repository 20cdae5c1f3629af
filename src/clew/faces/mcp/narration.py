"""Protocol log messages: one line for each call, to clients that asked for them."""

from __future__ import annotations

from typing import get_args

from mcp.server.connection import allowed_log_levels
from mcp_types import (
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)

from clew.faces.mcp.request import Request, is_stateless
from clew.registry.envelope import Answer

_SEVERITY: tuple[LoggingLevel, ...] = get_args(LoggingLevel)


async def narrate(request: Request, threshold: LoggingLevel | None, name: str, answer: Answer) -> None:
    """`threshold` is what logging/setLevel chose; the stateless era names its level in the request."""
    level = level_of(answer)
    if not _wanted(request, threshold, level):
        return
    codes = [warning.get("code") for warning in answer.envelope.get("warnings", ())]
    data = {"operation": name, "success": answer.ok, "warnings": codes}
    notice = LoggingMessageNotificationParams(level=level, logger="clew", data=data)
    await request.session.send_notification(LoggingMessageNotification(params=notice), request.request_id)


def level_of(answer: Answer) -> LoggingLevel:
    if not answer.ok:
        return "error"
    return "warning" if answer.envelope.get("warnings") else "info"


def _wanted(request: Request, threshold: LoggingLevel | None, level: LoggingLevel) -> bool:
    if is_stateless(request):
        return level in allowed_log_levels(request.protocol_version, request.meta)
    return threshold is not None and _SEVERITY.index(level) >= _SEVERITY.index(threshold)
