"""Nobody but the user gets in, and the user is not let into anybody else's server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.shim.address import connect, proof_of, read_address, send
from clew.shim.place import PROTOCOL, Unreachable
from tests.faces.resident.shims import Shim, address

STRANGER = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
while True:
    listener.accept()
"""


def publish(home: Path, **where: object) -> None:
    (home / "resident").mkdir(parents=True, mode=0o700)
    told = {"protocol": PROTOCOL, "pid": 1, "stamp": "", "secret": "s", **where}
    (home / "resident" / "address.json").write_text(json.dumps(told))


@pytest.fixture
def strange_socket() -> Iterator[Path]:
    """A socket on which another user listens."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        path = Path(name, "socket")
        process = subprocess.Popen([sys.executable, "-c", STRANGER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        yield path
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_a_socket_of_another_user_is_refused_before_anything_is_said(home: Path, strange_socket: Path) -> None:
    publish(home, socket=str(strange_socket))
    with pytest.raises(Unreachable, match="another user"):
        connect(str(home), 5)


def test_a_folder_that_others_may_enter_is_not_trusted(home: Path) -> None:
    publish(home, socket="/nowhere")
    (home / "resident").chmod(0o755)
    with pytest.raises(Unreachable, match="open to other users"):
        read_address(str(home))


def test_a_program_that_took_the_port_learns_nothing(home: Path) -> None:
    """It is asked for a proof first, and gets neither secret nor environment without one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        publish(home, port=listener.getsockname()[1])
        client = subprocess.Popen(
            [sys.executable, "-c", f"from clew.shim.address import connect; connect({str(home)!r}, 20)"],
            stderr=subprocess.PIPE,
        )
        channel, _ = listener.accept()
        with channel:
            asked = json.loads(channel.makefile().readline())
            send(channel, {"proof": proof_of("a guess", asked["nonce"])})
            assert list(asked) == ["nonce"] and channel.recv(100) == b""
        assert b"another program listens there" in client.communicate(timeout=60)[1]


def test_a_wrong_secret_is_sent_away(home: Path) -> None:
    with Shim(home) as shim:
        shim.open()
        found = address(home)
        assert found is not None
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(found["socket"])
            send(channel, {"clew": PROTOCOL, "kind": "call", "secret": "x", "stamp": found["stamp"], "directory": "/"})
            assert b"the secret is wrong" in channel.makefile("rb").read()
