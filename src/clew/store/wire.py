"""One connection to PostgreSQL, used in pipelines: statements travel together, and so do their answers.

`send` only queues. `exchange` sends what is queued, waits once, and raises the first error among the answers, so a run
of writes with the read that follows it costs one round trip. psycopg connects, adapts values and names errors; its
cursors are left out because they cost three times what the server takes for a short statement.

Behind a connection pooler nothing is prepared: each transaction may meet another connection of the server, where the
name is unknown or is another process's statement.

The invariant: `_awaited` lists, in order, every answer that the server still owes. PostgreSQL answers a pipeline
strictly in order, and after an error it skips everything up to the next sync. So whoever reads must take exactly one
answer for each entry; when that is not possible any more (the connection broke, the server fell silent), nobody can
tell which answer belongs to which statement, and the connection is closed.
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
"""Answers pile up at the server while nobody reads them. This many small ones always find room."""
PATIENCE = 45.0
"""Seconds without a byte from the server before it counts as gone. Above the limits that the server itself keeps (see
`postgres`), so that they strike first and say why."""

Key = tuple[str, tuple[int, ...]]


class Statement(NamedTuple):
    key: Key
    values: Sequence[Any]
    formats: Sequence[pq.Format] | None


class Awaited(NamedTuple):
    """What an answer will be to: a statement, the preparation of one (with its key), or the end of an exchange."""

    key: Key | None = None
    end: bool = False


_STATEMENT, _END = Awaited(), Awaited(end=True)
_PLAN_CHECK = "RevalidateCachedQuery"
"""The server's function that refuses a prepared statement whose tables have changed."""
_FINE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


class Wire:
    def __init__(self, connection: psycopg.Connection[Any], patience: float = PATIENCE, prepares: bool = True) -> None:
        # One type for every whole number: a statement is prepared once, not once for each size of its numbers.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        self.patience: float | None = patience
        self._prepares = prepares
        self._connection = connection
        self._pgconn = connection.pgconn
        self._transformer = Transformer(connection)
        # Ordered by use: when there are too many, those that were not used for the longest time are deallocated.
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
        """Make sure that `count` more statements can be queued and are answered together.

        What is queued is sent and not waited for, only what was sent before it: the server works while we go on.
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
        """Send all that is queued and wait; the answers to the statements, the last one's last."""
        self.dispatch()
        return self._read()

    def dispatch(self) -> None:
        """Send all that is queued without waiting; the answers are read in the next exchange."""
        try:
            self._dispatch()
        except BaseException:
            self.close()  # nobody knows what the server got
            raise

    def _dispatch(self) -> None:
        for statement in self._queue:
            self._send(statement)
            self._awaited.append(_STATEMENT)
        self._queue.clear()
        # The sync ends the part that an error makes the server skip. It is answered too, hence an entry of its own.
        self._pgconn.pipeline_sync()
        self._awaited.append(_END)
        # flush() says whether something is left to send. The socket does not block, so we wait until it takes more.
        while self._pgconn.flush():
            self._wait_to_write()

    def _send(self, statement: Statement) -> None:
        """Answers come in binary: the server need not print numbers and we need not parse them."""
        sql, types = statement.key
        if self._prepares:
            name = self._prepared_name(statement.key)
            self._pgconn.send_query_prepared(name, statement.values, statement.formats, pq.Format.BINARY)
        else:
            self._pgconn.send_query_params(sql.encode(), statement.values, types, statement.formats, pq.Format.BINARY)

    def forget_queue(self) -> None:
        self._queue.clear()

    def roll_back(self) -> None:
        """End the transaction, if the server has begun one, without what is queued."""
        self.forget_queue()
        if not self.closed and self._pgconn.transaction_status != pq.TransactionStatus.IDLE:
            self.send("ROLLBACK")
            self.dispatch()

    def rows(self, result: pq.abc.PGresult) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names and the rows of an answer."""
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
        """Between transactions, for in a pipeline nothing may stand before a BEGIN."""
        for _ in range(MOST_PREPARED // 2):
            _, name = self._prepared.popitem(last=False)
            self._pgconn.send_query_params(b"DEALLOCATE " + name, None)
            self._awaited.append(_STATEMENT)
        self.exchange()

    def _read(self) -> list[pq.abc.PGresult]:
        """Every answer that is awaited. The first error among them is raised when all are read."""
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
                    # The server has not prepared it, so the next use must not believe that it has.
                    self._prepared.pop(awaited.key, None) if awaited.key else None
                    problem = problem or _error(result)
        except BaseException:
            self.close()  # nobody knows which answers are still under way
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
        """The server may have to get rid of answers before it takes more."""
        if self._await(self._either)[0]:
            self._pgconn.consume_input()

    def _await(self, readiness: Readiness) -> tuple[bool, bool]:
        """What the connection is ready for, as soon as it is ready."""
        found = readiness.wait(self.patience)
        if not any(found):
            raise psycopg.OperationalError(f"the server was silent for {self.patience:g} s")
        return found


def _is_outdated(problem: psycopg.Error | None) -> bool:
    """Whether what was prepared no longer fits the schema, because a newer Clew has changed it.

    A new connection prepares everything again. The code of that error is also that of whatever the
    server does not support, such as an extension it does not have; only the function differs.
    """
    if isinstance(problem, psycopg.errors.FeatureNotSupported):
        return problem.diag.source_function == _PLAN_CHECK
    return isinstance(problem, psycopg.errors.InvalidSqlStatementName)


def _error(result: pq.abc.PGresult) -> psycopg.Error:
    if result.status == pq.ExecStatus.FATAL_ERROR:
        return error_from_result(result)
    return psycopg.InternalError(f"the server answered with {pq.ExecStatus(result.status).name}")
