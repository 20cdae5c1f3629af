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
        _drop_idle_options()
        _tell_of_old_store(sys.argv[2:])
        if os.environ.get("CLEW_RESIDENT", "").strip().lower() not in _OFF:
            code = _serve(sys.argv[2:])
            if code is not None:
                sys.exit(code)
    from clew.faces.cli.main import main

    main()


def _drop_idle_options() -> None:
    from clew.shim.options import without_idle

    sys.argv[2:], idle = without_idle(sys.argv[2:])
    if idle:
        # On stderr, which clients log: stdout belongs to the protocol.
        sys.stderr.write(f"clew: without effect here: {' '.join(idle)} (docs/branchmind.md)\n")


def _tell_of_old_store(words: list[str]) -> None:
    from clew.shim.old_store import remark

    told = remark(words)
    if told is not None:
        sys.stderr.write(f"clew: {told}\n")


def _serve(words: list[str]) -> int | None:
    from clew.shim.options import parse_plainly

    plain = parse_plainly(words)
    if plain is None or plain.http or plain.alone:
        return None
    from clew.shim.pipe import serve

    try:
        return serve(plain, words)
    except KeyboardInterrupt:
        return 130
