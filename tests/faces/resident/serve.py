"""A resident server with the probes declared: `python -m tests.faces.resident.serve HOME`."""

from __future__ import annotations

import os
import sys

from clew.faces.resident.resident_server import Resident
from tests.faces.mcp import operations  # noqa: F401  declares the probes

if __name__ == "__main__":
    os._exit(Resident(os.path.realpath(sys.argv[1])).run())
