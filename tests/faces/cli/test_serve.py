"""`clew serve`: both transports as a client starts them, and the quick way in."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clew.faces.cli.main import Exit
from clew.faces.cli.root import load_command
from clew.shim.options import SWITCHES, VALUES, Plain, parse_plainly, with_values, without_idle
from tests.faces.cli.conftest import Shell

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def test_stdio_answers_the_handshake_and_ends_with_its_input(clew: Shell) -> None:
    ran = clew("serve", stdin=json.dumps(HELLO) + "\n")
    assert ran.code == 0, ran.err
    assert ran.json["result"]["serverInfo"]["name"] == "clew"


def test_stdio_loads_no_terminal_library(clew: Shell) -> None:
    ran = clew("serve", stdin=json.dumps(HELLO) + "\n", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in ran.err.splitlines()}
    assert "mcp" in loaded
    assert not loaded & {"typer", "rich", "psycopg", "numpy"}


@contextmanager
def started(clew: Shell, *words: str) -> Iterator[subprocess.Popen[str]]:
    server = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=clew.directory,
        env=clew.environment(),
    )
    try:
        yield server
    finally:
        server.kill()
        server.communicate()


def test_http_announces_its_addresses_and_answers(clew: Shell) -> None:
    with started(clew, "serve", "--http", "--port", "0", "--json") as server:
        assert server.stdout is not None
        announced = json.loads(server.stdout.readline())
        assert announced["mcp"].startswith("http://127.0.0.1:")
        with urllib.request.urlopen(announced["health"], timeout=60) as answer:
            assert json.load(answer)["status"] == "ok"
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=60) == Exit.OK


def test_options_before_the_command_count_too(clew: Shell) -> None:
    with started(clew, "--workspace", "acme/api", "serve", "--http", "--port", "0", "--json") as server:
        assert server.stdout is not None
        assert json.loads(server.stdout.readline())["workspace"] == "acme/api"


def test_http_tells_people_how_to_connect(clew: Shell) -> None:
    with started(clew, "serve", "--http", "--port", "0") as server:
        assert server.stdout is not None
        seen = [server.stdout.readline() for _ in range(12)]
    text = "".join(seen)
    assert "Clew is listening." in text
    assert re.search(r"page +http://127\.0\.0\.1:\d+/\n", text)
    assert "claude mcp add --transport http clew http://127.0.0.1:" in text


def test_a_taken_port_exits_4_and_says_what_to_do(clew: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ran = clew("serve", "--http", "--port", str(listener.getsockname()[1]))
    assert ran.code == 4
    assert "--port" in ran.err


def test_an_open_address_without_a_token_exits_4(clew: Shell) -> None:
    ran = clew("serve", "--http", "--host", "0.0.0.0", "--port", "0", "--json")
    assert ran.code == 4
    assert ran.json["error"]["code"] == "NOT_ALLOWED"


@pytest.mark.parametrize("words", [["--port", "many"], ["--toolset", "huge"], ["--nonsense"], ["--port"], ["extra"]])
def test_a_line_that_is_not_understood_exits_2(clew: Shell, words: list[str]) -> None:
    ran = clew("serve", *words)
    assert ran.code == 2
    assert ran.err


def test_the_quick_way_knows_every_option_of_the_command() -> None:
    command = load_command("serve")
    assert command is not None
    declared = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    assert declared - {"--help"} == {*SWITCHES, *VALUES}


def test_the_quick_way_reads_what_it_knows_and_leaves_the_rest() -> None:
    plain = parse_plainly(["--http", "--port=0", "--workspace", "acme/api"])
    assert plain is not None and vars(plain) == vars(Plain(http=True, flags={"port": "0", "workspace": "acme/api"}))
    bare = parse_plainly([])
    assert bare is not None and vars(bare) == vars(Plain())
    for unusual in (["--help"], ["-h"], ["--port"], ["--port", "--http"], ["--http=yes"], ["word"]):
        assert parse_plainly(unusual) is None


def test_options_of_branchmind_for_processes_of_its_own_are_taken_out_and_named() -> None:
    words = ["--shared", "--toolset", "daily", "--viewer-port", "7331", "--socket=/tmp/s", "--workspace", "acme/api"]
    kept, idle = without_idle(words)
    assert kept == ["--toolset", "daily", "--workspace", "acme/api"]
    assert idle == ["--shared", "--viewer-port", "--socket"]
    assert without_idle(["--viewer-port"]) == ([], ["--viewer-port"])


def test_branchminds_switch_locks_the_workspace() -> None:
    assert with_values(["--workspace", "a", "--workspace-lock"]) == ["--workspace", "a", "--workspace-lock=true"]
    assert with_values(["--workspace-lock", "--agent-id", "auto"])[0] == "--workspace-lock=true"
    for spelled in (["--workspace-lock", "false"], ["--workspace-lock=false"], ["--workspace-lock", "ON"]):
        assert with_values(spelled) == spelled
    assert without_idle(["--no-hot-reload", "--json"]) == (["--json"], ["--no-hot-reload"])


def test_a_server_says_which_options_have_no_effect(clew: Shell) -> None:
    ran = clew("serve", "--shared", "--toolset", "huge")
    assert ran.code == 2 and "without effect here: --shared" in ran.err
