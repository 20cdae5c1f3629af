"""axe-core finds nothing on any place, in both themes and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.pages.conftest import Reader
from tests.browser.screenshots import SMALL
from tests.browser.story import Story

ROOT = Path(__file__).parents[3]
AXE = ROOT / ".venv" / "tools" / "page" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then((found) => done(
  found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 140))}`),
));
"""
OWN = ("inbox", "settings", "settings/health", "insight", "agents")
"""Places that are judged in both themes and on a phone."""


@pytest.fixture
def axe(page: Reader) -> Iterator[Reader]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make check` installs it beside the page's other checks")
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    yield page
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def judged(page: Reader, place: str) -> list[str]:
    page.js("location.hash = '#/ws/' + arguments[0]", place)
    page.until("location.hash.startsWith('#/ws/' + arguments[0])", place)
    page.settled()
    page.until("!document.querySelector('main .skeleton')")
    found: list[str] = []
    for theme in ("light", "dark"):
        page.js("document.documentElement.dataset.theme = arguments[0]", theme)
        seen: Any = page.driver.execute_async_script(RUN)
        found += [f"{place} {theme} {line}" for line in seen]
    return found


def test_axe_finds_nothing_on_any_place(axe: Reader, story: Story) -> None:
    axe.open("ws/inbox")
    axe.settled()
    axe.js(AXE.read_text(encoding="utf-8"))
    found = [line for place in (*OWN, f"o/{story.task}") for line in judged(axe, place)]
    axe.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SMALL)
    found += [f"phone {line}" for place in OWN for line in judged(axe, place)]
    assert found == []
