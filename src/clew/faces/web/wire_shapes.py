"""Sessions and thoughts in the shapes of the socket's protocol, read through the registry. Used by socket and API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError
from clew.ids import check_workspace
from clew.registry.connection import OBSERVATORY, Connection
from clew.registry.credentials import Principal
from clew.registry.permission import check_scope, permitted

if TYPE_CHECKING:
    from clew.app import Clew

PAGE = 20
"""Thoughts of one read. Few, because each text may have a million characters."""
OUTLINE_PAGE = 2_000
# A budget that never truncates: a snapshot with missing thoughts would look complete.
ROOM = 200_000_000
OPENING = 400
"""Characters of a text in an outline, where the page shows the beginning only."""
SNAPSHOT_THOUGHTS = 2_000
SNAPSHOT_CHARACTERS = 4_000_000
EVENTS = {
    "thought_added": "thought:added",
    "thought_revised": "thought:revised",
    "thought_branched": "thought:branched",
}


def page_connection(principal: Principal | None = None) -> Connection:
    """The connection of a page: all operations, stateless; a signed-in person is its author."""
    person = principal.decides if principal is not None else ""
    return Connection(
        toolset="full", durable=False, client=OBSERVATORY, agent_id=person or None, person=person, principal=principal
    )


def readable(clew: Clew, principal: Principal, workspace: str | None) -> str:
    """The workspace to read: the given one, else the default; refused if the caller may not read it."""
    connection = page_connection(principal)
    check_scope(connection, writes=False)
    settings = clew.dispatcher.settings_for(connection)
    return permitted(settings, check_workspace(workspace) if workspace else settings.workspace)


def ask(clew: Clew, name: str, workspace: str, **arguments: Any) -> dict[str, Any]:
    """The result of a read operation; a refusal is raised. `readable` has already checked access to this workspace."""
    answer = clew.dispatcher.call(name, {**arguments, "workspace": workspace}, page_connection())
    if not answer.ok:
        error = answer.envelope["error"]
        raise ClewError(error["code"], error["message"])
    result: dict[str, Any] = answer.envelope["result"]
    return result


def node_id(session: str, number: int, branch: str | None) -> str:
    """The id of a thought in the store's graph, so that `open` accepts it."""
    return f"{session}:{branch}:{number}" if branch else f"{session}:{number}"


def shown_thought(session: str, thought: dict[str, Any]) -> dict[str, Any]:
    return {"id": node_id(session, thought["thoughtNumber"], thought.get("branchId")), **thought}


def pages(
    clew: Clew, name: str, workspace: str, session: str, after: int = 0, **arguments: Any
) -> Iterator[dict[str, Any]]:
    """The session and its thoughts in the order they were written, page by page."""
    cursor: int | None = after
    while cursor is not None:
        page = ask(clew, name, workspace, sessionId=session, cursor=cursor, max_chars=ROOM, **arguments)
        yield {**page, "thoughts": [shown_thought(session, item) for item in page["thoughts"]]}
        cursor = page["pagination"]["next_cursor"]


def outlines(clew: Clew, workspace: str, session: str) -> Iterator[dict[str, Any]]:
    """Every thought of a session without its text, in parts; `first` and `last` mark the ends."""
    for number, page in enumerate(pages(clew, "session_outline", workspace, session, limit=OUTLINE_PAGE)):
        yield {
            "session": page["session"],
            "thoughts": page["thoughts"],
            "branchNames": page["branchNames"],
            "first": number == 0,
            "last": page["pagination"]["next_cursor"] is None,
        }


def snapshot(clew: Clew, workspace: str, session: str) -> dict[str, Any]:
    """A session with its texts, in the format of the seed's protocol. If it is too long, `more` is the next call."""
    thoughts: list[dict[str, Any]] = []
    head: dict[str, Any] = {}
    more: int | None = None
    for head in pages(clew, "session_get", workspace, session, limit=PAGE):
        thoughts += head["thoughts"]
        more = head["pagination"]["next_cursor"]
        if len(thoughts) >= SNAPSHOT_THOUGHTS or _characters(thoughts) >= SNAPSHOT_CHARACTERS:
            break
    main = [thought for thought in thoughts if not thought.get("branchId")]
    picture = {"session": head["session"], "thoughts": main, "branches": _branches(head["branches"], thoughts)}
    return picture | ({"more": {"operation": "session_get", "cursor": more}} if more is not None else {})


def _characters(thoughts: Iterable[dict[str, Any]]) -> int:
    return sum(len(thought["thought"]) for thought in thoughts)


def _branches(known: dict[str, Any], thoughts: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Branches with their thoughts. A read returns only some branches, so the rest is derived from the thoughts."""
    found: dict[str, dict[str, Any]] = {}
    for thought in thoughts:
        name = thought.get("branchId")
        if name:
            found.setdefault(name, _branch(name, known.get(name, {}), thought))["thoughts"].append(thought)
    return found


def _branch(name: str, about: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": name,
        "name": about.get("name"),
        "fromThoughtNumber": first.get("branchFromThought"),
        "fromBranch": first.get("branchFromBranch"),
        "thoughts": [],
    }


def written(clew: Clew, workspace: str, session: str, seqs: list[int], whole: bool) -> dict[int, dict[str, Any]]:
    """The thoughts with these seqs, with their text or only its beginning. The seqs are close together."""
    wanted = set(seqs)
    found: dict[int, dict[str, Any]] = {}
    name = "session_get" if whole else "session_outline"
    more = {} if whole else {"chars": OPENING}
    # The cursor is a seq, so reading starts right before the first wanted thought.
    for page in pages(clew, name, workspace, session, min(seqs) - 1, limit=PAGE, **more):
        found |= {thought["seq"]: thought for thought in page["thoughts"] if thought["seq"] in wanted}
        if not page["thoughts"] or page["thoughts"][-1]["seq"] >= max(seqs):
            break
    return found
