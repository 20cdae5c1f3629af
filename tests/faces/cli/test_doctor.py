"""`clew doctor`: the truth about an installation, and the way to mend it."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.app import open_clew
from clew.faces.cli.checks import check_store
from clew.settings import load_settings
from clew.store import link as file_system
from tests.faces.cli.conftest import Ran, Shell, Writer


def finding(ran: Ran, check: str) -> dict[str, Any]:
    return next(item for item in ran.json["findings"] if item["check"] == check)


def test_a_fresh_home_is_healthy(clew: Shell) -> None:
    ran = clew("doctor", "--json")
    assert ran.code == 0, ran.out
    assert ran.json["ok"] is True
    for check in ("python", "store", "integrity", "permissions", "call", "index", "address"):
        assert finding(ran, check)["state"] == "ok", check


def test_people_get_lines_and_a_conclusion(clew: Shell) -> None:
    ran = clew("doctor")
    assert ran.code == 0
    assert "Everything essential works." in ran.out
    assert "\x1b" not in ran.out


def test_everything_that_is_not_ok_says_how_to_mend_it(clew: Shell) -> None:
    for item in clew("doctor", "--json").json["findings"]:
        assert item["state"] == "ok" or item["mend"], item


def test_a_corrupt_file_is_named_with_its_code(clew: Shell) -> None:
    clew.home.mkdir()
    (clew.home / "clew.db").write_bytes(b"this is no database" * 400)
    ran = clew("doctor", "--json")
    assert ran.code == 3
    assert ran.json["ok"] is False
    assert finding(ran, "store")["code"] == "STORE_CORRUPT"
    assert "backup" in finding(ran, "store")["mend"]
    assert (clew.home / "clew.db").read_bytes() == b"this is no database" * 400


def test_a_store_of_a_newer_clew_is_left_alone(clew: Shell) -> None:
    clew("call", "notes_commit", "content=kept")
    with sqlite3.connect(clew.home / "clew.db") as database:
        database.execute("PRAGMA user_version = 9999")
    ran = clew("doctor", "--json")
    assert ran.code == 3
    assert finding(ran, "store")["code"] == "STORE_TOO_NEW"
    assert "Upgrade" in finding(ran, "store")["mend"]


def test_a_shared_postgres_is_examined_the_same_way(clew: Shell, postgres_url: str) -> None:
    ran = clew("doctor", "--json", env={"CLEW_DATABASE_URL": postgres_url})
    assert ran.code == 0, ran.out
    assert finding(ran, "store")["detail"].startswith("postgres ")
    assert finding(ran, "integrity")["state"] == "ok"


def test_a_postgres_out_of_reach_is_a_problem_that_keeps_the_password(clew: Shell) -> None:
    url = "postgresql://someone:very-secret@127.0.0.1:1/clew"
    ran = clew("doctor", "--json", env={"CLEW_DATABASE_URL": url})
    assert ran.code == 3
    assert finding(ran, "store")["code"] == "STORE_UNAVAILABLE"
    assert "CLEW_DATABASE_URL" in finding(ran, "store")["mend"]
    assert "very-secret" not in ran.out + ran.err


def unwritable(clew: Shell) -> Path:
    """A home that cannot be made, whoever runs the test: root may write anywhere but in the kernel's own tree."""
    if os.geteuid() == 0:
        return Path("/proc/clew-home")
    clew.home.mkdir(mode=0o500)
    return clew.home / "inner"


def test_a_directory_that_cannot_be_written_is_a_problem_with_a_way_out(clew: Shell) -> None:
    ran = clew("--home", str(unwritable(clew)), "doctor", "--json")
    assert ran.code == 3
    assert finding(ran, "store")["code"] == "STORE_READ_ONLY"
    assert "CLEW_HOME" in finding(ran, "store")["mend"]


def test_a_home_open_to_others_is_noted(clew: Shell) -> None:
    clew.home.mkdir(mode=0o755)
    ran = clew("doctor", "--json")
    assert ran.code == 0
    assert finding(ran, "permissions")["mend"] == f"chmod 700 {clew.home}"


