"""A job's process is brought to an end within its limits, with everything it started, and says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from clew.runner.child import ChildLimits, Ended, run_child
from tests.waiting import PATIENCE, until

LIMITS = ChildLimits(seconds=PATIENCE, stop_seconds=0.3, memory_bytes=512 << 20, output_bytes=4 << 20)
Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a Python program as a job's process."""

    def start(program: str, interrupted: Callable[[], str | None] = lambda: None, **limits: float) -> Ended:
        prompt = tmp_path / "prompt"
        prompt.write_text("the order")
        bounds = ChildLimits(**{**vars(LIMITS), **limits})
        environment = {"PATH": os.environ["PATH"], "MARK": str(tmp_path)}
        return run_child([sys.executable, "-c", program], environment, tmp_path, prompt, bounds, interrupted)

    return start


def survivors(folder: Path) -> list[psutil.Process]:
    """Processes that carry the mark of this test and still run."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MARK") == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def test_a_process_reads_its_prompt_and_its_output_is_kept(run: Run) -> None:
    ended = run("import sys; print(sys.stdin.read().upper()); print('careful', file=sys.stderr)")
    assert ended.ok
    assert (ended.output, ended.errors) == ("THE ORDER\n", "careful\n")


@pytest.mark.parametrize(
    ("program", "exit", "number"),
    [("raise SystemExit(3)", 3, None), ("import os; os.kill(os.getpid(), 11)", None, signal.SIGSEGV)],
)
def test_a_failure_says_how(run: Run, program: str, exit: int | None, number: int | None) -> None:
    ended = run(program)
    assert (ended.ok, ended.exit, ended.signal, ended.reason) == (False, exit, number, None)


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt"
    prompt.touch()
    ended = run_child(["/no/such/program"], {}, tmp_path, prompt, LIMITS, lambda: None)
    assert ended.reason == "start" and "/no/such/program" in ended.detail


def test_one_that_ignores_the_polite_signal_is_killed_in_time(run: Run, tmp_path: Path) -> None:
    ended = run("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)", seconds=0.5)
    assert ended.reason == "time"
    assert survivors(tmp_path) == []


def test_one_that_heeds_it_may_tidy_up(run: Run, tmp_path: Path) -> None:
    up = tmp_path / "up"
    program = "import pathlib, signal, sys, time\n"
    program += "signal.signal(15, lambda *_: (print('tidy', flush=True), sys.exit(0)))\n"
    program += f"pathlib.Path({str(up)!r}).touch()\ntime.sleep(600)"
    ended = run(program, lambda: "stopped" if up.exists() else None, stop_seconds=PATIENCE)
    assert ended.reason == "stopped"
    assert ended.output.endswith("tidy\n")


def test_a_flood_of_output_is_cut_off_and_never_held_in_memory(run: Run) -> None:
    before = psutil.Process().memory_info().rss
    ended = run("import os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))")
    assert ended.reason == "output"
    assert len(ended.output) <= 262_144
    assert psutil.Process().memory_info().rss - before < 100 << 20


def test_memory_beyond_the_limit_ends_it(run: Run) -> None:
    ended = run("held = bytearray(2 << 30)", memory_bytes=256 << 20)
    assert not ended.ok
    assert "MemoryError" in ended.errors or ended.reason == "memory"


def test_memory_of_all_processes_counts_together(run: Run, tmp_path: Path) -> None:
    program = "import os, time\nfor _ in range(6):\n    if os.fork() == 0: break\n"
    ended = run(program + "held = bytearray(os.urandom(1 << 20) * 60)\ntime.sleep(600)", memory_bytes=200 << 20)
    assert ended.reason == "memory"
    assert survivors(tmp_path) == []


def test_what_it_forked_ends_with_it_even_outside_of_its_session(run: Run, tmp_path: Path) -> None:
    """A daemon as by the book: forked twice, in a session of its own, deaf to signals."""
    program = "import os, signal, sys, time\n"
    program += "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    program += "        signal.signal(15, signal.SIG_IGN); signal.signal(1, signal.SIG_IGN); time.sleep(600)\n"
    program += "    os._exit(0)\nos.wait(); print('parent done')"
    ended = run(program)
    assert ended.ok and ended.output == "parent done\n"
    assert survivors(tmp_path) == []


def test_a_process_that_keeps_forking_is_ended(run: Run, tmp_path: Path) -> None:
    program = (
        "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(0.05); os._exit(0)\n    time.sleep(0.002)"
    )
    assert run(program, seconds=0.7).reason == "time"
    assert survivors(tmp_path) == []


def test_the_runner_can_stop_it(run: Run, tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    assert run("import time; time.sleep(600)", lambda: "stopped" if stop.is_set() else None).reason == "stopped"
    assert survivors(tmp_path) == []


def test_when_the_runner_is_killed_its_processes_go_too(tmp_path: Path) -> None:
    marks = tmp_path / "started"
    child = f"import pathlib, time; pathlib.Path({str(marks)!r}).touch(); time.sleep(600)"
    program = f"""
import os, sys
from pathlib import Path
from clew.runner.child import ChildLimits, run_child
prompt = Path({str(tmp_path)!r}) / "prompt"
prompt.touch()
limits = ChildLimits(600, 1, 1 << 30, 1 << 20)
run_child([sys.executable, "-c", {child!r}], {{"MARK": {str(tmp_path)!r}}}, Path("/tmp"), prompt, limits, lambda: None)
"""
    runner = subprocess.Popen([sys.executable, "-c", program])
    until(marks.exists)
    runner.kill()
    runner.wait()
    until(lambda: not survivors(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to another process than the first")
def test_what_a_job_started_goes_when_the_job_kills_its_supervisor(run: Run, tmp_path: Path) -> None:
    program = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
time.sleep(0.2)
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
"""
    assert run(program).reason == "lost"
    assert survivors(tmp_path) == []
