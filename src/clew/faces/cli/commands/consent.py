"""`clew inbox, approve, reject, decide`: lists what waits for a person, and takes the answer at a terminal. `clew
guards`: lists and proposes the checks of rules; a person approves one, revokes it or lets it pass. `clew trust`: lets a
project's clew.toml change settings that are refused from an untrusted file.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.errors import ClewError
from clew.faces.cli.asking import asking, show_answer
from clew.faces.cli.output import say, show_json
from clew.faces.cli.person import call_as_person, check_person_here, confirm, token_holder
from clew.faces.cli.root import call, opened, settings_of
from clew.settings import FILE, chosen_home, project_root
from clew.trust import distrust, trust, trusted_files

if TYPE_CHECKING:
    from clew.app import Clew

Row = dict[str, Any]
AS_JSON = typer.Option("--json", help="Answer in JSON.")
ID = typer.Argument(help="A proposal or fact, or the record that a proposal is about.", metavar="ID")
RULE = typer.Argument(help="Rule or decision, such as R-3.", metavar="ID")
MOST, ALL = 500, 800_000
WAYS = {
    "proposal": "clew approve {id}, or clew reject {id} --reason WHY",
    "fact": "clew approve {id}, or clew reject {id} --reason WHY",
    "contradiction": "clew decide {id} replace (or keep, both, neither)",
    "conflict": "clew call graph_conflict_resolve, with what holds",
    "job": "clew jobs",
    "step": "clew open {id}",
    "proof": "clew prove --step {id} -- COMMAND",
    "review": "clew open {id}; then retract it, or give it another day in its file",
    "signal": "clew open {id}",
    "file": "Correct {id} in the memory folder",
}
"""The action of a person for each kind of inbox item."""


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
    with asking(ctx) as asker:
        answer = asker.call("inbox_list", {"limit": limit, "later": later})
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
        what = "Nothing was put off" if later else "You're all caught up"
        # Another directory may have another memory, so show its name.
        say(f"{what} in workspace {result['workspace']}.")


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
        item = _inbox_item(clew, id, approving=True)
        if item["kind"] == "proposal":
            _show_change(clew, item["id"], as_json)
        confirm(f"{item['id']}: {item['title']}. Approve?", f"approve {item['id']}", clew)
        if item["kind"] == "proposal":
            name, arguments = "approve_apply", {"proposal_id": item["id"], "dry_run": False}
        else:
            name, arguments = "review_fact", {"fact_id": item["id"], "verdict": "accepted"}
        _end(clew, name, arguments, f"{item['id']} is approved.", as_json)


def reject(
    ctx: typer.Context,
    id: Annotated[str, ID],
    reason: Annotated[str, typer.Option(help="Why; shown to anyone who proposes it again.")],
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Reject a proposal or a fact for a reason, which stays. Asks you at the terminal: an agent cannot answer there.

    Example: `clew reject P-20260213-002 --reason "We keep the old format until spring"`
    """
    with opened(settings_of(ctx)) as clew:
        item = _inbox_item(clew, id)
        confirm(f"{item['id']}: {item['title']}. Reject?", f"reject {item['id']} --reason {shlex.quote(reason)}", clew)
        if item["kind"] == "proposal":
            name, arguments = "reject_proposal", {"proposal_id": item["id"], "reason": reason}
        else:
            name, arguments = "review_fact", {"fact_id": item["id"], "verdict": "rejected", "reason": reason}
        _end(clew, name, arguments, f"{item['id']} is rejected.", as_json)