def test_a_taken_port_names_who_has_it(clew: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ran = clew("doctor", "--json", env={"CLEW_PORT": str(port)})
    assert finding(ran, "port")["state"] == "note"
    assert f"pid {os.getpid()}" in finding(ran, "port")["detail"]
    assert "CLEW_PORT" in finding(ran, "port")["mend"]


def test_an_open_address_without_a_token_is_a_problem(clew: Shell) -> None:
    ran = clew("doctor", "--json", env={"CLEW_HOST": "0.0.0.0", "CLEW_PORT": "0"})
    assert ran.code == 1
    assert "CLEW_TOKEN" in finding(ran, "address")["mend"]
    safe = clew("doctor", "--json", env={"CLEW_HOST": "0.0.0.0", "CLEW_PORT": "0", "CLEW_TOKEN": "very-secret"})
    assert finding(safe, "address")["state"] == "ok"
    assert "very-secret" not in safe.out


def test_a_model_that_is_not_there_is_a_problem(clew: Shell) -> None:
    pytest.importorskip("onnxruntime")
    ran = clew("doctor", "--json", env={"CLEW_EMBEDDING_MODEL": str(clew.directory)})
    assert finding(ran, "semantic")["state"] == "problem"


def test_settings_say_where_they_came_from(clew: Shell, write: Writer) -> None:
    write(clew.directory / "clew.toml", 'toolset = "full"\n')
    rows = {row["name"]: row for row in clew("--workspace", "acme", "doctor", "--json").json["settings"]}
    assert rows["workspace"] == {"name": "workspace", "value": "acme", "origin": "flag"}
    assert rows["home"]["origin"] == "CLEW_HOME"
    assert rows["toolset"] == {"name": "toolset", "value": "full", "origin": "clew.toml"}
    assert rows["port"]["origin"] == "default"


def test_a_misspelled_setting_is_named(clew: Shell, write: Writer) -> None:
    write(clew.directory / "clew.toml", 'tolset = "full"\n')
    ran = clew("status")
    assert ran.code == 2
    assert "no setting 'tolset'" in ran.err
    assert "Did you mean toolset?" in ran.err


OWN = Path(sys.executable).parent / "clew"
CONFIGURATIONS = [
    ("claude", ".claude.json", json.dumps({"mcpServers": {"clew": {"command": "clew", "args": ["serve"]}}})),
    ("codex", ".codex/config.toml", '[mcp_servers.clew]\ncommand = "clew"\nargs = ["serve"]\n'),
    ("cursor", ".cursor/mcp.json", json.dumps({"mcpServers": {"memory": {"command": str(OWN)}}})),
    ("vscode", ".config/Code/User/mcp.json", json.dumps({"servers": {"clew": {"url": "http://127.0.0.1:1731/mcp"}}})),
]


@pytest.mark.parametrize(("client", "file", "text"), CONFIGURATIONS)
def test_a_client_that_knows_clew_is_recognised(
    clew: Shell, person: Path, write: Writer, client: str, file: str, text: str
) -> None:
    write(person / file, text)
    found = finding(clew("doctor", "--json"), client)
    assert found["state"] == "ok"
    assert file in found["detail"]


def test_a_client_that_does_not_gets_the_line_that_adds_it(clew: Shell, person: Path, write: Writer) -> None:
    write(person / ".claude.json", json.dumps({"mcpServers": {"other": {"command": "other"}}}))
    write(person / ".cursor" / "mcp.json", "{not json")
    ran = clew("doctor", "--json")
    assert ran.code == 0
    assert finding(ran, "claude")["mend"] == "clew connect claude"
    assert "cannot be read" in finding(ran, "cursor")["detail"]


def test_claude_code_keeps_servers_for_each_project(clew: Shell, person: Path, write: Writer) -> None:
    project = {"projects": {str(clew.directory): {"mcpServers": {"clew": {"command": "clew"}}}}}
    write(person / ".claude.json", json.dumps(project))
    assert finding(clew("doctor", "--json"), "claude")["state"] == "ok"


@pytest.mark.parametrize(
    "address",
    [
        "host=127.0.0.1 port=1 user=u password=HUNTER2",
        "postgresql://u:HUNTER2@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=u&password=HUNTER2",
        "postgresql://u:HUNTER@TER2@127.0.0.1:1/db",
    ],
)
def test_no_form_of_an_address_shows_its_password(clew: Shell, address: str) -> None:
    pytest.importorskip("psycopg")
    for words in (("doctor",), ("doctor", "--json")):
        ran = clew(*words, env={"CLEW_DATABASE_URL": address})
        assert ran.code == 3
        assert "HUNTER" not in ran.out + ran.err and "TER2" not in ran.out + ran.err


def test_a_database_is_described_without_its_password() -> None:
    postgres = pytest.importorskip("clew.store.postgres")
    for address in ("host=h password='a b' user=u", "postgresql://u:x@yz@h/db", "postgresql://h/db?password=yz&user=u"):
        shown = postgres.without_password(address)
        assert "yz" not in shown and "a b" not in shown and "@h" in shown.replace("//h", "@h")


def test_a_check_that_failed_is_not_called_fine(clew: Shell) -> None:
    assert clew("call", "notes_commit", "content=a").code == 0
    with sqlite3.connect(clew.home / "clew.db") as store:
        store.execute("DROP TABLE item_vector")
    ran = clew("doctor", "--json")
    assert finding(ran, "agreement")["state"] == "problem"
    assert ran.code != 0


def test_no_model_is_a_choice_and_no_problem(clew: Shell) -> None:
    ran = clew("doctor", "--json", env={"CLEW_EMBEDDING_MODEL": "none"})
    assert finding(ran, "semantic")["state"] == "ok"
    assert ran.code == 0


def test_vectors_have_a_line_that_says_how_many_are_missing_and_how_to_make_them(clew: Shell) -> None:
    assert clew("call", "notes_commit", "content=a").code == 0
    found = finding(clew("doctor", "--json"), "vectors")
    assert found["state"] == "note"
    assert found["detail"] == "0 stored, 1 missing, compared by this process"
    assert "clew call reindex include_vectors=true" in found["mend"]
    assert clew("call", "reindex", "include_vectors=true").code == 0
    assert finding(clew("doctor", "--json"), "vectors")["state"] == "ok"
    off = clew("doctor", "--json", env={"CLEW_EMBEDDING_MODEL": "none"})
    assert "no embedding model" in finding(off, "vectors")["detail"]


def test_a_foreign_listener_in_a_directory_called_clew_is_not_clew(clew: Shell) -> None:
    place = clew.directory / "clew"
    place.mkdir()
    script = place / "other.py"
    script.write_text(
        "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        ran = clew("doctor", "--json", env={"CLEW_PORT": other.stdout.readline().strip()})
        other.communicate("\n", timeout=60)
    assert finding(ran, "port")["state"] == "note"


def test_a_running_clew_is_recognised(clew: Shell) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "clew", "serve", "--http", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=clew.directory,
        env=clew.environment(),
    ) as server:
        assert server.stdout is not None
        port = urlsplit(json.loads(server.stdout.readline())["mcp"]).port
        ran = clew("doctor", "--json", env={"CLEW_PORT": str(port)})
        server.terminate()
    assert finding(ran, "port")["state"] == "ok"


def test_a_store_on_a_network_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_system, "_number", lambda _: 0x6969)  # as the kernel says of NFS
    clew = open_clew(load_settings({"home": tmp_path / "home", "workspace": "ws"}, {}, tmp_path))
    (found,) = [item for item in check_store(clew) if item.check == "disk"]
    clew.close()
    assert found.state == "note"
    assert "(nfs)" in found.detail
    assert "CLEW_HOME" in (found.fix or "")


