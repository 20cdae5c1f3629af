"""A Clew server as a remote: its `sync_fetch` gives what this store lacks, its `sync_push` takes what it lacks."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from clew.errors import ClewError
from clew.registry.context import Context
from clew.remote.channel import ServerChannel
from clew.remote.dispatcher import PATH
from clew.setting_readers import read_server
from clew.sync.bundle_format import Bundle, BundleError, Change, chained, pack, unpack
from clew.sync.log import ends
from clew.sync.remotes import bundle_files, only_at_the_shell, read_bundle, write_bundle

MOST_TEXT = 400_000
"""Characters after which a bundle is cut: each travels in the body of one call."""
OVERHEAD = 400
"""Roughly the size of a change without its text."""


def portions(origin: str, before: str, changes: Iterable[Change]) -> Iterator[bytes]:
    """The changes as bundles that fit into a call."""
    waiting: list[Change] = []
    digest, size = before, 0
    for change in changes:
        waiting.append(change)
        digest = chained(digest, origin, change)
        size += OVERHEAD + len(change.get("text") or "")
        if size >= MOST_TEXT:
            yield pack(origin, before, waiting)
            waiting, before, size = [], digest, 0
    if waiting:
        yield pack(origin, before, waiting)


def written(data: bytes) -> str:
    return b64encode(data).decode()


def read(text: str) -> Bundle:
    try:
        bundle = unpack(b64decode(text, validate=True))
    except ValueError as problem:
        raise BundleError(str(problem)) from None
    if not bundle.changes:
        raise BundleError("it holds no change")
    return bundle


@dataclass
class ServerRemote:
    """The folder holds what was fetched, and what is to be sent; the server itself keeps no files of it."""

    channel: ServerChannel
    caller: Context
    folder: Path
    _ends: dict[str, int] = field(default_factory=dict)
    _fetched: frozenset[Path] = frozenset()

    def fetch(self) -> None:
        with self.caller.reading() as bound:
            have = ends(bound)
        while True:
            found = self._call("sync_fetch", {"have": have})
            self._ends = found["ends"]
            before, have = have, have | dict(self._keep(text) for text in found["bundles"])
            if not found["more"] or have == before:
                break
        self._fetched = frozenset(bundle_files(self.folder))

    def _keep(self, text: str) -> tuple[str, int]:
        try:
            bundle = read(text)
        except BundleError as problem:
            raise ClewError(
                "IO_ERROR", f"{self.channel.server} sent a broken bundle: {problem}", "Try again."
            ) from None
        write_bundle(self.folder, bundle.origin, bundle.before, bundle.changes)
        return bundle.origin, bundle.last

    def held(self, origin: str) -> int:
        return self._ends.get(origin, 0)

    def publish(self) -> list[str]:
        problems: list[str] = []
        for path in bundle_files(self.folder):
            bundle = read_bundle(path) if path not in self._fetched else None
            if not isinstance(bundle, Bundle) or bundle.last <= self.held(bundle.origin):
                continue
            try:
                problems += self._push(bundle)
            except ClewError as problem:
                if problem.details.get("rule") != "scope":
                    raise
                return [f"nothing was sent: {problem.message}"]
        return list(dict.fromkeys(problems))

    def _push(self, bundle: Bundle) -> list[str]:
        for data in portions(bundle.origin, bundle.before, bundle.changes):
            taken = self._call("sync_push", {"bundle": written(data), "request_id": uuid4().hex})
            if taken["waiting"]:
                # What follows on a change that waits cannot be taken in before it.
                return [f"{taken['waiting']} changes wait for a person, on the server: {taken['command']}"]
            if taken["problems"]:
                return [f"{self.channel.server}: {problem}" for problem in taken["problems"]]
        return []

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        settings = self.caller.settings
        body = {
            "name": name,
            "arguments": arguments,
            "workspace": self.caller.workspace,
            "toolset": "full",
            "client": "clew-sync",
            "is_person": bool(settings.person_token),
            "place": {"root": str(self.caller.project or "")},
        }
        reply = self.channel.post(PATH, body, settings.person_token or settings.token)
        problem = reply.get("error") or reply["envelope"]["error"]
        if problem:
            raise ClewError(
                problem["code"], problem["message"], problem.get("recovery"), details=problem.get("details")
            )
        result: dict[str, Any] = reply["envelope"]["result"]
        return result


def is_server(name: str) -> bool:
    return name.startswith(("https://", "http://"))


def server_remote(ctx: Context, name: str, folder: Path) -> ServerRemote:
    if not ctx.connection.local:
        raise only_at_the_shell("a server", "a folder")
    address = read_server("remote", name)
    assert address is not None
    return ServerRemote(ServerChannel(address, ctx.settings.ca_file), ctx, folder)
