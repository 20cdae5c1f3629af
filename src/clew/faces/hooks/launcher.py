"""`clew-hook EVENT --client NAME`: what the hooks of agents' clients start.

Reads the client's JSON from stdin, asks the resident server, and prints what the client understands. Its first duty is
to be out of the way: it ends within 300 ms whatever happens, always with 0 (except where the user has set that
unfinished work is refused), and prints nothing when nothing fits, nobody answers or anything goes wrong. So it imports
a few modules of the standard library and those beside it that do the same.

Two answers are waited for, as long as clients wait for a hook, while a server is started: the status of the work, in a
project that has memory, and what guards say, in a project that has some. If no answer comes then, the guarded deed is
put before the user.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = tuple[int, bytes, bytes]
    """The exit code, and what is printed to stdout and stderr."""

LIMIT = 0.24
"""Seconds for everything, from the start of the process; what ends it takes a moment more."""
PATIENCE = 4.2
"""The same for an answer that must not be missed: clients wait five seconds."""
LAST_WORD = 0.5
"""Seconds to say that no answer came."""
PAUSE = 0.03
"""Seconds between two looks for a server that starts."""
LEAST = 0.1
"""Seconds that are left in any case: on a machine so busy that starting took longer, one answer is worth the wait."""
START = 0.04
"""Seconds that the interpreter takes to start, if the system does not report it."""
STDIN_LIMIT = 0.15
"""Some clients keep the pipe open: what has arrived by then is all."""
LARGEST_INPUT = 2_000_000
SESSION_START, GUARDING = "session-start", "pre-tool"
STARTS = frozenset({SESSION_START, "prompt"})
"""Events at which a server that is not there is started, for the next one."""


def main() -> None:
    code = 0
    try:
        begun = time.monotonic() - age()
        end = max(begun + _limit(), time.monotonic() + LEAST)
        _give_up_at(end)
        # The alarm is set before anything can block: reading stdin, connecting, waiting for an answer.
        code = run(sys.argv[1:], begun, end)
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


class HookCall:
    """What a client's hook was started with."""

    __slots__ = ("client", "data", "event", "here", "home")

    def __init__(self, home: str, event: str, client: str, data: bytes, here: str) -> None:
        self.home = home
        self.event = event
        self.client = client
        self.data = data
        self.here = here


def run(words: list[str], begun: float, end: float) -> int:
    """Ask the server, and do what is left to do when it does not answer."""
    from clew.faces.hooks.quick import ServerTooLate
    from clew.shim.place import Unreachable, data_directory

    event, client = _words(words)
    here = os.getcwd()
    home = data_directory(os.environ, None, here)
    data = _read(min(time.monotonic() + STDIN_LIMIT, end))
    if not os.path.isdir(home) or not data:
        return 0
    call = HookCall(home, event, client, data, here)
    if event in (SESSION_START, GUARDING) and _is_worth_waiting(call):
        return _wait(call, max(end, begun + PATIENCE))
    is_slow = False
    try:
        # A client gives its last hooks hardly any time, and their answers are of no use to anybody.
        if event != "session-end":
            return _print(*_attempt(call, end))
    except Unreachable:
        pass
    except ServerTooLate:
        is_slow = True
    return _left(call, is_slow)


def _is_worth_waiting(call: HookCall) -> bool:
    from clew.faces.hooks.quick import decoded
    from clew.faces.hooks.where import guarded_directory
    from clew.guarded_places import read_place

    try:
        payload = decoded(call.data.decode("utf-8", "replace"))
    except ValueError:
        return False
    if not isinstance(payload, dict):
        return False
    place = read_place(call.home, guarded_directory(payload, os.environ, call.here))
    if call.event == SESSION_START:
        # What a server keeps of a project is not noted here before the first session.
        return place is not None or _has_server(call.home)
    return place is not None and place.is_strict


def _has_server(home: str) -> bool:
    """Whether the memory may be another machine's; reading the file as TOML would cost more than a wrong guess."""
    if os.environ.get("CLEW_SERVER"):
        return True
    try:
        with open(os.path.join(home, "clew.toml"), "rb") as file:
            return b"server" in file.read(LARGEST_INPUT)
    except OSError:
        return False


