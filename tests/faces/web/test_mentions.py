"""What the page's own files say about the tests is true."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "src" / "clew" / "faces" / "web" / "static"


def test_every_test_that_a_file_of_the_page_names_exists() -> None:
    files = [path for ending in ("css", "js") for path in STATIC.rglob(f"*.{ending}")]
    named = [(path.name, test) for path in files for test in re.findall(r"tests/[\w/]+\.py", path.read_text("utf-8"))]
    assert named, "tokens.css says where its contrast is measured"
    assert [pair for pair in named if not (ROOT / pair[1]).exists()] == []
