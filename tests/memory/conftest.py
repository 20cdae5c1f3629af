"""A memory workspace with files on either engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.memory.contradictions.worker import Comparer
from clew.memory.files import hand_edits as edits
from clew.memory.files import repair
from clew.registry.context import Context
from tests.conftest import Caller
from tests.waiting import until


class Memory(Caller):
    """Calls operations and looks at the files."""

    def __init__(self, clew: Clew, root: Path) -> None:
        super().__init__(clew)
        self.root = root

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode()

    def edit(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())

    def files(self) -> dict[str, bytes]:
        found = [path for path in self.root.rglob("*") if path.is_file() and ".clew" not in path.parts]
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in sorted(found)}

    def context(self) -> Context:
        return Context(self.clew.dispatcher, self.session, "ws", None)

    def stored(self, path: str) -> str:
        with self.context().reading() as ctx:
            return edits.rendered(ctx, path)

    def compared(self) -> None:
        """Wait until nothing waits to be compared with its neighbours."""

        def is_done() -> bool:
            with self.context().reading() as ctx:
                return ctx.tx.value("SELECT 1 FROM judgement_queue LIMIT 1") is None

        until(is_done)
        with self.clew.database.resources.of(Comparer).working:
            pass  # and until its files are written

    def agree(self) -> None:
        """Every file of blocks is byte for byte what the store would print."""
        self.compared()
        with self.context().reading() as ctx:
            assert repair.disagreements(ctx) == []
            for row in ctx.tx.all("SELECT path FROM block_file WHERE workspace = 'ws' ORDER BY path"):
                text = edits.rendered(ctx, row["path"])
                assert self.read(row["path"]) == text, row["path"]

    def propose(self, statement: str, **arguments: Any) -> dict[str, Any]:
        return self("propose_update", **{"block_type": "decision", "statement": statement, **arguments})

    def decide(self, statement: str, **arguments: Any) -> tuple[str, str]:
        """Propose and apply; the block's id and the receipt."""
        proposed = self.propose(statement, **arguments)
        applied = self("approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
        return proposed["block_id"], applied["receipt_ts"]


@pytest.fixture
def make_memory(make_clew: Callable[..., Clew], tmp_path: Path) -> Callable[[], Memory]:
    def make() -> Memory:
        return Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")

    return make


@pytest.fixture
def memory(make_memory: Callable[[], Memory]) -> Memory:
    return make_memory()
