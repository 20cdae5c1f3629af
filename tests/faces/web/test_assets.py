"""The page's files: addresses that change with them, and nothing named that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from clew.faces.web.assets import assets, imports_of, page, preloads, tag
from tests.faces.web.server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("assets") / "home"
    server = Server(home, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


def test_a_file_is_kept_for_ever_under_the_address_that_the_page_names(server: Server) -> None:
    with urlopen(f"{server.address}/", timeout=60) as answer:
        text = answer.read().decode()
        assert answer.headers["Cache-Control"] == "no-cache", "the page itself says which files are the newest"
    assert f'src="/static/{tag()}/js/main.js"' in text
    with urlopen(f"{server.address}/static/{tag()}/js/main.js", timeout=60) as answer:
        assert "immutable" in answer.headers["Cache-Control"]
    with urlopen(f"{server.address}/static/js/main.js", timeout=60) as answer:
        assert answer.headers["Cache-Control"] == "no-cache"
    with pytest.raises(HTTPError) as gone:
        urlopen(f"{server.address}/static/0123456789abcdef/js/main.js", timeout=60)
    assert gone.value.code == 404, "files of another version are never mixed in"


def test_the_start_asks_for_all_its_modules_at_once() -> None:
    wanted = preloads()
    assert {"js/main.js", "js/navigation.js", "js/dom.js", "js/object/panel.js"} <= set(wanted)
    assert not any(name.startswith("js/pages/") for name in wanted), "pages are loaded when they are opened"
    text = page().data.decode()
    assert all(f'<link rel="modulepreload" href="/static/{tag()}/{name}">' in text for name in wanted)


def test_every_module_that_is_named_is_there() -> None:
    named = {(name, other) for name in assets() if name.endswith(".js") for other in imports_of(name)}
    assert len(named) > 100
    assert {pair for pair in named if pair[1] not in assets()} == set()
