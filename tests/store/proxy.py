"""A proxy before PostgreSQL that understands where messages begin, and cuts, swallows or delays at any of them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

ToClient = bool
Rule = Callable[[ToClient, int, bytes], str]
"""Direction, number of the message in it, the message; says `pass`, `delay`, `cut` (close both ends) or `swallow`."""
DELAY = 0.02


def passing(_: ToClient, __: int, ___: bytes) -> str:
    return "pass"


@dataclass
class Proxy:
    """Listens on a port of this machine for one database of a server behind a socket file or a port."""

    url: str
    rule: Rule = passing
    counted: dict[ToClient, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def proxied_url(self) -> str:
        parts = urlsplit(self.url)
        user = parts.username or "postgres"
        port = self._listener.getsockname()[1]
        place = f"{user}:{parts.password or ''}@127.0.0.1:{port}{parts.path}"
        return f"postgresql://{place}?sslmode=disable&gssencmode=disable"

    def start(self, rule: Rule) -> None:
        """Count messages from here on, and do with them what the rule says."""
        self.counted, self.rule = {True: 0, False: 0}, rule

    def cut(self) -> None:
        for end in self._open:
            _shut(end)
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._reach()
            self._open += [client, server]
            for source, target, to_client in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=(source, target, to_client), daemon=True).start()

    def _reach(self) -> socket.socket:
        parts = urlsplit(self.url)
        folder = parse_qs(parts.query).get("host", [""])[0] or (parts.hostname or "")
        if folder.startswith("/"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{folder}/.s.PGSQL.{parts.port or 5432}")
            return server
        return socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 5432))

    def _pump(self, source: socket.socket, target: socket.socket, to_client: ToClient) -> None:
        # The first message of a client has no type byte; it is counted like the others.
        untyped = not to_client
        try:
            while message := _message(source, untyped):
                untyped = False
                number = self.counted[to_client] = self.counted.get(to_client, 0) + 1
                verdict = self.rule(to_client, number, message)
                if verdict == "delay":
                    time.sleep(DELAY)
                if verdict in ("pass", "delay"):
                    target.sendall(message)
                elif verdict == "cut":
                    break
        except OSError:
            pass
        _shut(source)
        _shut(target)


def _message(source: socket.socket, untyped: bool) -> bytes:
    head = _exactly(source, 4 if untyped else 5)
    if not head:
        return b""
    size = int.from_bytes(head[-4:], "big")
    return head + _exactly(source, size - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = source.recv(size - len(found))
        if not part:
            return b""
        found += part
    return found


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
