"""A resident server whose connections have the conformance fixtures: `python -m tests.conformance.resident HOME`."""

from __future__ import annotations

import os
import sys
from typing import Any

from clew.faces.mcp import stdio
from clew.faces.mcp.server import ClewServer, build_server
from clew.faces.resident.resident_server import Resident
from tests.conformance.fixtures import install


def build_with_fixtures(*args: Any, **more: Any) -> ClewServer:
    server = build_server(*args, **more)
    install(server)
    return server


if __name__ == "__main__":
    vars(stdio)["build_server"] = build_with_fixtures
    os._exit(Resident(os.path.realpath(sys.argv[1])).run())
