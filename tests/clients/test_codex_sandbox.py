"""Codex lets commands write in the project only, so what an agent runs there cannot reach the store."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.clients.drivers import Driver
from tests.clients.scene import BIN, RUN, scene

SANDBOX = """\
sandbox_mode = "workspace-write"
"""
# The home of the test lies below /tmp, which the sandbox would let everybody write to.
ROOTS = """\
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[analytics]
"""


@pytest.mark.only("codex")
def test_clew_prove_proves_in_the_default_sandbox(driver: Driver) -> None:
    # Not in memory as other tests: the sandbox has a /dev of its own.
    with TemporaryDirectory(prefix="clew-sandbox-", dir="/tmp") as folder, scene(Path(folder) / "home") as made:
        driver.connect(made)
        config = made.home / ".codex" / "config.toml"
        text = config.read_text().replace('sandbox_mode = "danger-full-access"\n', SANDBOX)
        config.write_text(text.replace("[analytics]\n", ROOTS))
        (made.project / "parser.py").write_text("timeout = 2\n")
        calls = [
            driver.tool("start", {"title": "Fix the parser", "steps": [f"parser; test: {RUN}"]}),
            driver.shell("touch ~/.clew/here"),
            driver.shell(f"{BIN}/clew prove -- {RUN}"),
            driver.tool("close", {"step": "s:0"}),
        ]
        _, touched, proven, closed = driver.run(made, calls).results
    assert "Read-only file system" in touched
    assert "not recorded here" in proven
    assert "s:0 closed 1/1: PROVEN" in closed
