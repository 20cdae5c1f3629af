"""`clew status`: prints the workspace, its focus and the state of the store. `clew workspaces`: lists the workspaces of
this data directory. `clew digest`: tells what was done in a period. `clew verify`: checks the digest chains of receipts
and events for later changes. `clew doctor`: prints the findings of ../checks.py: what works, what does not, and how to
fix it. `clew version`: prints the versions of Clew and Python.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clew import __version__
from clew.faces.cli.asking import asking, show_answer
from clew.faces.cli.main import Exit, exit_for
from clew.faces.cli.output import describe_warnings, say, show_json, show_table
from clew.faces.cli.root import call, opened, settings_of

if TYPE_CHECKING:
    from clew.faces.cli.checks import Finding

# The few facts a person looks for; --json prints all of them.
SHOWN = ("workspace", "checkout", "focus", "store", "index", "last_task_event", "last_doc_entry")


def status(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False
) -> None:
    """Show the workspace, its checkout, what was written last and how the store is.

    Examples:

    - `clew status`
    - `clew --workspace acme/api status --json`
    """
    with asking(ctx) as asker:
        answer = asker.call("status", {})
    if answer.ok and not as_json:
        result = answer.envelope["result"]
        shown = {name: result.get(name) for name in SHOWN}
        show_table(("fact", "value"), [*facts(shown), *facts({"bytes": _bytes_by_kind(ctx)})])
        describe_warnings(answer.envelope["warnings"])
    else:
        raise typer.Exit(show_answer(answer, as_json))


def _bytes_by_kind(ctx: typer.Context) -> dict[str, int]:
    """What the store grows by; asked for here only, because the whole file is read for it."""
    with asking(ctx) as asker:
        answer = asker.call("vacuum", {}, toolset="full")
    found: dict[str, int] = answer.envelope["result"]["bytes"] if answer.ok else {}
    return found


def digest(
    ctx: typer.Context,
    since: Annotated[str, typer.Option("--since", help="yesterday, today, '7 days', or a date.")] = "yesterday",
    until: Annotated[str | None, typer.Option("--until", help="A date or time; default: now.")] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, to be pasted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Tell what was done in a period, by author and by plan, in sentences.

    Examples:

    - `clew digest`
    - `clew digest --since "7 days" --markdown`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "digest", {"since": since, **({"until": until} if until else {})})
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(result["markdown"] if as_markdown else _plain(result))


def _plain(digest: dict[str, Any]) -> str:
    """Without the marks of Markdown; what is named stands in quotes, as it is."""
    sentences = [sentence for author in digest["authors"] for sentence in author["sentences"]]
    named = [
        *digest["plans"],
        *(one["place"] for one in sentences),
        *(thing for one in sentences for thing in one["things"]),
    ]
    titles = {record["title"] for record in (*named, *(one.get("replacing") for one in named if one)) if record}
    text = re.sub(r"(?m)^#+ ", "", digest["markdown"])
    for title in sorted(titles, key=len, reverse=True):
        text = text.replace(f"*{title}*", f"“{title}”")
    return text


def facts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """A nested result as rows of path and value; a list of objects is only counted."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from facts(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield name, f"{len(value)} items"
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value)) or "-"
    else:
        yield name, "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def workspaces(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(help="Most workspaces to list.", min=1, max=1000)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """List the workspaces that hold something, the last changed first; `*` marks the one of this directory.

    Examples:

    - `clew workspaces`
    - `clew --workspace acme/api resume` shows another one
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "workspace_list", {"limit": limit})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    found = answer.envelope["result"]
    if not found["workspaces"]:
        say("No workspace holds anything yet.")
        return
    rows = [
        ("*" if row["current"] else "", row["workspace"], str(row["events"]), row["changed"][:16])
        for row in found["workspaces"]
    ]
    show_table(("", "workspace", "events", "changed"), rows)
    left = found["count"] - len(rows)
    if left:
        say(f"and {left} more")


