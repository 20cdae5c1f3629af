"""The random sequences of the model, with processes killed inside their calls: nothing acknowledged is lost, and
nothing is done by half."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.memory import blocks
from tests.conftest import TickingClock
from tests.memory.conftest import Memory
from tests.memory.test_model import Player
from tests.waiting import PATIENCE

CRASHER = Path(__file__).with_name("crasher.py")


class Crasher:
    """Makes calls in processes of their own, which die at a random step of the call."""

    def __init__(self, memory: Memory, flags: dict[str, Any], clock: TickingClock) -> None:
        self.flags: dict[str, Any] = {
            **{name: str(value) for name, value in flags.items()},
            "memory_dir": str(memory.root),
        }
        self.flags |= {"workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
        self.clock = clock
        self.longest: dict[str, int] = {}
        command = [sys.executable, str(CRASHER)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, player: Player, name: str, **arguments: Any) -> dict[str, Any] | None:
        """The envelope of an acknowledged call; None when the process died before."""
        assert self.process.stdin is not None and self.process.stdout is not None
        # The first call of its kind lives and shows how long it takes; later ones die anywhere in it.
        after = player.chance.randrange(1, self.longest[name]) if name in self.longest else None
        task = {"flags": self.flags, "name": name, "arguments": arguments, "now_ms": self.clock(), "after": after}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        if told["killed"]:
            return None
        self.longest[name] = max(self.longest.get(name, 2), told["steps"])
        return dict(told["envelope"])

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


class DyingPlayer(Player):
    """Does what the player does through processes that may die, and asks the store what came of it."""

    crasher: Crasher
    deaths = 0

    def call(self, name: str, **arguments: Any) -> bool:
        envelope = self.crasher.call(self, name, **arguments)
        self.deaths += envelope is None
        return envelope is not None and bool(envelope["success"])

    def state(self, id: str) -> str | None:
        self.memory("list_proposals")
        with self.memory.context().reading() as ctx:
            return blocks.get(ctx, id).status

    def approve(self) -> None:
        id = self.pick()
        if id is None:
            return
        state, block, statement = self.model.proposals[id]
        acknowledged = self.call("approve_apply", proposal_id=id, dry_run=False)
        now = self.state(id)
        assert now == "applied" if acknowledged else now in (state, "applied")
        assert state == now or state == "staged"
        if now != state:
            with self.memory.context().reading() as ctx:
                ts = ctx.tx.value("SELECT ts FROM receipt WHERE workspace = 'ws' AND proposal = ?", id)
            self.model.proposals[id] = ("applied", block, statement)
            self.model.statements[block] = statement
            self.model.receipts[ts] = (id, block)

    def reject(self) -> None:
        id = self.pick()
        if id is None:
            return
        state, block, statement = self.model.proposals[id]
        acknowledged = self.call("reject_proposal", proposal_id=id, reason="No")
        now = self.state(id)
        assert now == "rejected" if acknowledged else now in (state, "rejected")
        if now != state:
            self.model.proposals[id] = ("rejected", block, statement)
            self.model.rejected.add(statement)

    def roll_back(self) -> None:
        if not self.model.receipts:
            return
        ts = self.chance.choice(sorted(self.model.receipts))
        id, block = self.model.receipts[ts]
        state = self.model.proposals[id][0]
        acknowledged = self.call("rollback_proposal", receipt_ts=ts)
        now = self.state(id)
        assert now == "rolled_back" if acknowledged else now in (state, "rolled_back")
        if now != state:
            assert block not in self.model.edited
            self.model.proposals[id] = ("rolled_back", *self.model.proposals[id][1:])
            del self.model.statements[block]

    def propose(self) -> None:
        self.number += 1
        statement = f"Use component {self.number}"
        acknowledged = self.call("propose_update", block_type="decision", statement=statement)
        self.memory("list_proposals")
        with self.memory.context().reading() as ctx:
            new = [block for block in blocks.current(ctx, prefix="P") if block.id not in self.model.proposals]
            signals = {block.id for block in blocks.current(ctx, prefix="SIG", status="pending")}
        assert len(new) == 1 if acknowledged else len(new) <= 1
        for proposal in new:
            assert proposal.get("Signal") in signals
            self.model.proposals[proposal.id] = ("staged", proposal.get("TargetBlock"), statement)

    def edit(self) -> None:
        """A hand edit whose reader dies: the next one reads it."""
        super().edit()
        self.call("list_contradictions")


@pytest.fixture
def crasher(memory: Memory, database_flags: dict[str, Any], clock: TickingClock) -> Iterator[Crasher]:
    made = Crasher(memory, database_flags, clock)
    yield made
    made.close()


@pytest.mark.parametrize("seed", range(2))
def test_any_sequence_with_kills_inside_ends_as_the_model_says(memory: Memory, crasher: Crasher, seed: int) -> None:
    player = DyingPlayer(memory, seed)
    player.crasher = crasher
    moves = [
        player.propose,
        player.approve,
        player.approve,
        player.reject,
        player.edit,
        player.remove,
        player.roll_back,
    ]
    for move in [player.propose, player.approve, player.propose, player.propose]:
        move()
        player.check()
    for _ in range(18):
        player.chance.choice(moves)()
        player.check()
    assert player.deaths, "some call was killed"
    assert memory.clew.database.integrity() == []
