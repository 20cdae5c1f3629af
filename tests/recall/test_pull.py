"""A fetched model is what it is pinned to: by a digest that was given, or by what was fetched first."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clew.errors import ClewError
from clew.recall.switch import OFFERS, PINS, pull

MODEL, TOKENIZER = OFFERS["arctic-s"].onnx, "tokenizer.json"


class Hub(dict[str, bytes]):
    """Files by their path in a repository."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    files = Hub({MODEL: b"model one", TOKENIZER: b"{}"})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path.partition("/resolve/main/")[2])
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr("clew.recall.switch.HUB", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield files
    server.shutdown()
    thread.join()
    server.server_close()


def test_other_bytes_under_the_same_name_are_refused_and_the_model_stays(hub: Hub, tmp_path: Path) -> None:
    folder = Path(pull("arctic-s", tmp_path))
    assert Path(pull("arctic-s", tmp_path)) == folder, "the same bytes again"
    for path, target in ((MODEL, "model.onnx"), (TOKENIZER, "tokenizer.json")):
        before, hub[path] = hub[path], b"other"
        with pytest.raises(ClewError) as refused:
            pull("arctic-s", tmp_path)
        assert refused.value.code == "CONFLICT" and path in refused.value.message
        assert (folder / target).read_bytes() == before
        hub[path] = before
    assert not list(folder.rglob("*.part"))
    hub[MODEL] = b"model two"
    (folder / PINS).unlink()  # what the refusal says to do when it is right
    pull("arctic-s", tmp_path)
    assert (folder / "model.onnx").read_bytes() == b"model two"


def test_a_digest_that_is_given_decides(hub: Hub, tmp_path: Path) -> None:
    wanted = hashlib.sha256(b"model one").hexdigest()
    with pytest.raises(ClewError) as refused:
        pull("arctic-s", tmp_path, digest="0" * 64)
    assert refused.value.code == "CONFLICT" and wanted in refused.value.message
    assert not (tmp_path / "models" / "arctic-s" / "model.onnx").exists()
    folder = Path(pull("arctic-s", tmp_path, digest=f"sha256:{wanted.upper()}"))
    assert (folder / "model.onnx").read_bytes() == b"model one"


def test_a_model_that_is_not_there_is_unavailable(hub: Hub, tmp_path: Path) -> None:
    del hub[TOKENIZER]
    with pytest.raises(ClewError) as refused:
        pull("arctic-s", tmp_path)
    assert refused.value.code == "UNAVAILABLE"
