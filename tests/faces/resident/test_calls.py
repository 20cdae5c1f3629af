"""One call through the resident server, by a process that imports nothing of Clew but the shim."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.faces.resident.shims import Shim, address, settings
from tests.waiting import until

SOURCE = Path(__file__).parents[3] / "src"
ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from clew.shim.one_call import ask
answer = ask(sys.argv[2], json.loads(sys.argv[3]), deadline=float(sys.argv[4]), start=True)
heavy = {"pydantic", "anyio", "mcp", "pathlib", "typing"}
strange = sorted(name for name in sys.modules if name.split(".")[0] in heavy)
print(json.dumps([answer, strange]))
"""


def ask(home: Path, cwd: Path, name: str, deadline: float = 60, **arguments: object) -> tuple[dict | None, list[str]]:  # type: ignore[type-arg]
    words = [sys.executable, "-I", "-S", "-c", ASK, str(SOURCE), name, json.dumps(arguments), str(deadline)]
    done = subprocess.run(words, cwd=cwd, env=settings(home), capture_output=True, text=True, check=True)
    answer, strange = json.loads(done.stdout)
    return answer, strange


def test_a_call_means_what_it_would_mean_in_its_own_process(home: Path, tmp_path: Path) -> None:
    with Shim(home) as shim:
        shim.open().call("notes_commit", content="Retries need jitter")
        answer, strange = ask(home, tmp_path, "recall", query="retries jitter", fmt="json")
        assert answer is not None and answer["ok"] and "jitter" in answer["text"]
        assert not strange, "the shim must stay light"
        refused, _ = ask(home, tmp_path, "recall", query="x", limit="many")
        assert refused is not None and not refused["ok"] and refused["envelope"]["error"]["code"] == "INVALID_INPUT"


def test_without_a_server_it_steps_aside_and_starts_one_for_the_next(home: Path, tmp_path: Path) -> None:
    assert ask(home, tmp_path, "status", deadline=0.2)[0] is None
    until(lambda: address(home))
    answer, _ = ask(home, tmp_path, "status")
    assert answer is not None and answer["ok"]
