"""Jobs and runners as tables: once for a pipe, or live on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clew.app import Clew
from clew.errors import shorten
from clew.registry.envelope import Answer

if TYPE_CHECKING:
    from rich.table import Table

REFRESH_S = 1.0
_STYLE = {"!": "bold red", "?": "bold yellow", "~": "magenta"}


def job_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    return [_job_row(job) for job in result["jobs"]] or [("", "no jobs wait or run", "", "", "", "")]


def runner_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    alive = result.get("runner_leases", {}).get("runners", [])
    gone = result.get("runner_leases_offline", {}).get("runners", [])
    rows = [(lease["runner_id"], lease["status"], lease["active_job_id"] or "-") for lease in alive]
    rows += [(lease["runner_id"], "offline", lease["active_job_id"] or "-") for lease in gone]
    return list(rows) or [("no runner", "offline", "-")]


def live_table(clew: Clew, ask: Callable[[], Answer]) -> None:
    """Redraw whenever something was written, until Ctrl-C; leases end by the clock, so also every second."""
    from rich.live import Live

    with Live(_drawn(ask()), auto_refresh=False, screen=True) as live:
        try:
            for _ in clew.database.changes(REFRESH_S):
                live.update(_drawn(ask()), refresh=True)
        except KeyboardInterrupt:
            return


def _job_row(job: dict[str, Any]) -> tuple[str, ...]:
    last = job.get("last") or {}
    said = f"{last['kind']}: {last['message']}" if last else ""
    runner = f"{job['runner_state']}:{job['runner']}" if "runner_state" in job else "-"
    title = shorten(" ".join(job["title"].split()), 48)
    return (job["mark"], job["job_id"], job["status"], title, runner, shorten(" ".join(said.split()), 60))


def _drawn(answer: Answer) -> Any:
    from rich.console import Group
    from rich.text import Text

    if not answer.ok:
        return Text(answer.envelope["error"]["message"], style="bold red")
    result = answer.envelope["result"]
    parts: list[Any] = [_jobs(result), Text(), _runners(result)]
    if "runner_bootstrap" in result:
        parts += [Text(), Text(f"start a runner: {result['runner_bootstrap']['cmd']}", style="yellow")]
    return Group(*parts, Text('Ctrl-C ends; clew jobs reply JOB-... "..." answers', style="dim"))


def _jobs(result: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for header in ("", "job", "status", "title", "runner", "last word"):
        table.add_column(header, no_wrap=header in ("", "job", "status"))
    for row in job_rows(result):
        table.add_row(*(Text(cell) for cell in row), style=_STYLE.get(row[0], ""))
    return table


def _runners(result: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for header in ("runner", "status", "job"):
        table.add_column(header)
    for row in runner_rows(result):
        style = {"live": "green", "offline": "dim"}.get(row[1], "")
        table.add_row(*(Text(cell) for cell in row), style=style)
    return table
