"""Random sequences of proposing, reviewing, editing and rolling back, against a model of a few dictionaries."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from clew.memory import blocks
from clew.memory.files.markdown import parse_file, set_field
from tests.memory.conftest import Memory

DECISIONS = "decisions/DECISIONS.md"


@dataclass
class Model:
    """What memory should say: statements of live decisions, states of proposals, receipts that can be taken back."""

    statements: dict[str, str] = field(default_factory=dict)
    proposals: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    receipts: dict[str, tuple[str, str]] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)


class Player:
    def __init__(self, memory: Memory, seed: int) -> None:
        self.memory, self.model, self.chance = memory, Model(), random.Random(seed)
        self.number = 0

    def propose(self) -> None:
        self.number += 1
        statement = f"Use component {self.number}\nwith [D-20200101-{self.number:03d}] inside"
        done = self.memory.propose(statement)
        self.model.proposals[done["proposal_id"]] = ("staged", done["block_id"], statement)

    def approve(self) -> None:
        id = self.pick()
        if id is None:
            return
        state, block, statement = self.model.proposals[id]
        answer = self.memory.answer("approve_apply", proposal_id=id, dry_run=False)
        assert answer.ok == (state == "staged"), (state, answer.envelope["error"])
        if answer.ok:
            self.model.proposals[id] = ("applied", block, statement)
            self.model.statements[block] = statement
            self.model.receipts[answer.envelope["result"]["receipt_ts"]] = (id, block)

    def reject(self) -> None:
        id = self.pick()
        if id is None:
            return
        state, block, statement = self.model.proposals[id]
        answer = self.memory.answer("reject_proposal", proposal_id=id, reason="No")
        assert answer.ok == (state in ("staged", "deferred"))
        if answer.ok:
            self.model.proposals[id] = ("rejected", block, statement)
            self.model.rejected.add(statement)

    def defer(self) -> None:
        id = self.pick()
        if id is not None and self.model.proposals[id][0] == "staged":
            self.memory("defer_proposal", proposal_id=id, reason="Later")
            self.model.proposals[id] = ("deferred", *self.model.proposals[id][1:])

    def propose_again(self) -> None:
        if self.model.rejected:
            statement = self.chance.choice(sorted(self.model.rejected))
            error = self.memory.error("propose_update", block_type="decision", statement=statement.upper())
            assert error["details"]["rule"] == "rejected_value"

    def edit(self) -> None:
        if not self.model.statements:
            return
        block = self.chance.choice(sorted(self.model.statements))
        parsed = parse_file(self.memory.read(DECISIONS))
        part = next(part for part in parsed.parts if part.id == block)
        self.number += 1
        text = set_field(part.text, "Statement", f"Edited {self.number}")
        self.memory.edit(DECISIONS, parsed.join().replace(part.text, text))
        self.model.statements[block] = f"Edited {self.number}"
        self.model.edited.add(block)

    def remove(self) -> None:
        if not self.model.statements:
            return
        block = self.chance.choice(sorted(self.model.statements))
        parsed = parse_file(self.memory.read(DECISIONS))
        part = next(part for part in parsed.parts if part.id == block)
        self.memory.edit(DECISIONS, parsed.join().replace(part.text + part.gap, ""))
        del self.model.statements[block]
        self.model.edited.add(block)

    def roll_back(self) -> None:
        if not self.model.receipts:
            return
        ts = self.chance.choice(sorted(self.model.receipts))
        id, block = self.model.receipts[ts]
        answer = self.memory.answer("rollback_proposal", receipt_ts=ts)
        assert answer.ok == (self.model.proposals[id][0] == "applied" and block not in self.model.edited)
        if answer.ok:
            self.model.proposals[id] = ("rolled_back", *self.model.proposals[id][1:])
            del self.model.statements[block]

    def pick(self) -> str | None:
        return self.chance.choice(sorted(self.model.proposals)) if self.model.proposals else None

    def check(self) -> None:
        self.memory("list_proposals")
        self.memory.agree()
        with self.memory.context().reading() as ctx:
            said = {block.id: block.fields["Statement"] for block in blocks.current(ctx, prefix="D")}
            states = {block.id: block.status for block in blocks.current(ctx, prefix="P")}
        assert said == self.model.statements
        assert states == {id: state for id, (state, _, _) in self.model.proposals.items()}


@pytest.mark.parametrize("seed", range(5))
def test_any_sequence_ends_as_the_model_says(memory: Memory, seed: int) -> None:
    player = Player(memory, seed)
    player.propose()
    moves = [
        *(player.propose, player.propose, player.approve, player.approve, player.reject),
        *(player.defer, player.propose_again, player.edit, player.remove, player.roll_back),
    ]
    for _ in range(40):
        player.chance.choice(moves)()
        player.check()
