"""The context of an operation: transaction, workspace, clock, agent; and the collector for its remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.canonical import Json
from clew.clock import Clock
from clew.contract import contract_of
from clew.errors import ClewError, Suggestion, warning
from clew.registry.callers import keep_seen
from clew.registry.connection import Connection
from clew.registry.permission import check_not_mistyped, check_room, of_another_project, permitted
from clew.registry.write_log import begun, log_write
from clew.settings import PLACE, Settings
from clew.store.database import Database, Row, Transaction, committed
from clew.store.workspaces import Workspace, create_workspace, find_workspace, unborn_workspace

if TYPE_CHECKING:
    from clew.registry.dispatch import Dispatcher

Progress = Callable[[float, float | None, str | None], None]


@lru_cache(maxsize=64)
def _is_no_project(root: Path, home: Path) -> bool:
    """Whether a server was started in a directory that is not a project, such as / or the data directory: its content
    belongs to the machine, and to all users."""
    place, data = root.resolve(), home.resolve()
    return place == Path(place.anchor) or (data.is_relative_to(place) and not (place / ".git").exists())


class Remarks:
    """Warnings, suggestions and work to do after the commit, collected over one call."""

    def __init__(self) -> None:
        self.warnings: list[dict[str, str]] = []
        self.suggestions: list[Suggestion] = []
        self.resources: list[str] = []
        """Addresses of what may help now; a transport that can link to them does."""
        self.after: list[Callable[[], None]] = []
        self.shown: list[Callable[[Json, bool], None]] = []
        """Called with the result after truncation, and whether it is rendered as lines."""
        self.call: tuple[str, Json] | None = None
        """Name and arguments of the call, for a suggestion that repeats it elsewhere."""
        self.sent: Json = {}
        """The arguments under the names that the caller used."""
        # The time of the newest write that the response depends on: the same state gives the same bytes. 0: on none.
        self.state_ms = 0
        self.written: int | None = None
        """The number of the last event that the call wrote, which identifies it for `undo`."""
        self.empty = False
        """The workspace of the call was read, and is still empty."""
        self._masked = 0

    def note_masked(self, count: int) -> None:
        """Report once how many secrets of the call were not stored."""
        if not count:
            return
        self._masked += count
        told = f"{self._masked} secret(s) were not stored"
        said = warning("SECRET_MASKED", told, "Keep secrets out of memory.")
        self.warnings[:] = [*(item for item in self.warnings if item["code"] != said["code"]), said]


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
        """Read once in this transaction; constant within it."""
        self._progress = progress
        self._ws = ws

    @property
    def settings(self) -> Settings:
        """The settings for this caller, whose token may list fewer workspaces."""
        return self.dispatcher.settings_for(self.connection)

    @property
    def project(self) -> Path | None:
        """The project that the server runs in, if this is its workspace: elsewhere a path means another file."""
        if self.is_elsewhere:
            return None
        own = self.dispatcher.settings
        return own.project_root if self.workspace == own.workspace else None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the caller has no files here: it is on another machine, or the server runs in no project."""
        connection, settings = self.connection, self.dispatcher.settings
        if connection.place is not None:
            return True
        if connection.principal is None:
            return False
        return bool(settings.public_url) or _is_no_project(settings.project_root, settings.home)

    @property
    def files(self) -> Path:
        """The directory that file paths of the caller are relative to."""
        if self.is_elsewhere:
            raise ClewError(
                "NOT_ALLOWED",
                "this server has no project of yours, and so no files that you could name",
                "Give the content itself instead of a path; or run it on the machine that has the files.",
                details={"rule": "files"},
            )
        return self.settings.project_root

    @property
    def root(self) -> Path:
        """The root of the caller's project as a path of the caller, which may be on another machine."""
        place = self.connection.place
        return Path(place.root) if place is not None else self.settings.project_root

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

    def is_compact(self, verbosity: str | None) -> bool:
        """Whether to answer briefly."""
        by_itself = contract_of(self.connection.toolset).is_compact(self.settings)
        return verbosity == "compact" if verbosity is not None else by_itself

    def warn(self, code: str, message: str, recovery: str) -> None:
        self.remarks.warnings.append(warning(code, message, recovery))

    def note_masked(self, count: int) -> None:
        self.remarks.note_masked(count)

    def suggest(self, suggestion: Suggestion) -> None:
        self.remarks.suggestions.append(suggestion)

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run an action once the transaction is durable, outside of it: files, notifications, caches."""
        self.remarks.after.append(action)

    def when_shown(self, action: Callable[[Json, bool], None]) -> None:
        """Run an action once the shown result is known, if it depends on that. For operations with a budget."""
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
        """The same call in another workspace, which the caller must have permission for; a person at the shell does."""
        chosen = workspace if self.connection.local else permitted(self.settings, workspace)
        return Context(self.dispatcher, self.connection, chosen, self.agent, self._progress, self.remarks)

    @contextmanager
    def reading(self) -> Iterator[Context]:
        """A snapshot of the store. A workspace without writes reads as an empty one; reading never creates it."""
        with self.database.read(self.workspace) as tx:
            bound = self._bound(tx, find_workspace(tx, self.workspace) or unborn_workspace(self.workspace))
            self._warn_of_replacement(bound.ws)
            self.connection.known_workspace = bound.ws.identity
            yield bound

    @contextmanager
    def writing(self, logged: bool = True) -> Iterator[Context]:
        """One transaction; its writes are durable when the block ends.

        Writes that are not `logged` have no author, such as importing what a person edited: `undo` ignores them.
        """
        with self.database.write(self.workspace) as tx:
            row = find_workspace(tx, self.workspace)
            if row is None:
                self._check_new(tx)
            bound = self._bound(tx, row or create_workspace(tx, self.workspace, self.clock()))
            if row is None:
                # In the same transaction as its first write: a workspace without one does not exist.
                bound.emit("system", "workspace_created", self.workspace)
            self._keep_guard(bound.ws)
            self._warn_of_clock(bound.ws)
            self._warn_of_replacement(bound.ws)
            before = begun(bound.ws)
            yield bound
            if bound.agent is not None and bound.ws.changed:
                # Before the row is saved, and only if something was written: a call without changes leaves no
                # trace.
                keep_seen(bound)
            if logged:
                log_write(bound, before)
            bound.ws.save()
            self._note_state(bound.ws)
        # Only now: a workspace whose creation was rolled back never existed.
        self.connection.known_workspace = bound.ws.identity
        for after in committed.all():
            # Outside of the transaction: a listener may open one itself.
            after(self.database, self.workspace, before[0], bound.ws.seq)

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

    def _warn_of_replacement(self, ws: Workspace) -> None:
        """Warn a client whose store was removed or replaced: it would trust the empty results of the new one."""
        known = self.connection.known_workspace
        if known is None or known == ws.identity or known.partition(" ")[2] != ws.id:
            return
        self.connection.known_workspace = None
        self.warn(
            "STORE_REPLACED",
            f"the store was removed or replaced since your last call: what you wrote to {ws.id} before is not in it",
            "Tell the user. A backup can be restored by `clew restore FILE`.",
        )

    def _check_guard(self, ws: Workspace) -> None:
        guard = self.settings.project_guard
        # A place is only a hint: a caller who names a workspace intends to share it. An explicit mark is binding.
        chosen = ws.project_guard is not None and not ws.project_guard.startswith(PLACE)
        if ws.project_guard and ws.project_guard != guard and (guard or chosen):
            raise of_another_project(ws.tx, self.settings, ws.id, ws.project_guard, self.remarks.call)

    def _keep_guard(self, ws: Workspace) -> None:
        """Mark the workspace with its project. One that a call merely named has no mark until its project uses it."""
        own = self.dispatcher.settings
        if ws.project_guard is None and (own.project_guard or ws.id == own.workspace):
            ws.project_guard = own.own_guard

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
