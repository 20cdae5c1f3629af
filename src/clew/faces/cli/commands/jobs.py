"""`clew jobs`: shows delegated work and its runners, answers a job's questions, queues a job again. `clew runner`: the
process that works on delegated jobs, until a signal stops it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.app import Clew
from clew.errors import shorten
from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import describe_warnings, has_colour, say, show_json, show_table
from clew.faces.cli.root import call, opened, settings_of
from clew.registry.envelope import Answer

if TYPE_CHECKING:
    from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print the whole envelope.")]
JobName = Annotated[str, typer.Argument(help="Job id such as JOB-001.", metavar="JOB")]
Refs = Annotated[list[str] | None, typer.Option("--ref", help="An id or receipt to point to; may be given twice.")]


def jobs(
    ctx: typer.Context,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Stay, and show changes as they happen.")] = False,
    status: Annotated[str | None, typer.Option(help="Only QUEUED, RUNNING, DONE, FAILED or CANCELED jobs.")] = None,
    limit: Annotated[int, typer.Option(help="Most jobs to show.", min=1, max=200)] = 25,
    as_json: Json = False,
) -> None:
    """Show jobs and runners: who is alive, who needs an answer.

    The first column marks what wants you: `!` an error or missing proof, `?` a question, `~` a claim that ran out.

    Examples:

    - `clew jobs` shows what waits and what runs
    - `clew jobs --watch` stays and follows it
    - `clew jobs reply JOB-007 "Use the smaller data set"`
    """
    if ctx.invoked_subcommand is not None:
        return
    asked: dict[str, Any] = {"limit": limit, **({"status": status} if status else {})}
    with opened(settings_of(ctx)) as clew:
        if watch and has_colour(sys.stdout) and not as_json:
            live_table(clew, lambda: call(clew, "tasks_jobs_radar", {**asked, "fmt": "json"}))
            return
        answer = call(clew, "tasks_jobs_radar", {**asked, "fmt": "json"})
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    show_table(("", "job", "status", "title", "runner", "last word"), job_rows(result))
    show_table(("runner", "status", "job"), runner_rows(result))
    if "runner_bootstrap" in result:
        say(f"jobs wait and no runner is there; start one: {result['runner_bootstrap']['cmd']}", "yellow")
    describe_warnings(answer.envelope["warnings"])


def open_job(ctx: typer.Context, job: JobName, as_json: Json = False) -> None:
    """Show a job: its state, its order and its newest events.

    Examples:

    - `clew jobs open JOB-007`
    - `clew jobs open JOB-007 --json`
    """
    asked: dict[str, Any] = {"job": job, "include_prompt": True, "max_events": 20}
    _answer(ctx, "tasks_jobs_open", asked if as_json else {**asked, "fmt": "lines"}, as_json)


def reply(
    ctx: typer.Context,
    job: JobName,
    message: Annotated[str, typer.Argument(help="The answer, in a sentence or two.")],
    ref: Refs = None,
    as_json: Json = False,
) -> None:
    """Write to a job that waits or runs; its runner reads it before the next slice.

    Examples:

    - `clew jobs reply JOB-007 "Use the smaller data set" --ref CARD-3`
    - `clew jobs reply JOB-007 "It is proven: CMD: make test"`
    """
    asked: dict[str, Any] = {"job": job, "message": message, "refs": ref or []}
    _answer(ctx, "tasks_jobs_message", asked if as_json else {**asked, "fmt": "lines"}, as_json)


def requeue(
    ctx: typer.Context,
    job: JobName,
    reason: Annotated[str | None, typer.Option(help="Why it is tried again.")] = None,
    as_json: Json = False,
) -> None:
    """Queue a job that has ended for another attempt.

    Examples:

    - `clew jobs requeue JOB-007 --reason "The disk was full"`
    """
    asked = {"job": job, **({"reason": reason} if reason else {})}
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "tasks_jobs_requeue", asked)
    if answer.ok and not as_json:
        say(f"{answer.envelope['result']['job']['job_id']} is queued again")
        return
    raise typer.Exit(show_answer(answer, as_json))


def _answer(ctx: typer.Context, name: str, arguments: dict[str, Any], as_json: bool) -> None:
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, name, arguments)
    raise typer.Exit(show_answer(answer, as_json))


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
    """Redraw when something was written, until Ctrl-C; also every second, because leases end by the clock."""
    from rich.live import Live

    with Live(_picture(ask()), auto_refresh=False, screen=True) as live:
        try:
            for _ in clew.database.changes(REFRESH_S):
                live.update(_picture(ask()), refresh=True)
        except KeyboardInterrupt:
            return


def _job_row(job: dict[str, Any]) -> tuple[str, ...]:
    last = job.get("last") or {}
    message = f"{last['kind']}: {last['message']}" if last else ""
    runner = f"{job['runner_state']}:{job['runner']}" if "runner_state" in job else "-"
    title = shorten(" ".join(job["title"].split()), 48)
    return (job["mark"], job["job_id"], job["status"], title, runner, shorten(" ".join(message.split()), 60))


def _picture(answer: Answer) -> Any:
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


def runner(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Take one job for each slot, if any waits, and end.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Take jobs and end them without running anything.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Take only jobs that prove work again (executors of type verify).")
    ] = False,
    slots: Annotated[int | None, typer.Option(help="How many jobs to work on at a time.", min=1, max=64)] = None,
    config: Annotated[str | None, typer.Option(help="Configuration, instead of runner.toml.", metavar="FILE")] = None,
    runner_id: Annotated[str | None, typer.Option(help="Name of this runner; default host:pid.", metavar="ID")] = None,
    poll: Annotated[float | None, typer.Option(help="Seconds between looks when nothing happens.")] = None,
    heartbeat: Annotated[float | None, typer.Option(help="Seconds between signs of life.")] = None,
    slice_: Annotated[float | None, typer.Option("--slice", help="Seconds of one slice of work.")] = None,
    max_failures: Annotated[int | None, typer.Option(help="Failures in a row before a job is given up.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON at the end.")] = False,
) -> None:
    """Work on delegated jobs of a workspace, in a process of its own.

    What it may execute stands in its own configuration (runner.toml in the data directory), never in a job. Ctrl-C or
    SIGTERM ends it in order: processes are ended and their jobs go back into the queue. See docs/delegation.md.

    Examples:

    - `clew runner` takes jobs until it is stopped
    - `clew runner --once --dry-run` shows that claims and reports work, without running anything
    - `clew --workspace acme/api runner --slots 4 --config team-runner.toml`
    """
    from clew.logs import configure_logs
    from clew.runner.configuration import load_configuration, verifying
    from clew.runner.slots import run

    settings = settings_of(ctx)
    configure_logs(settings)
    flags = {
        "slots": slots,
        "runner_id": runner_id,
        "poll_s": poll,
        "heartbeat_s": heartbeat,
        "slice_s": slice_,
        "max_failures": max_failures,
    }
    configuration = load_configuration(settings.runner_home, config, flags)
    if verify:
        configuration = verifying(configuration)
    stop = _stop_on_signals()
    with opened(settings) as clew:
        if not as_json:
            sys.stderr.write(f"Working on jobs of {settings.workspace}; Ctrl-C stops and gives open jobs back.\n")
        worked = run(clew, configuration, stop, once=once, dry_run=dry_run)
    if as_json:
        show_json({"workspace": settings.workspace, "worked": worked})


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()

    def ask(number: int, frame: Any) -> None:
        stop.set()

    # A flag instead of an exception: the runner first ends its processes and gives their jobs back.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return stop


def register_jobs(app: typer.Typer) -> None:
    app.callback(invoke_without_command=True)(jobs)
    app.command("open")(open_job)
    app.command("reply")(reply)
    app.command("requeue")(requeue)


GROUPS = {"jobs": register_jobs}
COMMANDS = {"runner": runner}
