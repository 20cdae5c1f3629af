from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces.resident.shims import ending


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A data directory whose resident server ends with the test."""
    with ending(tmp_path / "home"):
        yield tmp_path / "home"
