"""Hooks: how long a client waits for each, whether guards are right, and how often the fix of a failure is right.

Latency is measured from outside: a stub of each client starts the launcher as the client would, with the server
running, absent, unresponsive and killed.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.deeds import RULES, deeds
from benchmarks.report import Report, spread
from benchmarks.transcripts import score
from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
from clew.shim.address import read_address
from clew.shim.place import PROTOCOL, package_stamp
from clew.shim.start import resident_lock, start_behind

STATES = ("there", "deaf", "killed", "absent")
LIMIT_MS, GUARD_MS = 300, 100


def main(quick: bool = False) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    with tempfile.TemporaryDirectory(prefix="clew-hooks-") as place:
        latency(Path(place) / "latency", 2 if quick else 8)
        guards(Path(place) / "guards", 75 if quick else 300)
        dead_ends(Path(place) / "dead", 60 if quick else 400)


def opened(place: Path) -> Clew:
    (place / "project").mkdir(parents=True, exist_ok=True)
    flags = {"home": place / "home", "embedding_model": "none", "workspace": "shop"}
    return open_clew(load_settings(flags, {}, place / "project"))


def caller(**more: Any) -> Connection:
    return Connection(toolset="full", client="clew-cli", durable=False, local=True, person="@ines", **more)


def did(clew: Clew, name: str, **arguments: Any) -> dict[str, Any]:
    answer = clew.dispatcher.call(name, arguments, caller())
    assert answer.ok, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def latency(place: Path, rounds: int) -> None:
    from tests.faces.hooks.stub import CLIENTS

    clew = opened(place)
    did(clew, "remember", text="The retry queue uses exponential backoff with jitter", kind="decision", why="herds")
    task = did(clew, "start", title="Parse env files", steps=["parser; test: pytest -q"])["task"]
    did(clew, "tasks_focus_set", task=task)
    _armed(clew)
    clew.close()
    subprocess.run(["git", "init", "-q", str(place / "project")], check=True)
    report = Report("hooks", f"hooks: what a client waits for, from outside (p95 below {LIMIT_MS} ms)")
    report.row(server="none", client="bare python", calls=rounds * 9, **spread([_bare() for _ in range(rounds * 9)]))
    for state in STATES:
        with _Server(place / "home", place / "project", state):
            for kind in CLIENTS:
                before = _children_cpu()
                taken = _sessions(kind, place, state, rounds)
                cpu = (_children_cpu() - before) * 1000 / len(taken)
                report.row(server=state, client=kind.name, calls=len(taken), **spread(taken), cpu_ms=cpu)
    report.save()


def waited_for(client: Any) -> list[Any]:
    """The two responses that a client waits for as long as it can, if no server is running yet."""
    return [client.fire("session-start", source="startup"), client.wants("git push origin --force")]


def _bare() -> float:
    """The start and exit of the interpreter alone: the lower bound for any hook in Python."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return time.monotonic() - begun


def _children_cpu() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _sessions(kind: Any, place: Path, state: str, rounds: int) -> list[float]:
    taken = []
    for number in range(rounds):
        client = kind(place / "home", place / "project", f"{state}-{kind.name}-{number}", None, CLEW_WORKSPACE="shop")
        heard = [
            *(waited_for(client) if state == "there" else ()),
            client.fire("prompt", prompt="Why does the retry queue use exponential backoff?"),
            client.edits("parser.py", "a = 1", "a = 2"),
            client.runs("pytest -q", error="E   KeyError: 'a'\n1 failed"),
            client.runs("pytest -q", "3 passed"),
            client.fire("pre-compact", trigger="auto"),
            client.fire("stop", stop_hook_active=False),
            client.fire("session-end", reason="other"),
        ]
        assert all(it.code == 0 for it in heard)
        taken += [it.seconds for it in heard]
    return taken


