"""The big store that the page is measured on: built once, kept under a scratch directory, and copied for each run.

20,000 cards, 5,000 thoughts, 5,000 records (4,500 decisions and 500 notes) and 250 tasks. Building takes some minutes,
a copy a second. `CLEW_BENCH_CACHE` names another place than the system's scratch directory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.client import ROOT
from benchmarks.memory import PLANTED, call, write_decisions
from benchmarks.stores import Store, fresh_store, writing
from benchmarks.thoughts import fill_session

CARDS, THOUGHTS, DECISIONS, NOTES, TASKS = 20_000, 5_000, 4_500, 500, 250
AREAS = tuple(f"a:area-{number}" for number in range(24))
TYPES = ("hypothesis", "test", "evidence", "decision", "question", "note")


@dataclass(frozen=True)
class Known:
    """The ids and names of the store that the measurement uses."""

    session: str
    task: str


@contextmanager
def big_store(share: float = 1.0) -> Iterator[tuple[Store, Known]]:
    """A temporary copy of the big store, or of a share of it."""
    kept = _kept(share)
    with fresh_store() as store:
        shutil.copytree(kept / "home", store.home)
        yield store, Known(**json.loads((kept / "known.json").read_text(encoding="utf-8")))


def _kept(share: float) -> Path:
    """The directory of the built store. Its name is derived from its definition, so a change builds another one."""
    scratch = Path(os.environ.get("CLEW_BENCH_CACHE") or Path(tempfile.gettempdir()) / "clew-bench-big")
    target = scratch / f"{_recipe()}-{share:g}"
    if not target.exists():
        scratch.mkdir(parents=True, exist_ok=True)
        print(f"building the big store in {target}", flush=True)
        folder = Path(tempfile.mkdtemp(prefix="building-", dir=scratch))
        known = _fill(Store("sqlite", folder / "home", ""), share)
        (folder / "known.json").write_text(json.dumps(asdict(known)), encoding="utf-8")
        folder.rename(target)
    return target


def _recipe() -> str:
    here = Path(__file__).parent
    schema = (ROOT / "src" / "clew" / "store" / "migrations").glob("*.sql")
    files = [Path(__file__), here / "memory.py", here / "thoughts.py", *sorted(schema)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def _fill(store: Store, share: float) -> Known:
    session = fill_session(store, int(THOUGHTS * share))
    _fill_areas(store)
    for first in range(0, int(CARDS * share), 1000):
        _fill_cards(store, first, min(first + 1000, int(CARDS * share)))
    _fill_notes(store, int(NOTES * share))
    return Known(session, _fill_work(store, max(2 * PLANTED, int(DECISIONS * share)), int(TASKS * share)))


def _fill_areas(store: Store) -> None:
    from clew.reasoning.anchors.registry import Anchor, save_anchor

    with writing(store) as ctx:
        for number, area in enumerate(AREAS):
            parent = AREAS[number - number % 4] if number % 4 else None
            rests = (AREAS[(number * 5 + 3) % len(AREAS)],) if number % 3 == 0 else ()
            refs = (f"src/area_{number}/main.py",)
            save_anchor(ctx, Anchor(area, f"Area {number}", refs=refs, parent_id=parent, depends_on=rests))


def _fill_cards(store: Store, first: int, last: int) -> None:
    from clew.reasoning.branches import branch_named
    from clew.reasoning.cards.card import write_card
    from clew.reasoning.cards.forms import Card
    from clew.reasoning.scope import Scope

    with writing(store) as ctx:
        scope = Scope(branch_named(ctx, "main"))
        for number in range(first, last):
            text = (
                f"Seen at {number}: the {number % 97} storage engine keeps one writer (src/area_{number % 24}/main.py)."
            )
            tags = (AREAS[number % len(AREAS)],) if number % 3 else ()
            status = "closed" if number % 3 == 0 else "open"
            card = Card(f"C{number}", TYPES[number % len(TYPES)], f"Card {number}", text, status, tags)
            write_card(ctx, scope, card, [f"C{number // 2}"] if number else [])


def _fill_notes(store: Store, count: int) -> None:
    from clew.reasoning.documents import append

    with writing(store) as ctx:
        for number in range(count):
            append(ctx, 1, "notes", title=f"Record {number}", content=f"note {number}: engine {number % 97} keeps it")


def _fill_work(store: Store, decisions: int, tasks: int) -> str:
    """Decisions, read from a file as a person would write it, with pairs that contradict each other; and tasks."""
    from clew.app import open_clew
    from clew.registry.connection import Connection
    from clew.settings import load_settings

    write_decisions(store.home / "workspaces" / "bench" / "memory", decisions)
    clew = open_clew(load_settings({"home": store.home, "workspace": "bench"}, {}))
    call(clew, "list_proposals")
    call(clew, "scan")
    steps = [{"title": f"Step {step}", "success_criteria": ["seen"]} for step in range(3)]
    task, plan = "", None
    for number in range(tasks):
        given = {"task_title": f"Task {number}", "steps": steps, **({"plan": plan} if plan else {"plan_title": "Big"})}
        worker = Connection(toolset="full", agent_id=f"agent-{number % 7}")
        answer = clew.dispatcher.call("tasks_macro_start", given, worker)
        task, plan = answer.envelope["result"]["task_id"], answer.envelope["result"]["plan_id"]
    clew.close()
    return task
