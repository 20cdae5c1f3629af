"""One call through the resident server: for hooks and other processes that have no time to import Clew.

    from clew.shim.one_call import ask
    answer = ask("recall", {"query": "retries"}, deadline=0.25)   # None: no answer in time, do it yourself
    text = answer["text"] if answer and answer["ok"] else ""      # also: answer["envelope"], the whole answer

Every operation of the registry can be called, also those that no tool list shows. The call runs in the directory and
with the environment of this process, so it means the same workspace as `clew call` here would. `ask` never raises for
what a server can do and never waits longer than its deadline; the server may still finish the work of a call that was
left. With `start=True` a server that was not there is started behind, for the next call.

On the wire: after `connect` (see `clew.shim.address`) the client sends one line, the greeting, and for a call gets one
line back and then the end.

    {"clew": 1, "kind": "call", "secret": "...", "stamp": "...", "flags": {}, "environ": {...}, "directory": "/...",
     "name": "recall", "arguments": {...}, "toolset": "agent", "client": "clew-hook", "local": false}
    {"ok": true, "text": "...", "envelope": {...}}  or  {"declined": "why"}
"""

from __future__ import annotations

import os
import select
import time

from clew.shim.address import connect, receive, send
from clew.shim.place import OUTDATED, PROTOCOL, Unreachable, data_directory, package_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from typing import Any


def ask(
    name: str,
    arguments: Mapping[str, Any],
    *,
    deadline: float = 1.0,
    start: bool = False,
    flags: Mapping[str, Any] | None = None,
    directory: str | None = None,
    client: str = "clew-hook",
    toolset: str = "agent",
    local: bool = False,
    witness: str | None = None,
) -> dict[str, Any] | None:
    """The answer of one operation, `{"ok", "text", "envelope"}`, or None when none came within `deadline` seconds.

    `directory` is where the caller works, when it is not the directory of this process. `flags` are settings, such as
    {"workspace": "acme/api"}. `local` is for a person at the shell, who may name any path.
    `witness` is for the hook of a client, which was handed the result of a tool by the client itself.
    """
    end = time.monotonic() + deadline
    here = directory or os.getcwd()
    home = data_directory(os.environ, (flags or {}).get("home"), here)
    said = {"name": name, "arguments": dict(arguments), "toolset": toolset, "client": client, "local": local}
    if witness is not None:
        said["witness"] = witness
    try:
        answer = _exchange(home, {**handshake("call", flags or {}, here), **said}, end)
        if "elsewhere" in answer:
            home = answer["elsewhere"]
            answer = _exchange(home, {**handshake("call", flags or {}, here), **said}, end)
        if "ok" in answer:
            return answer
        start = start and answer.get("declined") == OUTDATED
    except (Unreachable, OSError, ValueError):
        pass
    if start:
        from clew.shim.start import start_behind

        start_behind(home)
    return None


class Unanswered(Exception):
    """A server accepted the call and did not answer it: whether it was done is unknown."""


_TO_ANSWER, _SILENCE = 5.0, 15.0
"""Seconds that a server may take to be reached, and without an answer after which it is asked whether it works."""


def call_resident(name: str, arguments: Mapping[str, Any], flags: Mapping[str, Any], **caller: Any) -> dict[str, Any]:
    """The answer of one operation, however long it takes: `{"ok", "text", "lines", "envelope"}`.

    A server that is not there is started. Raises Unreachable where none takes the call, and Unanswered where one took
    it and does not answer. `caller` says who calls: `client`, `toolset`, `local`, `witness`.
    """
    here = os.getcwd()
    home = data_directory(os.environ, flags.get("home"), here)
    message = {**handshake("call", flags, here), "name": name, "arguments": dict(arguments), **caller}
    answer: dict[str, Any] = {}
    for _ in range(_ATTEMPTS):
        answer = _exchange_patiently(home, message)
        if "ok" in answer:
            return answer
        if "elsewhere" in answer:
            home = answer["elsewhere"]
        elif answer.get("declined") != OUTDATED:
            break
    raise Unreachable(str(answer.get("declined", "no server takes the call")))


_ATTEMPTS = 3
"""A server may say that another data directory is meant, or that it ends and the next one should be asked."""


def _exchange_patiently(home: str, message: dict[str, Any]) -> dict[str, Any]:
    try:
        channel, address = connect(home, _TO_ANSWER)
    except Unreachable:
        from clew.shim.start import start

        start(home, lambda: _is_alive(home))
        channel, address = connect(home, _TO_ANSWER)
    with channel:
        try:
            send(channel, {**message, "secret": address["secret"]})
            while not select.select([channel], [], [], _SILENCE)[0]:
                if not _is_alive(home):
                    raise Unanswered("the resident server does not answer")
            channel.settimeout(_SILENCE)
            return receive(channel)
        except (Unreachable, OSError, ValueError) as problem:
            raise Unanswered(f"the resident server ended before it answered ({problem})") from problem


def _is_alive(home: str) -> bool:
    """Whether a server answers at all. It declines a greeting that is none, without touching a store."""
    try:
        channel, _ = connect(home, _TO_ANSWER)
        with channel:
            channel.settimeout(_TO_ANSWER)
            send(channel, {})
            return bool(receive(channel))
    except (Unreachable, OSError, ValueError):
        return False


def handshake(kind: str, flags: Mapping[str, Any], directory: str) -> dict[str, Any]:
    """Who we are and where we run. Over a private channel to a process of the same user."""
    return {
        "clew": PROTOCOL,
        "kind": kind,
        "stamp": package_stamp(),
        "flags": dict(flags),
        "environ": dict(os.environ),
        "directory": directory,
    }


def _exchange(home: str, message: dict[str, Any], end: float) -> dict[str, Any]:
    channel, address = connect(home, _left(end))
    with channel:
        send(channel, {**message, "secret": address["secret"]})
        return _receive_until(channel, end)


def _receive_until(channel: socket.socket, end: float) -> dict[str, Any]:
    """`receive` under one limit for the whole line; its own limit is one for each piece."""
    channel.settimeout(_left(end))
    return receive(channel, lambda: channel.settimeout(_left(end)))


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise Unreachable("out of time")
    return left
