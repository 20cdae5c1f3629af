"""One connection to PostgreSQL in pipeline mode: statements are sent in batches, and so are their results.

`send` only queues. `exchange` sends the queue, waits once, and raises the first error among the results, so a batch of
writes with the read that follows it costs one round trip. psycopg connects, converts values and defines the errors;
its cursors are not used because they cost three times what the server takes for a short statement.

Behind a connection pooler nothing is prepared: each transaction may get another server connection, where the name is
unknown or belongs to another process's statement.

The invariant: `_awaited` lists, in order, every pending result. PostgreSQL processes a pipeline strictly in order, and
after an error it skips everything up to the next sync. So a reader must consume exactly one result for each entry; if
that is no longer possible (broken connection, server timeout), results cannot be matched to statements any more, and
the connection is closed.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.types.numeric import Int8BinaryDumper

from clew.platforms import Readiness

MOST_PREPARED = 400
MOST_QUEUED = 500
"""Results accumulate in the server's buffers until they are read. This many small ones always fit."""
PATIENCE = 45.0
"""Timeout: seconds without a byte from the server before it counts as gone. Above the server's own timeouts (see
`postgres`), so that those come first and give the reason."""

Key = tuple[str, tuple[int, ...]]


class Statement(NamedTuple):
    key: Key
    values: Sequence[Any]
    formats: Sequence[pq.Format] | None


class Awaited(NamedTuple):
    """A pending result: of a statement, of the preparation of one (with its key), or of the end of an exchange."""

    key: Key | None = None
    end: bool = False


_STATEMENT, _END = Awaited(), Awaited(end=True)
_PLAN_CHECK = "RevalidateCachedQuery"
"""The server's function that refuses a prepared statement whose tables have changed."""
_FINE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


