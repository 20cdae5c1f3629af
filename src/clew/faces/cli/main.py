"""The entry point of `clew`, and what its exit codes mean.

MCP clients start `clew serve` again and again and wait for it, so its plain form is recognised here and runs without
loading the command-line library. Everything else, unusual spellings of `serve` included, goes through Typer.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from enum import IntEnum
from typing import NoReturn

from clew.errors import ClewError
from clew.fast_imports import without_collection


class Exit(IntEnum):
    """The exit codes that docs/cli.md promises to scripts."""

    OK = 0
    REFUSED = 1
    """The operation answered with an error, or doctor found a problem."""
    USAGE = 2
    """The command line or a setting could not be understood; nothing was called."""
    STORE = 3
    """The store cannot be used: missing, locked, full, read-only, damaged, too new or out of reach."""
    ADDRESS = 4
    """The server cannot listen: the address is taken, not ours, or needs a token."""
    INTERRUPTED = 130
    """Ended by SIGINT (Ctrl-C)."""
    TERMINATED = 143
    """Ended by SIGTERM."""


def exit_for(code: str | None) -> Exit:
    """The exit code for an error code, or for none."""
    if code is None:
        return Exit.OK
    if code.startswith("STORE_"):
        return Exit.STORE
    return Exit.USAGE if code == "UNKNOWN_TOOL" else Exit.REFUSED


_SERVERS = frozenset({"serve", "observatory", "runner", "bench", "prove"})
"""Commands with their own shutdown sequence, which may take longer than a second."""
# With the time a signal needs to arrive, this ends every ordinary command within a second.
_LAST_CALL = 0.8


def main() -> NoReturn:
    heed_signals(hurried=not _SERVERS & set(sys.argv[1:]))
    sys.exit(run(sys.argv[1:]))


def heed_signals(hurried: bool) -> None:
    """End on SIGINT and SIGTERM, however the process was started. `hurried`: end within a second.

    A background job of a script inherits SIGINT as ignored, and Python then installs no handler. Python's handlers also
    run only after the current call into C returns, such as SQLite's wait for a lock, so a thread watches as well.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminated if hurried else signal.SIG_DFL)
    if hurried and os.name == "posix":
        arrived, arrives = os.pipe()
        # Python refuses a blocking descriptor here: its signal handler must never wait.
        os.set_blocking(arrives, False)
        signal.set_wakeup_fd(arrives, warn_on_full_buffer=False)
        threading.Thread(target=_make_sure, args=(arrived,), name="clew-signals", daemon=True).start()


def _terminated(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _make_sure(arrived: int) -> None:
    """End the process if the main thread has not ended soon after a signal. Acknowledged writes are already stored."""
    # The pipe holds the number of each signal as one byte; only SIGINT (2) and SIGTERM (15) end the process.
    while (number := os.read(arrived, 1)) not in (b"\x02", b"\x0f"):
        pass
    time.sleep(_LAST_CALL)
    os._exit(128 + number[0])


def run(argv: list[str]) -> int:
    _stand_in()
    try:
        code = _run(argv)
        if not sys.stdout.closed:
            sys.stdout.flush()  # here, where a full disk can still be reported
        return code
    except ClewError as error:
        from clew.faces.cli.output import show_error

        show_error(error, as_json="--json" in argv)
        # Operations return errors and do not raise them to this point, so the command line or a setting is invalid.
        return Exit.USAGE if error.code == "INVALID_INPUT" else exit_for(error.code)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`clew ops | head`), which is not an error.
        _forget_output()
        return Exit.OK
    except OSError as problem:
        from clew.faces.cli.output import complain

        _forget_output()
        complain(f"error IO_ERROR: {problem}\n  Make room, or send the output elsewhere.", "bold red")
        return Exit.REFUSED


def _stand_in() -> None:
    """Open /dev/null as a replacement for a standard stream that was closed before the start (`clew status >&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def _forget_output() -> None:
    """Send buffered output to /dev/null; otherwise Python would try to write it again at exit, and fail again."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: list[str]) -> int:
    if argv[:1] == ["serve"]:
        with without_collection():
            from clew.faces.cli.launch import serve
            from clew.shim.options import parse_plainly

        plain = parse_plainly(argv[1:])
        if plain is not None:
            return serve(plain)
    from clew.faces.cli.plain import run_plainly

    code = run_plainly(argv)
    if code is not None:
        return code
    from clew.faces.cli.root import run_command

    return run_command(argv)
