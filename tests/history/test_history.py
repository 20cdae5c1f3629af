"""Earlier sessions of every client are read once, kept without secrets, and found again."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from clew.app import migrate_store, open_clew
from clew.history import intake, turn_store
from clew.history.clients import CLIENTS
from clew.settings import load_settings
from tests.conftest import Caller
from tests.history.transcripts import ANSWER, EDITED, TOKEN, WRITERS, TranscriptWriter, claude, jsonl
from tests.waiting import until


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "relay"
    (project / ".git").mkdir(parents=True)  # what makes a directory a project
    return project


@pytest.fixture
def call(database_flags: dict[str, Any], home: Path, project: Path) -> Iterator[Caller]:
    flags = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none", **database_flags}
    clew = open_clew(load_settings(flags, {}, project))
    yield Caller(clew)
    clew.close()


def read_in(call: Caller, client: str = "claude_code") -> dict[str, Any]:
    (report,) = call("history_import", clients=[client], dry_run=False)["clients"]
    found: dict[str, Any] = report
    return found


def turns(call: Caller) -> list[dict[str, Any]]:
    with call.clew.database.read() as tx:
        rows = tx.all("SELECT * FROM history_turn ORDER BY number")
    return [{**row, "text": zlib.decompress(bytes(row["text"])).decode()} for row in rows]


def test_every_client_has_a_writer() -> None:
    assert [writer.client for writer in WRITERS] == list(CLIENTS)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.client)
def test_a_session_is_read_once_and_found_by_words_error_and_file(
    writer: TranscriptWriter, call: Caller, home: Path, project: Path
) -> None:
    writer.write(home, project, "s-1")
    writer.write(home, project.parent / "elsewhere", "s-other")
    (preview,) = call("history_import", clients=[writer.client])["clients"]
    assert preview["unread"] == 1 and preview["added"] == 0
    assert preview["bytes"] < 10_000
    assert turns(call) == []
    assert read_in(call, writer.client)["added"] == len(turns(call)) >= 4
    again = read_in(call, writer.client)
    assert (again["unread"], again["added"]) == (0, 0)

    (hit,) = call("history_search", query="clock of the second host ahead")["hits"]
    assert hit["text"] == ANSWER and hit["session"].startswith(f"{writer.client}:")
    (hit,) = call("history_search", about=EDITED)["hits"]
    assert hit["files"] == [EDITED] and hit["kind"] == "edit"
    assert call("history_search", about="src/relay")["hits"] == [hit]
    assert call("history_search", about="src/rela")["hits"] == []
    opened = call("history_open", session=hit["session"])
    assert [turn["kind"] for turn in opened["turns"]][:2] == ["prompt", "answer"]
    assert opened["title"].startswith("Why do two relays take the same lease?")
    if writer.knows_results:
        (hit,) = call("history_search", query="LeaseExpired: lease 99 of relay-3 is taken")["hits"]
        assert (hit["kind"], hit["exit_code"]) == ("command", 1)
        assert hit["then"] == f"passed after editing {EDITED}"


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.client)
def test_neither_secrets_nor_private_parts_nor_other_projects_are_kept(
    writer: TranscriptWriter, call: Caller, home: Path, project: Path
) -> None:
    writer.write(home, project, "s-1")
    writer.write(home, project.parent / "relay-two", "s-other")
    read_in(call, writer.client)
    kept = turns(call)
    texts = "\n".join(turn["text"] for turn in kept)
    assert kept and TOKEN not in texts and "salary" not in texts and "hidden" not in texts
    assert {turn["session"] for turn in kept} == {f"{writer.client}:s-1"}


def test_what_is_added_to_a_transcript_is_read_and_nothing_twice(call: Caller, home: Path, project: Path) -> None:
    path = claude(home, project, "s-1")
    before = read_in(call)["added"]
    later = {
        "type": "user",
        "uuid": "later",
        "cwd": str(project),
        "timestamp": "2026-11-03T09:00:00Z",
        "message": {"content": "And the margin?"},
    }
    jsonl(path, [later])
    with path.open("ab") as file:
        file.write(b'{"type": "user", "uuid": "torn", "message": {"cont')
    assert read_in(call)["added"] == 1
    with path.open("ab") as file:
        file.write(b'ent": "It was torn."}}\n')
    assert read_in(call)["added"] == 1
    assert [turn["text"] for turn in turns(call)][before:] == ["And the margin?", "It was torn."]


def test_a_session_that_is_continued_in_another_file_is_kept_once(call: Caller, home: Path, project: Path) -> None:
    path = claude(home, project, "s-1")
    path.with_name("s-2.jsonl").write_bytes(path.read_bytes())
    report = read_in(call)
    assert report["transcripts"] == 2 and report["added"] == len(turns(call))
    assert len({turn["uid"] for turn in turns(call)}) == len(turns(call))


def test_a_command_that_was_running_gets_its_result_later(call: Caller, home: Path, project: Path) -> None:
    path = claude(home, project, "s-1")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]))
    read_in(call)
    assert [turn["exit_code"] for turn in turns(call) if turn["kind"] == "command"] == [None]
    path.write_bytes(b"".join(lines))
    read_in(call)
    assert [turn["exit_code"] for turn in turns(call) if turn["kind"] == "command"] == [1, 0]
    assert call("history_search", query="LeaseExpired: lease 1 of relay-1 is taken")["hits"][0]["exit_code"] == 1


def test_a_broken_line_is_named_and_the_rest_is_read(call: Caller, home: Path, project: Path) -> None:
    path = claude(home, project, "s-1")
    whole = path.read_bytes()
    path.write_bytes(b"{broken}\n" + whole + b"[1, 2]\n")
    report = read_in(call)
    assert report["problems"] == [f"s-1.jsonl: byte {place}: is no JSON object" for place in (0, 9 + len(whole))]
    assert report["added"] == len(turns(call)) > 0


def test_an_interrupted_run_goes_on_where_it_was(
    call: Caller, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / ".claude" / "projects" / str(project).replace("/", "-").replace("_", "-")
    lines = [
        {"type": "user", "uuid": f"u-{n}", "cwd": str(project), "message": {"content": f"Question number {n}?"}}
        for n in range(40)
    ]
    jsonl(path / "long.jsonl", lines)
    monkeypatch.setattr(intake, "BATCH", 10)
    kept, taken = turn_store.keep_turns, 0

    def stop_at_the_third(*given: Any) -> int:
        nonlocal taken
        taken += 1
        if taken == 3:
            raise OSError(5, "the disk is gone")
        return kept(*given)

    monkeypatch.setattr(intake, "keep_turns", stop_at_the_third)
    assert "Input/output error" in read_in(call)["problems"][0]
    assert len(turns(call)) == 20
    assert read_in(call)["added"] == 20
    assert [turn["text"] for turn in turns(call)] == [f"Question number {n}?" for n in range(40)]


def test_a_turn_outlives_its_transcript(call: Caller, home: Path, project: Path) -> None:
    claude(home, project, "s-1").unlink()
    claude(home, project, "s-2")
    read_in(call)
    (home / ".claude").rename(home / "gone")
    assert call("history_import", dry_run=False)["clients"] == []
    assert call("history_search", query="same lease")["hits"]
    assert call.error("history_open", session="claude_code:s-1")["code"] == "UNKNOWN_ID"


def test_a_server_outside_of_the_project_reads_no_transcripts(call: Caller, home: Path, project: Path) -> None:
    claude(home, project, "s-1")
    assert call.error("history_import", workspace="another", dry_run=False)["code"] == "NOT_ALLOWED"


def test_sessions_of_the_same_words_are_ranked_by_the_file_that_is_named(
    call: Caller, home: Path, project: Path
) -> None:
    for name in ("alpha", "beta", "gamma"):
        path = claude(home, project, name)
        text = path.read_bytes().replace(b"relay/lease.py", f"relay/{name}.py".encode())
        path.write_bytes(text)
    read_in(call)
    hits = call("history_search", query="what did we change in src/relay/beta.py about the lease")["hits"]
    assert hits[0]["session"] == "claude_code:beta" and len(hits) == 3


def test_the_copy_on_the_other_engine_is_searched_too(
    home: Path, project: Path, empty_postgres_url: str, tmp_path: Path
) -> None:
    claude(home, project, "s-1")
    flags = {"workspace": "ws", "workspace_lock": False, "embedding_model": "none", "home": tmp_path / "home"}
    settings = load_settings(flags, {}, project)
    with closing(open_clew(settings)) as clew:
        read_in(Caller(clew))
    migrate_store(settings, empty_postgres_url)
    copied = load_settings({**flags, "database_url": empty_postgres_url}, {}, project)
    with closing(open_clew(copied)) as clew:
        assert Caller(clew)("history_search", query="clock of the second host")["hits"][0]["text"] == ANSWER


def test_once_imported_a_session_that_ends_is_read_without_being_asked(call: Caller, home: Path, project: Path) -> None:
    claude(home, project, "s-1")
    call("hook_event", client="claude", event="session-end", session="s-1")
    call("remember", kind="fact", text="Makes the workspace")
    call("hook_event", client="claude", event="session-end", session="s-1")
    assert turns(call) == []  # nobody ever asked for it
    read_in(call)
    claude(home, project, "s-2")
    call("hook_event", client="claude", event="session-end", session="s-2")
    until(lambda: any(turn["session"] == "claude_code:s-2" for turn in turns(call)))


def test_what_is_erased_goes_out_of_the_history_too(call: Caller, home: Path, project: Path) -> None:
    claude(home, project, "s-1")
    read_in(call)
    kept = call("remember", kind="fact", text=ANSWER)["id"]
    assert call("erase", id=kept, dry_run=True)["rows"]["history_turn"] == 1
    call("erase", id=kept, dry_run=False)
    assert not any("clock of the second host" in turn["text"] for turn in turns(call))
    assert ANSWER not in str(call("history_search", query="clock of the second host is ahead"))


def test_a_text_that_no_database_takes_is_kept_without_it(call: Caller, home: Path, project: Path) -> None:
    path = claude(home, project, "s-1")
    line = {"type": "user", "uuid": "odd", "cwd": str(project), "message": {"content": "null \x00 byte"}}
    jsonl(path, [line])
    path.write_bytes(path.read_bytes() + orjson.dumps({"type": "user", "message": 7}) + b"\n")
    read_in(call)
    assert turns(call)[-1]["text"] == "null  byte"
