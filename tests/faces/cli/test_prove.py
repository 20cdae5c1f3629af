"""`clew prove` and `clew verify` as real processes: exit codes, receipts, and nothing left running."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faces.cli.conftest import Shell
from tests.waiting import until

STEPS = '[{"title": "Parse", "success_criteria": ["ok"]}, {"title": "Write", "success_criteria": ["ok"]}]'


@pytest.fixture
def project(clew: Shell) -> Path:
    (clew.directory / "a.py").write_text("x = 1\n")
    (clew.directory / "b.py").write_text("y = 1\n")
    assert clew("call", "tasks_macro_start", "task_title=Importer", f"steps:={STEPS}").code == 0
    return clew.directory


def states(clew: Shell) -> dict[str, str]:
    steps = clew("call", "tasks_proofs", "--json").json["result"]["steps"]
    return {step["path"]: step["state"] for step in steps}


def receipt(clew: Shell, id: str = "RCPT-001") -> dict[str, object]:
    found: dict[str, object] = clew("call", "open", f"id={id}", "--json").json["result"]["receipt"]
    return found


@pytest.fixture
def without_writing(clew: Shell, project: Path) -> Iterator[None]:
    """The data directory as a sandbox shows it: all of it can be read, and nothing written."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    home = str(clew.home)
    done = subprocess.run(["mount", "--bind", home, home], capture_output=True)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.decode()}")
    subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
    yield
    subprocess.run(["umount", "-l", home], check=True)


@pytest.mark.usefixtures("without_writing")
def test_where_the_store_cannot_be_written_the_command_runs_and_the_hook_is_named(clew: Shell) -> None:
    ran = clew("prove", "--", "sh", "-c", "echo ran; exit 0")
    assert (ran.code, ran.out) == (0, "ran\n") and "clew prove: not recorded here" in ran.err
    assert clew("prove", "--", "sh", "-c", "exit 7").code == 7


