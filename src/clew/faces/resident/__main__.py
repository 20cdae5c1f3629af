"""`python -m clew.faces.resident HOME`, started only by clew.shim.start."""

from __future__ import annotations

import os
import sys

from clew.fast_imports import without_collection
from clew.shim.start import resident_lock

_TO_TAKE_OVER = 20.0
"""Seconds to wait for a server that is about to end."""


def main() -> None:
    home = os.path.realpath(sys.argv[1])
    os.environ["CLEW_HOME"] = home  # whose kinds of records are known (`kinds/catalogue`)
    _leave_family()
    # The one before us may still be writing its last answers. Before the imports: whoever looks at the lock sees that a
    # server is on its way, and one too many ends before it has cost anything.
    lock = resident_lock(home)
    if not lock.take(_TO_TAKE_OVER):
        sys.stderr.write(f"another resident server runs for {home}\n")
        sys.exit(1)
    with without_collection():
        from clew.faces.resident.resident_server import Resident

    code = Resident(home).run()
    lock.release()
    sys.stderr.flush()
    # Calls that were abandoned by their clients may still run in threads; they are not waited for.
    os._exit(code)


def _leave_family() -> None:
    """Detach from the parent: some clients kill their process tree on exit, and the server is shared."""
    if not hasattr(os, "fork"):
        return
    try:
        child = os.fork()
    except OSError:  # no room for another process: then as a child
        return
    if child:
        os._exit(0)


if __name__ == "__main__":
    main()
