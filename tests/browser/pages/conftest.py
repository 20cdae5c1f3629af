"""One server, one store and one browser for all pages but the graph: each test makes what it looks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import stage
from tests.browser.chromium import Page
from tests.browser.story import Story
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


for_all = pytest.fixture(scope="session")
home, server, driver, clew = (for_all(part) for part in (stage.home, stage.server, stage.driver, stage.clew))
agent = pytest.fixture(stage.agent)


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Reader]:
    yield from stage.visited(Reader(driver, server.address))


@pytest.fixture(scope="session")
def story(home: Path, server: Server) -> Iterator[Story]:
    """Something of everything, in the same store."""
    story = Story(home).tell()
    yield story
    story.close()
