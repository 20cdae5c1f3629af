"""`clew bench`: how good recall is on this machine, and how much a server carries."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from clew.errors import ClewError
from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import complain, has_colour, progress_lines, say, show_json, show_table
from clew.faces.cli.root import call, opened, settings_of
from clew.settings import LOOPBACK

QUANTILES = ("p50", "p95", "p99")
COLUMNS = ("recall@1", "recall@5", "recall@10", "recall@20", "any@10", "mrr@10")


def register(app: typer.Typer) -> None:
    app.callback()(bench)
    app.command()(recall)
    app.command()(load)


def bench() -> None:
    """Measure how good Clew is.

    Examples:

    - `clew bench recall --locomo locomo10.json`
    - `clew bench load --clients 16 --seconds 60`
    """


def recall(
    ctx: typer.Context,
    locomo: Annotated[
        Path | None, typer.Option("--locomo", help="The LoCoMo file; default: the variable CLEW_LOCOMO.")
    ] = None,
    agentmem: Annotated[
        Path | None,
        typer.Option("--agentmem", help="A directory of projects, such as benchmarks/data/agentmem."),
    ] = None,
    beam: Annotated[Path | None, typer.Option("--beam", help="A BEAM file: long project chats.")] = None,
    longmemeval: Annotated[Path | None, typer.Option("--longmemeval", help="LongMemEval's oracle file.")] = None,
    semantic: Annotated[bool, typer.Option(help="Also measure with the embedding model, when there is one.")] = True,
    peers: Annotated[bool, typer.Option(help="Also measure others on the same turns.")] = True,
    held_out: Annotated[
        bool, typer.Option(help="Also measure each conversation with weights fitted on the others.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Measure retrieval: which share of the evidence is among the first results. Give any of the sets.

    One item for each turn or record, one workspace for each conversation or project, the question as it stands, the
    default settings. For sets with questions that nothing answers also how many of them stay without an answer.
    Vectors are kept in CLEW_HOME/cache, so that a second run is faster. mind-mem is looked for in this environment, or
    in the one whose interpreter MIND_MEM_PYTHON names.

    Examples:

    - `clew bench recall --locomo locomo10.json`
    - `clew bench recall --agentmem benchmarks/data/agentmem --no-peers --json`
    """
    sets = {"agentmem": agentmem, "beam": beam, "longmemeval": longmemeval}
    path = locomo or (Path(os.environ["CLEW_LOCOMO"]) if os.environ.get("CLEW_LOCOMO") else None)
    if any(sets.values()) and locomo is None:
        # Another set was named, so the variable is not taken as a wish to measure LoCoMo too.
        path = None
    elif path is None:
        raise ClewError(
            "INVALID_INPUT",
            "no LoCoMo file is given",
            "Get locomo10.json from the LoCoMo repository of Snap Research (CC BY-NC 4.0); say --locomo PATH.",
        )
    cache = settings_of(ctx).home / "cache" / "vectors"
    given: dict[str, Any] = {"semantic": semantic, "peers": peers, "held_out": held_out, "cache": str(cache)}
    paths = {"locomo": path, **sets}
    given |= {name: str(place.expanduser().absolute()) for name, place in paths.items() if place is not None}
    with tempfile.TemporaryDirectory(prefix="clew-bench-") as folder:
        # A separate store, and no workspace lock: the benchmark makes a workspace for each conversation.
        settings = settings_of(ctx, home=folder, workspace="bench", workspace_lock=False)
        with opened(settings) as clew, progress_lines() as progress:
            answer = call(clew, "bench_recall", given, progress)
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    measured = answer.envelope["result"]
    show_json(measured) if as_json else _show(measured)


def _show(measured: dict[str, Any]) -> None:
    for name in ("agentmem", "beam", "longmemeval"):
        if name in measured:
            _show_set(name, measured[name])
    if "locomo" in measured:
        _show_locomo(measured)


def _show_set(name: str, arms: dict[str, Any]) -> None:
    say(name, "bold")
    _table("arm", arms)
    for arm, row in arms.items():
        more = [f"{key} {row[key]:.3f}" for key in ("current_first", "silence", "refused", "auc") if key in row]
        if more:
            say(f"{arm}: {', '.join(more)}")
    say()


