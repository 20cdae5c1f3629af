"""Calls an operation's own example in a store with a known history, and writes down what came back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from clew.app import Clew, open_clew
from clew.registry.catalogue import OperationEntry, catalogue
from clew.settings import load_settings
from tests.conftest import Caller
from tests.contract import lived_in

ANSWERS = Path(__file__).parent / "answers"

NOT_RECORDED = frozenset(
    {
        "bench_recall",  # measures this machine
        "model_pull",  # reaches for the network
        "model_use",  # depends on the models that are installed
        "notebook_install_deps",  # fetches packages
        "notebook_run_cell",  # starts Deno and reports times
        "vacuum",  # how many bytes a table takes depends on the engine's version
    }
)
"""Their answers depend on the machine; tests of their own call them."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SCHEMA = re.compile(r'(schema_version\\?": ?\\?")v\d+')
_SETTINGS = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none"}


class SteadyClock:
    """The time stands still within a call, so that an answer does not depend on how often it asks for the time."""

    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def step(self) -> None:
        self.now_ms += 1_000


def recorded_operations() -> list[OperationEntry]:
    return [entry for entry in catalogue().operations if entry.name not in NOT_RECORDED]


def open_store(home: Path, clock: SteadyClock, **flags: Any) -> Clew:
    return open_clew(load_settings({**_SETTINGS, "home": home, **flags}, {}, home.parent), clock)


def build_history(home: Path, clock: SteadyClock, **flags: Any) -> None:
    home.mkdir(parents=True, exist_ok=True)
    clew = open_store(home, clock, **flags)
    call = Caller(clew)
    for name, arguments in lived_in.HISTORY:
        clock.step()
        call(name, **arguments)
    clew.close()


def record(clew: Clew, clock: SteadyClock, entry: OperationEntry, home: Path) -> str:
    """The example's answer as the file keeps it."""
    call = Caller(clew)
    clock.step()
    arguments = lived_in.prepared(call, entry.name, entry.example)
    clock.step()
    answer = call.answer(entry.name, **arguments)
    found = {"call": arguments, "text": answer.text.splitlines(), "envelope": answer.envelope}
    content = orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return _without_chance(content.decode(), home)


def kept(name: str, engine: str) -> str:
    path = _path(name, engine)
    return (path if path.exists() else _path(name, "sqlite")).read_text(encoding="utf-8")


def keep(name: str, engine: str, answer: str) -> None:
    """PostgreSQL gets a file of its own only where it differs."""
    path, shared = _path(name, engine), _path(name, "sqlite")
    if path != shared and shared.read_text(encoding="utf-8") == answer:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(answer, encoding="utf-8")


def _path(name: str, engine: str) -> Path:
    return ANSWERS / ("postgres" if engine == "postgres" else "") / f"{name}.json"


def _without_chance(text: str, home: Path) -> str:
    """Random ids are numbered in the order in which they occur, the store's place and schema get fixed names."""
    named = _SCHEMA.sub(r"\1v0", text)
    named = named.replace(str(home), "/home/clew").replace(str(home.parent), "/home")
    numbers: dict[str, int] = {}
    return _UUID.sub(lambda found: f"uuid-{numbers.setdefault(found[0], len(numbers) + 1)}", named)