def test_files_and_store_that_say_different_things_are_a_problem_that_scan_mends(clew: Shell, write: Writer) -> None:
    memory = clew.home / "workspaces" / "ws" / "memory"
    clew("--workspace", "ws", "call", "notes_commit", "content=here")
    write(memory / "decisions" / "DECISIONS.md", "[D-20270101-001]\nStatement: Use SQLite\nStatus: active\n")
    healthy = clew("--workspace", "ws", "doctor", "--json")
    assert finding(healthy, "files")["state"] == "ok", healthy.out
    with sqlite3.connect(clew.home / "clew.db") as database:
        database.execute("UPDATE place SET at_line = at_line + 7")
    damaged = clew("--workspace", "ws", "doctor", "--json")
    assert "DECISIONS.md" in finding(damaged, "files")["detail"]
    assert damaged.code == 3
    clew("--workspace", "ws", "call", "scan")
    assert finding(clew("--workspace", "ws", "doctor", "--json"), "files")["state"] == "ok"


def test_a_memory_file_that_a_power_cut_damaged_is_repaired_and_named(clew: Shell, write: Writer) -> None:
    memory = clew.home / "workspaces" / "ws" / "memory"
    clew("--workspace", "ws", "call", "notes_commit", "content=here")
    decisions = memory / "decisions" / "DECISIONS.md"
    write(decisions, "[D-20270101-001]\nStatement: Use SQLite\nStatus: active\n")
    clew("--workspace", "ws", "call", "scan")
    whole = decisions.read_bytes()
    decisions.write_bytes(b"\x00" * len(whole))
    found = finding(clew("--workspace", "ws", "doctor", "--json"), "files")
    assert found["state"] == "note" and "DECISIONS.md" in found["detail"]
    assert decisions.read_bytes() == whole
    found = finding(clew("--workspace", "ws", "doctor", "--json"), "files")
    assert found["state"] == "note", "until a person removes the copy"
    (memory / found["detail"].rpartition(": ")[2]).unlink()
    assert finding(clew("--workspace", "ws", "doctor", "--json"), "files")["state"] == "ok"
