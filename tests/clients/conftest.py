"""Which real clients are run, and where the results are noted.

`CLEW_CLIENTS` names them (`claude,codex` or `all`), as `make clients` does: they run all tests, and docs/clients.md is
written from the results. Without it, as in `make test`, one client runs the tests that need one session each: it is a
download of 23 MB and less than a minute; the others are up to 170 MB each.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.clients.drivers import DRIVERS, FAST_CLIENTS, FAST_ROWS, Driver
from tests.clients.programs import NotInstallable, install
from tests.clients.results import note
from tests.clients.scene import Scene, scene

_NAMED = [name for name in os.environ.get("CLEW_CLIENTS", "").replace(" ", ",").split(",") if name]


def clients_to_run() -> list[str]:
    if "all" in _NAMED:
        return list(DRIVERS)
    if unknown := set(_NAMED) - set(DRIVERS):
        raise pytest.UsageError(
            f"CLEW_CLIENTS: no client is called {', '.join(unknown)}; there are {', '.join(DRIVERS)}"
        )
    return [name for name in DRIVERS if name in (_NAMED or FAST_CLIENTS)]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(name): a row of docs/clients.md that a test proves")
    config.addinivalue_line("markers", "only(name): the client whose way of working a test is about")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "driver" not in metafunc.fixturenames:
        return
    row, only = (metafunc.definition.get_closest_marker(name) for name in ("row", "only"))
    is_run = _NAMED or (row is not None and row.args[0] in FAST_ROWS)
    names = [name for name in clients_to_run() if is_run and (only is None or name == only.args[0])]
    if names:
        metafunc.parametrize("driver", names, indirect=True, scope="module")
    else:
        left_out = pytest.param("", marks=pytest.mark.skip(reason="run by `make clients`"))
        metafunc.parametrize("driver", [left_out], indirect=True, scope="module")


@pytest.fixture(scope="module")
def driver(request: pytest.FixtureRequest) -> Driver:
    found = DRIVERS[request.param]
    try:
        install(found.program)
    except NotInstallable as problem:
        pytest.skip(f"{found.program.title} {found.program.version} cannot be installed: {problem}")
    return found


@pytest.fixture(autouse=True)
def _within_limits(request: pytest.FixtureRequest) -> None:
    """A row that the client itself rules out is skipped with the client's limit as the reason."""
    row = request.node.get_closest_marker("row")
    if row is not None and (limit := request.getfixturevalue("driver").limits.get(row.args[0])):
        pytest.skip(f"no: {limit}")


@pytest.fixture
def connected(driver: Driver, tmp_path: Path) -> Iterator[Scene]:
    """A home where the client is connected and the project has memory and a guard; no server runs."""
    with scene(tmp_path / "home") as made:
        driver.connect(made)
        made.fill()
        yield made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    row = item.get_closest_marker("row")
    params = getattr(getattr(item, "callspec", None), "params", {})
    if _NAMED and row is not None and "driver" in params and (cell := _cell(report)):
        note(DRIVERS[params["driver"]].program, row.args[0], cell)
    return report


def _cell(report: pytest.TestReport) -> str:
    """What stands in the table; nothing where the test did not get so far, such as without the client."""
    if report.failed:
        return "FAILED"
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        return reason if reason.startswith("no: ") else ""
    return "yes" if report.when == "call" else ""
