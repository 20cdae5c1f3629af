"""What an operation is given: transaction, workspace, clock, agent; and where it puts what it has to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew.canonical import Json
from clew.clock import Clock
from clew.errors import Suggestion, warning
from clew.registry.callers import keep_seen
from clew.registry.connection import Connection
from clew.registry.permission import check_not_mistyped, check_room, of_another_project, permitted
from clew.settings import PLACE, Settings
from clew.store.database import Database, Row, Transaction, committed
from clew.store.workspaces import Workspace, create_workspace, find_workspace, unborn_workspace

if TYPE_CHECKING:
    from clew.registry.dispatch import Dispatcher

Progress = Callable[[float, float | None, str | None], None]


class Remarks:
    """Warnings, suggestions and work to do after the commit, collected over one call."""

    def __init__(self) -> None:
        self.warnings: list[dict[str, str]] = []
        self.suggestions: list[Suggestion] = []
        self.resources: list[str] = []
        """Addresses of what may help now; a face that can link to them does."""
        self.after: list[Callable[[], None]] = []
        self.shown: list[Callable[[Json, bool], None]] = []
        """Called with the result as its budget has left it, and whether it is told in lines."""
        self.call: tuple[str, Json] | None = None
        """Name and arguments of the call, for a suggestion that repeats it elsewhere."""
        # The time of the newest write that the answer rests on: the same state gives the same bytes. 0: on none.
        self.state_ms = 0
        self.empty = False
        """The workspace of the call was looked at, and holds nothing yet."""


class Context:
    """One call, bound to one transaction (or, in mode `own`, to none yet)."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        connection: Connection,
        workspace: str,
        agent: str | None,
        progress: Progress | None = None,
        remarks: Remarks | None = None,
        ws: Workspace | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self.connection = connection
        self.workspace = workspace
        self.agent = agent
        self.remarks = remarks or Remarks()
        self.memo: dict[object, Any] = {}
        """Read once in this transaction, and unable to change within it."""
        self._progress = progress
        self._ws = ws

    @property
    def settings(self) -> Settings:
        return self.dispatcher.settings

    @property
    def database(self) -> Database:
        return self.dispatcher.database

    @property
    def clock(self) -> Clock:
        return self.dispatcher.clock

    @property
    def ws(self) -> Workspace:
        if self._ws is None:
            raise RuntimeError("no transaction is open; use ctx.reading() or ctx.writing()")
        return self._ws

    @property
    def tx(self) -> Transaction:
        return self.ws.tx

    @property
    def now_ms(self) -> int:
        return self.ws.now_ms

    def warn(self, code: str, message: str, recovery: str) -> None:
        self.remarks.warnings.append(warning(code, message, recovery))

    def suggest(self, suggestion: Suggestion) -> None:
        self.remarks.suggestions.append(suggestion)

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run once the transaction is durable, outside of it: files, notices, caches."""
        self.remarks.after.append(action)

    def when_shown(self, action: Callable[[Json, bool], None]) -> None:
        """Run once it is known what the caller gets to see, for what depends on that. For operations with a budget."""
        self.remarks.shown.append(action)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        if self._progress is not None:
            self._progress(done, total, message)

    def emit(
        self,
        topic: str,
        type: str,
        subject: str | None = None,
        payload: Json | None = None,
        path: str | None = None,
    ) -> Row:
        return self.ws.emit(topic, type, subject, payload, path)

    def elsewhere(self, workspace: str) -> Context:
        """The same call in another workspace, which the caller must be allowed to name; a person at the shell is."""
        chosen = workspace if self.connection.local else permitted(self.settings, workspace)
        return Context(self.dispatcher, self.connection, chosen, self.agent, self._progress, self.remarks)

    @contextmanager
    def reading(self) -> Iterator[Context]:
        """One state of the store. A workspace that nobody wrote in reads as an empty one; reading never makes it."""
        with self.database.read() as tx:
            yield self._bound(tx, find_workspace(tx, self.workspace) or unborn_workspace(self.workspace))

    @contextmanager
    def writing(self) -> Iterator[Context]:
        """One transaction; what it did is durable when the block ends."""
        with self.database.write() as tx:
            row = find_workspace(tx, self.workspace)
            if row is None:
                self._check_new(tx)
            bound = self._bound(tx, row or create_workspace(tx, self.workspace, self.clock()))
            if row is None:
                # In the same transaction as what made it: a workspace without a first write does not exist.
                bound.emit("system", "workspace_created", self.workspace)
            self._keep_guard(bound.ws)
            self._warn_of_clock(bound.ws)
            begun = bound.ws.seq
            yield bound
            if bound.agent is not None and bound.ws.changed:
                # Before the row is saved, and only if something was written: a call that changed nothing leaves no
                # trace.
                keep_seen(bound)
            bound.ws.save()
            self._note_state(bound.ws)
        for after in committed.all():
            # Outside of the transaction: whoever listens may open one of its own.
            after(self.database, self.workspace, begun, bound.ws.seq)

    def _bound(self, tx: Transaction, row: Row) -> Context:
        ws = Workspace(tx, row, self.clock, self.agent)
        self._note_state(ws)
        self._check_guard(ws)
        return Context(self.dispatcher, self.connection, self.workspace, self.agent, self._progress, self.remarks, ws)

    def _note_state(self, ws: Workspace) -> None:
        self.remarks.state_ms = ws.updated_at_ms
        self.remarks.empty = ws.seq == 0

    def _warn_of_clock(self, ws: Workspace) -> None:
        behind = ws.clock_behind_ms
        if behind:
            self.warn(
                "CLOCK_WENT_BACK",
                f"the clock is {behind // 1000} s behind the last write of workspace {ws.id}",
                "Check this machine's clock. From here on its time is used; order is kept by seq.",
            )

    def _check_guard(self, ws: Workspace) -> None:
        guard = self.settings.project_guard
        # A place is only a hint: whoever names a workspace means to share it. A mark that somebody chose is binding.
        chosen = ws.project_guard is not None and not ws.project_guard.startswith(PLACE)
        if ws.project_guard and ws.project_guard != guard and (guard or chosen):
            raise of_another_project(ws.tx, self.settings, ws.id, ws.project_guard, self.remarks.call)

    def _keep_guard(self, ws: Workspace) -> None:
        """Mark the workspace with its project. One that a call merely named is nobody's until its project uses it."""
        if ws.project_guard is None and (self.settings.project_guard or ws.id == self.settings.workspace):
            ws.project_guard = self.settings.own_guard

    def _check_new(self, tx: Transaction) -> None:
        check_room(tx)
        if self.workspace == self.settings.workspace:
            return
        check_not_mistyped(tx, self.settings, self.workspace, self.remarks.call)
        self.warn(
            "WORKSPACE_NEW",
            f"workspace={self.workspace} did not exist; this call made it",
            f"Calls that name no workspace go to {self.settings.workspace}.",
        )
