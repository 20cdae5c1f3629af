"""`clew runner`: the process that works on delegated jobs, until a signal stops it."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Annotated, Any

import typer

from clew.faces.cli.output import show_json
from clew.faces.cli.root import opened, settings_of


def register(app: typer.Typer) -> None:
    app.command()(runner)


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
