"""Whatever order bundles come in, twice or late: stores that have everything say the same, and nothing is lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from clew.sync.bundle_format import unpack
from clew.sync.change import SyncChange, by_record, state_of
from tests.conftest import TickingClock
from tests.sync.stores import Store, stores

ROUNDS = 6


@pytest.mark.parametrize("seed", range(3))
def test_three_stores_come_to_say_the_same(
    seed: int, database_flags: dict[str, Any], tmp_path: Path, clock: TickingClock
) -> None:
    chance = random.Random(seed)
    with stores(3, database_flags, tmp_path / "stores", clock) as opened:
        written = []
        for number in range(ROUNDS):
            for store in opened:
                written += _act(store, chance, number)
            _exchange_badly(opened, chance, tmp_path / "bundles")
        remote = tmp_path / "remote"
        results = [store.exchange(remote) for store in [*opened, *opened, *opened]][-3:]
        assert len({result["digest"] for result in results}) == 1
        assert {result["received"] for result in results} == {0}
        held = [sorted(said.partition(": ")[2] for said in store.statements().values()) for store in opened]
        assert held[0] == held[1] == held[2]
        reference = _conflicts(remote)
        for store, result in zip(opened, results, strict=True):
            assert _conflicts_of(store) == reference, result
        logged = str([unpack(path.read_bytes()).changes for path in remote.rglob("*.clew")])
        assert written and all(text in logged for text in written)


def _act(store: Store, chance: random.Random, number: int) -> list[str]:
    """Something that an agent or a person does; returns what was acknowledged, and must not be lost."""
    own = [id for id, said in store.statements().items() if said.startswith("active")]
    text = f"Statement {chance.randrange(10**9)} of round {number}"
    what = chance.choice(["remember", "edit", "edit", "retract", "review"])
    if what == "remember" or not own:
        store.remember(text, kind=chance.choice(["decision", "fact", "lesson"]))
        return [text]
    id = chance.choice(own)
    if what == "edit":
        return [text] if store.answer("edit_record", id=id, statement=text).ok else []
    if what == "review":
        store.answer("edit_record", id=id, review_by=f"2030-01-{number + 10}")
    else:
        store.answer("retract", id=id, why="not true any more")
    return []


def _exchange_badly(opened: list[Store], chance: random.Random, folder: Path) -> None:
    """Bundles by hand: some are lost, some come twice, some are older than what is known."""
    folder.mkdir(exist_ok=True)
    for store in opened:
        path = folder / f"{store.clew.settings.workspace}-{chance.randrange(10**9)}.clew"
        store.answer("export_bundle", path=str(path))
    waiting = sorted(folder.iterdir())
    for store in opened:
        for path in chance.choices(waiting, k=2):
            store.answer("import_bundle", path=str(path))


def _conflicts(remote: Path) -> list[tuple[str, str]]:
    """The reference: what the changes in the remote leave undecided, worked out without any store."""
    changes: dict[str, SyncChange] = {}
    for path in sorted(remote.rglob("*.clew")):
        bundle = unpack(path.read_bytes())
        for line in bundle.changes:
            change = SyncChange.from_line(bundle.origin, "", line)
            changes[change.id] = change
    return _undecided(list(changes.values()))


def _conflicts_of(store: Store) -> list[tuple[str, str]]:
    from clew.store.rows import load

    with store.clew.database.read() as tx:
        rows = tx.all("SELECT * FROM sync_change WHERE workspace = ?", store.clew.settings.workspace)
    return _undecided([load(SyncChange, row) for row in rows])


def _undecided(changes: list[SyncChange]) -> list[tuple[str, str]]:
    ordered = sorted(changes, key=lambda change: change.order)
    return [
        (record, conflict.field)
        for record, group in sorted(by_record(ordered).items())
        for conflict in state_of(group).conflicts
    ]
