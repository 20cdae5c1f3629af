"""`clew-hook EVENT --client NAME`: what the hooks of agents' clients start.

Reads the client's JSON from stdin, asks the resident server, and prints what the client understands. Its first duty is
to be out of the way: it ends within 300 ms whatever happens, always with 0 (except where the user has set that
unfinished work is refused), and prints nothing when nothing fits, nobody answers or anything goes wrong. So it imports
a few modules of the standard library and those beside it that do the same.
"""

from __future__ import annotations

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
KEPT = frozenset({"post-tool", "tool-failed", "pre-compact", "session-end"})
"""Events of which something is kept; what only asks is of no use later."""
STARTING_SECONDS = 20.0
"""A server that somebody has just started is given so long before another is."""


def main() -> None:
    code = 0
    try:
        end = time.monotonic() + max(_limit() - age(), LEAST)
        _give_up_at(end)
        # The alarm is set before anything can block: reading stdin, connecting, waiting for an answer.
        code = run(sys.argv[1:], end)
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
    """Ask the server in the quick way, and do what is left to do when it does not answer."""
    from clew.faces.hooks.quick import ServerTooLate, Unable, ask
    from clew.shim.place import Unreachable, data_directory

    event, client = _words(words)
    here = os.getcwd()
    home = data_directory(os.environ, None, here)
    data = _read(min(time.monotonic() + STDIN_LIMIT, end))
    if not os.path.isdir(home) or not data:
        return 0
    is_slow = False
    try:
        # A client gives its last hooks hardly any time, and their answers are of no use to anybody.
        if event != "session-end":
            return _print(*ask(event, client, data, here, end))
    except Unable:
        return _ask_otherwise(home, event, client, data, end)
    except Unreachable:
        pass
    except ServerTooLate:
        is_slow = True
    return _left(home, event, client, data, is_slow)


def _print(code: int, out: bytes, error: bytes) -> int:
    _give_up_at(None)  # half of an answer would be worse than none
    if out:
        os.write(1, out)
    if error:
        os.write(2, error)
    return code


def _left(home: str, event: str, client: str, data: bytes, is_slow: bool) -> int:
    """Nobody answered: keep what would be lost, and let a server be there for the next call."""
    # A server that is only slow needs no second one, which would make the machine slower.
    if event in STARTS and not is_slow:
        _start(home)
    question = _question(event, client, data) if event in KEPT else None
    if question is not None:
        from clew.faces.hooks import spool

        directory, _, arguments = question
        # Deeds of subagents are not kept anywhere else either: their session is not the agent's.
        if not arguments.get("subagent"):
            spool.append(home, directory, arguments)
    return 0


def _question(event: str, client: str, data: bytes) -> tuple[str, str, dict[str, Any]] | None:
    """Where the agent stands, whose hook it is, and the arguments of `moment`."""
    import json

    from clew.faces.hooks.client_events import CLIENTS, EVENTS, entry_for
    from clew.faces.hooks.payload import arguments_of, client_of, directory_of

    try:
        payload = json.loads(data)
    except ValueError:
        return None
    if not isinstance(payload, dict) or event not in EVENTS:
        return None
    client = client_of(client, payload)
    arguments = arguments_of(client, event, payload) if client in CLIENTS else None
    if arguments is None:
        return None
    entry = entry_for(client, event)
    arguments["speaks"] = entry is not None and entry.speaks
    return directory_of(payload, os.environ, os.getcwd()), client, arguments


def _ask_otherwise(home: str, event: str, client: str, data: bytes, end: float) -> int:
    """Through a port, or where the quick way is not open."""
    import json

    from clew.faces.hooks.client_events import reply_of
    from clew.shim.one_call import ask

    question, left = _question(event, client, data), end - time.monotonic()
    if question is None or left <= 0:
        return 0
    directory, client, arguments = question
    # 20 ms before our own end: an answer that comes while we give up counts as told and would never be told again.
    asked = {**arguments, "until_ms": int((time.time() + left - 0.02) * 1000)}
    found = ask("moment", asked, deadline=left, directory=directory, toolset="full", witness="hook")
    if found is None:
        return _left(home, event, client, data, False)
    result = found["envelope"].get("result") if found.get("ok") else None
    printed, code, error = reply_of(client, event, result if isinstance(result, dict) else {})
    return _print(code, json.dumps(printed).encode() if printed else b"", error.encode())


def _start(home: str) -> None:
    """Start a server for the next call, unless one runs and is only slow, or was started just now."""
    from clew.faces.hooks.spool import FOLDER
    from clew.locks import is_running
    from clew.shim.address import read_address
    from clew.shim.place import Unreachable
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
    # Written before the start, so that a burst of hooks starts one server and not one each.
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


def _read(until: float) -> bytes:
    """The input to its end, or what came until then: a client may keep the pipe open."""
    if os.name == "nt":
        return _read_in_thread(until)
    import select

    parts = bytearray()
    while len(parts) < LARGEST_INPUT:
        ready, _, _ = select.select([0], [], [], max(until - time.monotonic(), 0))
        part = os.read(0, 1 << 16) if ready else b""
        if not part:
            break
        parts += part
        if _is_whole(parts):
            break
    return bytes(parts)


def _read_in_thread(until: float) -> bytes:
    """Windows cannot wait for a pipe, so somebody else waits."""
    import threading

    parts = bytearray()
    ended = threading.Event()

    def read() -> None:
        while len(parts) < LARGEST_INPUT and (part := os.read(0, 1 << 16)):
            parts.extend(part)
            if _is_whole(parts):
                break
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    ended.wait(max(0.0, until - time.monotonic()))
    return bytes(parts)


def _is_whole(data: bytearray) -> bool:
    """Whether one object has arrived: a client that keeps the pipe open need not be waited for."""
    from clew.faces.hooks.quick import decoded

    if not data.rstrip().endswith(b"}"):
        return False
    try:
        decoded(data.decode("utf-8", "replace"))
    except ValueError:
        return False
    return True


def _give_up_at(end: float | None) -> None:
    """End the process when its time is over, wherever it stands. Windows has no such alarm; there limits must do."""
    try:
        import _signal as signal  # type: ignore[import-not-found]  # without the enumerations of the public half
    except ImportError:
        import signal
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), 0.01) + 0.02 if end is not None else 0)


if __name__ == "__main__":
    if not __package__:  # started as a file, by an interpreter that knows no packages (python -I -S)
        sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..")))
    main()
