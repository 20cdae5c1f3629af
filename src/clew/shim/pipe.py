"""`clew serve` on stdio as a pipe to the resident server.

What the client says goes to the server and back, line by line. The pipe remembers just enough to go on with another
server should this one be killed: the handshake, the subscriptions, and the requests that wait for an answer. Reads are
then asked again. Whether a write was done is unknown then, and the client is told so.
"""

from __future__ import annotations

import json
import os
import threading
import time
from itertools import chain

from clew.shim.channel import Alone, ChildChannel, open_channel
from clew.shim.framing import Framing, messages, split_lines
from clew.shim.place import Unreachable
from clew.shim.project import is_inside, root_in, told_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clew.shim.channel import Channel
    from clew.shim.options import Plain

_ATTEMPTS = 3
"""How often a request is sent; one that a server dies of each time is given up."""
_READS = frozenset(
    {
        "initialize", "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list",
        "resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
        "completion/complete", "logging/setLevel", "subscriptions/listen",
    }
)  # fmt: skip
"""Methods that may be asked twice; `tools/call` depends on the tool."""
_ENDLESS = frozenset({"subscriptions/listen"})
"""Answered when the listener leaves, not before."""
_SILENCE = 10.0
_TO_ANSWER = 5.0
"""Seconds without a word from the server after which it is asked whether it still works, and that it has to say so."""
_ROOTS = "clew-roots"
"""The id of our own question to the client where its project is."""
_TO_MOVE = 10.0
"""Seconds that a server has to answer what it was asked before the conversation moves to another project."""
UNKNOWN = (
    "ERROR: UNAVAILABLE the server ended while it worked on this call: outcome unknown"
    " | fix: look whether it was done (open, recall or resume) before you repeat it"
)


class PendingRequest:
    """A request of the client that waits for its answer."""

    def __init__(self, line: bytes, message: dict[str, Any], place: int) -> None:
        self.line = line
        self.message = message
        self.place = place
        """Which message on the channel it was."""
        self.attempts = 1