def verify(
    ctx: typer.Context,
    what: Annotated[Literal["bundle"] | None, typer.Argument(help="`bundle` to verify files.")] = None,
    files: Annotated[list[str] | None, typer.Argument(help="The bundles.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the chains of receipts and events of the workspace, or those of bundles, and name the first break.

    Each receipt, each event and each change of a bundle holds the digest of the one before it. Exit code 1: something
    was changed, removed or slipped in.

    Examples:

    - `clew verify`
    - `clew --workspace acme/api verify --json`
    - `clew verify bundle memory.clew`
    """
    if what == "bundle":
        raise typer.Exit(_verify_bundles(files or [], as_json))
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "tasks_chain_verify", {})
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    found = answer.envelope["result"]
    if as_json:
        show_json(found)
    else:
        for item in found["breaks"]:
            say(f"BROKEN {item['where']} {item['problem']}")
        if found["intact"]:
            say(f"intact: {found['receipts']} receipts, {found['events']} events; head {found['heads']['events']}")
    raise typer.Exit(Exit.OK if found["intact"] else Exit.REFUSED)


def _verify_bundles(files: list[str], as_json: bool) -> int:
    from clew.sync.bundle_format import verified

    results = list(verified(files))
    if as_json:
        show_json({"files": [{"intact": intact, "said": line} for intact, line in results]})
    else:
        for _, line in results:
            say(line)
    return Exit.OK if results and all(intact for intact, _ in results) else Exit.REFUSED


_MARK = {"ok": ("ok      ", "green"), "note": ("note    ", "yellow"), "problem": ("PROBLEM ", "bold red")}


def doctor(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False
) -> None:
    """Examine this installation: store, index, extras, addresses, permissions, settings, clients.

    Opens the store as a first call would. A note is worth knowing, a problem keeps something from working; both say
    what to do. Exits with 0 when there is no problem, 3 when the store is one, else 1.

    Examples:

    - `clew doctor`
    - `CLEW_HOME=/srv/clew clew doctor --json`
    """
    settings = settings_of(ctx)
    # Here, because it loads every client that could be connected; the other commands of this file need none of it.
    from clew.faces.cli.checks import examine, settings_in_force

    findings = list(examine(settings))
    problems = [finding for finding in findings if finding.state == "problem"]
    if as_json:
        shown = [finding.to_dict() for finding in findings]
        show_json({"ok": not problems, "findings": shown, "settings": settings_in_force(settings)})
    else:
        _show(findings)
        say("settings", "bold")
        rows = [(f"  {row['name']}", row["value"], row["origin"]) for row in settings_in_force(settings)]
        show_table(("  setting", "value", "from"), rows)
        say()
        _conclude(problems)
    raise typer.Exit(_exit(problems))


def _show(findings: list[Finding]) -> None:
    for finding in findings:
        mark, style = _MARK[finding.state]
        say(f"{mark}{finding.check}: {finding.detail}", style)
        if finding.fix:
            say(f"          -> {finding.fix}")


def _conclude(problems: list[Finding]) -> None:
    if problems:
        names = ", ".join(finding.check for finding in problems)
        say(f"{len(problems)} to mend: {names}. Each line above says how.", "bold red")
    else:
        say("Everything essential works.", "bold green")


def _exit(problems: list[Finding]) -> Exit:
    codes = [exit_for(finding.code) for finding in problems if finding.code]
    if Exit.STORE in codes:
        return Exit.STORE
    return Exit.REFUSED if problems else Exit.OK


def version(as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False) -> None:
    """Say which Clew this is.

    Example: `clew version --json`
    """
    if as_json:
        show_json({"clew": __version__, "python": platform.python_version()})
    else:
        say(f"clew {__version__} (Python {platform.python_version()})")


COMMANDS = {
    "status": status,
    "workspaces": workspaces,
    "digest": digest,
    "verify": verify,
    "doctor": doctor,
    "version": version,
}
