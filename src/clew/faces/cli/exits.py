"""What the exit code of every command means; docs/cli.md promises it to scripts."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    REFUSED = 1
    """The operation answered with an error, or doctor found something to mend."""
    USAGE = 2
    """The command line or a setting could not be understood; nothing was called."""
    STORE = 3
    """The store cannot be used: missing, locked, full, read-only, damaged, too new or out of reach."""
    ADDRESS = 4
    """The server cannot listen: the address is taken, not ours, or needs a token."""
    INTERRUPTED = 130


def exit_for(code: str | None) -> Exit:
    """The exit code for an error code, or for none."""
    if code is None:
        return Exit.OK
    if code.startswith("STORE_"):
        return Exit.STORE
    return Exit.USAGE if code == "UNKNOWN_TOOL" else Exit.REFUSED
