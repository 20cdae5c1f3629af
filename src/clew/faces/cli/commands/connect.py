"""`clew connect`: configure the MCP clients of this user for Clew, or remove it from them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from clew.errors import ClewError
from clew.faces.cli.checks import answers_as_clew
from clew.faces.cli.client_plan import plan_for, printable, show_connections
from clew.faces.cli.commands.backfill import run_backfill, show_backfill
from clew.faces.cli.main import Exit
from clew.faces.cli.output import complain, say, show_json
from clew.faces.cli.root import settings_of
from clew.faces.connect.client_settings import obstacles
from clew.faces.connect.clients import ALIASES, CLIENTS, Client, ClientPlan
from clew.faces.connect.file_changes import FileChange, apply, connection, removal
from clew.faces.connect.servers import ALLOWING, DISTRIBUTION, HOOK, own_script
from clew.faces.connect.undo_journal import Journal
from clew.settings import Settings

_VERBS = {"create": "new", "change": "changed", "delete": "removed", "refused": "REFUSED"}


def register(app: typer.Typer) -> None:
    app.command()(connect)


def _complete(incomplete: str) -> list[str]:
    return [name for name in CLIENTS if name.startswith(incomplete)]


def connect(
    ctx: typer.Context,
    client: Annotated[
        list[str] | None,
        typer.Argument(help=f"{', '.join(CLIENTS)}; all that are found here when left out.", autocompletion=_complete),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    print_: Annotated[bool, typer.Option("--print", help="Print lines to copy, and change nothing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take Clew out again; files become what they were.")] = False,
    http: Annotated[bool, typer.Option("--http", help="For a server started with `clew serve --http`.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Whether to write hooks too.")] = True,
    allow: Annotated[bool, typer.Option("--allow", help="Let clients call Clew without asking each time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Connect the MCP clients of this machine: server entry, hooks and skill, written into their own files.

    Shows the differences and asks. Comments, order and formatting stay; each file is copied first and replaced at once.
    A file that cannot be read is left alone. A second run changes nothing.

    Examples:

    - `clew connect` connects every client that is found
    - `clew connect claude codex --yes`
    - `clew connect claude --allow` lets Claude Code call Clew without asking each time
    - `clew connect --remove --yes` takes all of it back
    - `clew connect cursor --print` prints what belongs where
    """
    settings = settings_of(ctx)
    plan = plan_for(settings, http, hooks, allow or remove)
    if print_:
        _print_lines(plan, client, as_json)
        return
    journal = Journal.open(settings.home)
    chosen = _clients(client, plan, remove)
    changes = removal(chosen, plan, journal) if remove else connection(chosen, plan, journal)
    if not as_json:
        _show_diffs(changes)
    write = not dry_run and _agreed(changes, yes, as_json)
    if write:
        apply(changes, journal)
    notes = [] if remove else [*_notes(settings, plan, http, hooks, chosen), *_asking(chosen, plan, journal)]
    _report(chosen, changes, write, as_json, remove, notes)
    if write and not (as_json or remove or http):
        _offer_backfill(settings)
    raise typer.Exit(Exit.REFUSED if any(change.refusal for change in changes) else Exit.OK)


def _print_lines(plan: ClientPlan, names: list[str] | None, as_json: bool) -> None:
    shown = [_client(name) for name in names or CLIENTS]
    if as_json:
        show_json(printable(plan.target, shown))
    else:
        show_connections(plan.target, shown)


def _clients(names: list[str] | None, plan: ClientPlan, remove: bool) -> list[Client]:
    if names:
        chosen = [_client(name) for name in dict.fromkeys(names)]
    else:
        chosen = [entry for entry in CLIENTS.values() if remove or entry.is_installed(plan.places)]
    able = [entry for entry in chosen if remove or entry.reaches(plan.target)]
    for entry in chosen:
        if entry not in able:
            complain(
                f"left out: {entry.title} cannot be configured with this address; connect it without --http", "yellow"
            )
    if able:
        return able
    raise ClewError(
        "NOT_FOUND",
        "no client to connect was found here",
        f"Name one, as in: clew connect claude. Known are {', '.join(CLIENTS)}.",
    )


def _client(name: str) -> Client:
    found = CLIENTS.get(ALIASES.get(name, name))
    if found is None:
        raise ClewError("INVALID_INPUT", f"no client is called {name!r}", f"Use one of {', '.join(CLIENTS)}.")
    return found


def _agreed(changes: list[FileChange], yes: bool, as_json: bool) -> bool:
    """Whether to write: with --yes, or after a person agreed. Without a terminal no one can be asked."""
    waiting = [change for change in changes if change.action not in ("unchanged", "refused")]
    if yes or not waiting:
        return True
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return typer.confirm(f"Write {len(waiting)} files?")