class _Server:
    """The resident server of a data directory: running, deaf (listens and never responds), killed or absent."""

    def __init__(self, home: Path, project: Path, state: str) -> None:
        self.home, self.project, self.state = home, project, state
        self.process: psutil.Process | None = None
        self.lock = resident_lock(str(home.resolve()))
        self.deaf: socket.socket | None = None

    def __enter__(self) -> _Server:
        if self.state in ("there", "killed"):
            self._start()
        if self.state == "killed" and self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.state != "there":
            assert self.lock.take(patience=60)  # prevents another process from starting one meanwhile
        if self.state == "deaf":
            self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.is_running():
            self.process.terminate()
            self.process.wait()
        self.lock.release()
        if self.deaf is not None:
            self.deaf.close()
        with suppress(OSError):
            (self.home / "resident" / "address.json").unlink()

    def _start(self) -> None:
        from clew.shim.one_call import ask

        told = {"client": "claude", "event": "session-start", "session": "warm-up"}
        os.environ["CLEW_HOME"] = str(self.home)
        end = time.monotonic() + 60
        while ask("hook_event", told, deadline=10, toolset="full", directory=str(self.project)) is None:
            assert time.monotonic() < end, "the resident server does not answer"
            start_behind(str(self.home.resolve()))
            time.sleep(0.1)
        self.process = psutil.Process(read_address(str(self.home.resolve()))["pid"])

    def _listen(self) -> None:
        folder = self.home / "resident"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / "deaf"
        path.unlink(missing_ok=True)
        self.deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.deaf.bind(str(path))
        self.deaf.listen(64)
        told = {"protocol": PROTOCOL, "pid": os.getpid(), "stamp": package_stamp(), "secret": "x", "socket": str(path)}
        (folder / "address.json").write_text(json.dumps(told))


def _armed(clew: Clew) -> list[str]:
    """Twenty rules with checks that a person has approved."""
    made = []
    for text, check in RULES:
        rule = did(clew, "remember", text=text, kind="rule", guard=check)
        if rule["proposal"]:  # two short rules may look like a contradiction; a person confirms that they are none
            did(clew, "approve_apply", proposal_id=rule["proposal"], dry_run=False)
        did(clew, "guard_approve", id=rule["id"])
        made.append(rule["id"])
    return made


def guards(place: Path, count: int) -> None:
    clew = opened(place)
    rules = _armed(clew)
    connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
    taken, wrong, missed, denied = [], 0, 0, 0
    for number, (deed, meant) in enumerate(deeds(count)):
        told = {"client": "claude", "event": "pre-tool", "session": f"s-{number}", **deed}
        begun = time.monotonic()
        result = clew.dispatcher.call("hook_event", told, connection).envelope["result"]
        taken.append(time.monotonic() - begun)
        spoke = {rules.index(id) for id in result["rules"]}
        denied += result["decision"] == "deny"
        wrong += bool(spoke - meant)
        missed += bool(meant - spoke)
    clew.close()
    report = Report("guards", f"guards: {len(rules)} rules, {count} tool calls (p95 below {GUARD_MS} ms)")
    report.row(calls=count, denied=denied, false_objections=wrong, missed=missed, **spread(taken))
    report.save()


def dead_ends(place: Path, count: int) -> None:
    clew = opened(place)
    did(clew, "notes_commit", content="The project uses Clew.")
    connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
    calls = iter(range(10**9))

    def tell(session: str, event: str, **given: Any) -> str:
        told = {"client": "claude", "session": session, "event": event, "tool_id": f"t-{next(calls)}", **given}
        return str(clew.dispatcher.call("hook_event", told, connection).envelope["result"]["say"])

    def run(session: str, command: str, code: int, output: str) -> str:
        event = "tool-failed" if code else "post-tool"
        return tell(session, event, tool="command", command=command, exit_code=code, output=output)

    def edit(session: str, path: str, text: str) -> str:
        return tell(session, "post-tool", tool="edit", paths=[path], text=text)

    def pairs() -> list[dict[str, Any]]:
        with clew.database.read() as tx:
            return tx.all("SELECT * FROM dead_end ORDER BY number")

    report = Report("dead_ends", "dead ends on generated sessions (precision at least 0.9)")
    for seed in (1, 2, 3):
        found = score(count // 3, seed, run, edit, pairs)
        report.row(
            seed=seed,
            sessions=count // 3,
            failures=found.failures,
            pairs=found.pairs,
            precision=found.precision,
            told=found.told,
            told_precision=found.told_precision,
        )
    clew.close()
    report.save()
