"""Where the commands `clew` and `clew-memory` begin.

MCP clients start `clew serve` again and again and wait for it. Its plain form becomes a pipe to the resident server
here, before anything else of Clew is imported. Everything else is for the command line.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_OFF = frozenset({"0", "false", "no", "off"})


def main() -> NoReturn:
    if sys.argv[1:2] == ["serve"]:
        _read_branchminds_options()
        is_guess = _find_project()
        _tell_of_old_store(sys.argv[2:])
        if os.environ.get("CLEW_RESIDENT", "").strip().lower() not in _OFF:
            code = _serve(sys.argv[2:], is_guess)
            if code is not None:
                sys.exit(code)
    from clew.faces.cli.main import main

    main()


def _read_branchminds_options() -> None:
    from clew.shim.options import with_values, without_idle

    words, idle = without_idle(sys.argv[2:])
    sys.argv[2:] = with_values(words)
    if idle:
        # On stderr, which clients log: stdout belongs to the protocol.
        sys.stderr.write(f"clew: without effect here: {' '.join(idle)} (docs/branchmind.md)\n")


def _find_project() -> bool:
    """Go where the client works, also when it starts plugins in their own folder; whether that is a guess."""
    from clew.shim.project import leave_plugin

    try:
        return leave_plugin(os.environ)
    except OSError:  # the directory is gone; the start of the server reports that
        return False


def _tell_of_old_store(words: list[str]) -> None:
    from clew.shim.old_store import remark

    told = remark(words)
    if told is not None:
        sys.stderr.write(f"clew: {told}\n")


def _serve(words: list[str], is_guess: bool) -> int | None:
    from clew.shim.options import parse_plainly

    plain = parse_plainly(words)
    if plain is None or plain.http or plain.alone:
        return None
    from clew.shim.pipe import serve

    try:
        return serve(plain, words, is_guess)
    except KeyboardInterrupt:
        return 130