def _show_locomo(measured: dict[str, Any]) -> None:
    rows: dict[str, Any] = {}
    for arm in _arms(measured):
        rows[f"Clew, {arm}"] = measured[arm]
        if "held_out" in measured[arm]:
            # Keys of a dict must differ, so each gets another number of blanks, which the table does not show.
            rows["  with weights fitted on the others" + " " * len(rows)] = measured[arm]["held_out"]
    _table("what", {**rows, **measured.get("peers", {})})
    for arm in _arms(measured):
        say()
        say(f"Clew, {arm}, by category; {measured[arm]['ms_p50']} ms a question", "bold")
        _table("category", measured[arm]["by_category"])
    for name, how in measured.get("not_installed", {}).items():
        complain(f"{name} is not installed and was left out; get it: {how}")


def _arms(measured: dict[str, Any]) -> list[str]:
    return [arm for arm in ("lexical", "semantic") if arm in measured]


def _table(first: str, rows: dict[str, Any]) -> None:
    """Print a table with its headings also in a pipe, where `show_table` leaves them out: numbers need them."""
    heads = (first, *COLUMNS)
    cells = [_cells(name, row) for name, row in rows.items()]
    show_table(heads, cells if has_colour(sys.stdout) else [heads, *cells])


def _cells(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (name, row["error"], *("" for _ in COLUMNS[1:]))
    return (name, *(f"{row[column]:.3f}" for column in COLUMNS))


def load(
    ctx: typer.Context,
    address: Annotated[str | None, typer.Argument(help="The server; default: the one of this machine.")] = None,
    clients: Annotated[int, typer.Option(help="Agents that call at the same time.", min=1, max=128)] = 8,
    seconds: Annotated[int, typer.Option(help="For how long.", min=1, max=600)] = 30,
    pause: Annotated[float, typer.Option(help="Seconds that each waits after an answer.", min=0, max=60)] = 0.0,
    into: Annotated[
        str, typer.Option("--in", help="Workspace that is written into.", metavar="WORKSPACE")
    ] = "bench-load",
    elsewhere: Annotated[bool, typer.Option(help="Also load a server on another machine, which is in use.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Let clients use a running server as agents do, and say how long its calls take.

    Of a hundred calls 30 recall, 30 think, 18 open, 14 remember and 8 resume. What they write stays in the workspace
    `bench-load`; use a server that is not in use, or one of a copy. The token is CLEW_TOKEN. Exit code 1: calls failed.

    Examples:

    - `clew bench load --clients 16 --seconds 60`
    - `clew bench load https://clew.example.com --elsewhere --clients 32 --pause 10`
    """
    import asyncio

    from clew.faces.cli.load import LoadPlan, measure

    settings = settings_of(ctx)
    target = (address or f"http://{settings.host}:{settings.port}").rstrip("/")
    _check_target(target, elsewhere)
    seen = asyncio.run(measure(LoadPlan(target, clients, seconds, into, settings.token, pause)))
    found = {"address": target, "clients": clients, **seen.to_dict()}
    show_json(found) if as_json else _show_load(found)
    if seen.problems or not seen.calls:
        raise typer.Exit(1)


def _check_target(target: str, elsewhere: bool) -> None:
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ClewError("INVALID_INPUT", f"{target[:100]!r} is no address", "Write http://127.0.0.1:1731, say.")
    if parts.hostname not in LOOPBACK and not elsewhere:
        raise ClewError(
            "NOT_ALLOWED",
            f"{parts.hostname} is another machine; its users would be slowed down",
            "Add --elsewhere if that is meant.",
        )


def _show_load(found: dict[str, Any]) -> None:
    calls = f"{found['calls']} calls, {found['calls_per_second']} a second"
    say(f"{found['clients']} clients, {found['seconds']} s: {calls}")
    rows = {**found["ms"], "all": found["all_ms"]}
    cells = [(name, str(row["calls"]), *(str(row.get(at, "")) for at in QUANTILES)) for name, row in rows.items()]
    heads = ("milliseconds", "calls", *QUANTILES)
    show_table(heads, cells if has_colour(sys.stdout) else [heads, *cells])
    if "cpu_ms_per_call" in found:
        spent, held = found["cpu_ms_per_call"], found.get("memory_mb", "?")
        say(f"the server spent {spent} ms of processor time a call, and holds {held} MB")
    if found["slowed"]:
        say(f"{found['slowed']} calls were put off by the server (429) and sent again", "yellow")
    for problem, times in found["problems"].items():
        say(f"failed: {problem}, {times} times", "red")
