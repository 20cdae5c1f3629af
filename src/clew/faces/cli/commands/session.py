"""`clew session` prints one thought session as a tree; `clew sessions` lists or searches those of a workspace."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from clew.app import Clew
from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import describe_warnings, say, show_table
from clew.faces.cli.root import call, opened, settings_of
from clew.registry.envelope import Answer

FULL_ID = 36
PAGE = 500


def session(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(help="Session id, or enough of its beginning.", metavar="ID")],
    full: Annotated[bool, typer.Option("--full", help="Do not cut thoughts to the width of the terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole JSON export.")] = False,
) -> None:
    """Show a thought session as a tree: the main line, with each branch under the thought it starts from.

    Examples:

    - `clew session 017020a3`
    - `clew session 017020a3-afc1-43a4-8dbb-eb82a3406088 --full`
    """
    with opened(settings_of(ctx)) as clew:
        chosen = complete_id(clew, key)
        if as_json:
            raise typer.Exit(show_answer(call(clew, "session_export", {"sessionId": chosen}), True))
        pages = list(_pages(clew, chosen))
    if not pages[-1].ok:
        raise typer.Exit(show_answer(pages[-1], False))
    head = pages[0].envelope["result"]["session"]
    thoughts = [item for page in pages for item in page.envelope["result"]["thoughts"]]
    say(f"{head['title']}  [{head['status']}]", "bold")
    say(
        f"{head['id']}  {head['thoughtCount']} thoughts, {head['branchCount']} branches  {' '.join(head['tags'])}",
        "dim",
    )
    width = None if full else shutil.get_terminal_size((100, 20)).columns
    for line, style in tree(thoughts):
        say(line if width is None or len(line) <= width else line[: width - 1] + "…", style)


def complete_id(clew: Clew, key: str) -> str:
    """The full id of the only session that starts with `key`; otherwise `key`, which the operation then refuses."""
    offset, found = 0, []
    while len(key) < FULL_ID:
        answer = call(clew, "session_list", {"limit": 100, "offset": offset})
        if not answer.ok:
            return key
        result = answer.envelope["result"]
        found += [item["id"] for item in result["sessions"] if item["id"].startswith(key.lower())]
        offset += result["count"]
        if not result["hasMore"] or len(found) > 1:
            break
    return found[0] if len(found) == 1 else key


def _pages(clew: Clew, key: str) -> Iterator[Answer]:
    cursor: int | None = 0
    while cursor is not None:
        # The largest budget: a person asked for the whole session.
        answer = call(clew, "session_get", {"sessionId": key, "limit": PAGE, "cursor": cursor, "max_chars": 1_000_000})
        yield answer
        cursor = answer.envelope["result"]["pagination"]["next_cursor"] if answer.ok else None


Chains = dict[str, list[dict[str, Any]]]


STYLES = {"H": "yellow", "E": "cyan", "C": "bold green", "Q": "magenta", "X": "red", "R": "blue"}


def tree(thoughts: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """A line and its style for each thought and branch. A stack replaces recursion: branches may nest deeply."""
    chains: Chains = {}
    for item in thoughts:
        chains.setdefault(item.get("branchId", ""), []).append(item)
    forks: dict[tuple[str, int], list[str]] = {}
    for chain, items in chains.items():
        if chain:
            origin = (items[0].get("branchFromBranch", ""), items[0].get("branchFromThought", 0))
            # A branch whose origin is not among the thoughts is shown at the top, so that nothing disappears.
            forks.setdefault(origin if _is_origin(chains, origin) else ("", 0), []).append(chain)
    roots = [("", item) for item in chains.get("", [])]
    stack: list[tuple[str, str | dict[str, Any], bool]] = _level(roots, forks.get(("", 0), []))
    while stack:
        indent, what, last = stack.pop()
        style = "bold" if isinstance(what, str) else STYLES.get(what.get("type", ""), "")
        yield f"{indent}{'└─' if last else '├─'} {what if isinstance(what, str) else describe(what)}", style
        inner = indent + ("   " if last else "│  ")
        if isinstance(what, str):
            stack += _level([(inner, item) for item in chains[what]], [], inner)
        else:
            stack += _level([], forks.get((what.get("branchId", ""), what["thoughtNumber"]), []), inner)


def _is_origin(chains: Chains, origin: tuple[str, int]) -> bool:
    return any(item["thoughtNumber"] == origin[1] for item in chains.get(origin[0], []))


def _level(
    thoughts: list[tuple[str, dict[str, Any]]], branches: list[str], indent: str = ""
) -> list[tuple[str, str | dict[str, Any], bool]]:
    """The children of one place, reversed, so that the first one is popped from the stack first."""
    children: list[str | dict[str, Any]] = [*(item for _, item in thoughts), *branches]
    return [(indent, child, place == len(children) - 1) for place, child in enumerate(children)][::-1]


def describe(item: dict[str, Any]) -> str:
    kind = f" {item['type']}" if item.get("type") else ""
    revises = f" ↺{item.get('revisesThought', '?')}" if item["isRevision"] else ""
    end = "" if item["nextThoughtNeeded"] else " ■"
    critique = " ✎" if item.get("critique", {}).get("status") == "ok" else ""
    # The line already begins with number and kind, so the cipher's `S1|H|` is removed.
    text = _HEAD.sub("", item["thought"]) if kind else item["thought"]
    return f"{item['thoughtNumber']}{kind}{revises}{end}{critique}  {' '.join(text.split())}"


_HEAD = re.compile(r"\s*S\d+\s*\|\s*[A-Z]\s*\|\s*")


def sessions(
    ctx: typer.Context,
    search: Annotated[str | None, typer.Argument(help="Words of a thought, a title or a tag.", metavar="WORDS")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only sessions with this tag; may be given again.")] = None,
    limit: Annotated[int, typer.Option(help="Most sessions to list.", min=1, max=100)] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """List thought sessions, the last changed first, or find them by what was thought.

    Examples:

    - `clew sessions`
    - `clew sessions autovacuum`
    - `clew sessions --tag project:acme --limit 5`
    """
    with opened(settings_of(ctx)) as clew:
        if search:
            answer = call(clew, "session_search", {"query": search, "limit": limit})
        else:
            answer = call(clew, "session_list", {"tags": tag or [], "limit": limit})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    found = answer.envelope["result"]["sessions"]
    if tag and search:
        found = [item for item in found if set(tag) <= set(item["tags"])]
    if not found:
        say("No sessions.")
    rows = [
        (item["id"], str(item["thoughtCount"]), item["status"], item["updatedAt"][:16], item["title"]) for item in found
    ]
    show_table(("session", "thoughts", "status", "changed", "title"), rows)
    describe_warnings(answer.envelope["warnings"])


COMMANDS = {"session": session, "sessions": sessions}
