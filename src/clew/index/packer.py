"""Keeps packs up with the index, in a thread behind the writes and searches that ask for it.

New changes become a pack; one that is not twice as large is joined with its neighbour, so that there are few and each
item is written again only as often as the store doubles.
"""

from __future__ import annotations

import atexit
import logging
import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from clew.errors import ClewError
from clew.store.behind import end_with
from clew.store.database import Database

if TYPE_CHECKING:
    from clew.index.segments import Label, Pack

LEAST = 2_000
"""Fewer changes are read as rows: quicker than a thread is worth."""
CHUNK = 5_000
MOST = 50_000
"""Changes that go into memory at once."""
PATIENCE = 30.0
PATIENCE_AT_EXIT = 2.0
"""A pack that is not finished is no loss: a process that ends need not wait for it."""

log = logging.getLogger("clew.store")


class Packer:
    """The packing of one database."""

    def __init__(self, database: Database) -> None:
        self._database = ref(database)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._waiting: list[str] = []
        self._thread: threading.Thread | None = None

    def wake(self, workspace: str) -> None:
        database = self._database()
        if database is None:
            return
        end_with(database, "packs", self.end)
        with self._lock:
            if workspace not in self._waiting:
                self._waiting.append(workspace)
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, args=(database,), name="clew-packs", daemon=True)
                self._thread.start()

    def end(self, patience: float = PATIENCE) -> None:
        """Let what is at work come to a point where it can stop."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(patience)
        self._stop.clear()

    def _run(self, database: Database) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._stop.is_set():
                    self._thread = None
                    return
                workspace = self._waiting.pop(0)
            try:
                pack_up(database, workspace, self._stop)
            except ClewError as problem:
                # Without packs everything works, only slower at the start; the next to ask tries again.
                log.warning("the index of %s could not be packed: %s", workspace, problem.message)


def pack_up(database: Database, workspace: str, stop: threading.Event | None = None) -> None:
    """Pack what was written since the last pack, if it is worth it."""
    from clew.index.segments import DamagedPack, drop_packs, joined, keep_pack, labels, read_pack

    while not (stop and stop.is_set()):
        with database.read() as tx:
            known = labels(tx, workspace)
        pack = _newest(database, workspace, known, stop)
        if pack is None:
            return
        replaced: list[Label] = []
        try:
            while known and known[-1].items < 2 * len(pack):
                replaced.append(known.pop())
                with database.read() as tx:
                    older = read_pack(tx, workspace, replaced[-1])
                pack = joined(older, pack)
        except DamagedPack:
            with database.write() as tx:
                drop_packs(tx, workspace)
            continue
        if not keep_pack(database, workspace, pack, replaced):
            return


def _newest(database: Database, workspace: str, known: list[Label], stop: threading.Event | None) -> Pack | None:
    """What no pack holds yet, or as much of it as goes into memory at once."""
    from clew.index.search import changed_items, last_change
    from clew.index.segments import joined, pack_rows

    begin = known[-1].high if known else 0
    with database.read() as tx:
        newest = last_change(tx, workspace)
    if newest - begin < LEAST:
        return None
    packs: list[Pack] = []
    after = begin
    while after < newest and after - begin < MOST and not (stop and stop.is_set()):
        with database.read() as tx:
            rows = changed_items(tx, workspace, after, CHUNK)
        if not rows:
            break
        packs.append(pack_rows(rows, after, rows[-1]["change"]))
        after = packs[-1].high
        while len(packs) > 1 and len(packs[-2]) < 2 * len(packs[-1]):
            right, left = packs.pop(), packs.pop()
            packs.append(joined(left, right))
    while len(packs) > 1:
        right, left = packs.pop(), packs.pop()
        packs.append(joined(left, right))
    return packs[0] if packs else None


_packers: WeakKeyDictionary[Database, Packer] = WeakKeyDictionary()
_opening = threading.Lock()


def packer(database: Database) -> Packer:
    with _opening:
        if database not in _packers:
            _packers[database] = Packer(database)
        return _packers[database]


def wrote(database: Database, workspace: str, before: int, after: int) -> None:
    """After a write that moved the seq: whoever takes it over a border packs, so that of many writers one does."""
    if before // LEAST != after // LEAST:
        packer(database).wake(workspace)


@atexit.register
def _end_all() -> None:
    for found in list(_packers.values()):
        found.end(PATIENCE_AT_EXIT)
