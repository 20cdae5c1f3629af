"""notebook_run_cell and notebook_install_deps. Code runs outside of any transaction, between two short writes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.canonical import Json, sha256_hex
from clew.errors import ClewError, invalid, suggest
from clew.kinds import statuses
from clew.ledger.inputs import LedgerInput, grouped
from clew.ledger.notebooks import books, sandbox
from clew.ledger.notebooks.books import NotebookCell, NotebookRun
from clew.ledger.notebooks.notebook_operations import CellId, NotebookId
from clew.ledger.notebooks.runtimes import (
    ProcessStart,
    client_environment,
    find_deno,
    find_runtime,
    keep_addresses,
    language_of,
    linked,
)
from clew.ledger.notebooks.sandbox import Outcome
from clew.ledger.notebooks.srcmd import PACKAGE
from clew.registry.connection import outside
from clew.registry.context import Context
from clew.secrets import redact_text
from clew.store.rows import change, find, insert

# SECONDS is Thoughtbox's limit. AT_ONCE: concurrent cells in one server; each may take a gigabyte of memory.
SECONDS = 30
MOST_SECONDS = 300
AT_ONCE = 2
INSTALL_SECONDS = 120
_LOOK = 0.5
_slots = threading.BoundedSemaphore(AT_ONCE)
# Names and versions as npm allows them, because they become arguments of a command.
_SPEC = re.compile(
    r"(?P<name>(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*)(?:@(?P<version>[\w.^~<>=*+-]{1,40}))?"
)


class RunCell(LedgerInput):
    notebook_id: NotebookId
    cell_id: CellId
    timeout_ms: Annotated[
        int, Field(ge=100, le=MOST_SECONDS * 1000, description="Stop it after this many milliseconds.")
    ] = SECONDS * 1000


@grouped("notebook_run_cell", writes=True, mode="own", example={"notebookId": "NB-001", "cellId": "CELL-0003"})
def notebook_run_cell(ctx: Context, args: RunCell) -> Json:
    """Run a code cell (TypeScript, JavaScript or Python) in a sandbox without files, network or environment."""
    with ctx.writing() as bound:
        cell, source = _begin(bound, args)
    if cell.type == PACKAGE:
        return _result(_install(ctx, args.notebook_id, _dependencies(cell.content)))
    try:
        outcome = _public(_run(ctx, args, str(cell.filename), source))
    # Also for KeyboardInterrupt: a cell must not stay `running` when nothing runs any more.
    except BaseException:
        with ctx.writing() as bound:
            _change(bound, cell, status="idle", executed_at_ms=bound.now_ms)
        raise
    with ctx.writing() as bound:
        run = _record(bound, cell, source, outcome)
    return _answer(run, outcome)


def _begin(ctx: Context, args: RunCell) -> tuple[NotebookCell, str]:
    cell = books.cell_named(ctx, args.notebook_id, args.cell_id)
    if not cell.can_run:
        raise invalid("cellId", f"{cell.id} is a {cell.type} cell and cannot be run", "Name a code cell.")
    # A server that was killed leaves the status `running`; after the longest time a run may take, it is ignored.
    running = (cell.status == "running" and cell.executed_at_ms) or 0
    if running and ctx.now_ms - running < MOST_SECONDS * 1000:
        handles = {"notebookId": cell.notebook, "cellId": cell.id}
        way = suggest("notebook_get_cell", "Shows the cell and its runs.", "high", **handles)
        raise ClewError("CONFLICT", f"{cell.id} is running already", "Wait until it has ended.", suggestions=[way])
    if cell.type == PACKAGE:
        find_deno()
        return cell, ""
    language = language_of(str(cell.filename))
    find_runtime(language)
    source = cell.content if language == "python" else _linked_source(ctx, cell)
    _change(ctx, cell, status="running", executed_at_ms=ctx.now_ms)
    return cell, source


def _linked_source(ctx: Context, cell: NotebookCell) -> str:
    cells = books.cells_of(ctx, cell.notebook)
    sources = {str(other.filename): other.content for other in cells if other.type == "code"}
    package = next((other.content for other in cells if other.type == PACKAGE), "{}")
    return linked(str(cell.filename), sources, _dependencies(package))


def _change(ctx: Context, cell: NotebookCell, **columns: Any) -> None:
    change(ctx.tx, ctx.workspace, NotebookCell, [cell.notebook, cell.id], **columns)


def _run(ctx: Context, args: RunCell, filename: str, source: str) -> Outcome:
    seconds = args.timeout_ms / 1000
    packages = _cache(ctx, args.notebook_id)
    cache = packages if packages.is_dir() else None
    with _slot():
        return sandbox.run(
            source, filename, seconds, cache, lambda passed: ctx.progress(passed, seconds, f"{filename} is running")
        )


@contextmanager
def _slot() -> Iterator[None]:
    """Wait for one of the AT_ONCE slots; gives up when the server ends or the wait becomes too long."""
    deadline = time.monotonic() + MOST_SECONDS
    with outside() as stopping:
        while not _slots.acquire(timeout=_LOOK):
            if stopping() or time.monotonic() > deadline:
                raise ClewError("UNAVAILABLE", f"{AT_ONCE} cells are running already", "Try again when one has ended.")
    try:
        yield
    finally:
        _slots.release()


def _public(outcome: Outcome) -> Outcome:
    """The output of a cell, without secrets: it is stored, and shown as it is stored."""
    return replace(outcome, stdout=redact_text(outcome.stdout), stderr=redact_text(outcome.stderr))


def _record(ctx: Context, cell: NotebookCell, source: str, outcome: Outcome) -> NotebookRun:
    run = NotebookRun(
        id=ctx.ws.count("notebook_run"),
        notebook=cell.notebook,
        cell=cell.id,
        # This transaction begins after the run has ended, so the start is computed.
        started_at_ms=ctx.now_ms - outcome.duration_ms,
        duration_ms=outcome.duration_ms,
        status=outcome.status,
        exit_code=outcome.exit_code,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        truncated=outcome.truncated,
        source_digest=sha256_hex(source),
        output_digest=sha256_hex(outcome.stdout + "\x00" + outcome.stderr),
    )
    insert(ctx.tx, ctx.workspace, run)
    now = find(ctx.tx, ctx.workspace, NotebookCell, cell.notebook, cell.id)
    # Only if the content is still what ran: a cell that was edited meanwhile does not get this output.
    if now is not None and now.content == cell.content:
        printed = outcome.stdout or outcome.stderr
        error = None if outcome.ok else outcome.stderr or outcome.stdout
        status = statuses.COMPLETED if outcome.ok else statuses.FAILED
        _change(ctx, cell, status=status, output=printed, error=error, executed_at_ms=ctx.now_ms)
    books.touch(ctx, cell.notebook)
    payload = {"cell": cell.id, "run": run.id, "status": outcome.status, "exit_code": outcome.exit_code}
    ctx.emit("ledger", "notebook_cell_ran", cell.notebook, payload)
    return run


def _answer(run: NotebookRun, outcome: Outcome) -> Json:
    """The result, and a receipt line that a step accepts as proof."""
    code = run.exit_code if run.exit_code is not None else run.status
    receipt = (
        f"CMD: notebook_run_cell notebookId={run.notebook} cellId={run.cell} # run {run.id}, exit {code},"
        f" output sha256:{run.output_digest}"
    )
    result = _result(outcome)
    return {**result, "execution": {**result["execution"], "run": run.id}, "receipt": receipt}


def _result(outcome: Outcome) -> Json:
    execution = {
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "exitCode": outcome.exit_code if outcome.exit_code is not None else -1,
        "success": outcome.ok,
        "status": outcome.status,
        "durationMs": outcome.duration_ms,
        "truncated": outcome.truncated,
    }
    error = None if outcome.ok else outcome.stderr
    return {"success": outcome.ok, "output": outcome.stdout, "error": error, "execution": execution}


class InstallDeps(LedgerInput):
    notebook_id: NotebookId
    packages: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Field(max_length=50, description="Such as zod or zod@4; added to package.json first."),
    ] = None


@grouped("notebook_install_deps", writes=True, mode="own", example={"notebookId": "NB-001"})
def notebook_install_deps(ctx: Context, args: InstallDeps) -> Json:
    """Fetch the packages of package.json into a cache that cells then use offline."""
    find_deno()
    wanted = dict(_spec(text) for text in args.packages or ())
    with ctx.writing() as bound:
        dependencies = _add_packages(bound, args.notebook_id, wanted)
    return _result(_install(ctx, args.notebook_id, dependencies))


def _add_packages(ctx: Context, notebook: str, wanted: dict[str, str]) -> dict[str, str]:
    books.notebook_named(ctx, notebook)
    cell = next((cell for cell in books.cells_of(ctx, notebook) if cell.type == PACKAGE), None)
    if cell is None:
        raise ClewError(
            "INVALID_INPUT",
            "this notebook has no package.json cell",
            "Create the notebook from a template, or load one with such a cell.",
            [{"kind": "state", "field": "notebookId"}],
            [suggest("notebook_list_cells", "Shows its cells.", "medium", notebookId=notebook)],
        )
    dependencies = {**_dependencies(cell.content), **wanted}
    if wanted:
        package = {**_package(cell.content), "dependencies": dependencies}
        _change(ctx, cell, content=orjson.dumps(package, option=orjson.OPT_INDENT_2).decode())
        ctx.emit("ledger", "notebook_cell_updated", notebook, {"cell": cell.id, "packages": sorted(wanted)})
    return dependencies


def _install(ctx: Context, notebook: str, dependencies: dict[str, str]) -> Outcome:
    if not dependencies:
        return Outcome("completed", 0, "Nothing to install.", "", 0, False)
    cache = _cache(ctx, notebook)
    cache.mkdir(parents=True, exist_ok=True)
    specs = [f"npm:{name}@{version}" for name, version in sorted(dependencies.items())]
    command = [find_deno(), "cache", "--quiet", "--no-config", "--no-lock", *specs]
    environment = {**client_environment(), "DENO_DIR": str(cache), "NO_COLOR": "1"}
    message = f"fetching {len(specs)} packages"
    ctx.progress(0, INSTALL_SECONDS, message)
    done = sandbox.followed(
        ProcessStart(command, environment, b""),
        cache,
        INSTALL_SECONDS,
        lambda passed: ctx.progress(passed, INSTALL_SECONDS, message),
    )
    if not done.ok:
        return done
    keep_addresses(cache)
    return replace(done, stdout=f"Ready: {', '.join(specs)}")


def _cache(ctx: Context, notebook: str) -> Path:
    # A workspace may contain a slash but no percent sign, so no two workspaces share a directory.
    return ctx.settings.home / "notebooks" / ctx.workspace.replace("/", "%") / notebook / "deno"


def _spec(text: str) -> tuple[str, str]:
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise invalid("packages", f"{text[:80]!r} is not a package", "Use name or name@version.")
    return match.group("name"), match.group("version") or "*"


def _package(text: str) -> Json:
    try:
        package = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise invalid("content", f"package.json is not JSON: {problem}", "Mend the package.json cell.") from problem
    return package if isinstance(package, dict) else {}


def _dependencies(text: str) -> dict[str, str]:
    found = _package(text).get("dependencies")
    pairs = found.items() if isinstance(found, dict) else ()
    return dict(_spec(f"{name}@{version}") for name, version in pairs if isinstance(version, str))
