"""One server, one store and one browser for all pages but the graph: each test makes what it looks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.actions.action_builder import ActionBuilder

from clew.app import Clew, open_clew
from clew.clock import Clock, system_clock
from clew.settings import load_settings
from tests.browser import stage
from tests.browser.chromium import Page
from tests.browser.story import Story
from tests.conftest import Caller
from tests.faces.web.server import Server

SEEN = """(node) => {
  if (!node?.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) return false;
  const box = node.getBoundingClientRect();
  return box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
}"""
HITTABLE = """(() => {
  const node = document.querySelector(arguments[0]);
  if (!node?.checkVisibility()) return null;
  const box = node.getBoundingClientRect();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  if (hit && (node.contains(hit) || hit.closest("label")?.contains(node))) return [x, y];
  if (x >= 0 && x <= innerWidth) node.scrollIntoView({ block: "center", behavior: "instant" });
  return null;
})()"""


class Reader(Page):
    """Somebody who reads a page and types into it."""

    space = "ws"

    def type(self, selector: str, text: str) -> None:
        """Types in one go: what is drawn may be drawn anew between two keys of a driver, never within a script."""
        self.find(selector)
        self.js(
            "const node = document.querySelector(arguments[0]); node.focus(); node.value = arguments[1];"
            " node.dispatchEvent(new Event('input', {bubbles: true}))",
            selector,
            text,
        )

    def press_on(self, selector: str) -> None:
        """A press of the pointer in the middle of an element, as a hand does: it must be visible and not covered by
        anything else. A hand turns the wheel to what is below, never sideways, and waits until it stands still."""
        where = None
        while where != (where := self.until(HITTABLE, selector)):
            pass
        self.press_at(*where)

    def press_at(self, x: float, y: float) -> None:
        actions = ActionBuilder(self.driver, duration=10)
        pointer: Any = actions.pointer_action
        pointer.move_to_location(round(x), round(y)).pointer_down().pointer_up()
        actions.perform()

    def keys(self, *keys: str) -> None:
        """Keys one after the other, to whatever has the focus."""
        actions = ActionBuilder(self.driver)
        board: Any = actions.key_action
        for key in keys:
            board.key_down(key).key_up(key)
        actions.perform()

    def chord(self, held: str, key: str) -> None:
        actions = ActionBuilder(self.driver)
        board: Any = actions.key_action
        board.key_down(held).key_down(key).key_up(key).key_up(held)
        actions.perform()

    def seen(self, selector: str) -> bool:
        """Whether a person sees it: drawn, and within the window."""
        return self.there(f"({SEEN})(document.querySelector(arguments[0]))", selector)

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

    def open(self, place: str) -> None:
        """`ws` stands for the workspace that the page is of."""
        super().open(f"{self.space}{place.removeprefix('ws')}" if place.startswith("ws/") else place)


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


@dataclass
class Heap:
    """A store of its own, with several workspaces, and the server that shows it."""

    home: Path
    server: Server
    opened: list[Clew]

    def agent_of(self, workspace: str, clock: Clock = system_clock) -> Caller:
        flags = {"home": self.home, "workspace": workspace, "embedding_model": "none"}
        self.opened.append(open_clew(load_settings(flags, {}, self.home), clock))
        return Caller(self.opened[-1])


@pytest.fixture(scope="session")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Heap]:
    home = tmp_path_factory.mktemp("heap") / "home"
    server = Server(home, CLEW_EMBEDDING_MODEL="none", CLEW_WORKSPACE_LOCK="false")
    heap = Heap(home, server, [])
    yield heap
    for clew in heap.opened:
        clew.close()
    server.stop()


@pytest.fixture
def own_agent(heap: Heap) -> Caller:
    """In a workspace of its own: for what depends on everything that stands in one."""
    return heap.agent_of(f"own-{len(heap.opened)}")


@pytest.fixture
def own_page(driver: Any, heap: Heap, own_agent: Caller) -> Iterator[Reader]:
    page = Reader(driver, heap.server.address)
    page.space = str(own_agent.clew.settings.workspace)
    yield from stage.visited(page)
