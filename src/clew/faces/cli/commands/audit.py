"""`clew audit`: what is wrong with a memory, as a table, JSON, or a page in HTML."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import say, show_table
from clew.faces.cli.root import call, opened, settings_of

SHOWN = 100
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Audit of {title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8884 }}
.high {{ color: #b3261e }} .medium {{ color: #8a5a00 }} .low {{ color: #666 }}
</style>
<h1>Audit of {title}</h1>
<p>{summary}</p>
<table><thead><tr><th>Severity<th>Check<th>Where<th>Statement<th>Finding</thead><tbody>
{rows}
</tbody></table>
</html>
"""


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(help="A file or folder; without it this workspace.", metavar="PATH")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report to this file.", metavar="FILE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole envelope.")] = False,
) -> None:
    """Find duplicates, contradictions, outdated and unsupported statements, secrets, unproven and forgotten work.

    A folder is also compared with what this workspace holds, as before an import. Writes nothing but the report.
    Exit code 1: something of high severity was found.

    Examples:

    - `clew audit`
    - `clew audit CLAUDE.md`
    - `clew audit --html audit.html`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "audit", {"path": path} if path else {})
    if as_json or not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    if html is not None:
        html.expanduser().write_text(page(result), encoding="utf-8")
        say(f"written to {html}")
    else:
        _show(result)
    raise typer.Exit(1 if any(item["severity"] == "high" for item in result["findings"]) else 0)


def _show(result: dict[str, Any]) -> None:
    for finding in result["findings"][:SHOWN]:
        say(f"{finding['severity']:<7} {finding['check']:<13} {finding['place']}: {finding['note']}")
        say(f"{'':<21} {finding['text']}", "dim")
    left_out = len(result["findings"]) - SHOWN
    if left_out > 0:
        say(f"and {left_out} more (--json or --html shows them)", "dim")
    for problem in result["unreadable"]:
        say(f"not read: {problem}", "yellow")
    counts = [(check, str(count)) for check, count in result["counts"].items()]
    say(f"{result['statements']} statements audited", "bold")
    show_table(("check", "findings"), counts) if counts else say("nothing found")


def page(result: dict[str, Any]) -> str:
    """The report as one HTML page without scripts."""
    rows = "\n".join(_row(finding) for finding in result["findings"])
    counts = ", ".join(f"{count} {check}" for check, count in result["counts"].items()) or "nothing found"
    summary = f"{result['statements']} statements, {counts}."
    return _PAGE.format(title=escape(result["audited"]), summary=escape(summary), rows=rows)


def _row(finding: dict[str, Any]) -> str:
    severity = finding["severity"]
    cells = (finding["check"], finding["place"], finding["text"], finding["note"])
    return f'<tr><td class="{severity}">{severity}' + "".join(f"<td>{escape(cell)}" for cell in cells)