def erase(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="The record, whatever it is: any id that clew open takes.", metavar="ID")],
    text: Annotated[list[str] | None, typer.Option("--text", help="Also erase this text wherever it occurs.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be erased.")] = False,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Take the text of a record out of every table, index and file for good. Shows what goes and asks you first.

    Nothing undoes it. Backups and other copies that still hold the text are named; its id stays, with who and when.

    Examples:

    - `clew erase D-7`
    - `clew erase CARD-3 --text "the customer's name" --dry-run`
    """
    arguments: Row = {"id": id, "text": text or []}
    with opened(settings_of(ctx)) as clew:
        if not token_holder(clew):
            check_person_here(f"erase {id}")
        planned = call_as_person(clew, "erase", {**arguments, "dry_run": True})
        if not planned.ok or dry_run:
            raise typer.Exit(show_answer(planned, as_json))
        if not as_json:
            show_answer(planned, as_json)
        confirm(f"Erase {id} for good?", f"erase {id}", clew)
        raise typer.Exit(show_answer(call_as_person(clew, "erase", {**arguments, "dry_run": False}), as_json))


VERDICTS = {
    "replace": "the newer record takes the place of the older",
    "keep": "the older record stays, the newer does not hold",
    "both": "both hold: they do not contradict each other",
    "neither": "neither holds",
}


def decide(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="A disputed record, or what clew inbox lists.", metavar="ID")],
    verdict: Annotated[str, typer.Argument(help="; ".join(f"{name}: {words}" for name, words in VERDICTS.items()))],
    reason: Annotated[str | None, typer.Option(help="Why; kept with it.")] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Decide between records that contradict each other. Shows both sides and asks you at the terminal.

    Example: `clew decide D-5 replace`
    """
    if verdict not in VERDICTS:
        raise ClewError("INVALID_INPUT", f"{verdict} is no verdict", f"Use one of {', '.join(VERDICTS)}.")
    with opened(settings_of(ctx)) as clew:
        viewed = call(clew, "decision_view", {"id": id.strip().upper()})
        if not viewed.ok:
            raise typer.Exit(show_answer(viewed, as_json))
        cards = viewed.envelope["result"]["cards"]
        for card in () if as_json else cards:
            _show_side(card)
        confirm(f"{VERDICTS[verdict][0].upper()}{VERDICTS[verdict][1:]}. Decide so?", f"decide {id} {verdict}")
        others = [card["id"] for card in cards if card["role"] == "against"]
        arguments = {"id": viewed.envelope["result"]["id"], "verdict": verdict, "others": others}
        _end(clew, "decide", {**arguments, **({"reason": reason} if reason else {})}, f"Decided: {verdict}.", as_json)


def _show_side(card: Row) -> None:
    say(f"{'Newer' if card['role'] == 'new' else 'Older'}: {card['id']} {card['statement']}", "bold")
    facts = [f"why: {card['why']}" if card["why"] else "", f"by {card['author']}" if card["author"] else ""]
    for line in filter(None, facts):
        say(f"    {line}")


def _inbox_item(clew: Clew, id: str, approving: bool = False) -> Row:
    """The pending proposal or fact with this id, or for the record with this id."""
    wanted = id.strip().upper()
    # Deferred items can be decided too; current ones come first.
    for later in (False, True):
        listed = call(clew, "inbox_list", {"limit": MOST, "later": later, "max_chars": ALL}).envelope["result"] or {}
        for item in listed.get("items", ()):
            if wanted not in (item["id"], (item.get("facts") or {}).get("target")):
                continue
            if item["kind"] in ("proposal", "fact"):
                return dict(item)
            if item["kind"] == "contradiction":
                return _staged(item, wanted, approving)
    raise ClewError(
        "NOT_FOUND", f"nothing waits under {id}", "clew inbox lists what waits; clew guards show the checks."
    )


def _staged(item: Row, wanted: str, approving: bool) -> Row:
    """A dispute: its proposal may be rejected; to approve it without a word about the other side creates one."""
    if item["facts"]["proposed"] and not approving:
        return {**item, "kind": "proposal"}
    raise ClewError(
        "CONFLICT",
        f"{wanted} {item['note']}: say what becomes of the other side",
        f"Run clew decide {wanted} with replace, keep, both or neither.",
    )


def _show_change(clew: Clew, id: str, as_json: bool) -> None:
    """Show the changes of applying it; a failed dry run ends the command before the person is asked."""
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


def guards() -> None:
    """Checks of rules and decisions that are matched before an agent edits a file or runs a command.

    Example: `clew guards show`
    """


def show_guards(ctx: typer.Context, as_json: Annotated[bool, AS_JSON] = False) -> None:
    """List the checks: which guard, which wait for your approval, and what was let pass.

    Example: `clew guards show`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "guards", {})
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    for row in result["guards"]:
        say(f"{row['id']} {row['state']}: {row['in_words']}")
        say(f"  {row['check']['message'] if row['check'] and row['check']['message'] else row['says']}")
    for row in result["overrides"]:
        say(f"let pass {row['ts']}: {row['id']} by {row['by']}: {row['why']}")
    if not result["guards"]:
        say("No rule carries a check.")


def propose_guard(
    ctx: typer.Context,
    id: Annotated[str, RULE],
    path: Annotated[list[str] | None, typer.Option(help="Files, as a quoted glob.", metavar="GLOB")] = None,
    command: Annotated[list[str] | None, typer.Option(help="Commands, as a quoted glob.", metavar="GLOB")] = None,
    must: Annotated[list[str] | None, typer.Option(help="Text that it must contain.")] = None,
    must_not: Annotated[list[str] | None, typer.Option(help="Text that it must not contain.")] = None,
    action: Annotated[str, typer.Option(help="inform, ask or deny.")] = "inform",
    message: Annotated[str, typer.Option(help="What is said; default: the rule itself.")] = "",
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Write a check into a rule or decision. It guards nothing until it is approved.

    Examples:

    - `clew guards propose R-3 --path 'src/store/migrations/*.sql' --action deny`
    - `clew guards propose R-4 --command 'git push * --force' --action ask`
    """
    given = {"paths": path, "commands": command, "must": must, "must_not": must_not, "message": message}
    arguments = {"id": id, "action": action, **{name: value for name, value in given.items() if value}}
    _decide(ctx, "guard_propose", arguments, as_json, "{id} carries the check, which waits: {approve}")


