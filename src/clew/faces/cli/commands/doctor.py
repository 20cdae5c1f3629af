"""`clew doctor`: prints the findings of ../checks.py: what works, what does not, and how to mend it."""

from __future__ import annotations

from typing import Annotated

import typer

from clew.faces.cli.checks import Finding, examine, settings_in_force
from clew.faces.cli.main import Exit, exit_for
from clew.faces.cli.output import say, show_json, show_table
from clew.faces.cli.root import settings_of

_MARK = {"ok": ("ok      ", "green"), "note": ("note    ", "yellow"), "problem": ("PROBLEM ", "bold red")}


def register(app: typer.Typer) -> None:
    app.command()(doctor)


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
        if finding.mend:
            say(f"          -> {finding.mend}")


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
