"""export_bundle, import_bundle and sync: memory as a file that can be verified, and between stores."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid
from clew.memory.archive import exchange_file
from clew.memory.files.directory import reported
from clew.memory.files.governed_write import governed_transaction
from clew.records.erase import Erase, erase_for_good
from clew.registry.context import Context
from clew.registry.operation import Input, operation
from clew.registry.people import check_person
from clew.store.workspaces import keep_meta, read_meta
from clew.sync.bundle_format import Bundle, BundleError, pack, unpack
from clew.sync.change import SyncChange
from clew.sync.intake import Intake, bring_in, settle_conflicts, take_bundles
from clew.sync.log import SyncLog, changes_in, ends, state_digest
from clew.sync.remotes import (
    TRIES,
    RemotePlaces,
    SyncRemote,
    held_files,
    opened_remote,
    read_bundle,
    write_bundle,
)
from clew.sync.server_remote import is_server, server_remote

MOST_CHANGES = 5_000
"""Of one bundle that is exchanged; a longer log is cut into several."""
SHOWN = 50

BundlePath = Annotated[str, Field(min_length=1, max_length=1000, description="The bundle, such as memory.clew.")]


class ExportBundle(Input):
    path: BundlePath
    origin: Annotated[str | None, Field(description="Whose log; default: this store's own.")] = None


class ImportBundle(Input):
    path: BundlePath


class Sync(Input):
    remote: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="A folder, git:REMOTE of the project's repository, or at the shell ssh:HOST:PATH or https://HOST.",
        ),
    ]


@operation("export_bundle", writes=True, mode="own", idempotent=True, example={"path": "memory.clew"})
def export_bundle(ctx: Context, args: ExportBundle) -> Json:
    """Write the log of this store's memory into one verifiable file: every change of every record, with its text.

    Proposals, tasks, thoughts and transcripts are not in it.
    """
    target = exchange_file(ctx, args.path)
    with governed_transaction(ctx) as bound:
        log = SyncLog(bound)
        log.capture()
        origin = args.origin or log.origin
        changes = [change.to_line() for change in changes_in(bound, origin, 0)]
    if not changes:
        raise _nothing_known(args.origin)
    data = pack(origin, "", changes)
    with reported(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return {
        "path": str(target),
        "origin": origin,
        "changes": len(changes),
        "bytes": len(data),
        "head": unpack(data).head,
    }


def _nothing_known(origin: str | None) -> ClewError:
    if origin is None:
        return ClewError(
            "NOT_FOUND", "this store holds no records yet", "Write one first with `remember`, then export."
        )
    return ClewError("NOT_FOUND", f"nothing is known of {origin}", "Leave `origin` out for this store's own log.")


@operation("import_bundle", writes=True, mode="own", example={"path": "memory.clew"})
def import_bundle(ctx: Context, args: ImportBundle) -> Json:
    """Take in a bundle of another store, after verifying it; doing so again changes nothing."""
    # Records state their own status and author: an agent could decide by importing records it made up.
    check_person(ctx, "taking in a bundle", f"import bundle {shlex.quote(args.path)}")
    source = exchange_file(ctx, args.path)
    with reported(source):
        data = source.read_bytes()
    try:
        bundle = unpack(data)
    except BundleError as problem:
        raise invalid("path", f"{source}: {problem}", "Ask for the bundle again; nothing was taken in.") from None
    return exchanged(ctx, [bundle], None)


@operation("sync", writes=True, mode="own", example={"remote": "/mnt/shared/clew"})
def sync(ctx: Context, args: Sync) -> Json:
    """Exchange memory with other stores through a folder, a git remote, ssh or a server, in both directions.

    Records that two stores changed are merged field by field; what both changed differently waits in the Inbox.
    """
    is_address = args.remote.startswith(("git:", "ssh:")) or is_server(args.remote)
    name = args.remote if is_address else str(exchange_file(ctx, args.remote))
    with _opened(ctx, name) as remote:
        _check_remote(ctx, name)
        for _ in range(TRIES):
            remote.fetch()
            found = _news(ctx, remote)
            damaged = [
                f"{path.parent.name}/{path.name}: {item}" for path, item in found if isinstance(item, BundleError)
            ]
            result = exchanged(ctx, [item for _, item in found if isinstance(item, Bundle)], remote)
            refused = remote.publish()
            if refused is not None:
                problems = [*result["problems"], *damaged, *refused]
                return {**result, "remote": args.remote, "problems": problems[:SHOWN]}
    raise ClewError("CONFLICT", f"{args.remote} is changed all the time", "Try again.")


@contextmanager
def _opened(ctx: Context, name: str) -> Iterator[SyncRemote]:
    if is_server(name):
        with tempfile.TemporaryDirectory(prefix="clew-sync-") as folder:
            remote = server_remote(ctx, name, Path(folder))
            with closing(remote.channel):
                yield remote
        return
    with opened_remote(name, RemotePlaces(ctx.settings.home, ctx.project, ctx.connection.local)) as other:
        yield other


def _check_remote(ctx: Context, name: str) -> None:
    """A person chooses the remotes; from then on any caller may exchange memory with them, such as a timer."""
    key = f"sync remote {ctx.workspace} {name}"
    if not ctx.connection.person:
        with ctx.reading() as bound:
            chosen = read_meta(bound.tx, key)
        if chosen is None:
            check_person(ctx, "choosing a place to exchange memory with", f"sync {shlex.quote(name)}")
        return
    with ctx.writing(logged=False) as bound:
        keep_meta(bound.tx, key, ctx.connection.person)


def _news(ctx: Context, remote: SyncRemote) -> list[tuple[Path, Bundle | BundleError]]:
    """The bundles that go further than what is known of their origins; the others need not be read."""
    with ctx.reading() as bound:
        known = ends(bound)
    return [
        (path, read_bundle(path))
        for path, last in held_files(remote.folder)
        if last > known.get(path.parent.name, 0) and path.exists()
    ]


Allowed = Callable[[SyncLog, Bundle], Bundle]
"""What of a bundle may be taken in, once the log says all that this store did."""


def exchanged(ctx: Context, bundles: list[Bundle], remote: SyncRemote | None, allowed: Allowed | None = None) -> Json:
    done = Intake()
    with governed_transaction(ctx) as bound:
        log = SyncLog(bound)
        captured = log.capture()
        settle_conflicts(log)
        take_bundles(log, [allowed(log, bundle) for bundle in bundles] if allowed else bundles, done)
        bring_in(log, done)
    for id in done.to_erase:
        erase_for_good(ctx, Erase(id=id, dry_run=False))
    if done.to_erase:
        with governed_transaction(ctx) as bound:
            captured += SyncLog(bound).capture()
    with ctx.reading() as bound:
        sent = _send(bound, remote) if remote else 0
        digest = state_digest(bound)
    return {
        "captured": captured,
        "received": done.changes,
        "sent": sent,
        "conflicts": sorted(done.conflicts)[:SHOWN],
        "erased": done.to_erase[:SHOWN],
        "problems": done.problems[:SHOWN],
        "digest": digest,
    }


def _send(ctx: Context, remote: SyncRemote) -> int:
    """Write what the remote lacks, of every origin: it may be another way to stores that do not meet this one."""
    sent = 0
    for origin in ends(ctx):
        sent += _send_log(ctx, remote, origin, remote.held(origin))
        _blank_erased(ctx, remote, origin)
    return sent


def _send_log(ctx: Context, remote: SyncRemote, origin: str, after: int) -> int:
    before, waiting, sent = "", [], 0
    for change in changes_in(ctx, origin, max(after - 1, 0)):
        if change.seq <= after:
            before = change.digest
            continue
        waiting.append(change)
        if len(waiting) == MOST_CHANGES:
            before, sent, waiting = _written(remote, origin, before, waiting), sent + len(waiting), []
    if waiting:
        _written(remote, origin, before, waiting)
    return sent + len(waiting)


def _written(remote: SyncRemote, origin: str, before: str, changes: list[SyncChange]) -> str:
    write_bundle(remote.folder, origin, before, [change.to_line() for change in changes])
    return changes[-1].digest


def _blank_erased(ctx: Context, remote: SyncRemote, origin: str) -> None:
    """Rewrite the bundles that still hold erased records, without their texts."""
    blank = {change.seq for change in changes_in(ctx, origin, 0) if change.content and change.text is None}
    if not blank:
        return
    for path, _ in held_files(remote.folder / origin):
        bundle = read_bundle(path)
        if not isinstance(bundle, Bundle):
            continue
        if any(line["seq"] in blank and "text" in line for line in bundle.changes):
            lines = [_without_text(line) if line["seq"] in blank else line for line in bundle.changes]
            if write_bundle(remote.folder, origin, bundle.before, lines) != path:
                path.unlink(missing_ok=True)


def _without_text(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "text"}
