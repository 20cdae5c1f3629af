"""A page of another origin, in the same browser, that tries to write: refused on every way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from selenium import webdriver

from tests.browser.chromium import Page
from tests.conftest import Caller
from tests.faces.web.server import Server

# What a visitor's browser would do for a hostile site. Each attempt reports how it ended.
HOSTILE = """<!doctype html><title>elsewhere</title><body><script>
const target = "TARGET";
const call = JSON.stringify({ name: "notes_commit", arguments: { content: "from elsewhere" } });
const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call",
  params: { name: "notes_commit", arguments: { content: "from elsewhere" } } });
const json = { "content-type": "application/json" };
async function attempt(work) { try { return await work(); } catch (problem) { return problem.name; } }
const post = (path, body, headers, mode) => attempt(async () => {
  const answer = await fetch(target + path, { method: "POST", body, headers, mode, credentials: "include" });
  return `${answer.type} ${answer.status}`;
});
const form = (path) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.name = path;
  const made = document.createElement("form");
  Object.assign(made, { method: "POST", action: target + path, target: path, enctype: "text/plain" });
  const field = document.createElement("input");
  [field.name, field.value] = [call.slice(0, -1) + ', "x": "', '"}'];
  made.append(field);
  document.body.append(frame, made);
  frame.onload = () => resolve("sent");
  made.submit();
});
const socket = (path) => new Promise((resolve) => {
  const made = new WebSocket(target.replace("http", "ws") + path);
  made.onopen = () => resolve("open");
  made.onclose = () => resolve("closed");
});
(async () => {
  window.results = {
    plain: await post("/page/call", call, {}, "no-cors"),
    marked: await post("/page/call", call, { ...json, "x-clew-page": "1" }, "cors"),
    mcp: await post("/mcp", rpc, { ...json, accept: "application/json, text/event-stream" }, "cors"),
    blind: await post("/mcp", rpc, {}, "no-cors"),
    read: await attempt(async () => (await fetch(target + "/page/state")).type),
    socket: await socket("/ws"),
    root: await socket("/"),
    form: await form("/page/call"),
    rpcForm: await form("/mcp"),
    done: true,
  };
})();
</script></body>"""


@pytest.fixture
def elsewhere(server: Server) -> Iterator[str]:
    """Another origin: the same machine, another port."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(HOSTILE.replace("TARGET", server.address).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    # A thread for each connection: a browser opens some ahead and says nothing on them for minutes.
    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{site.server_port}/"
    site.shutdown()
    thread.join()
    site.server_close()


def test_a_foreign_page_writes_nothing(driver: webdriver.Chrome, server: Server, elsewhere: str, agent: Caller) -> None:
    page = Page(driver, server.address)
    # The visitor uses the real page in the same browser, so whatever the browser would send along is there.
    page.open("home")
    agent("notes_commit", content="ours")
    before = agent("show", doc_kind="notes")["entries"]
    driver.get(elsewhere)
    results = page.until("window.results?.done && window.results")
    assert results["plain"] == "opaque 0", "sent, but the answer stays closed to it"
    assert {results[name] for name in ("marked", "mcp", "read")} == {"TypeError"}, "not even sent, or not readable"
    assert {results[name] for name in ("socket", "root")} == {"closed"}
    assert (results["form"], results["rpcForm"]) == ("sent", "sent")
    assert agent("show", doc_kind="notes")["entries"] == before
    page.problems()