class Wire:
    def __init__(self, connection: psycopg.Connection[Any], patience: float = PATIENCE, prepares: bool = True) -> None:
        # One type for all integers: a statement is prepared once, not once for each size of its numbers.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        self.patience: float | None = patience
        self._prepares = prepares
        self._connection = connection
        self._pgconn = connection.pgconn
        self._transformer = Transformer(connection)
        # An LRU cache: if there are too many, the least recently used are deallocated.
        self._prepared: OrderedDict[Key, bytes] = OrderedDict()
        self._numbered = 0
        self._queue: list[Statement] = []
        self._awaited: deque[Awaited] = deque()
        self._readable = Readiness(connection.fileno())
        self._either = Readiness(connection.fileno(), writing=True)
        self._pgconn.enter_pipeline_mode()

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def ready(self) -> bool:
        """Whether another transaction can begin. An idle server sends nothing unless it is closing the connection."""
        try:
            self._read()
            if len(self._prepared) > MOST_PREPARED:
                self._forget_oldest()
        except psycopg.Error:
            self.close()
        return not self.closed and not any(self._readable.wait(0))

    def make_room(self, count: int) -> None:
        """Make sure that `count` more statements can be queued for the same exchange.

        The queue is sent without waiting for its results, only for those of earlier sends: the server works in
        parallel.
        """
        if len(self._queue) + count > MOST_QUEUED:
            self._read()
            self.dispatch()

    def send(self, sql: str, params: Sequence[Any] = ()) -> None:
        """Queue a statement with `$1` parameters."""
        self.make_room(1)
        # The types are part of the key: the same text with other parameter types is another prepared statement.
        values = self._transformer.dump_sequence(params, [PyFormat.AUTO] * len(params))
        types = self._transformer.types or ()
        self._queue.append(Statement((sql, types), values, self._transformer.formats))

    def exchange(self) -> list[pq.abc.PGresult]:
        """Send the queue and wait; returns the results of the statements in order."""
        self.dispatch()
        return self._read()

    def dispatch(self) -> None:
        """Send the queue without waiting; the results are read in the next exchange."""
        try:
            self._dispatch()
        except BaseException:
            self.close()  # it is unknown what the server received
            raise

    def _dispatch(self) -> None:
        for statement in self._queue:
            self._send(statement)
            self._awaited.append(_STATEMENT)
        self._queue.clear()
        # The sync ends the part that the server skips after an error. It has a result too, hence its own entry.
        self._pgconn.pipeline_sync()
        self._awaited.append(_END)
        # flush() returns whether data is left to send. The socket is non-blocking, so wait until it is writable.
        while self._pgconn.flush():
            self._wait_to_write()

    def _send(self, statement: Statement) -> None:
        """Results use the binary format: the server need not format numbers and we need not parse them."""
        sql, types = statement.key
        if self._prepares:
            name = self._prepared_name(statement.key)
            self._pgconn.send_query_prepared(name, statement.values, statement.formats, pq.Format.BINARY)
        else:
            self._pgconn.send_query_params(sql.encode(), statement.values, types, statement.formats, pq.Format.BINARY)

    def forget_queue(self) -> None:
        self._queue.clear()

    def roll_back(self) -> None:
        """Roll back the transaction, if the server has begun one, and discard the queue."""
        self.forget_queue()
        if not self.closed and self._pgconn.transaction_status != pq.TransactionStatus.IDLE:
            self.send("ROLLBACK")
            self.dispatch()

    def rows(self, result: pq.abc.PGresult) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and the rows of a result."""
        if not result.nfields:
            return [], []
        self._transformer.set_pgresult(result)
        names = [(result.fname(at) or b"").decode() for at in range(result.nfields)]
        return names, self._transformer.load_rows(0, result.ntuples, tuple)

    def close(self) -> None:
        self._connection.close()

    def _prepared_name(self, key: Key) -> bytes:
        name = self._prepared.get(key)
        if name is not None:
            self._prepared.move_to_end(key)
            return name
        self._numbered += 1
        name = self._prepared[key] = b"clew_%d" % self._numbered
        self._pgconn.send_prepare(name, key[0].encode(), key[1])
        self._awaited.append(Awaited(key))
        return name

    def _forget_oldest(self) -> None:
        """Between transactions, because in a pipeline nothing may come before a BEGIN."""
        for _ in range(MOST_PREPARED // 2):
            _, name = self._prepared.popitem(last=False)
            self._pgconn.send_query_params(b"DEALLOCATE " + name, None)
            self._awaited.append(_STATEMENT)
        self.exchange()

    def _read(self) -> list[pq.abc.PGresult]:
        """Read all pending results. The first error among them is raised once all are read."""
        answers: list[pq.abc.PGresult] = []
        problem: psycopg.Error | None = None
        try:
            while self._awaited:
                awaited = self._awaited.popleft()
                result = self._answer(awaited)
                if result.status in _FINE:
                    if awaited.key is None:
                        answers.append(result)
                elif not awaited.end:
                    # The server has not prepared it, so remove it from the cache.
                    self._prepared.pop(awaited.key, None) if awaited.key else None
                    problem = problem or _error(result)
        except BaseException:
            self.close()  # it is unknown which results are still pending
            raise
        if _is_outdated(problem):
            self.close()
        if problem is not None:
            raise problem
        return answers

    def _answer(self, awaited: Awaited) -> pq.abc.PGresult:
        result = self._result()
        if result is None:
            raise psycopg.OperationalError("the server closed the connection")
        # In a pipeline each statement's results end with a None of their own; a sync has no such end.
        if not awaited.end and self._result() is not None:
            raise psycopg.InternalError("one statement got two answers")
        return result

    def _result(self) -> pq.abc.PGresult | None:
        while self._pgconn.is_busy():
            self._await(self._readable)
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _wait_to_write(self) -> None:
        """The server may have to send results before it accepts more."""
        if self._await(self._either)[0]:
            self._pgconn.consume_input()

    def _await(self, readiness: Readiness) -> tuple[bool, bool]:
        """Wait until the connection is ready; returns for what (read or write)."""
        found = readiness.wait(self.patience)
        if not any(found):
            raise psycopg.OperationalError(f"the server was silent for {self.patience:g} s")
        return found


def _is_outdated(problem: psycopg.Error | None) -> bool:
    """Whether prepared statements no longer match the schema, because a newer Clew has changed it.

    A new connection prepares everything again. The same error code is used for anything that the server does not
    support, such as a missing extension; only the function name differs.
    """
    if isinstance(problem, psycopg.errors.FeatureNotSupported):
        return problem.diag.source_function == _PLAN_CHECK
    return isinstance(problem, psycopg.errors.InvalidSqlStatementName)


def _error(result: pq.abc.PGresult) -> psycopg.Error:
    if result.status == pq.ExecStatus.FATAL_ERROR:
        return error_from_result(result)
    return psycopg.InternalError(f"the server answered with {pq.ExecStatus(result.status).name}")
