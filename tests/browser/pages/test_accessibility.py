"""axe-core finds nothing on any place, in both themes and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import stage
from tests.browser.pages.conftest import Reader
from tests.browser.screenshots import SMALL
from tests.browser.story import Story
from tests.faces.web.server import Server

ROOT = Path(__file__).parents[3]
AXE = ROOT / ".venv" / "tools" / "page" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then((found) => done(
  found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 140))}`),
));
"""
ASKED = "know/recall/why%20were%20seats%20sold%20twice/all"


def everywhere(story: Story) -> list[str]:
    """Every place and every view of it, with something in each."""
    return [
        *("inbox", "inbox/later", "now", "now/board", f"now/board/{story.task}", f"now/session/{story.session}"),
        *("now/job", f"now/job/{story.job_ids[0]}", ASKED, "know/lists?kind=decision", "know/areas"),
        *("know/areas/a%3Ainventory", "know/around/H-gap", "know/cards/main?card=D-lease", "know/cards/main?as=table"),
        *(
            "know/cards/main/diff/lease-first",
            "know/cards/main/conflicts",
            "history",
            "history/log",
            "insight",
            "settings",
        ),
        *("settings/health", "agents", f"o/{story.task}"),
    ]


ALIKE = """
const words = (node) => (node.getAttribute("aria-label") ?? node.textContent).replace(/\\s+/g, " ").trim();
const names = [...document.querySelectorAll("main button, #panel button, dialog button")]
  .filter((node) => node.checkVisibility()).map(words);
return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
"""
"""Names that two buttons share: whoever hears a name must know which one it is."""


for_module = pytest.fixture(scope="module")
# A store of its own: what other tests call alike is not the page's fault.
home, server, driver, clew = (for_module(part) for part in (stage.home, stage.server, stage.driver, stage.clew))


@pytest.fixture(scope="module")
def story(home: Path, server: Server) -> Iterator[Story]:
    story = Story(home).tell()
    yield story
    story.close()


@pytest.fixture
def axe(page: Reader) -> Iterator[Reader]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make check` installs it beside the page's other checks")
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    yield page
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def judged(page: Reader, place: str, themes: tuple[str, ...] = ("light", "dark")) -> list[str]:
    page.js("location.hash = '#/ws/' + arguments[0]", place)
    page.until("location.hash.startsWith('#/ws/' + arguments[0])", place.partition("?")[0])
    page.settled()
    page.until("!document.querySelector('main .skeleton')")
    found = [f"{place}: two buttons are called {name!r}" for name in page.js(ALIKE)]
    if page.there("document.activeElement === document.body"):
        found.append(f"{place}: the focus fell to the body")
    for theme in themes:
        page.js("document.documentElement.dataset.theme = arguments[0]", theme)
        seen: Any = page.driver.execute_async_script(RUN)
        found += [f"{place} {theme} {line}" for line in seen]
    return found


def test_axe_finds_nothing_on_any_place(axe: Reader, story: Story) -> None:
    axe.open("ws/now/board")
    axe.settled()
    axe.js(AXE.read_text(encoding="utf-8"))
    found = [line for place in everywhere(story) for line in judged(axe, place)]
    axe.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SMALL)
    found += [f"phone {line}" for place in everywhere(story) for line in judged(axe, place, ("dark",))]
    assert not found, "\n".join(found)
