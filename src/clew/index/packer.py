"""Keeps the segments up with the index, in a background thread that writes and searches wake.

New changes become a segment. It is joined with the one before it unless that one is at least twice as large. So the
sizes fall by half along the chain, there are few segments, and an item is written again only when the store doubles.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from clew.errors import ClewError
from clew.store.database import Database, DatabaseResource, committed

if TYPE_CHECKING:
    from clew.index.segments import Label, Segment

LEAST = 2_000
"""Fewer changes are quickly read as rows."""
CHUNK = 5_000
MOST = 50_000
"""Changes that are held in memory at once."""

log = logging.getLogger("clew.store")


class Packer(DatabaseResource):
    """The background thread of one database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._waiting: list[str] = []
        self._thread: threading.Thread | None = None

    def wake(self, workspace: str) -> None:
        with self._lock:
            # Waking twice is packing once: what is waiting will see everything that is written until it begins.
            if workspace not in self._waiting:
                self._waiting.append(workspace)
            if self._thread is None and not self._stop.is_set():
                arguments = (self.database,)
                self._thread = threading.Thread(target=self._run, args=arguments, name="clew-packs", daemon=True)
                self._thread.start()

    def close(self, patience: float) -> None:
        """Let what is at work come to a point where it can stop; an unfinished segment is no loss."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join(patience)

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
                # Without segments everything works, only a start is slower. The next wake tries again.
                log.warning("the index of %s could not be packed: %s", workspace, problem.message)


def pack_up(database: Database, workspace: str, stop: threading.Event | None = None) -> None:
    """Bring the segments of a workspace up to its last change, if enough has changed since."""
    from clew.index.segments import DamagedSegment, drop_segments, join_segments, labels, read_segment, store_segment

    while not (stop and stop.is_set()):
        with database.read() as tx:
            known = labels(tx, workspace)
        segment = _newest(database, workspace, known, stop)
        if segment is None:
            return
        replaced: list[Label] = []
        try:
            # Joined while the older one is less than twice as large, so that sizes fall by half along the chain.
            while known and known[-1].items < 2 * len(segment):
                replaced.append(known.pop())
                with database.read() as tx:
                    older = read_segment(tx, workspace, replaced[-1])
                segment = join_segments(older, segment)
        except DamagedSegment:
            with database.write() as tx:
                drop_segments(tx, workspace)
            continue
        # Another process has packed the same changes meanwhile; its segment is as good as ours.
        if not store_segment(database, workspace, segment, replaced):
            return


def _newest(database: Database, workspace: str, known: list[Label], stop: threading.Event | None) -> Segment | None:
    """A segment of the changes that no segment holds yet, or of as many as fit into memory."""
    from clew.index.item_reads import changed_items, last_change
    from clew.index.segments import build_segment, join_segments

    begin = known[-1].high if known else 0
    with database.read() as tx:
        newest = last_change(tx, workspace)
    if newest - begin < LEAST:
        return None
    segments: list[Segment] = []
    after = begin
    while after < newest and after - begin < MOST and not (stop and stop.is_set()):
        with database.read() as tx:
            rows = changed_items(tx, workspace, after, CHUNK)
        if not rows:
            break
        segments.append(build_segment(rows, after, rows[-1]["change"]))
        after = segments[-1].high
        # The same rule within the batch: each item is copied a few times, not once for each chunk.
        while len(segments) > 1 and len(segments[-2]) < 2 * len(segments[-1]):
            right, left = segments.pop(), segments.pop()
            segments.append(join_segments(left, right))
    while len(segments) > 1:
        right, left = segments.pop(), segments.pop()
        segments.append(join_segments(left, right))
    return segments[0] if segments else None


def packer(database: Database) -> Packer:
    return database.resources.of(Packer)


@committed()
def wrote(database: Database, workspace: str, before: int, after: int) -> None:
    """The writer that moves the seq across a multiple of LEAST packs, so only one of several writers does it."""
    if before // LEAST != after // LEAST:
        packer(database).wake(workspace)
