"""The programs whose contracts Clew keeps, and where it deliberately does something else.

The differences are data: one file `docs/contracts/<name>.toml` for each contract. `make index` writes the page of the
contract from it, and a test checks that every difference names a test that pins what Clew does.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

PLACE = Path(__file__).parents[3] / "docs" / "contracts"
"""There in a source tree only."""


@dataclass(frozen=True)
class Difference:
    what: str
    original: str
    clew: str
    why: str
    test: str
    """`tests/file.py::function` that fails when Clew does something else again."""


@dataclass(frozen=True)
class Contract:
    name: str
    """Name of the file and of the page, such as `branchmind`."""
    title: str
    about: str
    """Markdown that the page begins with: how a client or existing data move over."""
    differences: tuple[Difference, ...]


def contracts(place: Path = PLACE) -> list[Contract]:
    return [_contract(path) for path in sorted(place.glob("*.toml"))]


def _contract(path: Path) -> Contract:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    found = tuple(Difference(**row) for row in data.get("difference", ()))
    return Contract(path.stem, data["title"], data["about"].strip(), found)