def _wait(call: HookCall, end: float) -> int:
    """Ask until an answer comes, from a server that is started where none runs."""
    from clew.faces.hooks.quick import ServerTooLate
    from clew.shim.place import Unreachable

    _give_up_at(end + LAST_WORD)
    while time.monotonic() < end:
        try:
            return _print(*_attempt(call, end))
        except Unreachable:
            from clew.shim.start import start_behind

            start_behind(call.home)
        except ServerTooLate:
            pass
        time.sleep(PAUSE)
    return _print(*_unchecked(call)) if call.event == GUARDING else _left(call, True)


def _attempt(call: HookCall, end: float) -> Answer:
    """One question. Raises Unreachable when no server runs, ServerTooLate when it runs and is slow."""
    from clew.faces.hooks.quick import Unable, ask

    try:
        return ask(call.event, call.client, call.data, call.here, end)
    except Unable:
        return _ask_otherwise(call, end)


def _unchecked(call: HookCall) -> Answer:
    from clew.faces.hooks.client_events import UNCHECKED, reply_of

    question = _question(call)
    return _worded(question[1], call.event, UNCHECKED, reply_of) if question is not None else (0, b"", b"")


def _worded(client: str, event: str, answer: Any, reply_of: Any) -> Answer:
    import json

    printed, code, error = reply_of(client, event, answer)
    return code, json.dumps(printed).encode() if printed else b"", error.encode()


def _print(code: int, out: bytes, error: bytes) -> int:
    _give_up_at(None)  # half of an answer would be worse than none
    if out:
        os.write(1, out)
    if error:
        os.write(2, error)
    return code


def _left(call: HookCall, is_slow: bool) -> int:
    """Nobody answered: keep what would be lost, and let a server be there for the next call."""
    from clew.faces.hooks.client_events import KEPT

    # A server that is only slow needs no second one, which would make the machine slower.
    if call.event in STARTS and not is_slow:
        from clew.shim.start import start_behind

        start_behind(call.home)
    question = _question(call) if call.event in KEPT else None
    if question is not None:
        from clew.faces.hooks import spool

        directory, _, arguments = question
        # Deeds of subagents are not kept anywhere else either: their session is not the agent's.
        if not arguments.get("subagent"):
            spool.append(call.home, directory, arguments)
    return 0


def _question(call: HookCall) -> tuple[str, str, dict[str, Any]] | None:
    """The agent's directory, the client, and the arguments of `hook_event`."""
    import json

    from clew.faces.hooks.client_events import CLIENTS, EVENTS, entry_for
    from clew.faces.hooks.payload import arguments_of, client_of
    from clew.faces.hooks.where import directory_of, guarded_directory

    try:
        payload = json.loads(call.data)
    except ValueError:
        return None
    if not isinstance(payload, dict) or call.event not in EVENTS:
        return None
    client = client_of(call.client, payload)
    arguments = arguments_of(client, call.event, payload) if client in CLIENTS else None
    if arguments is None:
        return None
    entry = entry_for(client, call.event)
    arguments["speaks"] = entry is not None and entry.speaks
    where = guarded_directory if call.event == GUARDING else directory_of
    return where(payload, os.environ, os.getcwd()), client, arguments


def _ask_otherwise(call: HookCall, end: float) -> Answer:
    """Through a port, or where the quick way is not open."""
    from clew.faces.hooks.client_events import reply_of
    from clew.shim.one_call import ask
    from clew.shim.place import Unreachable

    question, left = _question(call), end - time.monotonic()
    if question is None or left <= 0:
        return 0, b"", b""
    directory, client, arguments = question
    # 20 ms before our own end: an answer that arrives while we give up counts as shown and would never be shown again.
    asked = {**arguments, "until_ms": int((time.time() + left - 0.02) * 1000)}
    found = ask("hook_event", asked, deadline=left, directory=directory, toolset="full", witness="hook")
    # A refusal says nothing, but must not let a guarded deed pass.
    if found is None or (call.event == GUARDING and not found.get("ok")):
        raise Unreachable("no answer")
    result = found["envelope"].get("result") if found.get("ok") else None
    return _worded(client, call.event, result if isinstance(result, dict) else {}, reply_of)


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
    """Windows cannot wait for a pipe, so a thread waits instead."""
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
    """End the process when its time is over, whatever it is doing. Windows has no alarm; there the limits apply."""
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
