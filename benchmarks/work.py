"""The work of a call, counted instead of timed: independent of the load of the machine.

Counted are statements, the rows that come back, the steps of SQLite's virtual machine (which show a scan or a sort that
returns few rows), round trips to PostgreSQL, and runs of a neural model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest.mock import patch

import apsw

from clew.store.postgres import PostgresTransaction
from clew.store.sqlite import SqliteTransaction
from clew.store.wire import Wire

OWN_TABLES = "'main'.'"
"""How statements of SQLite's full-text index quote its own tables; no statement of Clew quotes a name this way."""
METHODS = ("all", "tuples", "batch", "one", "value", "run", "changed", "many")


class Statement(NamedTuple):
    seconds: float
    """How long its caller waited."""
    rows: int
    sql: str
    params: tuple[Any, ...]


@dataclass
class Work:
    """The work since `counting` began."""

    statements: list[Statement] = field(default_factory=list)
    round_trips: int = 0
    steps: int = 0
    """Of SQLite's virtual machine; none are counted on PostgreSQL."""
    model_runs: int = 0
    thread: int = field(default_factory=threading.get_ident)
    """Only the work of this thread counts: background work is not part of a response, and its timing is random."""
    _nested: int = 0

    @property
    def rows(self) -> int:
        return sum(statement.rows for statement in self.statements)

    @property
    def seconds(self) -> float:
        return sum(statement.seconds for statement in self.statements)

    @property
    def is_ours(self) -> bool:
        return threading.get_ident() == self.thread


@contextmanager
def counting(work: Work) -> Iterator[Work]:
    """Add the work of this thread inside the block to `work`."""
    from clew.model.transformer import Transformer
    from clew.recall.onnx_models import OnnxEmbedder

    with ExitStack() as patches:
        for kind in (SqliteTransaction, PostgresTransaction):
            for method in METHODS:
                patches.enter_context(patch.object(kind, method, _counted(work, getattr(kind, method))))
        patches.enter_context(patch.object(Wire, "exchange", _adding(work, "round_trips", Wire.exchange)))
        patches.enter_context(patch.object(OnnxEmbedder, "_run", _adding(work, "model_runs", OnnxEmbedder._run)))
        patches.enter_context(patch.object(Transformer, "_run", _adding(work, "model_runs", Transformer._run)))
        patches.enter_context(_steps_of_sqlite(work))
        yield work


def _counted(work: Work, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(tx: Any, sql: str, *params: Any) -> Any:
        if not work.is_ours:
            return method(tx, sql, *params)
        work._nested += 1
        started, found = time.perf_counter(), None
        try:
            found = method(tx, sql, *params)
            return found
        finally:
            work._nested -= 1
            if not work._nested:
                work.statements.append(Statement(time.perf_counter() - started, _rows(found), sql, params))

    return call


def _rows(found: Any) -> int:
    if isinstance(found, dict):
        return 1
    if not isinstance(found, list):
        return int(found is not None)
    return sum(len(part) if isinstance(part, list) else 1 for part in found)


def _adding(work: Work, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if work.is_ours:
            setattr(work, name, getattr(work, name) + 1)
        return method(*arguments, **named)

    return call


@contextmanager
def _steps_of_sqlite(work: Work) -> Iterator[None]:
    traced: list[apsw.Connection] = []

    def add(event: dict[str, Any]) -> None:
        # The full-text index's work on its own tables is excluded: it merges them at random times.
        if work.is_ours and OWN_TABLES not in event["sql"]:
            work.steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    original = SqliteTransaction.__init__

    def begin(tx: SqliteTransaction, connection: apsw.Connection, writable: bool, generation: int) -> None:
        if connection not in traced:
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, add, id=work)
            traced.append(connection)
        original(tx, connection, writable, generation)

    with patch.object(SqliteTransaction, "__init__", begin):
        yield
    for connection in traced:
        _stop_tracing(connection, work)


def _stop_tracing(connection: apsw.Connection, work: Work) -> None:
    """As soon as no thread in the background reads with the connection."""
    while True:
        try:
            connection.trace_v2(0, None, id=work)
            return
        except apsw.ThreadingViolationError:
            time.sleep(0.001)
