"""One server and one browser for each module; skipped where there is no Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import stage
from tests.browser.chromium import Page
from tests.faces.web.server import Server

for_module = pytest.fixture(scope="module")
home, server, driver, clew = (for_module(part) for part in (stage.home, stage.server, stage.driver, stage.clew))
agent = pytest.fixture(stage.agent)


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Page]:
    yield from stage.visited(Page(driver, server.address))
