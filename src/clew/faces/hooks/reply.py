"""From the answer of `moment` to what a client understands. The standard library only."""

from __future__ import annotations

from clew.faces.hooks.clients import entry_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

REFUSE = 2
"""The exit code by which some events are refused: where the user has set that stops are blocked, and by a guard that a
person has approved in a client that knows no other refusal."""
_ASKING = frozenset({"claude", "vscode"})
"""Clients that can ask their user. The others refuse, and the reason says how the user lets it pass."""


def reply_of(client: str, event: str, answer: Mapping[str, Any]) -> tuple[dict[str, Any], int, str]:
    """What is printed (nothing when empty), the exit code, and what goes to stderr."""
    if event == "task-completed" and answer.get("decision") == "block":
        return {}, REFUSE, str(answer.get("reason", ""))
    if client == "windsurf":
        is_refused = event == "pre-tool" and answer.get("decision") in ("ask", "deny")
        return ({}, REFUSE, str(answer.get("reason", ""))) if is_refused else ({}, 0, "")
    render = _OWN.get(client)
    return (render(event, answer) if render else _claude(client, event, answer)), 0, ""


def _claude(client: str, event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Claude Code's format, which Codex, VS Code and Gemini share in most."""
    said, reason = answer.get("say") or "", answer.get("reason") or ""
    decision = answer.get("decision") or ""
    if event == "pre-tool" and decision in ("ask", "deny"):
        chosen = decision if client in _ASKING else "deny"
        if client == "gemini":
            return {"decision": chosen, "reason": reason}
        return _specific(client, event, permissionDecision=chosen, permissionDecisionReason=reason)
    if event == "stop" and decision == "block":
        return {"decision": "block", "reason": reason}
    found = _specific(client, event, additionalContext=said) if said else {}
    if answer.get("notice"):
        found["systemMessage"] = answer["notice"]
    return found


def _specific(client: str, event: str, **told: str) -> dict[str, Any]:
    entry = entry_for(client, event)
    return {"hookSpecificOutput": {"hookEventName": entry.name, **told}} if entry is not None else {}


def _cursor(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    decision, reason = answer.get("decision") or "", answer.get("reason") or ""
    if event == "pre-tool":
        # An `allow` would pass over the user's own approval, so what is allowed is left unsaid.
        return (
            {"permission": "deny", "user_message": reason, "agent_message": reason}
            if decision in ("ask", "deny")
            else {}
        )
    if event == "stop":
        return {"followup_message": reason} if decision == "block" else {}
    return {"additional_context": answer["say"]} if answer.get("say") else {}


def _antigravity(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"injectSteps": [{"ephemeralMessage": answer["say"]}]} if answer.get("say") else {}


def _opencode(event: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """For our own plugin there, which puts it where it belongs."""
    if event == "pre-tool" and answer.get("decision") in ("ask", "deny"):
        return {"deny": answer.get("reason") or ""}
    return {"context": answer["say"]} if answer.get("say") else {}


_OWN = {"cursor": _cursor, "antigravity": _antigravity, "opencode": _opencode}
"""The clients that have a format of their own."""
