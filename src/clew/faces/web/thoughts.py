"""Sessions and thoughts in the shapes of the socket's protocol, read through the registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError
from clew.faces.web.calls import page_session

if TYPE_CHECKING:
    from clew.app import Clew

PAGE = 500
ROOM = 50_000_000
EVENTS = {
    "thought_added": "thought:added",
    "thought_revised": "thought:revised",
    "thought_branched": "thought:branched",
}


def ask(clew: Clew, name: str, workspace: str, **arguments: Any) -> dict[str, Any]:
    """The result of a read; a refusal is raised."""
    answer = clew.dispatcher.call(name, {**arguments, "workspace": workspace}, page_session())
    if not answer.ok:
        error = answer.envelope["error"]
        raise ClewError(error["code"], error["message"])
    result: dict[str, Any] = answer.envelope["result"]
    return result


def node_id(session: str, number: int, branch: str | None) -> str:
    """As in the graph of the store, so that `open` takes it."""
    return f"{session}:{branch}:{number}" if branch else f"{session}:{number}"


def shown_thought(session: str, thought: dict[str, Any]) -> dict[str, Any]:
    return {"id": node_id(session, thought["thoughtNumber"], thought.get("branchId")), **thought}


def pages(clew: Clew, workspace: str, session: str, after: int = 0) -> Iterator[dict[str, Any]]:
    """The session and its thoughts in the order of writing, page by page."""
    cursor: int | None = after
    while cursor is not None:
        page = ask(clew, "session_get", workspace, sessionId=session, cursor=cursor, limit=PAGE, max_chars=ROOM)
        yield {**page, "thoughts": [shown_thought(session, item) for item in page["thoughts"]]}
        cursor = page["pagination"]["next_cursor"]


def snapshot(clew: Clew, workspace: str, session: str) -> dict[str, Any]:
    """Everything needed to draw a session: it, its main line, its branches with their thoughts."""
    thoughts: list[dict[str, Any]] = []
    head: dict[str, Any] = {}
    for page in pages(clew, workspace, session):
        head = page
        thoughts += page["thoughts"]
    branches = {name: _branch(name, about) for name, about in head["branches"].items()}
    for thought in thoughts:
        if thought.get("branchId") in branches:
            branches[thought["branchId"]]["thoughts"].append(thought)
    main = [thought for thought in thoughts if not thought.get("branchId")]
    return {"session": head["session"], "thoughts": main, "branches": branches}


def _branch(name: str, about: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": name,
        "name": about.get("name"),
        "fromThoughtNumber": about["forks"],
        "fromBranch": about.get("fromBranch"),
        "thoughts": [],
    }


def written(clew: Clew, workspace: str, session: str, seqs: list[int]) -> dict[int, dict[str, Any]]:
    """The thoughts with these seqs, which are near each other."""
    found: dict[int, dict[str, Any]] = {}
    for page in pages(clew, workspace, session, min(seqs) - 1):
        found |= {thought["seq"]: thought for thought in page["thoughts"] if thought["seq"] in set(seqs)}
        if not page["thoughts"] or page["thoughts"][-1]["seq"] >= max(seqs):
            break
    return found