class ServerBriefing:
    """What a new server must be given before the conversation can go on."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.kept = kept
        self.initialize: bytes | None = None
        self.initialized: bytes | None = None
        self.level: bytes | None = None
        self.watched: dict[str, bytes] = {}
        self.has_roots = False

    def note(self, line: bytes, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params")
        uri = params.get("uri") if isinstance(params, dict) else None
        if method == "initialize":
            self.initialize = line
            capabilities = params.get("capabilities") if isinstance(params, dict) else None
            self.has_roots = isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)
        elif method == "notifications/initialized":
            self.initialized = line
        elif method == "logging/setLevel":
            self.level = line
        elif method == "resources/subscribe" and isinstance(uri, str):
            self.watched[uri] = line
        elif method == "resources/unsubscribe" and isinstance(uri, str):
            self.watched.pop(uri, None)

    def requests(self) -> Iterator[bytes]:
        """Those that are sent again, each under the id that the client gave it."""
        yield from (line for line in (self.level, *self.watched.values()) if line is not None)


class Pipe:
    def __init__(
        self, channel: Channel, flags: dict[str, Any], words: list[str], kept: dict[str, Any], is_guess: bool = False
    ) -> None:
        """`is_guess`: the directory may not be the client's project; what the client says of it counts more."""
        self._is_guess = is_guess
        self._channel: Channel | None = channel
        self._reads = channel.reads
        self._flags = flags
        self._words = words
        self._framing = Framing()
        # Two threads: one reads the client, one the server. Both change what a new server must be given.
        self._changed = threading.Condition(threading.RLock())  # guards everything below
        self._server_state = ServerBriefing(kept)
        self._sent = 0
        self._seen: int | None = None
        self._waiting: dict[Any, PendingRequest] = {}
        self._unwanted: dict[Any, bytes] = {}
        self._asked_of_client: set[Any] = set()
        self._finished = False
        self._held = b""
        self._heard = time.monotonic()

    def run(self) -> int:
        receiver = threading.Thread(target=self._receive, name="clew-answers", daemon=True)
        receiver.start()
        threading.Thread(target=self._watch, name="clew-watch", daemon=True).start()
        for line in messages(0, self._framing):
            self._forward(line)
        with self._changed:
            self._finished = True
            if self._channel is not None:
                self._channel.finish()
            self._changed.notify_all()
        receiver.join()
        return 0

    def _forward(self, line: bytes) -> None:
        message = _object(line)
        if self._is_guess:
            place = root_in(message) if message.get("id") == _ROOTS else told_by(message)
            if place is not None:
                self._move(place)
        if message.get("id") == _ROOTS and "method" not in message:
            return
        with self._changed:
            # Before anything is noted: the reply belongs to a server that is gone, and the next must not see it.
            if self._is_stale_reply(message):
                return
            if self._channel is None:
                self._reopen()
            self._server_state.note(line, message)
            if "method" in message and _is_id(message.get("id")):
                self._waiting[message["id"]] = PendingRequest(line, message, self._sent + 1)
                self._changed.notify_all()
            elif message.get("method") == "notifications/cancelled" and isinstance(message.get("params"), dict):
                self._forget(message["params"].get("requestId"))
            self._sent += 1
            channel = self._channel
        # Not under the lock: a server that cannot write to us would not read from us either.
        _put(channel, line)
        if self._is_guess and self._server_state.has_roots and message.get("method") == "notifications/initialized":
            self._say(_dumped({"id": _ROOTS, "method": "roots/list"}))

    def _move(self, place: str) -> None:
        """Go on in another directory, with a channel whose server reads the settings there."""
        if is_inside(os.getcwd(), place):
            return
        os.chdir(place)
        with self._changed:
            channel = self._channel
            if channel is not None:
                channel.finish()
                # The receiver ends the channel when everything that was asked before has been answered.
                self._changed.wait_for(lambda: self._channel is not channel, _TO_MOVE)

    def _is_stale_reply(self, message: dict[str, Any]) -> bool:
        """A reply to a question of a server that is gone; the next one may use its number for another question."""
        if "method" in message or not _is_id(message.get("id")) or not ("result" in message or "error" in message):
            return False
        known = message["id"] in self._asked_of_client
        self._asked_of_client.discard(message["id"])
        return not known

    def _forget(self, id: Any) -> None:
        if _is_id(id):
            self._waiting.pop(id, None)

    def _send(self, line: bytes) -> None:
        self._sent += 1
        _put(self._channel, line)

    def _receive(self) -> None:
        while True:
            with self._changed:
                while self._channel is None and not self._finished:
                    self._changed.wait()
                channel = self._channel
            if channel is None:
                return
            # What came behind the handshake of a new server, in the same piece, belongs to the conversation.
            held, self._held = self._held, b""
            for line in split_lines(chain([held], self._chunks(channel))):
                self._deliver(line)
            with self._changed:
                channel.close()
                self._channel = None
                self._changed.notify_all()
                # Under the lock, so that nothing the client sends meanwhile falls between the old server and the new
                # one.
                if not self._recover() and self._finished:
                    return

    def _chunks(self, channel: Channel) -> Iterator[bytes]:
        while chunk := channel.receive():
            self._heard = time.monotonic()
            yield chunk

    def _watch(self) -> None:
        """Give up a server that is stuck: one that says nothing, not even when it is asked, while a request waits."""
        while True:
            with self._changed:
                self._changed.wait_for(self._is_awaited)
                channel, since = self._channel, self._heard
            time.sleep(_SILENCE)
            if not self._is_silent(channel, since) or channel is None or not channel.ask_alive():
                continue
            time.sleep(_TO_ANSWER)
            if self._is_silent(channel, since):
                channel.abort()

    def _is_awaited(self) -> bool:
        return self._channel is not None and any(
            asked.message.get("method") not in _ENDLESS for asked in self._waiting.values()
        )

    def _is_silent(self, channel: Channel | None, since: float) -> bool:
        with self._changed:
            return self._channel is channel and self._heard == since and self._is_awaited()

    def _deliver(self, line: bytes) -> None:
        if line.startswith(b"!"):
            self._heed(json.loads(line[1:]))
            return
        message = _object(line)
        id = message.get("id")
        with self._changed:
            if "method" in message:
                if _is_id(id):
                    self._asked_of_client.add(id)
            elif _is_id(id):
                self._waiting.pop(id, None)
                if id in self._unwanted:
                    self._swallow(self._unwanted.pop(id))
                    return
            self._say(line)

    def _swallow(self, line: bytes) -> None:
        """An answer that the client has had. What it watches may have changed while no server ran."""
        for uri, subscription in self._server_state.watched.items():
            if subscription == line:
                self._say(_dumped({"method": "notifications/resources/updated", "params": {"uri": uri}}))

    def _heed(self, control: dict[str, Any]) -> None:
        with self._changed:
            self._server_state.kept.update(control.get("kept", {}))
            self._seen = control.get("bye", self._seen)

    def _say(self, line: bytes) -> None:
        data = self._framing.frame(line + b"\n")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            os._exit(0)  # the reader is gone

    def _recover(self) -> bool:
        """After the end of a channel: whether there was something to go on with at once."""
        seen, self._seen = self._seen, None
        again = [asked for asked in self._waiting.values() if self._is_repeatable(asked, seen)]
        for asked in [asked for asked in self._waiting.values() if asked not in again]:
            self._waiting.pop(asked.message["id"])
            self._say(_unknown(asked.message))
        # The client may be asking its user right now; the answer would go to a server that never asked.
        for id in self._asked_of_client:
            self._say(_dumped({"method": "notifications/cancelled", "params": {"requestId": id}}))
        self._asked_of_client.clear()
        # Without a request that waits and without a subscription nobody misses the server before the client's next
        # word.
        if not again and (self._finished or not self._server_state.watched):
            return False
        self._reopen(opening=any(asked.message["method"] == "initialize" for asked in again))
        for asked in again:
            asked.attempts += 1
            # Counted per server: a server reports how many messages it has received itself.
            asked.place = self._sent + 1
            self._send(asked.line)
        if self._finished and self._channel is not None:
            self._channel.finish()
        return True

    def _is_repeatable(self, asked: PendingRequest, seen: int | None) -> bool:
        """It was not seen by the server that ended, or it only reads, or the store knows it by its request id."""
        if seen is not None and asked.place > seen:
            return True
        method, params = asked.message["method"], asked.message.get("params")
        if asked.attempts >= _ATTEMPTS or method != "tools/call" or not isinstance(params, dict):
            return method in _READS and asked.attempts < _ATTEMPTS
        arguments = params.get("arguments")
        # The store answers a repeated request id with the first answer, so even a write may be sent again.
        has_id = isinstance(arguments, dict) and bool(arguments.get("request_id"))
        return has_id or params.get("name") in self._reads

    def _reopen(self, opening: bool = False) -> None:
        """A new channel in place of the old one; `opening`: the client still waits for the handshake."""
        channel = self._open()
        self._sent = 0
        self._held = b""
        self._unwanted.clear()
        self._channel = channel
        self._reads = channel.reads or self._reads
        if self._server_state.initialize is not None and not opening:
            self._repeat(self._server_state.initialize)
            self._await_handshake(channel)
            if self._server_state.initialized is not None:
                self._send(self._server_state.initialized)
            for line in self._server_state.requests():
                self._repeat(line)
        self._changed.notify_all()

    def _await_handshake(self, channel: Channel) -> None:
        """Nothing may follow the handshake before it is answered: the server would not count as initialized."""
        while self._unwanted and (chunk := channel.receive()):
            *lines, self._held = (self._held + chunk).split(b"\n")
            for line in lines:
                self._deliver(line)

    def _open(self) -> Channel:
        try:
            return open_channel(self._flags, self._server_state.kept)
        except (Alone, Unreachable, OSError):
            # The conversation has begun and cannot be given up: without a resident server we start one for ourselves.
            return ChildChannel(self._words, self._server_state.kept)

    def _repeat(self, line: bytes) -> None:
        """Send a request whose answer the client has already, unless it is still waiting for it."""
        id = _object(line).get("id")
        if id not in self._waiting:
            self._unwanted[id] = line
            self._send(line)


def _put(channel: Channel | None, line: bytes) -> None:
    try:
        assert channel is not None
        channel.send(line + b"\n")
    except OSError:
        pass  # the receiver meets the end of this channel and does what is to be done


def _object(line: bytes) -> dict[str, Any]:
    """What can be made of a line; the server says what is wrong with one that is no message."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str)


def _dumped(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def _unknown(message: dict[str, Any]) -> bytes:
    """A tool call ends with an answer that its model reads, anything else with an error of the protocol."""
    if message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": UNKNOWN}], "isError": True, "resultType": "complete"}
        return _dumped({"id": message["id"], "result": result})
    return _dumped({"id": message["id"], "error": {"code": -32603, "message": UNKNOWN}})


def serve(plain: Plain, words: list[str], is_guess: bool = False) -> int | None:
    """Serve the client through the resident server; None when it has to be served in this process."""
    flags = {name: value for name, value in plain.settings.items() if value is not None}
    kept = {"handle": os.urandom(16).hex()}
    try:
        channel = open_channel(flags, kept)
    except (Alone, Unreachable, OSError):
        return None
    return Pipe(channel, flags, words, kept, is_guess).run()
