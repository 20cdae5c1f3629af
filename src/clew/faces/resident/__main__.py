"""`python -m clew.faces.resident HOME`, started by clew.shim.start and by nobody else."""

from __future__ import annotations

import os
import sys

from clew.fast_imports import without_collection


def main() -> None:
    with without_collection():
        from clew.faces.resident.resident_server import Resident

    code = Resident(os.path.realpath(sys.argv[1])).run()
    sys.stderr.flush()
    # Calls that were left by their clients may still run in threads; nobody waits for them.
    os._exit(code)


if __name__ == "__main__":
    main()