def survivors(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def test_a_passing_command_proves_the_first_open_step(clew: Shell, project: Path) -> None:
    ran = clew("prove", "--covers", "*.py", "--", sys.executable, "-c", "print('12 passed')")
    assert (ran.code, ran.out) == (0, "12 passed\n")
    assert ran.err.startswith("RCPT-001 seen: ") and "covers 2 files; TASK-001 s:0 is proven" in ran.err
    (project / "a.py").write_text("x = 2\n")
    assert states(clew) == {"s:0": "stale", "s:1": "unproven"}
    again = clew("prove", "--again", "--stale")
    assert again.code == 0 and "RCPT-002 seen" in again.err
    assert states(clew)["s:0"] == "proven"
    assert clew("prove", "--again", "TASK-001", "--stale").err == "Nothing to run again.\n"


def test_a_run_proves_the_steps_that_name_its_command_and_no_other(clew: Shell, project: Path) -> None:
    run = f"CMD: {sys.executable} check.py"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("*\n!*.py\n")
    (project / "check.py").write_text("import a\nprint(a.x, '1 passed')\n")
    steps = [{"title": "Docs", "success_criteria": ["ok"]}]
    steps += [{"title": title, "success_criteria": ["ok"], "tests": [run]} for title in ("Parse", "Print")]
    assert clew("call", "tasks_macro_start", "task_title=Named", f"steps:={json.dumps(steps)}").code == 0
    ran = clew("prove", "--", sys.executable, "check.py")
    assert ran.code == 0 and "TASK-002 s:1 is proven" in ran.err and "TASK-002 s:2 is proven" in ran.err
    assert states(clew) == {"s:0": "unproven", "s:1": "proven", "s:2": "proven"}
    if sys.platform == "linux":
        assert receipt(clew)["files"] == ["a.py", "check.py"], "what it opened, and not b.py"
        (project / "b.py").write_text("y = 3\n")
        assert states(clew)["s:1"] == "proven"
    (project / "a.py").write_text("x = 3\n")
    assert states(clew) == {"s:0": "unproven", "s:1": "stale", "s:2": "stale"}


def test_every_command_that_a_step_rests_on_is_run_again(clew: Shell, project: Path) -> None:
    steps = '[{"title": "Parse", "success_criteria": ["ok"], "tests": ["CMD: test -f a.py", "CMD: test -f b.py"]}]'
    assert clew("call", "tasks_macro_start", "task_title=Two", f"steps:={steps}").code == 0
    assert clew("prove", "--covers", "*.py", "--", "test", "-f", "a.py").code == 0
    assert states(clew) == {"s:0": "claimed"}, "the other command has not been seen yet"
    assert clew("prove", "--covers", "*.py", "--", "test", "-f", "b.py").code == 0
    assert states(clew) == {"s:0": "proven"}
    (project / "a.py").write_text("x = 3\n")
    again = clew("prove", "--again", "--stale")
    assert again.code == 0 and again.err.count(" seen: ") == 2
    assert states(clew) == {"s:0": "proven"}


def test_stale_proofs_of_all_tasks_are_run_again(clew: Shell, project: Path) -> None:
    prove = ("prove", "--covers", "a.py", "--", "test", "-f", "a.py")
    assert clew(*prove).code == 0
    steps = '[{"title": "Other", "success_criteria": ["ok"]}]'
    assert clew("call", "tasks_macro_start", "task_title=Two", f"steps:={steps}").code == 0
    assert clew(*prove).code == 0
    (project / "a.py").write_text("x = 3\n")
    again = clew("prove", "--again", "--stale")
    assert again.code == 0
    assert "TASK-001 s:0 is proven" in again.err and "TASK-002 s:0 is proven" in again.err
    assert clew("prove", "--again", "--stale").err == "Nothing to run again.\n"


@pytest.mark.parametrize("covers", [["--covers", "*.py"], []])
def test_a_file_that_changes_while_the_command_runs_is_not_proven_by_it(
    clew: Shell, project: Path, covers: list[str]
) -> None:
    """As when another agent saves it meanwhile: what the command read is not what is there now."""
    ran = clew("prove", *covers, "--", sys.executable, "-c", "open('a.py').read(); open('a.py', 'w').write('x = 9')")
    assert ran.code == 0
    assert states(clew)["s:0"] == "stale"
    again = clew("prove", *covers, "--", sys.executable, "-c", "open('a.py').read(); open('a.py', 'w').write('x = 9')")
    assert (again.code, states(clew)["s:0"]) == (0, "proven"), "nothing was changed this time"


def test_a_file_that_changes_while_a_command_runs_again_is_not_proven_by_it(clew: Shell, project: Path) -> None:
    command = "import os; open('a.py').read(); os.path.exists('now') and open('a.py', 'a').write('#')"
    clew("prove", "--covers", "*.py", "--", sys.executable, "-c", command)
    (project / "b.py").write_text("y = 2")
    (project / "now").touch()
    assert clew("prove", "--again", "--stale").code == 0
    assert states(clew)["s:0"] == "stale"


def test_a_run_again_that_fails_disputes_the_receipt(clew: Shell, project: Path) -> None:
    assert clew("prove", "--covers", "a.py", "--", "test", "-f", "a.py").code == 0
    (project / "a.py").unlink()
    again = clew("prove", "--again")
    assert again.code == 1 and "disputes RCPT-001" in again.err
    assert states(clew)["s:0"] == "failed"


@pytest.mark.parametrize(
    ("command", "code", "remark"),
    [
        (["sh", "-c", "echo out; exit 3"], 3, ""),
        (["sh", "-c", "kill -9 $$"], 137, "killed by signal 9"),
        (["no-such-command"], 127, "could not be started"),
        (["./a.py"], 126, "could not be started"),
        (["echo out | cat; exit 4"], 4, ""),
    ],
)
def test_the_exit_code_is_kept_and_the_receipt_says_failed(
    clew: Shell, project: Path, command: list[str], code: int, remark: str
) -> None:
    ran = clew("prove", "--step", "s:1", "--", *command)
    assert ran.code == code and remark in ran.err
    kept = receipt(clew)
    assert (kept["grade"], kept["exit_code"], kept["path"]) == ("failed", code, "s:1")
    assert states(clew)["s:1"] == "failed"


def test_what_a_command_prints_and_leaves_behind_spoils_no_receipt(clew: Shell, project: Path) -> None:
    """Bytes that are no text, arguments that are not UTF-8, a process in the background, closed outputs."""
    mark = {"MARK": str(project)}
    binary = "import sys; sys.stdout.buffer.write(bytes(range(256))); sys.exit(3)"
    with subprocess.Popen(
        [sys.executable, "-m", "clew", "prove", "--", sys.executable, "-c", binary, b"\xff"],
        cwd=project,
        env=clew.environment(mark),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, bytes(range(256))) and b"RCPT-001 failed" in err
    assert (receipt(clew)["grade"], receipt(clew)["exit_code"]) == ("failed", 3)
    left = "sleep 600 & setsid sleep 600 >/dev/null 2>&1 & exit 0"
    assert clew("prove", "--", "sh", "-c", left, env=mark).code == 0
    assert survivors(str(project)) == []
    assert clew("prove", "--", "sh", "-c", "exec 1>&- 2>&-; exit 7").code == 7
    assert receipt(clew, "RCPT-003")["exit_code"] == 7


def test_a_run_in_another_folder_is_another_command(clew: Shell, project: Path) -> None:
    (project / ".git").mkdir()
    steps = '[{"title": "Parse", "success_criteria": ["ok"], "tests": ["CMD: test -f a.py"]}]'
    assert clew("call", "tasks_macro_start", "task_title=Two", f"steps:={steps}").code == 0
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text("x = 1\n")
    words = [sys.executable, "-m", "clew", "prove", "--covers", "*.py", "--", "test", "-f", "a.py"]
    ran = subprocess.run(
        words, cwd=project / "sub", env=clew.environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert (
        "RCPT-001 seen: cd sub && test -f a.py" in ran.stderr
        and "s:0 is claimed: no seen run of test -f a.py" in ran.stderr
    )
    assert clew("prove", "--covers", "*.py", "--", "test", "-f", "a.py").code == 0
    assert states(clew) == {"s:0": "proven"}


def test_a_flood_is_ended_and_little_of_it_is_kept(clew: Shell, project: Path) -> None:
    mark = str(project)
    words = [sys.executable, "-m", "clew", "prove", "--", "yes"]
    with subprocess.Popen(
        words, cwd=project, env=clew.environment({"MARK": mark}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        _, err = process.communicate(timeout=60)
    assert process.returncode == 137 and b"printed more than 64 MB" in err
    assert len(str(receipt(clew)["output_tail"])) <= 4000
    assert survivors(mark) == []


def test_a_command_can_read_the_terminal(clew: Shell, project: Path) -> None:
    master, terminal = pty.openpty()
    words = [sys.executable, "-m", "clew", "prove", "--", "sh", "-c", 'read line; test "$line" = yes']
    with subprocess.Popen(
        words, cwd=project, env=clew.environment(), stdin=terminal, stderr=subprocess.PIPE
    ) as process:
        os.write(master, b"yes\n")
        process.communicate(timeout=60)
    os.close(terminal)
    os.close(master)
    assert process.returncode == 0
    assert receipt(clew)["grade"] == "seen"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_it(clew: Shell, project: Path, number: signal.Signals) -> None:
    mark, started = str(project), project / "started"
    leave = "os.fork(); os.setsid() if os.fork() == 0 else 0"
    program = f"import os, time; {leave}; open({str(started)!r}, 'w'); time.sleep(600)"
    words = [sys.executable, "-m", "clew", "prove", "--", sys.executable, "-c", program]
    with subprocess.Popen(words, cwd=project, env=clew.environment({"MARK": mark}), stderr=subprocess.PIPE) as process:
        until(lambda: started.exists() or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(number)
        process.wait(timeout=60)
    until(lambda: not survivors(mark))
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert (receipt(clew)["grade"], receipt(clew)["exit_code"]) == ("failed", 128 + number)


def test_one_changed_byte_is_found(clew: Shell, project: Path) -> None:
    assert clew("prove", "--", "test", "-f", "a.py").code == 0
    ran = clew("verify")
    assert ran.code == 0 and ran.out.startswith("intact: 1 receipts, ")
    change = (
        "import apsw; apsw.Connection('home/clew.db').execute(\"UPDATE proof_receipt SET command = 'test -f a.pz'\")"
    )
    subprocess.run([sys.executable, "-c", change], cwd=project, check=True)
    ran = clew("verify")
    assert (ran.code, ran.out) == (1, "BROKEN RCPT-001 does not hold what was written\n")
    assert json.loads(clew("verify", "--json").out)["intact"] is False


def test_without_a_task_nothing_is_run(clew: Shell) -> None:
    ran = clew("prove", "--", "touch", "ran")
    assert ran.code == 1 and not (clew.directory / "ran").exists()


def test_the_task_is_found_where_there_is_no_doubt(clew: Shell) -> None:
    def start(title: str, agent: str) -> None:
        assert clew("start", title, "--step", "reader", env={"CLEW_AGENT_ID": agent}).code == 0

    start("Parse", "claude")
    assert "TASK-001 s:0 is proven" in clew("prove", "--", "test", "-d", ".").err, "the only open task"
    start("Merge", "claude")
    assert "TASK-002 s:0 is proven" in clew("prove", "--", "test", "-d", ".").err, "what everybody works on"
    start("Ship", "codex")
    ran = clew("prove", "--", "touch", "ran")
    assert ran.code == 1 and not (clew.directory / "ran").exists(), "nobody can tell whose shell this is"
    assert "Merge: clew prove --task TASK-002 -- touch ran\n" in ran.err
    step = clew("call", "tasks_proofs", "task=TASK-001", "--json").json["result"]["steps"][0]["step_id"]
    assert "TASK-001 s:0 is proven" in clew("prove", "--step", step, "--", "test", "-d", ".").err
