"""What a browser test stands on: a server, a browser, and the same store opened by an agent.

Plain functions: a conftest makes fixtures of them in the scope that its tests share.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from tests.browser.chromium import Page, chromium, programs
from tests.conftest import Caller
from tests.faces.web.server import Server

AnyPage = TypeVar("AnyPage", bound=Page)


def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser") / "home"


def server(home: Path) -> Iterator[Server]:
    server = Server(home, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if programs() is None:
        pytest.skip("no chromium and chromedriver on this machine: `make programs` as root installs them")
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def clew(home: Path) -> Iterator[Clew]:
    """The same store, opened by another process than the server's."""
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "embedding_model": "none"}, {}, home))
    yield clew
    clew.close()


def agent(clew: Clew) -> Caller:
    return Caller(clew)


def visited(page: AnyPage) -> Iterator[AnyPage]:
    """A page that nothing of an earlier test reaches, and that has complained about nothing in the end."""
    page.leave()
    yield page
    found = page.problems()
    assert found == [], found
