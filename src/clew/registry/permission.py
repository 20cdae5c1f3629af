"""Which workspaces this server may be asked about: by calls, by the page, by who follows its events."""

from __future__ import annotations

from clew.errors import ClewError, suggest
from clew.settings import Settings


def permitted(settings: Settings, workspace: str) -> str:
    """The workspace itself; refused when the server is locked to another one or has a list without it."""
    own, allowed = settings.workspace, settings.workspace_allowlist
    if workspace == own:
        return workspace
    if settings.workspace_lock:
        raise ClewError(
            "WORKSPACE_LOCKED",
            f"this server is locked to workspace {own}; the call names {workspace}",
            f"Leave workspace out, or set it to {own}.",
            suggestions=[suggest("status", "Shows the workspace this server serves.")],
        )
    if allowed and workspace not in allowed:
        raise ClewError(
            "WORKSPACE_NOT_ALLOWED",
            f"workspace {workspace} is not on the allow list",
            f"Use one of {', '.join(sorted({*allowed, own}))}.",
            suggestions=[suggest("status", "Shows the workspaces that are allowed.")],
        )
    return workspace
