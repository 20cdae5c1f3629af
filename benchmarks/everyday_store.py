"""A project's memory of any size: durable records, cards and tasks, deterministic.

Records are written through the domain functions and not one by one with `remember`, because only calls on a full store
are measured, not filling it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.stores import Store
from clew.app import Clew, open_clew
from clew.memory import blocks
from clew.memory.files import governed_write
from clew.memory.files.markdown import print_block
from clew.memory.kinds import kind_of
from clew.reasoning.branches import branch_named
from clew.reasoning.cards.card import write_card
from clew.reasoning.cards.forms import Card
from clew.reasoning.scope import Scope
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.settings import load_settings

BATCH = 500
_written = vars(governed_write)
governed_transaction = _written.get("governed_transaction") or _written["governed"]
"""By either name: older code fills a store of its own for comparison."""
RECORDED_DECISIONS = "knowledge/DECISIONS.md"
"""Written out: older code, which fills a store of its own for comparison, has this name elsewhere."""
SHARES = {"D": 0.4, "F": 0.35, "L": 0.15, "X": 0.08}
"""How the records are divided among kinds. Rules do not grow with a project: a hundred would not be followed."""
MOST_RULES = 20
CARDS_PER_RECORD = 0.2
TASKS = 20
CARD_TYPES = ("decision", "question", "hypothesis", "note", "evidence", "test")
PARTS = ("importer", "parser", "cache", "scheduler", "billing", "search", "login", "exporter", "queue", "renderer")
ACTIONS = ("retries", "validates", "stores", "skips", "splits", "merges", "reports", "rejects", "limits", "encrypts")
OBJECTS = ("requests", "invoices", "duplicates", "sessions", "headers", "batches", "tokens", "rows", "events", "files")
REASONS = (
    "because customers asked for it",
    "since the old way lost data",
    "so that a crash loses nothing",
    "as measured in the last load test",
    "until the provider fixes its interface",
)


def sentence(chance: random.Random, number: int) -> str:
    part, action, thing = chance.choice(PARTS), chance.choice(ACTIONS), chance.choice(OBJECTS)
    amount = chance.randint(2, 900)
    name = "".join(chance.choice("bcdfglmnprst") + chance.choice("aeiou") for _ in range(3))
    where = f"src/{part}/{name}.py" if number % 3 == 0 else f"the {name} service"
    return f"The {part} {action} {amount} {thing} of {name} in {where}, {chance.choice(REASONS)}."


def fill(clew: Clew, workspace: str, records: int) -> None:
    """So many records, a fifth as many cards, and a handful of tasks of which the last one is in focus."""
    chance = random.Random(records)
    context = Context(clew.dispatcher, Connection(), workspace, "filler")
    counts = {prefix: int(records * share) for prefix, share in SHARES.items()}
    counts["R"] = min(MOST_RULES, max(1, records // 50))
    for prefix, count in counts.items():
        for ids in _batches(count):
            _keep_blocks(context, chance, prefix, ids)
    for ids in _batches(int(records * CARDS_PER_RECORD)):
        _keep_cards(context, chance, ids)
    _begin_tasks(clew, chance)


def _batches(count: int) -> Iterator[Sequence[int]]:
    for first in range(1, count + 1, BATCH):
        yield range(first, min(first + BATCH, count + 1))


def _keep_blocks(context: Context, chance: random.Random, prefix: str, ids: Sequence[int]) -> None:
    with governed_transaction(context) as ctx:
        for _ in ids:
            ctx.ws.count(prefix)
        texts = {f"{prefix}-{number}": _block_text(chance, prefix, number) for number in ids}
        file = RECORDED_DECISIONS if prefix == "D" else kind_of(f"{prefix}-1").file
        blocks.add_all(ctx, texts, file=file, origin="keep")


def _block_text(chance: random.Random, prefix: str, number: int) -> str:
    fields = {"Date": "2026-01-02", "Status": "active", "Statement": sentence(chance, number), "Author": "filler"}
    if prefix == "D":
        fields |= {"Rationale": f"{sentence(chance, number + 1)} {sentence(chance, number + 2)}"}
    return print_block(f"{prefix}-{number}", fields)


def _keep_cards(context: Context, chance: random.Random, ids: Sequence[int]) -> None:
    with context.writing() as ctx:
        scope = Scope(branch_named(ctx, "main"))
        for number in ids:
            kind = CARD_TYPES[number % len(CARD_TYPES)]
            status = "open" if number % 10 == 0 else "closed"
            write_card(ctx, scope, Card(f"C{number}", kind, f"Card {number}", sentence(chance, number), status), [])


def _begin_tasks(clew: Clew, chance: random.Random) -> None:
    worker = Connection(toolset="daily", agent_id="worker")
    for number in range(TASKS):
        steps = [{"title": sentence(chance, 3 * step), "test": "pytest -q"} for step in range(4)]
        given = {"title": f"Task {number}: {sentence(chance, 3 * number)}", "steps": steps}
        answer = clew.dispatcher.call("start", given, worker)
        if not answer.ok:
            raise RuntimeError(answer.envelope["error"])


def main() -> None:
    """Fill a new store in a separate process, so that the code of another commit can do it too."""
    from benchmarks.recall_latency import give_vectors

    engine, home, url, records = sys.argv[1:]
    store = Store(engine, Path(home), url)
    flags = {"home": store.home, "database_url": url or None, "workspace": "bench", "embedding_model": "none"}
    clew = open_clew(load_settings(flags, {}))
    fill(clew, "bench", int(records))
    clew.close()
    give_vectors(store, 10 * int(records))


if __name__ == "__main__":
    main()
