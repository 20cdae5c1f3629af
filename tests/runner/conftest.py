"""A fleet of runners, on each engine, with the real clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew, open_clew
from clew.settings import load_settings
from tests.conftest import Caller
from tests.runner.fleet import Fleet
from tests.runner.fleet import fleet as fleet_of


@pytest.fixture
def fleet(database_flags: dict[str, Any], tmp_path: Path) -> Iterator[Fleet]:
    yield from fleet_of(database_flags, tmp_path)


@pytest.fixture
def clew(database_flags: dict[str, Any], tmp_path: Path) -> Iterator[Clew]:
    opened = open_clew(load_settings({"workspace": "ws", **database_flags}, {}, tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def call(clew: Clew) -> Caller:
    return Caller(clew)
