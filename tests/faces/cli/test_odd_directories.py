"""`clew` where directories are gone or have names that are no text: it works, or says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.faces.cli.conftest import Shell
from tests.waiting import PATIENCE

REMOVED = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'


def test_a_directory_that_is_gone_is_named(clew: Shell) -> None:
    done = subprocess.run(
        ["sh", "-c", REMOVED, "sh", sys.executable, "-m", "clew", "status"],
        cwd=clew.directory,
        env=clew.environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode != 0
    assert "the current directory is gone" in done.stderr and "Traceback" not in done.stderr


def test_a_project_may_have_a_name_that_is_no_text(clew: Shell) -> None:
    odd = os.fsencode(clew.directory) + b"/odd\xff"
    os.mkdir(odd)  # noqa: PTH102 (the name is bytes)
    there = Shell(type(clew.directory)(os.fsdecode(odd)), clew.home)
    kept = there("remember", "-k", "rule", "Ring the bell in fog")
    assert kept.code == 0, kept.err
    assert "Ring the bell in fog" in there("recall", "bell").out
