"""sync_fetch and sync_push: what `clew sync https://...` of another store asks of the server that keeps this one.

The principal of the token decides: a person brings what a person may, an agent what an agent may write itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid
from clew.ids import is_person
from clew.memory import blocks
from clew.memory.archive import exchange_folder
from clew.memory.files.governed_write import governed_transaction
from clew.memory.governance import policy
from clew.memory.governance.ownership import OF_THE_USER, whose
from clew.memory.governance.ownership import WAITING as WAITS_FOR_A_PERSON
from clew.memory.kinds import kind_of
from clew.registry.context import Context
from clew.registry.operation import Input, View, Whole, operation
from clew.surroundings import clew_command
from clew.sync.bundle_format import Bundle, BundleError, Change
from clew.sync.change import ERASE
from clew.sync.log import SyncLog, changes_in, end_of, ends
from clew.sync.names import travels
from clew.sync.operations import exchanged
from clew.sync.remotes import held_files, write_bundle
from clew.sync.server_remote import portions, read, written

MOST_ANSWERED = 2_000_000
"""Characters of bundles in one answer; the caller asks again for the rest."""
MOST_SENT = 4_000_000
MOST_WAITING = 100
"""Bundles of a workspace that wait for a person; more would fill the disk of an unattended server."""
WAITING = "waiting"


class SyncFetch(Input):
    have: Annotated[
        dict[str, Whole], Field(max_length=10_000, description="How far the caller knows the log of each origin.")
    ]


class SyncPush(Input):
    exact: ClassVar[tuple[str, ...]] = ("bundle",)
    bundle: Annotated[str, Field(max_length=MOST_SENT, description="A bundle in Base64.")]


@operation("sync_fetch", mode="own", view=View(whole=True), example={"have": {}})
def sync_fetch(ctx: Context, args: SyncFetch) -> Json:
    """Give another store what it lacks of this store's logs, as bundles: the server's half of `clew sync https://...`.

    `more` says that the answer was cut: ask again with what you have by then.
    """
    with governed_transaction(ctx) as bound:
        SyncLog(bound).capture()
    found: list[str] = []
    with ctx.reading() as bound:
        known = ends(bound)
        lacking = (text for origin in known for text in _beyond(bound, origin, args.have.get(origin, 0), known))
        for text in lacking:
            found.append(text)
            if sum(map(len, found)) >= MOST_ANSWERED:
                break
        more = next(lacking, None) is not None
    return {"ends": known, "bundles": found, "more": more}


def _beyond(ctx: Context, origin: str, after: int, known: dict[str, int]) -> Iterator[str]:
    if after >= known[origin]:
        return
    changes = changes_in(ctx, origin, max(after - 1, 0))
    before = next(changes).digest if after else ""
    yield from map(written, portions(origin, before, (change.to_line() for change in changes)))


@operation("sync_push", writes=True, mode="own", idempotent=True, example={"bundle": "Y2xldy1idW5kbGUgMSA="})
def sync_push(ctx: Context, args: SyncPush) -> Json:
    """Take in a bundle of another store, as far as the caller may: the server's half of `clew sync https://...`.

    Of an agent's bundle, everything from the first change on that is for a person waits as a file for one.
    """
    try:
        bundle = read(args.bundle)
    except BundleError as problem:
        raise invalid("bundle", str(problem), "Send the bundle again; nothing was taken in.") from None
    taken = bundle

    def allowed(log: SyncLog, whole: Bundle) -> Bundle:
        nonlocal taken
        taken = whole if ctx.connection.person else _of_an_agent(log, whole)
        return taken

    result = exchanged(ctx, [bundle], None, allowed)
    waiting = bundle.last - taken.last
    kept = _keep(ctx, bundle) if waiting else None
    command = clew_command(f"import bundle {shlex.quote(str(kept))}") if kept else None
    return {**result, "waiting": waiting, "command": command}


def _of_an_agent(log: SyncLog, bundle: Bundle) -> Bundle:
    """The bundle up to the first change that an agent could not make itself; none in the name of this store."""
    known, is_own = end_of(log.ctx, bundle.origin).seq, bundle.origin == log.origin
    is_open = not is_own and not policy.reviews_everything(log.ctx)
    may = (line["seq"] <= known or (is_open and _may_write(log, line)) for line in bundle.changes)
    return replace(bundle, changes=bundle.changes[: sum(takewhile(bool, may))])


def _may_write(log: SyncLog, line: Change) -> bool:
    record, agent = str(line["record"]), str(line["agent"] or "")
    id = log.names.id_of(record)
    if line["kind"] == ERASE or is_person(agent):
        return False
    if id is None:
        own = record.partition("@")[0]
        return travels(own, str(line["file"])) and kind_of(own) not in OF_THE_USER
    block = blocks.find(log.ctx, id)
    # What waits is decided by a person, also when it is the agent's own: a change might say that it is in force.
    return block is not None and block.status not in WAITS_FOR_A_PERSON and whose(log.ctx, block) is None


def _keep(ctx: Context, bundle: Bundle) -> Path:
    """Leave the whole bundle for a person, in place of those that it contains or that were taken in by now."""
    folder = exchange_folder(ctx) / WAITING
    with ctx.reading() as bound:
        known = {**ends(bound), bundle.origin: bundle.last}
    here = held_files(folder)
    older = [path for path, last in here if last <= known.get(path.parent.name, 0)]
    if len(here) - len(older) >= MOST_WAITING:
        raise ClewError(
            "UNAVAILABLE",
            f"{len(here)} bundles wait for a person on the server",
            f"Ask whoever runs the server to take them in or remove them: {folder.name}/ of the exports.",
        )
    path = write_bundle(folder, bundle.origin, bundle.before, bundle.changes)
    for other in older:
        if other != path:
            other.unlink(missing_ok=True)
    return path
