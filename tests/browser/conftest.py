"""One server and one browser for each module; skipped where there is no Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from tests.browser.chromium import Page, chromium, programs
from tests.conftest import Caller
from tests.faces.web.server import Server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser") / "home"


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    server = Server(home, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if programs() is None:
        pytest.skip("no chromium and chromedriver on this machine: `make browser` as root installs them")
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Page]:
    page = Page(driver, server.address)
    page.leave()
    yield page
    assert page.problems() == []


@pytest.fixture(scope="module")
def clew(home: Path) -> Iterator[Clew]:
    """The same store, opened by another process than the server's."""
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "embedding_model": "none"}, {}, home))
    yield clew
    clew.close()


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return Caller(clew)
