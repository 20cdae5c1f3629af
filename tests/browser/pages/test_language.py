"""The page speaks the English of the field: no text of ours has the words that the language guide retired."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clew.faces.cli.root import app
from tests.browser.pages.conftest import Reader
from tests.browser.stage import visited
from tests.conftest import ROOT
from tests.faces.web.server import Server

SCRIPTS = ROOT / "src" / "clew" / "faces" / "web" / "static" / "js"
RETIRED = re.compile(
    r"\b(nobody|somebody|whoever|tells?|told|stands?|standing|beside|mend(s|ed|ing)?|deeds?|teller|if_nobody"
    r"|taken? back|takes back|made anew|anew|as the words say|far behind|Mark “|What it would change"
    r"|Nothing waits for you|Others were written|You and this Clew|met silence|says this already)\b",
    re.IGNORECASE,
)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)* (?:[^`\\\n]|\\.)*)`')
"""A string with a space in it: a name of the program has none."""
PLACES = (
    *("home", "home?since=week", "home/agents", "home/projects", "inbox", "now", "now/board", "now/board/TASK-001"),
    *("now/session", "now/job", "know/recall/why%20jitter/all", "know/lists", "know/areas", "know/branches"),
    *("know/around/D-2", "history", "settings", "settings/health", "o/D-2", "o/TASK-001"),
)
EMPTY = ("No areas yet", "No questions yet", "could not be shown", "Nothing is remembered")


def literals(path: Path) -> Iterator[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    code = "\n".join(line for line in lines if not line.strip().startswith(("//", "*", "/*")))
    yield from (text for match in LITERAL.findall(code) for text in match if text)


def test_no_words_of_the_page_are_retired() -> None:
    found = [
        f"{path.relative_to(SCRIPTS)}: {text.strip()[:90]}"
        for path in sorted(SCRIPTS.rglob("*.js"))
        for text in literals(path)
        if RETIRED.search(text) and "=>" not in text
    ]
    assert found == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("demo") / "home"
    made = CliRunner().invoke(app, ["--home", str(home), "demo", "--json"])
    assert made.exit_code == 0, made.output
    server = Server(home, CLEW_EMBEDDING_MODEL="none", CLEW_WORKSPACE_LOCK="false")
    yield server
    server.stop()


def test_the_demo_shows_every_place_with_something_in_it_and_in_plain_words(driver: Any, demo: Server) -> None:
    page = Reader(driver, demo.address)
    page.space = "demo%2Flantern"
    for one in visited(page):
        one.open("ws/home")
        for place in PLACES:
            one.js("location.hash = arguments[0]", f"#/{one.space}/{place}")
            one.until("location.hash === arguments[0] || document.title", f"#/{one.space}/{place}")
            one.settled()
            shown = str(one.js("return document.querySelector('main').innerText"))
            assert not RETIRED.search(shown), (place, RETIRED.search(shown), shown[:2_000])
            assert not [words for words in EMPTY if words in shown], (place, shown[:600])
