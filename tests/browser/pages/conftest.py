"""One server, one store and one browser for all pages but the graph: each test makes what it looks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from tests.browser.chromium import Page, chromium, programs
from tests.browser.story import Story
from tests.conftest import Caller
from tests.faces.web.server import Server


class Reader(Page):
    """Somebody who reads a page and types into it."""

    def type(self, selector: str, text: str) -> None:
        """Types in one go: what is drawn may be drawn anew between two keys of a driver, never within a script."""
        self.find(selector)
        self.js(
            "const node = document.querySelector(arguments[0]); node.focus(); node.value = arguments[1];"
            " node.dispatchEvent(new Event('input', {bubbles: true}))",
            selector,
            text,
        )

    def value(self, selector: str) -> str:
        return str(self.js("return document.querySelector(arguments[0]).value", selector))

    def choose(self, selector: str, value: str) -> None:
        self.find(selector)
        self.js(
            "const node = document.querySelector(arguments[0]); node.value = arguments[1];"
            " node.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            value,
        )

    def submit(self, selector: str) -> None:
        self.find(selector)
        self.js("document.querySelector(arguments[0]).requestSubmit()", selector)

    def gone(self, selector: str) -> None:
        self.until("!document.querySelector(arguments[0])", selector)

    def settled(self) -> None:
        self.until("document.querySelector('main > *') && !document.querySelector('main').hasAttribute('aria-busy')")

    def there(self, script: str, *arguments: Any) -> bool:
        return bool(self.js(f"return {script}", *arguments))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages") / "home"


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[Server]:
    server = Server(home, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if programs() is None:
        pytest.skip("no chromium and chromedriver on this machine: `make browser` as root installs them")
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Reader]:
    page = Reader(driver, server.address)
    page.leave()
    yield page
    assert page.problems() == []


@pytest.fixture(scope="session")
def clew(home: Path) -> Iterator[Clew]:
    """The same store, opened by another process than the server's."""
    clew = open_clew(load_settings({"home": home, "workspace": "ws", "embedding_model": "none"}, {}, home))
    yield clew
    clew.close()


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return Caller(clew)


@pytest.fixture(scope="session")
def story(home: Path, server: Server) -> Iterator[Story]:
    """Something of everything, in the same store."""
    story = Story(home).tell()
    yield story
    story.close()