def _notes(settings: Settings, plan: ClientPlan, http: bool, hooks: bool, chosen: list[Client]) -> list[str]:
    notes = []
    if hooks and plan.hook is None:
        notes.append(_missing_hooks())
    for client in chosen if plan.hook else ():
        notes += [f"{client.title}: {it.detail}. {it.fix}." for it in obstacles(client, plan.places)]
    if http and not answers_as_clew(settings.host, settings.port):
        notes.append(
            f"no Clew answers at {plan.target.url} now; for a server on another port say CLEW_PORT=... (or `port` in"
            f" {settings.home / 'clew.toml'})"
        )
    if not http and str(settings.origins.get("database_url", "")).startswith(("CLEW_", "flag")):
        notes.append(f"CLEW_DATABASE_URL is not written into clients' files: put it into {settings.home / 'clew.toml'}")
    return notes


def _asking(chosen: list[Client], plan: ClientPlan, journal: Journal) -> list[str]:
    """The clients that ask before each call, and how to allow ours."""
    if plan.allow:
        return []
    able = [client for client in chosen if client.name in ALLOWING]
    changes = connection(able, replace(plan, allow=True), journal)
    waiting = {name for change in changes if change.action != "unchanged" for name in change.clients}
    asking = [client for client in able if client.name in waiting]
    if not asking:
        return []
    titles, names = ", ".join(it.title for it in asking), " ".join(it.name for it in asking)
    return [f"{titles}: may ask before each call of Clew; `clew connect {names} --allow` lets them through"]


def _missing_hooks() -> str:
    if own_script(HOOK) is not None:
        return (
            "hooks are not written: this Clew runs from the cache of uvx, where a hook would not last."
            f" `uv tool install {DISTRIBUTION}` installs it, then run this again"
        )
    return f"hooks are not written: {HOOK} is not installed next to clew"


def _report(
    chosen: list[Client], changes: list[FileChange], written: bool, as_json: bool, remove: bool, notes: list[str]
) -> None:
    if as_json:
        clients = [client.name for client in chosen]
        show_json(
            {"clients": clients, "written": written, "files": [_row(change) for change in changes], "notes": notes}
        )
        return
    for change in changes:
        if change.action != "unchanged" and (written or change.refusal):
            say(f"{_VERBS[change.action]:8} {change.file}  ({', '.join(change.clients)}: {', '.join(change.whats)})")
        if change.refusal:
            complain(f"  {change.refusal}", "bold red")
    _conclude(chosen, changes, written, remove)
    for note in notes:
        say(f"note: {note}")


def _offer_backfill(settings: Settings) -> None:
    """A new memory is empty, and the project is not."""
    if not (settings.project_root / ".git").exists() or settings.server:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("`clew backfill` shows what memory can start from: instruction files, git history, earlier sessions.")
    elif typer.confirm("Show what memory of this project can start from? Nothing is written", default=True):
        show_backfill(*run_backfill(settings, {"sources": [], "limit": 50, "dry_run": True}))


def _row(change: FileChange) -> dict[str, Any]:
    row: dict[str, Any] = {
        "file": str(change.file),
        "action": change.action,
        "clients": list(change.clients),
        "holds": list(change.whats),
    }
    if change.refusal:
        return {**row, "reason": change.refusal}
    return row if change.action == "unchanged" else {**row, "diff": change.diff()}


def _show_diffs(changes: list[FileChange]) -> None:
    for change in changes:
        if change.action in ("unchanged", "refused"):
            continue
        # A file that is wholly ours, such as a skill, is new or goes: its length says enough.
        if change.ours and change.action != "change":
            lines = len((change.after or change.before or b"").splitlines())
            say(f"{'+++' if change.after else '---'} {change.file}  ({lines} lines, {', '.join(change.whats)})")
            continue
        for line in change.diff().splitlines():
            style = {"+": "green", "-": "red"}.get(line[:1], "")
            say(line, style)


def _titles(chosen: list[Client], changed: list[FileChange]) -> str:
    # A skill is shared by several clients; only those with an entry were connected.
    entries = [change for change in changed if "server" in change.whats]
    found = {name for change in entries or changed for name in change.clients}
    return ", ".join(client.title for client in chosen if not found or client.name in found)


def _conclude(chosen: list[Client], changes: list[FileChange], written: bool, remove: bool) -> None:
    # --remove looks at every known client, but the summary names only those in which something was found.
    changed = [change for change in changes if change.action != "unchanged"]
    titles = _titles(chosen, changed)
    if not changed:
        say("Nothing to take out: Clew is in none of the clients." if remove else f"Nothing to change: {titles}.")
    elif written:
        done = sum(change.action != "refused" for change in changed)
        say(f"{done} files written: {titles}.", "bold green")
        if not any(change.leaving for change in changes):
            say("Restart the clients to see it; `clew doctor` checks it, `clew connect --remove` takes it back.")
    else:
        say(f"Nothing was written. Say --yes to write this: {titles}.")
