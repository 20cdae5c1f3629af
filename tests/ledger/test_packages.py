"""Packages of a notebook: fetched from a registry once, used without one afterwards. The registry is our own."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import Caller
from tests.ledger.cells import made

pytest.importorskip("deno")

FILES = {
    "package.json": '{"name": "@clew/knots", "version": "1.2.0", "type": "module", "exports": "./knots.js",'
    ' "scripts": {"postinstall": "touch /tmp/clew-was-here"}}',
    "knots.js": "export const knots = (n) => 'o'.repeat(n);",
}
USES = "import { knots } from '@clew/knots'; console.log(knots(3))"


def tarball() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in FILES.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


class Registry(ThreadingHTTPServer):
    """One package, as registries serve them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Shelf)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.packed = tarball()
        self.closed = False

    def described(self) -> bytes:
        digest = base64.b64encode(hashlib.sha512(self.packed).digest()).decode()
        dist = {"tarball": f"{self.url}knots.tgz", "integrity": f"sha512-{digest}"}
        version = {"name": "@clew/knots", "version": "1.2.0", "dist": dist, "hasInstallScript": True}
        return json.dumps(
            {"name": "@clew/knots", "dist-tags": {"latest": "1.2.0"}, "versions": {"1.2.0": version}}
        ).encode()


class Shelf(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        name = self.path.lower().replace("%2f", "/")
        known: dict[str, Callable[[], bytes]] = {
            "/@clew/knots": self.server.described,
            "/knots.tgz": lambda: self.server.packed,
        }
        found = None if self.server.closed else known.get(name)
        body = found() if found else b"{}"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def engine() -> str:
    """Nothing here depends on the engine."""
    return "sqlite"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    with Registry() as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", served.url)
        for name in ("NO_PROXY", "no_proxy"):  # whatever proxy the machine has
            monkeypatch.setenv(name, "127.0.0.1")
        yield served
        served.shutdown()
        thread.join()


def test_a_package_is_fetched_once_and_then_used_without_the_registry(
    call: Caller, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook, cells = made(call, USES)
    before = call("notebook_run_cell", notebookId=notebook, cellId=cells[0])
    assert not before["success"]
    done = call("notebook_install_deps", notebookId=notebook, packages=["@clew/knots@^1.0.0"])
    assert (done["success"], done["output"], done["error"]) == (True, "Ready: npm:@clew/knots@^1.0.0", None)
    registry.closed = True
    monkeypatch.delenv("NPM_CONFIG_REGISTRY")
    after = call("notebook_run_cell", notebookId=notebook, cellId=cells[0])
    assert (after["success"], after["output"]) == (True, "ooo\n"), after["error"]
    assert '"@clew/knots": "^1.0.0"' in call("notebook_export", notebookId=notebook)["content"]


def test_a_package_that_cannot_be_had_is_named_and_changes_nothing_for_others(call: Caller, registry: Registry) -> None:
    notebook, cells = made(call, USES)
    call("notebook_install_deps", notebookId=notebook, packages=["@clew/knots"])
    failed = call("notebook_install_deps", notebookId=notebook, packages=["no-such-knots@9"])
    assert (failed["success"], failed["execution"]["status"]) == (False, "failed")
    assert "no-such-knots" in failed["error"]
    assert call("notebook_run_cell", notebookId=notebook, cellId=cells[0])["output"] == "ooo\n"


@pytest.mark.parametrize("package", ["../evil", "a b", "file:../x", "x@$(id)", ""])
def test_what_is_no_package_is_refused_before_anything_is_fetched(call: Caller, package: str) -> None:
    notebook, _ = made(call, USES)
    before = call("notebook_export", notebookId=notebook)["content"]
    assert call.error("notebook_install_deps", notebookId=notebook, packages=[package])["code"] == "INVALID_INPUT"
    assert call("notebook_export", notebookId=notebook)["content"] == before


def test_running_the_package_cell_installs_and_other_notebooks_do_not_see_it(call: Caller, registry: Registry) -> None:
    notebook, cells = made(call, USES)
    listed = call("notebook_list_cells", notebookId=notebook)["cells"]
    package = next(cell["id"] for cell in listed if cell["type"] == "package.json")
    wanted = json.dumps({"dependencies": {"@clew/knots": "1.2.0"}})
    call("notebook_update_cell", notebookId=notebook, cellId=package, content=wanted)
    assert call("notebook_run_cell", notebookId=notebook, cellId=package)["success"]
    assert call("notebook_run_cell", notebookId=notebook, cellId=cells[0])["output"] == "ooo\n"
    _, others = made(call, USES.replace("@clew", "npm:@clew"))
    assert not call("notebook_run_cell", notebookId="NB-002", cellId=others[0])["success"]


def test_a_registry_named_in_a_settings_file_serves_too_and_cells_learn_no_password(
    call: Caller, registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NPM_CONFIG_REGISTRY")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLACE", registry.url.replace("//", "//me:hunter2@"))
    token = f"//127.0.0.1:{registry.server_port}/:_authToken=hunter3"
    (tmp_path / ".npmrc").write_text(f"@clew:registry=${{PLACE}}\n{token}\n")
    notebook, cells = made(call, USES)
    call("notebook_install_deps", notebookId=notebook, packages=["@clew/knots"])
    (tmp_path / ".npmrc").unlink()
    after = call("notebook_run_cell", notebookId=notebook, cellId=cells[0])
    assert (after["success"], after["output"]) == (True, "ooo\n"), after["error"]
    kept = [path for path in (tmp_path / "home" / "notebooks").rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if b"hunter" in path.read_bytes()]
