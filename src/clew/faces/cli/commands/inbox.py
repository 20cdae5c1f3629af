"""`clew inbox, approve, reject`: lists what waits for a person, and takes the person's answer at a terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.app import Clew
from clew.errors import ClewError
from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.output import say, show_json
from clew.faces.cli.person import call_as_person, confirm
from clew.faces.cli.root import call, opened, settings_of

Row = dict[str, Any]
AS_JSON = typer.Option("--json", help="Answer in JSON.")
ID = typer.Argument(help="A proposal or fact, or the record that a proposal is about.", metavar="ID")
MOST = 500
WAYS = {
    "proposal": "clew approve {id}, or clew reject {id} --reason WHY",
    "fact": "clew approve {id}, or clew reject {id} --reason WHY",
    "contradiction": "clew retract ID --why WHY, for the side that yields",
    "conflict": "clew call graph_conflict_resolve, with what holds",
    "job": "clew jobs",
    "step": "clew open {id}",
    "proof": "clew prove --step {id} -- COMMAND",
    "review": "clew open {id}; then retract it, or give it another day in its file",
    "signal": "clew open {id}",
}
"""What a person does about a matter of each kind."""


def inbox(
    ctx: typer.Context,
    later: Annotated[bool, typer.Option("--later", help="What was put off, by its day.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most to show, 1 to 500.")] = 20,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """List what waits for you: proposals, contradictions, questions of jobs, work without proof; each with its command.

    Examples:

    - `clew inbox`
    - `clew inbox --later --json`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "inbox_list", {"limit": limit, "later": later})
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    for item in result["items"]:
        say(f"{item['id']} {item['kind']}: {item['title']}", "bold")
        _say_details(item)
    left = result["total"] - len(result["items"])
    if left:
        say(f"and {left} more: clew inbox -n {min(result['total'], MOST)}")
    if not result["total"]:
        say("Nothing was put off." if later else "Nothing waits for you.")


def _say_details(item: Row) -> None:
    by = f"{item['by']}: " if item.get("by") else ""
    if item.get("note"):
        say(f"    {by}{item['note']}")
    say(f"    {WAYS[item['kind']].format(id=item['id'])}", "dim")


def approve(ctx: typer.Context, id: Annotated[str, ID], as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Apply a proposal, or accept a fact. Shows it and asks you at the terminal: an agent cannot answer there.

    Examples:

    - `clew approve P-20260213-002`
    - `clew approve R-3` applies the proposal that waits for this rule
    """
    with opened(settings_of(ctx)) as clew:
        item = _matter(clew, id)
        if item["kind"] == "proposal":
            _show_change(clew, item["id"], as_json)
        confirm(f"{item['id']}: {item['title']}. Approve?")
        if item["kind"] == "proposal":
            name, arguments = "approve_apply", {"proposal_id": item["id"], "dry_run": False}
        else:
            name, arguments = "review_fact", {"fact_id": item["id"], "verdict": "accepted"}
        _end(clew, name, arguments, f"{item['id']} is approved.", as_json)


def reject(
    ctx: typer.Context,
    id: Annotated[str, ID],
    reason: Annotated[str, typer.Option(help="Why; who proposes it again is told.")],
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Reject a proposal or a fact for a reason, which stays. Asks you at the terminal: an agent cannot answer there.

    Example: `clew reject P-20260213-002 --reason "We keep the old format until spring"`
    """
    with opened(settings_of(ctx)) as clew:
        item = _matter(clew, id)
        confirm(f"{item['id']}: {item['title']}. Reject?")
        if item["kind"] == "proposal":
            name, arguments = "reject_proposal", {"proposal_id": item["id"], "reason": reason}
        else:
            name, arguments = "review_fact", {"fact_id": item["id"], "verdict": "rejected", "reason": reason}
        _end(clew, name, arguments, f"{item['id']} is rejected.", as_json)


def _matter(clew: Clew, id: str) -> Row:
    """The proposal or fact that waits under this id, or for the record of this id."""
    wanted = id.strip().upper()
    # What was put off can be decided too; what waits now comes first.
    for later in (False, True):
        listed = call(clew, "inbox_list", {"limit": MOST, "later": later}).envelope["result"] or {}
        for item in listed.get("items", ()):
            if item["kind"] in ("proposal", "fact") and wanted in (item["id"], (item.get("facts") or {}).get("target")):
                return dict(item)
    raise ClewError(
        "NOT_FOUND", f"nothing waits under {id}", "clew inbox lists what waits; clew guards show the checks."
    )


def _show_change(clew: Clew, id: str, as_json: bool) -> None:
    """Show what applying it would change; a dry run that fails ends the command before anybody is asked."""
    tried = call(clew, "approve_apply", {"proposal_id": id})
    if not tried.ok:
        raise typer.Exit(show_answer(tried, as_json))
    if not as_json:
        for line in tried.envelope["result"]["diff"].splitlines():
            say(line, {"+": "green", "-": "red"}.get(line[:1], ""))


def _end(clew: Clew, name: str, arguments: Row, line: str, as_json: bool) -> None:
    answer = call_as_person(clew, name, arguments)
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    show_json(answer.envelope["result"]) if as_json else say(line)


COMMANDS = {"inbox": inbox, "approve": approve, "reject": reject}
