"""The page speaks the English of the field: none of its texts is in the "before" column of LANGUAGE.md."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import ROOT

STATIC = ROOT / "src/clew/faces/web/static"
STRINGS = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
COMMENTS = re.compile(r"^\s*(//|\*|/\*).*$", re.MULTILINE)
WORDS = (
    "mend|mends|mended|told|teller|deed|deeds|stands|nobody|somebody|whoever|beside|likeness|undisturbed|stirred"
    "|taken back|take back|takes back|made anew|met silence|far behind|has not|as the words say|closes nothing"
    "|says this already|more than words|waits for nobody|others were written|you and this clew|the question is after"
    "|what it would change|tells every client"
)
BEFORE = re.compile(rf"\b({WORDS})\b", re.IGNORECASE)


def texts(file: Path) -> list[str]:
    """Literals that are read: those with a space between words. Names of classes and ids have other forms."""
    source = COMMENTS.sub("", file.read_text(encoding="utf-8"))
    found = [one or other for one, other in STRINGS.findall(source)]
    return [re.sub(r"\$\{[^}]*\}", "…", text) for text in found if " " in text.strip()]


def test_no_text_of_the_page_is_in_the_dialect() -> None:
    files = [file for file in STATIC.rglob("*.js") if file.name != "facts.js"]
    assert len(files) > 50
    found = [f"{file.name}: {text}" for file in files for text in texts(file) if BEFORE.search(text)]
    html = re.sub(r"<[^>]*>", " ", (STATIC / "index.html").read_text(encoding="utf-8"))
    assert not found and not BEFORE.search(html), "\n".join(found)
