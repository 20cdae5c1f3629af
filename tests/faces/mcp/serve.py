"""The real process under test, probes declared: `python -m tests.faces.mcp.serve stdio|http [host]`."""

from __future__ import annotations

import sys

from clew.app import open_clew
from clew.errors import ClewError
from clew.settings import load_settings
from tests.faces.mcp import operations  # noqa: F401  declares the probes


def main() -> None:
    clew = open_clew(load_settings())
    try:
        if sys.argv[1] == "stdio":
            from clew.faces.mcp.stdio import run_stdio

            run_stdio(clew)
        else:
            from clew.faces.mcp.endpoint import run_http

            host = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
            run_http(clew, host, 0, on_ready=lambda address: print(address, flush=True))
    except ClewError as problem:
        sys.exit(f"{problem.code}: {problem.message}")
    finally:
        clew.close()


if __name__ == "__main__":
    main()
