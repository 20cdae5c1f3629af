"""`clew observatory`: the page and its socket on a port of their own."""

import json
import signal
import socket
import subprocess
import urllib.request
from typing import Any

import pytest
from websockets.sync.client import connect

from clew.faces.cli.main import Exit
from tests.faces.cli.conftest import Shell
from tests.faces.cli.test_serve import started


def announced(server: subprocess.Popen[str]) -> dict[str, Any]:
    assert server.stdout is not None
    found: dict[str, Any] = json.loads(server.stdout.readline())
    return found


def test_it_serves_the_page_and_the_socket_at_both_addresses(clew: Shell) -> None:
    with started(clew, "observatory", "--port", "0", "--no-browser", "--json") as server:
        told = announced(server)
        with urllib.request.urlopen(told["page"], timeout=60) as answer:
            assert b"<title>Clew</title>" in answer.read()
        for address in (told["socket"], told["socket"].removesuffix("ws")):
            with connect(address) as talk:
                talk.send("ping")
                assert talk.recv(timeout=60) == "pong"
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == Exit.OK


def test_a_taken_port_means_the_next_free_one(clew: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = listener.getsockname()[1]
        with started(clew, "observatory", "--port", str(taken), "--no-browser", "--json") as server:
            chosen = int(announced(server)["page"].rstrip("/").rpartition(":")[2])
    assert chosen > taken


def test_people_are_told_where_it_is(clew: Shell) -> None:
    with started(clew, "observatory", "--port", "0", "--no-browser") as server:
        assert server.stdout is not None
        text = "".join(server.stdout.readline() for _ in range(4))
    assert "The Observatory is open." in text
    assert "page       http://127.0.0.1:" in text


@pytest.mark.parametrize("words", [["--port", "many"], ["--nonsense"], ["extra"]])
def test_a_line_that_is_not_understood_exits_2(clew: Shell, words: list[str]) -> None:
    assert clew("observatory", "--no-browser", *words).code == Exit.USAGE


def test_an_open_address_without_a_token_exits_4(clew: Shell) -> None:
    ran = clew("observatory", "--port", "0", "--no-browser", "--json", env={"CLEW_HOST": "0.0.0.0"})
    assert ran.code == Exit.ADDRESS
    assert ran.json["error"]["code"] == "NOT_ALLOWED"
