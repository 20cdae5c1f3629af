"""Transcripts: found by content in either layout, read within limits, never outside the root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from clew.reasoning.transcripts import files
from clew.records.links import add_link
from clew.registry.context import Context
from tests.conftest import Caller
from tests.suggestions import run_suggestions

CODEX = "2026/11/15/rollout-1.jsonl"
CLAUDE = "-home-me-app/5f0c.jsonl"


@pytest.fixture(params=["sqlite"])
def engine(request: pytest.FixtureRequest) -> str:
    """Files, not rows: one engine is enough."""
    return str(request.param)


@pytest.fixture
def call(call: Caller) -> Caller:
    """A person at the shell, who may name any directory; what other callers may read, the last tests ask."""
    call.session.local = True
    return call


def write(root: Path, name: str, *records: Any, age: int = 0) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = [record if isinstance(record, bytes) else orjson.dumps(record) for record in records]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


def codex_meta(cwd: str | None = "/home/me/app", **more: Any) -> dict[str, Any]:
    payload = {"id": "s1", "timestamp": "2026-11-15T10:00:00Z", **more}
    return {"type": "session_meta", "payload": {**payload, "cwd": cwd} if cwd else payload}


def codex(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"timestamp": "2026-11-15T10:00:01Z", "type": "response_item", "payload": payload}


def claude(role: str, content: Any, cwd: str = "/home/me/app") -> dict[str, Any]:
    return {
        "type": role,
        "sessionId": "s2",
        "cwd": cwd,
        "timestamp": "2026-11-15T11:00:00Z",
        "message": {"role": role, "content": content},
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    write(
        folder,
        CODEX,
        codex_meta(),
        codex("user", "please fix the migration"),
        {"type": "response_item", "payload": {"type": "reasoning", "summary": []}},
        codex("assistant", "Summary\n- fixed the migration\n- added a test"),
        age=10,
    )
    write(
        folder,
        CLAUDE,
        {"type": "summary", "summary": "Migration of the store", "leafUuid": "u"},
        claude("user", "look at the migration"),
        claude("assistant", [{"type": "tool_use", "name": "x"}, {"type": "text", "text": "The migration is fine."}]),
    )
    return folder


def search(call: Caller, root: Path, query: str = "migration", **more: Any) -> dict[str, Any]:
    return call("transcripts_search", root_dir=str(root), query=query, cwd_prefix=more.pop("cwd_prefix", ""), **more)


def test_both_layouts_are_found_newest_file_first(call: Caller, root: Path) -> None:
    result = search(call, root)
    found = [(hit["ref"]["path"], hit["ref"]["line"], hit["message"]["role"]) for hit in result["hits"]]
    assert found == [(CLAUDE, 2, "user"), (CLAUDE, 3, "assistant"), (CODEX, 2, "user"), (CODEX, 4, "assistant")]
    assert result["hits"][2]["session"] == {"id": "s1", "ts": "2026-11-15T10:00:00Z"}
    assert result["hits"][0]["project"] == {"id": "/home/me/app", "name": "app", "confidence": 95}
    assert result["projects"] == [{"id": "/home/me/app", "name": "app", "confidence": 95, "files": 2, "hits": 4}]
    assert result["scanned"]["files"] == 2
    assert not result["scanned"]["truncated"]


def test_search_is_case_sensitive_and_knows_roles(call: Caller, root: Path) -> None:
    assert [hit["ref"]["line"] for hit in search(call, root, "Migration")["hits"]] == [1]
    assert {hit["message"]["role"] for hit in search(call, root, role="user")["hits"]} == {"user"}


def test_text_that_json_escapes_is_found(call: Caller, tmp_path: Path) -> None:
    write(
        tmp_path / "t",
        "a.jsonl",
        codex_meta(),
        codex("user", 'say "hi"\nto the café'),
        b'{"role":"user","content":"a\\u0062c"}',
    )
    for query in ('"hi"', 'hi"\nto', "café", "abc"):
        assert len(search(call, tmp_path / "t", query)["hits"]) == 1


def test_repeated_messages_are_shown_once_unless_asked_for(call: Caller, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / "t", f"{number}.jsonl", codex_meta(), codex("user", "same words"))
    assert len(search(call, tmp_path / "t", "same")["hits"]) == 1
    assert len(search(call, tmp_path / "t", "same", dedupe=False)["hits"]) == 3


@pytest.mark.parametrize(
    ("lines", "confidence"),
    [
        ([codex_meta("/home/me/app")], 95),
        ([codex_meta(None, instructions="# AGENTS.md instructions for /home/me/app\nbe brief")], 60),
        ([codex_meta(None), codex("user", "<environment><cwd>/home/me/app/sub</cwd></environment>")], 60),
        ([{"id": "old", "timestamp": "t", "instructions": "<cwd>/home/me/app</cwd>"}], 60),
    ],
)
def test_sessions_are_kept_apart_by_where_they_worked(
    call: Caller, tmp_path: Path, lines: list[Any], confidence: int
) -> None:
    write(tmp_path / "t", "a.jsonl", *lines, codex("user", "words"))
    hits = search(call, tmp_path / "t", "words", cwd_prefix="/home/me/app")["hits"]
    assert [hit["project"]["confidence"] for hit in hits] == [confidence]
    assert search(call, tmp_path / "t", "words", cwd_prefix="/home/me/ap")["hits"] == []
    assert search(call, tmp_path / "t", "words", cwd_prefix="/elsewhere")["hits"] == []


def test_the_default_is_this_project(call: Caller, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "home/me/app"
    (place / ".git").mkdir(parents=True)
    write(root, "mine.jsonl", codex_meta(str(place)), codex("user", "migration of mine"))
    monkeypatch.chdir(place)
    result = call("transcripts_search", root_dir=str(root), query="migration")
    assert result["filters"]["cwd_prefix"] == str(place)
    assert [hit["ref"]["path"] for hit in result["hits"]] == ["mine.jsonl"]


def test_default_roots_come_from_the_environment(
    call: Caller, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    answer = call.answer("transcripts_search", query="x")
    assert answer.envelope["error"]["code"] == "NOT_FOUND"
    run_suggestions(call.clew, answer, call.session)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert call("transcripts_digest", cwd_prefix="")["root_dir"] == str(root)


def test_broken_lines_do_no_harm(call: Caller, tmp_path: Path) -> None:
    write(
        tmp_path / "t",
        "a.jsonl",
        b"{broken",
        b"",
        b"\xff\xfe\x00words",
        b"[1, 2]",
        b'"words"',
        b'{"type": "response_item", "payload": "words"}',
        b'{"message": {"role": 5, "content": [{"type": "text", "text": 7}, null, "words"]}}',
        codex("user", "words"),
    )
    result = search(call, tmp_path / "t", "words")
    assert [hit["ref"]["line"] for hit in result["hits"]] == [8]


def test_limits_on_files_and_bytes_are_kept_and_told(call: Caller, tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / "t", f"{number}.jsonl", codex_meta(), *[codex("user", f"words {i}") for i in range(50)])
    answer = call.answer("transcripts_search", root_dir=str(tmp_path / "t"), query="absent", cwd_prefix="", max_files=2)
    assert answer.envelope["result"]["scanned"]["files"] == 2
    assert [item["code"] for item in answer.envelope["warnings"]] == ["TRANSCRIPTS_MAX_FILES_REACHED"]
    result = search(call, tmp_path / "t", "absent", max_bytes_total=3000)
    assert result["scanned"]["truncated"]
    assert result["scanned"]["bytes"] <= 3000


def test_a_huge_file_is_read_in_part_only(call: Caller, tmp_path: Path) -> None:
    """Half a gigabyte, most of it one line that never ends."""
    path = write(tmp_path / "t", "huge.jsonl", codex_meta(), codex("user", "words at the start"))
    with path.open("r+b") as file:
        file.truncate(500 << 20)
        file.seek(0, 2)
        file.write(b"\n" + orjson.dumps(codex("assistant", "Summary\n- words at the end\n- and more" * 5)) + b"\n")
    write(tmp_path / "t", "small.jsonl", codex_meta(), codex("user", "words elsewhere"), age=10)
    result = search(call, tmp_path / "t", "words", max_bytes_total=8 << 20)
    assert [hit["ref"]["path"] for hit in result["hits"]] == ["huge.jsonl", "small.jsonl"]
    assert result["scanned"]["bytes"] <= 8 << 20
    digest = call("transcripts_digest", root_dir=str(tmp_path / "t"), cwd_prefix="", max_bytes_total=8 << 20)["digest"]
    ref = digest[0]["ref"]
    assert ref["path"] == "huge.jsonl"
    assert "line" not in ref
    opened = call("transcripts_open", root_dir=str(tmp_path / "t"), ref=ref)
    assert [entry["byte"] for entry in opened["entries"]] == [ref["byte"]]
    assert call("transcripts_open", root_dir=str(tmp_path / "t"), ref={"path": "huge.jsonl", "line": 2})["entries"]


def test_overlong_lines_are_passed_over(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    write(tmp_path / "t", "a.jsonl", codex("user", "words " * 5000), codex("user", "words after"))
    assert [hit["ref"]["line"] for hit in search(call, tmp_path / "t", "words")["hits"]] == [2]


def test_open_shows_the_window_around_a_line_or_byte(call: Caller, root: Path) -> None:
    by_line = call(
        "transcripts_open", root_dir=str(root), ref={"path": CODEX, "line": 2}, before_lines=1, after_lines=2
    )
    assert [(entry["line"], entry["role"]) for entry in by_line["entries"]] == [(2, "user"), (4, "assistant")]
    assert by_line["session"] == {"id": "s1", "ts": "2026-11-15T10:00:00Z", "cwd": "/home/me/app"}
    byte = by_line["entries"][1]["byte"]
    by_byte = call("transcripts_open", root_dir=str(root), ref={"path": CODEX, "byte": byte}, before_lines=2)
    assert [entry["byte"] for entry in by_byte["entries"]] == [entry["byte"] for entry in by_line["entries"]]
    answer = call.answer("transcripts_open", root_dir=str(root), ref={"path": CODEX, "byte": byte + 3}, before_lines=0)
    assert [item["code"] for item in answer.envelope["warnings"]] == ["TRANSCRIPTS_REF_NOT_EXACT"]
    assert answer.envelope["result"]["ref"]["byte"] == byte
    run_suggestions(call.clew, answer, call.session)


def test_places_outside_the_root_are_refused(call: Caller, root: Path, tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.jsonl", codex("user", "migration secret"))
    (root / "link.jsonl").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe.jsonl")
    assert "secret" not in str(search(call, root)["hits"])
    for path in ("../secret.jsonl", str(secret), "link.jsonl", "folder/secret.jsonl"):
        error = call.error("transcripts_open", root_dir=str(root), ref={"path": path, "line": 1})
        assert error["code"] == "INVALID_INPUT", path
    for path in ("loop", "pipe.jsonl", "nope.jsonl", "2026"):
        error = call.error("transcripts_open", root_dir=str(root), ref={"path": path, "line": 1})
        assert error["code"] in ("NOT_FOUND", "IO_ERROR"), path


def test_bad_references_are_refused(call: Caller, root: Path) -> None:
    for ref in (
        {"path": CODEX},
        {"path": CODEX, "line": 1, "byte": 0},
        {"path": CODEX, "line": 99},
        {"path": CODEX, "byte": 10**9},
        {"path": CODEX, "line": 0},
        {"path": "a\x07b", "line": 1},
        {"path": "", "line": 1},
    ):
        assert call.error("transcripts_open", root_dir=str(root), ref=ref)["code"] == "INVALID_INPUT", ref
    assert call.error("transcripts_search", root_dir=str(root / CODEX), query="x")["code"] == "INVALID_INPUT"
    assert call.error("transcripts_search", root_dir=str(root), query=" ")["code"] == "INVALID_INPUT"


def test_a_digest_shows_how_sessions_ended(call: Caller, root: Path) -> None:
    result = call("transcripts_digest", root_dir=str(root), cwd_prefix="")
    assert [item["ref"]["path"] for item in result["digest"]] == [CLAUDE, CODEX]
    assert [item["message"]["text"].splitlines()[0] for item in result["digest"]] == [
        "Migration of the store",
        "Summary",
    ]
    last = call("transcripts_digest", root_dir=str(root), cwd_prefix="", mode="last", max_items=1)["digest"]
    assert [item["message"]["text"] for item in last] == ["The migration is fine."]
    opened = call("transcripts_open", root_dir=str(root), ref=result["digest"][1]["ref"] | {"line": None})
    assert opened["entries"][-1]["text"].startswith("Summary")


def test_an_empty_digest_of_a_cut_scan_says_how_to_go_on(call: Caller, tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / "t", f"{number}.jsonl", codex_meta(), codex("user", "x" * 2000))
    answer = call.answer("transcripts_digest", root_dir=str(tmp_path / "t"), cwd_prefix="", max_bytes_total=1500)
    assert answer.envelope["result"]["digest"] == []
    assert "TRANSCRIPTS_SCAN_TRUNCATED" in [item["code"] for item in answer.envelope["warnings"]]
    assert len(answer.envelope["suggestions"]) == 2
    run_suggestions(call.clew, answer, call.session)


def test_a_scan_that_ends_inside_its_only_file_says_so(call: Caller, tmp_path: Path) -> None:
    write(tmp_path / "t", "one.jsonl", codex_meta(), codex("user", "x" * 4000))
    for most, cut in ((1500, True), (100_000, False)):
        answer = call.answer("transcripts_digest", root_dir=str(tmp_path / "t"), cwd_prefix="", max_bytes_total=most)
        assert answer.envelope["result"]["scanned"]["truncated"] is cut
        assert len(answer.envelope["suggestions"]) == (2 if cut else 0)


def test_answers_stay_within_their_budget(call: Caller, root: Path) -> None:
    for name, more in (
        ("transcripts_search", {"query": "migration", "cwd_prefix": ""}),
        ("transcripts_digest", {"cwd_prefix": ""}),
        ("transcripts_open", {"ref": {"path": CODEX, "line": 1}}),
    ):
        sizes = []
        for limit in (2, 100, 400, 900, 5000):
            budget = call(name, root_dir=str(root), max_chars=limit, **more)["budget"]
            assert budget["used_chars"] <= limit
            sizes.append(budget["used_chars"])
        assert sizes == sorted(sizes)


def test_messages_beyond_the_limit_are_told(call: Caller, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    write(folder, CODEX, codex_meta(), *(codex("user", f"needle {number}") for number in range(4)))
    arguments = {"query": "needle", "root_dir": str(folder), "cwd_prefix": "/home/me/app"}
    for limit, codes in ((3, ["TRANSCRIPTS_HITS_LIMIT_REACHED"]), (4, [])):
        answer = call.answer("transcripts_search", **arguments, hits_limit=limit)
        assert len(answer.envelope["result"]["hits"]) == limit
        assert [warning["code"] for warning in answer.envelope["warnings"]] == codes


@pytest.fixture
def client(call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """A caller that came in over a protocol, in the project /home/me/app."""
    call.session.local = False
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setattr("clew.reasoning.transcripts.files.project_root", lambda cwd: Path("/home/me/app"))
    write(tmp_path / "codex/sessions", "own.jsonl", codex_meta(), codex("user", "our bank account"))
    write(
        tmp_path / "codex/sessions", "other.jsonl", codex_meta("/home/me/private"), codex("user", "my bank pin is 1234")
    )
    return call


def test_a_client_reads_no_directory_of_its_choice(client: Caller, root: Path, tmp_path: Path) -> None:
    """One that exists and one that does not are refused alike."""
    refused = [
        client.error("transcripts_search", root_dir=str(folder), query="migration")
        for folder in (root, tmp_path / "codex", "/nowhere", tmp_path / "codex/sessions/../..")
    ]
    assert {error["code"] for error in refused} == {"NOT_FOUND"}
    assert all("not a directory of agent sessions" in error["message"] for error in refused)
    error = client.error("transcripts_open", root_dir=str(root), ref={"path": CODEX, "line": 1})
    assert error["code"] == "NOT_FOUND"
    assert client.error("transcripts_digest", root_dir=str(root))["code"] == "NOT_FOUND"


@pytest.mark.parametrize("prefix", [None, "", "/home/me", "/home/me/private"])
def test_a_client_reads_sessions_of_its_project_only(client: Caller, prefix: str | None) -> None:
    given = {} if prefix is None else {"cwd_prefix": prefix}
    answer = client.answer("transcripts_search", query="bank", **given)
    shown = [hit["ref"]["path"] for hit in answer.envelope["result"]["hits"]]
    assert shown == ([] if prefix == "/home/me/private" else ["own.jsonl"])
    warned = [item["code"] for item in answer.envelope["warnings"]]
    assert warned == ([] if prefix is None else ["TRANSCRIPTS_PROJECT_ONLY"])


def test_a_client_opens_sessions_of_its_project_only(client: Caller) -> None:
    assert client("transcripts_open", ref={"path": "own.jsonl", "line": 2})["entries"]
    assert client.error("transcripts_open", ref={"path": "other.jsonl", "line": 2})["code"] == "NOT_FOUND"


def test_a_text_that_names_the_project_does_not_make_it_the_project(client: Caller, tmp_path: Path) -> None:
    said = codex("user", "<cwd>/home/me/app</cwd> my bank pin is 1234")
    write(tmp_path / "codex/sessions", "hint.jsonl", codex_meta("/home/me/private"), said)
    assert [hit["ref"]["path"] for hit in client("transcripts_search", query="bank")["hits"]] == ["own.jsonl"]


def test_a_place_in_a_transcript_is_a_record(client: Caller) -> None:
    """Search and digest print its id; open shows it, other records are linked to it, and it can be disowned."""
    (hit,) = client("transcripts_search", query="bank")["hits"]
    opened = client("open", id=hit["id"])
    assert (opened["kind"], opened["summary"]) == ("transcript", "our bank account")
    assert opened["transcript"]["ref"] == {"path": "own.jsonl", "line": None, "byte": hit["ref"]["byte"]}
    client("think_card", card={"id": "CARD-1", "type": "evidence", "title": "They have an account"})
    with Context(client.clew.dispatcher, client.session, "ws", "ann").writing() as ctx:
        add_link(ctx, "CARD-1", "rests_on", hit["id"])
    assert client("open", id=hit["id"])["record"]["rests_on_it"] == ["CARD-1"]
    done = client("retract", id=hit["id"], why="That was a joke")
    assert (done["kind"], done["status"], done["rested_on_it"]) == ("transcript", "disowned", ["CARD-1"])
    assert client("open", id=hit["id"])["record"]["retraction"]["why"] == "That was a joke"


@pytest.mark.parametrize("path", ["other.jsonl", "nothing.jsonl", "../../secret.jsonl"])
def test_a_transcript_that_a_client_may_not_read_is_unknown(client: Caller, path: str) -> None:
    assert client.error("open", id=f"transcript:{path}@0")["code"] == "UNKNOWN_ID"
    assert client.error("retract", id=f"transcript:{path}@0", why="no")["code"] == "UNKNOWN_ID"
