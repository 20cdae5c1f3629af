"""HTTPS to a server of Clew: kept connections, a certificate authority of one's own, and what each failure means.

A call that was cut off is sent again, also to another server behind the same address: writes carry a request id, by
which a server knows a call that was done already.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from clew.errors import ClewError

SECONDS = 120.0
"""How long an answer is waited for where the call does not say so."""
TO_CONNECT = 5.0
ATTEMPTS, PAUSE = 3, 0.2
"""How often a call is sent, and the seconds before it is sent again."""
PASSING = frozenset({502, 503, 504})
"""What a proxy answers while the server behind it is replaced."""
MOST_KEPT = 4
TOKEN_RULE = "token"
"""The rule that a refusal names when the server does not know the token."""


class ServerChannel:
    def __init__(self, server: str, ca_file: Path | None) -> None:
        self.server = server
        self._address = urlsplit(server)
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._kept: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def get(self, path: str, token: str | None, seconds: float = SECONDS) -> dict[str, Any]:
        return self._exchange("GET", path, b"", token, seconds)

    def post(self, path: str, body: dict[str, Any], token: str | None, seconds: float = SECONDS) -> dict[str, Any]:
        return self._exchange("POST", path, orjson.dumps(body), token, seconds)

    def close(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
        for connection in kept:
            connection.close()

    def _exchange(self, method: str, path: str, body: bytes, token: str | None, seconds: float) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        end = time.monotonic() + seconds
        for attempt in range(ATTEMPTS):
            try:
                status, data = self._send(method, path, body, headers, max(end - time.monotonic(), 0.05))
            except (OSError, http.client.HTTPException) as problem:
                failure = self._unreachable(problem)
            else:
                if status not in PASSING:
                    return self._read(status, data)
                failure = self._unreachable(f"the proxy in front of it answers {status}")
            if attempt + 1 == ATTEMPTS or time.monotonic() + PAUSE >= end:
                raise failure
            time.sleep(PAUSE)
        raise failure

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str], seconds: float) -> tuple[int, bytes]:
        connection = self._taken()
        try:
            connection.timeout = min(seconds, TO_CONNECT)
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(seconds)
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            data = response.read()
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        return response.status, data

    def _taken(self) -> http.client.HTTPConnection:
        with self._lock:
            if self._kept:
                return self._kept.pop()
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=TO_CONNECT, context=self._trusted())
        return http.client.HTTPConnection(host, port, timeout=TO_CONNECT)

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._kept) < MOST_KEPT:
                self._kept.append(connection)
                return
        connection.close()

    def _trusted(self) -> ssl.SSLContext:
        if self._tls is None:
            made = ssl.create_default_context()
            if self._ca_file is not None:
                try:
                    made.load_verify_locations(self._ca_file)
                except (OSError, ssl.SSLError) as problem:
                    raise ClewError(
                        "IO_ERROR",
                        f"ca_file: {self._ca_file} holds no certificates: {problem}",
                        "Correct CLEW_CA_FILE.",
                    ) from problem
            self._tls = made
        return self._tls

    def _read(self, status: int, data: bytes) -> dict[str, Any]:
        try:
            found = orjson.loads(data)
        except orjson.JSONDecodeError:
            found = None
        if status == 200 and isinstance(found, dict):
            return found
        said = str(found.get("error", "")) if isinstance(found, dict) else ""
        raise self._refused(status, said or f"HTTP {status}")

    def _refused(self, status: int, said: str) -> ClewError:
        if status == 401:
            return ClewError(
                "NOT_ALLOWED",
                f"{self.server} does not know this token: it is wrong, revoked or has run out",
                "Set CLEW_TOKEN or CLEW_TOKEN_FILE to a token of yours; whoever runs the server makes one.",
                details={"rule": TOKEN_RULE},
            )
        if status == 429:
            return ClewError("UNAVAILABLE", f"{self.server}: {said}", "Wait a moment, then repeat the call.")
        if status == 413:
            return ClewError("INVALID_INPUT", f"{self.server}: the call is too large", "Send less in one call.")
        return ClewError(
            "UNAVAILABLE", f"{self.server} did not take the call: {said}", "Check CLEW_SERVER, and its version."
        )

    def _unreachable(self, problem: object) -> ClewError:
        if isinstance(problem, ssl.SSLCertVerificationError):
            way = "Set CLEW_CA_FILE to the certificate of the authority that signed the server's."
            return ClewError(
                "STORE_UNAVAILABLE", f"{self.server} shows a certificate nobody here trusts: {problem}", way
            )
        why = str(problem) or type(problem).__name__
        return ClewError("STORE_UNAVAILABLE", f"{self.server} does not answer: {why}", "Try again in a moment.")
