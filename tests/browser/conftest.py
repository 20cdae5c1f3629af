"""One server and one browser for each module; skipped where there is no Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import stage
from tests.browser.chromium import Page
from tests.faces.web.server import Server

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser or a killed server on a busy machine now and then loses a click or its turn: such a test is tried once
    more. Pytest counts what it had to try again in its last line ("1 rerun"); a test that shows up there twice is to
    be fixed."""
    real_programs = {HERE, HERE.parent / "faces" / "resident", HERE.parent / "process"}
    for item in items:
        if real_programs.intersection(item.path.parents):
            item.add_marker(pytest.mark.flaky(reruns=1))


for_module = pytest.fixture(scope="module")
home, server, driver, clew = (for_module(part) for part in (stage.home, stage.server, stage.driver, stage.clew))
agent = pytest.fixture(stage.agent)


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Page]:
    yield from stage.visited(Page(driver, server.address))
