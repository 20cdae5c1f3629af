"""Standard input and output as asynchronous messages.

The SDK hands every read, write and flush to a thread and waits for it. Here one thread reads ahead and small writes go
out directly, which makes a call a third cheaper.
"""

from __future__ import annotations

import asyncio
import os
import queue
import select
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from clew.shim.framing import Framing, messages

_READ_AHEAD = 64
_BACKLOG = 1 << 22
# POSIX: a pipe that reports itself writable takes this much without blocking.
_SMALL = getattr(select, "PIPE_BUF", 512)


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Private copies of stdin and stdout; whoever else prints or reads meanwhile meets stderr and nothing."""
    sys.stdout.flush()
    pair = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield pair
    finally:
        sys.stdout.flush()
        for number, private in enumerate(pair):
            os.dup2(private, number)
            # Not closed: the reading thread may still wait on it, and the number must not be reused under it.


class Lines:
    """Messages read by a thread of their own, a bounded number ahead."""

    def __init__(self, source: int, framing: Framing) -> None:
        self._source = source
        self._framing = framing
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(_READ_AHEAD)
        self._ready: deque[bytes | None] = deque()
        self._arrived = asyncio.Event()
        threading.Thread(target=self._read, name="clew-stdin", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> bytes:
        while not self._ready:
            self._arrived.clear()
            await self._arrived.wait()
        line = self._ready.popleft()
        if line is None:
            raise StopAsyncIteration
        self._room.release()
        return line

    def _read(self) -> None:
        for line in messages(self._source, self._framing):
            self._room.acquire()
            self._hand_over(line)
        self._hand_over(None)

    def _hand_over(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._take, line)
        except RuntimeError:
            pass  # the loop is closed, nobody waits for lines any more

    def _take(self, line: bytes | None) -> None:
        self._ready.append(line)
        self._arrived.set()


class Output:
    """Writes text in order; what a pipe cannot take at once goes to a thread, so that nothing here ever blocks."""

    def __init__(self, sink: int, framing: Framing) -> None:
        self._sink = sink
        self._framing = framing
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._queued = 0  # bytes; counted by the loop only
        self._written = 0  # bytes; counted by the thread only
        self._thread: threading.Thread | None = None
        self._broken = False

    async def write(self, text: str) -> None:
        data = self._framing.frame(text)
        if self._queued == self._written and len(data) <= _SMALL and _writable(self._sink):
            self._put(data)
        else:
            self._hand_over(data)

    async def flush(self) -> None:
        """Waits while the client is far behind."""
        while self._queued - self._written > _BACKLOG and not self._broken:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Waits until everything is written, or the client is gone."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(5)

    def _hand_over(self, data: bytes) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._drain, name="clew-stdout", daemon=True)
            self._thread.start()
        self._queued += len(data)
        self._queue.put(data)

    def _drain(self) -> None:
        while (data := self._queue.get()) is not None:
            self._put(data)
            self._written += len(data)

    def _put(self, data: bytes) -> None:
        try:
            while data and not self._broken:
                data = data[os.write(self._sink, data) :]
        except OSError:
            self._broken = True  # the client has left; its end of input will tell the server


def _writable(sink: int) -> bool:
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sink, select.POLLOUT)
    return bool(poll.poll(0))
