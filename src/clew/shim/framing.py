"""Messages on a pipe. A message is a line, as the protocol says.

Editors that frame messages by `Content-Length`, as for language servers, are recognised by their first bytes and
answered in the same framing.
"""

from __future__ import annotations

import os
import re
from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 16
_LARGEST_FRAME = 1 << 24
_LARGEST_HEAD = 4096
_LENGTH = re.compile(rb"^content-length:\s*(\d{1,9})\s*$", re.IGNORECASE | re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class Framing:
    """How the client separates messages; known after its first bytes, and used for the answers."""

    by_length = False

    def frame(self, data: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(data), data) if self.by_length else data


def messages(source: int, framing: Framing) -> Iterator[bytes]:
    """One message after the other; plain reads, because a buffered file would be locked when the process ends."""
    chunks = iter(lambda: _chunk(source), b"")
    first = b""
    for chunk in chunks:
        first = (first + chunk).lstrip()
        if first:
            break
    begins = first[:8].lower()
    framing.by_length = bool(begins) and b"content-".startswith(begins)  # a header; JSON begins otherwise
    return (_frames if framing.by_length else split_lines)(chain([first], chunks))


def _frames(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Bodies of the lengths that their headers give. After a header without one the stream cannot be parsed."""
    held, wanted = bytearray(), -1
    for chunk in chunks:
        held += chunk
        while True:
            if wanted < 0:
                end = _HEAD_END.search(held)
                if end is None:
                    if len(held) > _LARGEST_HEAD:
                        return
                    break
                length = _LENGTH.search(held[: end.start()].replace(b"\r", b""))
                if length is None or int(length.group(1)) > _LARGEST_FRAME:
                    return
                wanted = int(length.group(1))
                del held[: end.end()]
            if len(held) < wanted:
                break
            yield bytes(held[:wanted])
            del held[:wanted]
            wanted = -1


def split_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Non-empty lines."""
    parts: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for other in others:
            if line := b"".join(parts).strip():
                yield line
            parts = [other]
    if line := b"".join(parts).strip():
        yield line


def _chunk(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK)
    except OSError:
        return b""
