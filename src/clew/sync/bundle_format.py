"""The format of a bundle, and its verifier: `python bundle_format.py FILE`, with nothing but the standard library.

A bundle holds consecutive changes of one origin. The first line is `clew-bundle 1 SHA256`; the digest is that of all
bytes after it, which are zlib-compressed lines of canonical JSON (sorted keys, no blanks, UTF-8):

    {"before": DIGEST, "first": 1, "origin": NAME}
    {"agent": ..., "content": SHA256, "erased": [], "file": ..., "kind": "write", "parents": ["origin:7"],
     "record": ..., "seq": 1, "text": ..., "ts_ms": ...}                                           one for each change
    {"count": N, "head": DIGEST}

`content` is the SHA-256 of `text`. The chain is over everything but the text: DIGEST is the SHA-256 of the digest
before it, the origin and the change without its text, joined by newlines; before the first change it is empty. So a
text may be erased and the chain still holds. A change without its text is accepted where a later one names its number
under `erased`.

Whoever knows the head of an origin knows that nothing before it was changed, removed or slipped in.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAGIC = b"clew-bundle 1 "
KINDS = ("write", "remove", "erase")
FIELDS = frozenset({"agent", "content", "erased", "file", "kind", "parents", "record", "seq", "ts_ms"})
MOST_BYTES = 2 << 30
ORIGIN = re.compile(r"[0-9a-z]{1,40}")

Change = dict[str, Any]
"""A change as a line of a bundle holds it; without `text` where it was erased."""


class BundleError(ValueError):
    """What is wrong with a bundle, in a sentence."""


@dataclass(frozen=True)
class Bundle:
    origin: str
    first: int
    before: str
    head: str
    changes: list[Change]
    withheld: list[int] = field(default_factory=list)
    """Numbers of changes without a text that no erasure in this bundle names."""

    @property
    def last(self) -> int:
        return self.first + len(self.changes) - 1


def canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def content_digest(text: str) -> str:
    return sha256(text.encode())


def chained(before: str, origin: str, change: Change) -> str:
    """The digest of a change that also holds that of the change before it."""
    sealed = {name: value for name, value in change.items() if name != "text"}
    return sha256(b"\n".join([before.encode(), origin.encode(), canonical(sealed)]))


def pack(origin: str, before: str, changes: list[Change]) -> bytes:
    """The bytes of a bundle: the same for the same changes."""
    head = before
    for change in changes:
        head = chained(head, origin, change)
    first = changes[0]["seq"] if changes else 1
    lines = [{"before": before, "first": first, "origin": origin}, *changes, {"count": len(changes), "head": head}]
    packed = zlib.compress(b"".join(canonical(line) + b"\n" for line in lines), 9)
    return MAGIC + sha256(packed).encode() + b"\n" + packed


def unpack(data: bytes) -> Bundle:
    """Read a bundle; `BundleError` at the first thing that is not as it was written."""
    lines = _lines(data)
    if len(lines) < 2:
        raise BundleError("it ends before its head")
    opening, *changes, closing = lines
    if set(opening) != {"before", "first", "origin"} or set(closing) != {"count", "head"}:
        raise BundleError("its first or last line has other fields than a bundle's")
    origin, head = str(opening["origin"]), str(opening["before"])
    if not ORIGIN.fullmatch(origin):
        raise BundleError("its origin is not a name of small letters and digits")
    if (opening["first"] == 1) != (head == ""):
        raise BundleError("a log begins at 1, and only there without a digest before it")
    for seq, change in enumerate(changes, opening["first"]):
        _check_change(seq, change)
        head = chained(head, origin, change)
    if closing != {"count": len(changes), "head": head}:
        raise BundleError(f"the chain of digests ends at {head}, and the bundle says {closing['head']}")
    return Bundle(origin, opening["first"], opening["before"], head, changes, _withheld(changes))


def _lines(data: bytes) -> list[dict[str, Any]]:
    frame, newline, packed = data.partition(b"\n")
    if not newline or not frame.startswith(MAGIC):
        raise BundleError("it does not begin as a bundle of version 1 does")
    if frame != MAGIC + sha256(packed).encode():
        raise BundleError("its bytes have another digest than its first line says")
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, MOST_BYTES)
        if unpacker.unconsumed_tail or unpacker.unused_data or not unpacker.eof:
            raise BundleError("its compressed part is too long, cut off, or followed by something")
        lines = [json.loads(line) for line in text.split(b"\n")[:-1]]
    except (zlib.error, ValueError) as problem:
        raise BundleError(f"it cannot be read: {problem}") from None
    if b"".join(canonical(line) + b"\n" for line in lines) != text:
        raise BundleError("its JSON is not written in the canonical way")
    if not all(isinstance(line, dict) for line in lines):
        raise BundleError("a line of it is not an object")
    return lines


def _check_change(seq: int, change: Change) -> None:
    if set(change) - {"text"} != FIELDS:
        raise BundleError(f"change {seq} has other fields than a change has")
    if change["seq"] != seq:
        raise BundleError(f"where change {seq} belongs is change {change['seq']}: one was removed or slipped in")
    if change["kind"] not in KINDS:
        raise BundleError(f"change {seq} is of an unknown kind")
    text = change.get("text")
    if text is not None and (not isinstance(text, str) or content_digest(text) != change["content"]):
        raise BundleError(f"the text of change {seq} has another digest than the change says")


def _withheld(changes: list[Change]) -> list[int]:
    named = {seq for change in changes for seq in change["erased"]}
    return [c["seq"] for c in changes if c["content"] and "text" not in c and c["seq"] not in named]


def verified(paths: list[str]) -> Iterator[tuple[bool, str]]:
    """Whether each file is as it was written, with a line that says so. Those of one origin must follow each other."""
    ends: dict[str, tuple[int, str]] = {}
    for path in paths:
        try:
            bundle = unpack(Path(path).read_bytes())
            end = ends.get(bundle.origin, (bundle.first - 1, bundle.before))
            if end != (bundle.first - 1, bundle.before):
                raise BundleError(f"it does not follow on change {end[0]} of its origin")
            if bundle.withheld:
                raise BundleError(f"change {bundle.withheld[0]} has no text, and no erasure in it says why")
        except (OSError, BundleError) as problem:
            yield False, f"BROKEN {path}: {problem}"
            continue
        ends[bundle.origin] = (bundle.last, bundle.head)
        span = f"changes {bundle.first} to {bundle.last} of {bundle.origin}"
        yield True, f"intact {path}: {span}; head {bundle.head}"


def main(paths: list[str]) -> int:
    results = list(verified(paths))
    sys.stdout.writelines(f"{line}\n" for _, line in results)
    return 0 if results and all(intact for intact, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
