"""`clew-hook EVENT --client NAME`: what the hooks of agents' clients start.

Reads the client's JSON from stdin, asks the resident server, and prints what the client understands. Its first duty is
to be out of the way: it ends within 300 ms whatever happens, always with 0 (except where the user has set that
unfinished work is refused), and prints nothing when nothing fits, nobody answers or anything goes wrong. So it imports
a few modules of the standard library and those beside it that do the same.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 0.24
"""Seconds for everything, from the start of the process; what ends it takes a moment more."""
LEAST = 0.1
"""Seconds that are left in any case: on a machine so busy that starting took longer, one answer is worth the wait."""
START = 0.04
"""Seconds that the interpreter takes to start, where the system does not tell."""
STDIN_LIMIT = 0.15
"""Some clients keep the pipe open: what has arrived by then is all."""
LARGEST_INPUT = 2_000_000
STARTS = frozenset({"session-start", "prompt"})
"""Events at which a server that is not there is started, for the next one."""
STARTING_SECONDS = 20.0
"""A server that somebody has just started is given so long before another is."""


def main() -> None:
    code = 0
    try:
        end = time.monotonic() + max(_limit() - age(), LEAST)
        _give_up_at(end)
        code = run(sys.argv[1:], end)
        sys.stdout.flush()
    except BaseException:  # whatever it is, the agent's work goes on
        if os.environ.get("CLEW_HOOK_DEBUG"):
            raise
    os._exit(code)  # threads that still wait for stdin are left


def _limit() -> float:
    """Who waits for a slow machine rather than for nothing says how long: CLEW_HOOK_SECONDS."""
    try:
        return float(os.environ.get("CLEW_HOOK_SECONDS") or LIMIT)
    except ValueError:
        return LIMIT


def age() -> float:
    """Seconds since this process was started; the interpreter's own start counts too."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)
    except (OSError, ValueError, IndexError, AttributeError):
        return START


def run(words: list[str], end: float) -> int:
    from clew.faces.hooks.clients import CLIENTS, EVENTS, entry_for
    from clew.faces.hooks.payload import arguments_of, client_of, directory_of

    event, client = _words(words)
    payload = read_payload(min(time.monotonic() + STDIN_LIMIT, end))
    client = client_of(client, payload)
    if event not in EVENTS or client not in CLIENTS or not payload:
        return 0
    arguments = arguments_of(client, event, payload)
    if arguments is None:
        return 0
    directory = directory_of(payload, os.environ, os.getcwd())
    entry = entry_for(client, event)
    arguments["speaks"] = entry is not None and entry.speaks
    return _asked(client, event, directory, arguments, end)


def _asked(client: str, event: str, directory: str, arguments: dict[str, Any], end: float) -> int:
    from clew.faces.hooks.reply import reply_of
    from clew.shim.address import data_directory

    home = data_directory(os.environ, None, directory)
    if not os.path.isdir(home):
        return 0
    # A client gives its last hooks hardly any time, and their answers are of no use to anybody.
    answer = None if event == "session-end" else _answer(directory, arguments, end)
    if answer is None:
        if event in STARTS:
            _start(home)
        from clew.faces.hooks import spool

        if event in spool.KEPT and not arguments.get("subagent"):
            spool.append(home, directory, arguments)
        return 0
    printed, code, error = reply_of(client, event, answer)
    _give_up_at(None)  # half of an answer would be worse than none
    if printed:
        sys.stdout.write(json.dumps(printed))
    if error:
        sys.stderr.write(error)
    return code


def _answer(directory: str, arguments: dict[str, Any], end: float) -> dict[str, Any] | None:
    from clew.shim.call import ask

    left = end - time.monotonic()
    if left <= 0:
        return None
    asked = {**arguments, "until_ms": int((time.time() + left - 0.02) * 1000)}
    found = ask("moment", asked, deadline=left, directory=directory, toolset="full", witness="hook")
    if found is None or not found.get("ok"):
        return None if found is None else {}
    result = found["envelope"].get("result")
    return result if isinstance(result, dict) else {}


def _start(home: str) -> None:
    """Start a server for the next call, unless one runs and is only slow, or was started just now."""
    from clew.faces.hooks.spool import FOLDER
    from clew.locks import is_running
    from clew.shim.address import Unreachable, read_address
    from clew.shim.start import start_behind

    try:
        if is_running(int(read_address(home)["pid"])):
            return
    except (Unreachable, KeyError, ValueError):
        pass
    os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
    mark = os.path.join(home, FOLDER, "starting")
    try:
        if time.time() - os.stat(mark).st_mtime < STARTING_SECONDS:
            return
    except OSError:
        pass
    with open(mark, "w"):
        pass
    start_behind(home)


def _words(words: list[str]) -> tuple[str, str]:
    """The event and the client, in any order."""
    client = "claude"
    left = list(words)
    if "--client" in left:
        at = left.index("--client")
        client = left[at + 1] if at + 1 < len(left) else client
        del left[at : at + 2]
    return (left[0] if left else ""), client


def read_payload(until: float) -> dict[str, Any]:
    """What the client wrote, as far as it came in time; an empty object for anything that is none."""
    try:
        found = json.loads(_read(until) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _read(until: float) -> bytes:
    """The input to its end, or what came until then. In a thread, because not every system can wait for a pipe."""
    import threading

    parts: list[bytes] = []
    ended = threading.Event()

    def read() -> None:
        size = 0
        try:
            while size < LARGEST_INPUT and (part := os.read(0, 1 << 16)):
                parts.append(part)
                size += len(part)
                if _is_whole(parts):
                    break
        except OSError:
            pass
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    ended.wait(max(0.0, until - time.monotonic()))
    return b"".join(parts)


def _is_whole(parts: list[bytes]) -> bool:
    """Whether one object has arrived: a client that keeps the pipe open need not be waited for."""
    if not parts[-1].rstrip().endswith(b"}"):
        return False
    try:
        json.loads(b"".join(parts))
    except ValueError:
        return False
    return True


def _give_up_at(end: float | None) -> None:
    """End the process when its time is over, wherever it stands. Windows has no such alarm; there limits must do."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), 0.01) + 0.02 if end is not None else 0)


if __name__ == "__main__":
    if not __package__:  # started as a file, by an interpreter that knows no packages (python -I -S)
        sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..")))
    main()
