"""A new Clew with a token: the page asks for it and writes only with it; its empty pages say how to fill them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.browser.pages.conftest import Reader
from tests.faces.web.server import Server

TOKEN = "marlinspike"
EMPTY = {
    "work": "No tasks yet",
    "jobs": "Nothing is queued or running",
    "memory": "Ask in your own words",
    "memory/blocks": "Nothing is remembered yet",
    "map": "No areas yet",
    "reasoning": "No session yet",
}
"""What an empty page teaches, at the addresses that places had before they moved."""
WRITE = """
const done = arguments[arguments.length - 1];
const note = { title: "Written with the token", content: "as the page writes" };
const main = document.querySelector("script[type=module]").src;
import(new URL("api.js", main)).then(({ call }) => call("notes_commit", note)).then(() => done());
"""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "home", CLEW_EMBEDDING_MODEL="none", CLEW_TOKEN=TOKEN)
    yield server
    server.stop()


def test_the_page_asks_for_the_token(driver: Any, guarded: Server) -> None:
    page = Reader(driver, guarded.address)
    driver.get(guarded.address)
    page.says("h1", "Sign in")
    assert not page.all("#tabs a"), "nothing is shown before"
    assert not page.seen("#workspace") and not page.seen("#link"), "no empty box, no word of a connection"
    with pytest.raises(HTTPError) as refused:
        guarded.call("notes_commit", content="x")
    assert refused.value.code == 401
    page.type("#token", "guess")
    page.submit("form.login")
    page.says("#token-problem", "That code is not valid")
    page.type("#token", TOKEN)
    page.submit("form.login")
    page.find("#tabs a")
    page.find("#tabs [aria-current]")
    page.reload()
    page.find("#tabs [aria-current]")
    page.settled()
    for place, words in EMPTY.items():
        page.js("location.hash = '#/' + arguments[0]", place)
        page.says(".teach, .empty", words)
    page.js("location.hash = '#/ws/know/lists'")
    page.driver.execute_async_script(WRITE)
    page.says("#records", "Written with the token")
    # The server goes away now; nobody must try to reach it, nor blame the next test for what was refused here.
    driver.get("about:blank")
    page.problems()