def approve_guard(ctx: typer.Context, id: Annotated[str, RULE], as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Let the check of a rule guard from now on. Asks you at the terminal: an agent cannot answer there.

    Example: `clew guards approve R-3`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "guards", {"limit": 200})
    listed: list[Row] = answer.envelope["result"].get("guards", []) if answer.ok else []
    row = next((row for row in listed if row["id"] == id.strip().upper()), None)
    question = f"{id}: {row['in_words']}. Approve?" if row else f"Approve the check of {id}?"
    asked = (question, f"guards approve {id}")
    _decide(ctx, "guard_approve", {"id": id}, as_json, "{id} guards now: {in_words}", asked)


def revoke_guard(ctx: typer.Context, id: Annotated[str, RULE], as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Take the approval of a check back.

    Example: `clew guards revoke R-3`
    """
    asked = (f"Let {id} guard no longer?", f"guards revoke {id}")
    _decide(ctx, "guard_revoke", {"id": id}, as_json, "{id} guards no longer", asked)


def override_guard(
    ctx: typer.Context,
    id: Annotated[str, RULE],
    why: Annotated[str, typer.Option(help="The reason; it is kept.")],
    minutes: Annotated[int, typer.Option(help="For how long.", min=1, max=1440)] = 15,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Let a guard pass for some minutes, with a reason that is kept.

    Example: `clew guards override R-3 --why "the release branch is rewritten"`
    """
    asked = (f"Let {id} pass for {minutes} minutes?", f"guards override {id} --why {shlex.quote(why)}")
    arguments = {"id": id, "why": why, "minutes": minutes}
    _decide(ctx, "guard_override", arguments, as_json, "{id} lets pass until {until}", asked)


def _decide(
    ctx: typer.Context, name: str, arguments: Row, as_json: bool, line: str, asked: tuple[str, str] | None = None
) -> None:
    """Call an operation; `asked` are the question to the person and the command that asks it, if a person decides."""
    with opened(settings_of(ctx)) as clew:
        if asked is not None:
            confirm(*asked, clew)
        answer = (call if asked is None else call_as_person)(clew, name, arguments)
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_json(result) if as_json else say(line.format(**result))


Project = Annotated[Path | None, typer.Argument(help="Project, or its clew.toml; default: this one.", metavar="PATH")]


def trust_project(
    ctx: typer.Context,
    path: Project = None,
    remove: Annotated[bool, typer.Option("--remove", help="Trust the file no longer.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Trust a project's clew.toml, which may then say where data goes and who may listen.

    Read the file first. The command asks at a terminal, because an agent must not trust it for you. Trust holds for the
    file as it is now and ends when it changes. What a project's file may set without it stands in docs/settings.md.

    Examples:

    - `clew trust` trusts the clew.toml of this project
    - `clew trust ~/src/api --remove` takes that back
    """
    home = chosen_home(ctx.obj or {}, os.environ)
    file = _project_file(path)
    if remove:
        distrust(home, file)
    else:
        _check_file(file)
        confirm(f"{file} may then say where data goes and whose memory is shared. Trust it as it is now?", "trust")
        trust(home, file)
    trusted = str(file.resolve()) in trusted_files(home)
    if as_json:
        show_json({"file": str(file), "trusted": trusted})
    else:
        say(f"{file} is {'trusted as it is now' if trusted else 'not trusted'}")


def _project_file(path: Path | None) -> Path:
    if path is None:
        return project_root(Path.cwd()) / FILE
    return path / FILE if path.is_dir() else path


def _check_file(file: Path) -> None:
    if not file.is_file():
        raise ClewError("NOT_FOUND", f"there is no {file}", "Name a project that has a clew.toml.")


def register_guards(app: typer.Typer) -> None:
    app.callback()(guards)
    app.command("show")(show_guards)
    app.command("propose")(propose_guard)
    app.command("approve")(approve_guard)
    app.command("revoke")(revoke_guard)
    app.command("override")(override_guard)


GROUPS = {"guards": register_guards}
COMMANDS = {
    "inbox": inbox,
    "approve": approve,
    "reject": reject,
    "decide": decide,
    "erase": erase,
    "trust": trust_project,
}
