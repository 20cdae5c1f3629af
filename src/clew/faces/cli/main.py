"""The entry point of `clew`.

MCP clients start `clew serve` again and again and wait for it, so its plain form is recognised here and runs without
loading the command-line library. Everything else, unusual spellings of `serve` included, goes through Typer.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from clew.errors import ClewError
from clew.faces.cli.exits import Exit, exit_for
from clew.imports import without_collection


def main() -> NoReturn:
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    try:
        return _run(argv)
    except ClewError as error:
        from clew.faces.cli.output import show_error

        show_error(error, as_json="--json" in argv)
        # Raised before any operation ran: what is invalid here is the command line or a setting.
        return Exit.USAGE if error.code == "INVALID_INPUT" else exit_for(error.code)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`clew ops | head`): that is its right, and no error of ours.
        sys.stdout = None
        return Exit.OK


def _run(argv: list[str]) -> int:
    if argv[:1] == ["serve"]:
        with without_collection():
            from clew.faces.cli.serving import parse_plainly, serve

        plain = parse_plainly(argv[1:])
        if plain is not None:
            return serve(plain)
    from clew.faces.cli.root import run_command

    return run_command(argv)
