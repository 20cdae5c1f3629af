"""Chromium without a window, and the few things that the tests do with a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.faces.web.server import sign_in_link

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Containers have little shared memory, and tabs that nobody sees must go on drawing.
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # One process draws all tabs: each page is loaded anew, and a process for each costs more than the page.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--disable-features=SitePerProcess,IsolateOrigins,SpareRendererForSitePerProcess,ProactivelySwapBrowsingInstance,"
    "BackForwardCache",
    "--window-size=1280,800",
    "--force-device-scale-factor=1",
)
PATIENCE = 60
WHO = "@tess-tester"
"""Who sits at the browser, and signed in before anything else."""


def programs() -> tuple[str, str] | None:
    """Chromium and its driver; None where they are not installed."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    found = programs()
    assert found is not None
    options = Options()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = found[0]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(found[1])
    try:
        driver = webdriver.Chrome(options=options, service=service)
        yield driver
    finally:
        end(service)


def end(service: Service) -> None:
    """Nothing of this browser is needed any more: asked politely it may take a minute and a half to go."""
    process = service.process
    if process is None:
        return
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    for member in (process, *family):
        with suppress(psutil.NoSuchProcess):
            member.kill()
    psutil.wait_procs(family, PATIENCE)
    process.wait(PATIENCE)
    service.stop()


SIGNED_IN: set[tuple[str | None, str]] = set()
"""In which browser somebody has signed in at which server."""


class Page:
    """The Observatory in one tab."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver = driver
        self.address = address

    def sign_in(self, name: str = WHO) -> None:
        self._go(sign_in_link(self.address, name))
        self.until_live()
        SIGNED_IN.add((self.driver.session_id, self.address))

    def open(self, place: str) -> None:
        """Loads the page anew, whatever was shown before; from then on it hears of every event."""
        if (self.driver.session_id, self.address) not in SIGNED_IN:
            self.sign_in()
        self._go(f"{self.address}/#/{place}")
        self.until_live()

    def _go(self, address: str) -> None:
        """From another page of the same server this would be no load, only a change behind the `#`."""
        if self.driver.current_url != "about:blank":
            self.driver.get("about:blank")
        self.driver.get(address)

    def leave(self) -> None:
        """Closes what an earlier test left open: a page of a server that is gone keeps looking for it."""
        self.driver.get("about:blank")
        self.problems()

    def reload(self) -> None:
        self.driver.refresh()
        self.until_live()

    def until_live(self) -> None:
        self.until("document.getElementById('link')?.textContent === 'live'")

    def open_session(self, session: str, count: int) -> None:
        self.open(f"reasoning/{session}")
        self.until_drawn(count)

    def open_thought(self, thought: str) -> None:
        """Clicks its node and waits for the whole text."""
        self.click(self.node(thought))
        self.until("document.getElementById('detail').dataset.whole === arguments[0]", thought)

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, *arguments: Any) -> Any:
        """Waits until the expression is true in the page; returns its value."""
        waiting = WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05)
        return waiting.until(lambda _: self.js(f"return {script}", *arguments), f"{script} {arguments}")

    def until_drawn(self, count: int) -> None:
        """Waits until so many thoughts are placed, and those in view are there with their words."""
        self.until("document.querySelector('#graph')?.dataset.drawn === arguments[0]", str(count))

    def find(self, selector: str) -> WebElement:
        found: WebElement = self.until("document.querySelector(arguments[0])", selector)
        return found

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def each(self, selector: str, expression: str) -> list[Any]:
        """The value of an expression over `e` for all elements of one moment."""
        script = f"return [...document.querySelectorAll(arguments[0])].map((e) => {expression})"
        found: list[Any] = self.js(script, selector)
        return found

    def click(self, selector: str) -> None:
        """Finds and clicks in one breath: a live page may replace an element between two calls."""
        click = "dispatchEvent(new MouseEvent('click', {bubbles: true})) !== undefined"
        self.until(f"document.querySelector(arguments[0])?.{click}", selector)

    def press(self, *keys: str) -> None:
        """Keys for the page itself: a field that takes the focus while the page loads must not swallow them."""
        press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
        self.js(f"for (const key of arguments[0]) {press}", keys)

    def drag(self, start: list[float], dx: float, dy: float) -> None:
        """Presses at a point of the window, moves and lets go, as a hand does."""
        x, y = start
        actions = ActionBuilder(self.driver, duration=20)
        pointer: Any = actions.pointer_action
        pointer.move_to_location(round(x), round(y)).pointer_down()
        pointer.move_to_location(round(x + dx / 2), round(y + dy / 2)).move_to_location(round(x + dx), round(y + dy))
        pointer.pointer_up()
        actions.perform()

    def text(self, selector: str) -> str:
        """The text of an element, once it is there."""
        self.find(selector)
        return str(self.js("return document.querySelector(arguments[0])?.textContent", selector))

    def says(self, selector: str, words: str) -> None:
        """Waits until the words are there."""
        self.until("document.querySelector(arguments[0])?.textContent.includes(arguments[1])", selector, words)

    def node(self, thought: str) -> str:
        """The selector of a thought's node."""
        return f'.node[data-id="{thought}"]'

    @property
    def digest(self) -> str:
        return str(self.js("return document.querySelector('#graph').dataset.digest"))

    @property
    def picture(self) -> list[Any]:
        """What is to be read on the screen and where it stands, straight from the document."""
        shown = "[e.dataset.id ?? e.dataset.branch, e.className, e.style.transform, e.textContent]"
        return sorted(self.each(".world > *", shown.replace("e.className", "e.className.replace(' fresh', '')")))

    def scrub(self, count: int) -> None:
        self.js(
            "const s = document.getElementById('time'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
            count,
        )
        self.until_drawn(count)

    def problems(self) -> list[str]:
        """What the browser complained about since the last look."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
