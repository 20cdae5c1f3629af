"""Serves Clew with the conformance fixtures over HTTP: `python -m tests.conformance.serve`."""

from __future__ import annotations

import uvicorn

from clew.app import open_clew
from clew.faces.http import Hosts, base_address, bind
from clew.faces.mcp.endpoint import http_app
from clew.faces.mcp.server import build_server
from clew.settings import load_settings
from tests.conformance.fixtures import Events, install


def main() -> None:
    clew = open_clew(load_settings())
    server = build_server(clew)
    install(server)
    app = http_app(server, None, Hosts("127.0.0.1"), event_store=Events(), retry_interval=100)
    listener = bind("127.0.0.1", 0)
    print(base_address(listener), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
    clew.close()


if __name__ == "__main__":
    main()
