"""`clew call`: every operation from the shell, in a process of its own."""

import json

from tests.faces.cli.conftest import Shell


def test_what_one_process_writes_the_next_one_reads(clew: Shell) -> None:
    written = clew("call", "notes_commit", "content=Retries need jitter", "title=Network", "--json")
    assert (written.code, written.err) == (0, "")
    assert written.json["success"] is True
    shown = clew("call", "show", "doc_kind=notes")
    assert shown.code == 0
    assert "Retries need jitter" in shown.out


def test_arguments_come_as_json_from_the_line_and_from_a_pipe(clew: Shell) -> None:
    inline = clew("call", "notes_commit", "--json", '{"content": "inline"}')
    piped = clew("call", "notes_commit", "--json", "-", stdin='{"content": "piped"}')
    assert [inline.code, piped.code] == [0, 0]
    first, second = (ran.json["result"]["entry"]["seq"] for ran in (inline, piped))
    assert second > first


def test_values_are_read_by_the_schema(clew: Shell) -> None:
    ran = clew("call", "branch_list", "limit=1", "--json")
    assert ran.code == 0, ran.out
    assert ran.json["result"]["count"] == 1


def test_without_json_the_result_alone_is_on_stdout(clew: Shell) -> None:
    ran = clew("call", "branch_list")
    assert ran.code == 0
    assert "success" not in ran.json
    assert ran.json["branches"][0]["name"] == "main"


def test_older_names_reach_the_same_operation(clew: Shell) -> None:
    names = ("status", "branchmind_status", "branchmind/status")
    results = [clew("call", name, "--json").json["result"] for name in names]
    assert results[0] == results[1] == results[2]


def test_lines_are_lines(clew: Shell) -> None:
    ran = clew("call", "branch_list", "--lines")
    assert ran.code == 0
    assert not ran.out.startswith("{")


def test_a_refusal_exits_1_and_says_what_to_do(clew: Shell) -> None:
    ran = clew("call", "checkout", "ref=no-such-branch")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error UNKNOWN_ID")
    assert "try: clew call" in ran.err


def test_a_refusal_as_json_is_the_envelope(clew: Shell) -> None:
    ran = clew("call", "checkout", "ref=no-such-branch", "--json")
    assert ran.code == 1
    assert ran.json["error"]["code"] == "UNKNOWN_ID"
    assert ran.err == ""


def test_a_misspelt_argument_is_answered_with_a_command_that_runs(clew: Shell) -> None:
    ran = clew("call", "branch_list", "limt=1")
    assert ran.code == 1
    assert "did you mean limit?" in ran.err
    assert "try: clew call branch_list limit:=1" in ran.err


def test_an_unknown_operation_exits_2_and_names_the_nearest(clew: Shell) -> None:
    ran = clew("call", "branch_lst")
    assert ran.code == 2
    assert "try: clew call branch_list\n" in ran.err


def test_malformed_arguments_exit_2_and_call_nothing(clew: Shell) -> None:
    ran = clew("call", "notes_commit", "--json", "{broken")
    assert ran.code == 2
    assert ran.json["error"]["code"] == "INVALID_INPUT"
    assert not clew.home.exists()


def test_an_unusable_store_exits_3(clew: Shell) -> None:
    clew.home.mkdir()
    (clew.home / "clew.db").write_bytes(b"this is no database" * 400)
    ran = clew("call", "branch_list", "--json")
    assert ran.code == 3
    assert ran.json["error"]["code"] == "STORE_CORRUPT"


def test_a_bad_setting_exits_2_and_names_it(clew: Shell) -> None:
    ran = clew("call", "status", env={"CLEW_TOOLSET": "huge"})
    assert ran.code == 2
    assert "toolset" in ran.err


def test_options_before_the_command_choose_home_and_workspace(clew: Shell) -> None:
    other = str(clew.directory / "other")
    ran = clew("--home", other, "--workspace", "acme/api", "call", "status", "--json")
    assert ran.json["result"]["workspace"] == "acme/api"
    assert not clew.home.exists()


def test_a_reader_that_leaves_early_is_no_error(clew: Shell) -> None:
    import subprocess
    import sys

    line = f"{sys.executable} -m clew ops --json | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=clew.environment(), timeout=60)
    assert done.stdout == "{"
    assert "Traceback" not in done.stderr


def test_call_loads_no_protocol_library(clew: Shell) -> None:
    ran = clew("call", "branch_list", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in ran.err.splitlines()}
    assert "clew" in loaded
    assert not loaded & {"mcp", "starlette", "uvicorn", "rich", "psycopg", "numpy"}


def test_output_has_no_colour_in_a_pipe(clew: Shell) -> None:
    ran = clew("call", "branch_list", env={"FORCE_COLOR": "1"})
    assert "\x1b" not in ran.out
    assert json.loads(ran.out)
