"""A home with a project in it, and sessions of real clients that work there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.clients.programs import NODE
from tests.clients.stub import Stub
from tests.clients.wire import Request, ToolCall, Turn
from tests.conftest import Caller
from tests.faces.resident.shims import ending

BIN = Path(sys.executable).parent
LONGEST_SESSION = 120.0

Step = Turn | ToolCall | Callable[[Request], Turn | ToolCall]
"""What the model does next: fixed, or found from what it has been sent."""

CHECK = """\
grep -q 'timeout = 2' parser.py && { echo ok; exit 0; }
echo "E   AssertionError: timeout must be 2, parser.py says something else" >&2
echo "parser.py:1: AssertionError" >&2
exit 1
"""
"""The project's test: fails until parser.py is right, with an error that names the place."""
RUN = "sh check.sh"
DECISION = "The retry queue uses exponential backoff with jitter"
NEWER = tuple(f"Report {n} is written in the language of its reader, {'and so on ' * 20}{n}" for n in range(12))
"""So many that the start of a session does not name the first decision any more."""
ASKED = "Why does the retry queue use exponential backoff with jitter?"


@dataclass
class Scene:
    """Everything of one user: nothing of the machine's own home or environment is visible to a client."""

    home: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.home / "work" / "shop"

    @property
    def store(self) -> Path:
        return self.home / ".clew"

    @property
    def environ(self) -> dict[str, str]:
        path = [str(NODE.parent), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"]
        given = {"HOME": str(self.home), "PATH": os.pathsep.join(path), "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        return {**given, "TERM": "dumb", "CLEW_EMBEDDING_MODEL": "none", "TMPDIR": str(self.home / "tmp"), **self.extra}

    def prepare(self) -> None:
        self.project.mkdir(parents=True)
        (self.home / "tmp").mkdir()
        (self.project / "parser.py").write_text("timeout = 1\n")
        (self.project / "check.sh").write_text(CHECK)
        (self.project / "migrations").mkdir()
        (self.project / "migrations" / "001_init.sql").write_text("create table a (b int);\n")
        (self.home / ".gitconfig").write_text("[user]\nname = me\nemail = me@example.com\n")
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "begin"]):
            subprocess.run(["git", *words], cwd=self.project, env=self.environ, check=True)

    def clew(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            [str(BIN / "clew"), *words],
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def decide(self, *texts: str) -> None:
        clew = self.opened()
        for text in texts:
            Caller(clew, "agent")("remember", text=text, kind="decision", why="it was measured")
        clew.close()

    def fill(self) -> None:
        """Memory to be told of, and a guard that a person has approved."""
        self.decide(DECISION)
        clew = self.opened()
        call = Caller(clew, "agent")
        guard = {"paths": ["migrations/*.sql"], "action": "deny", "message": "Add a new migration instead."}
        rule = call("remember", text="Migrations are never edited", kind="rule", guard=guard)
        shell = Connection(toolset="full", client="clew-cli", durable=False, local=True, person="@ines")
        assert clew.dispatcher.call("guard_approve", {"id": rule["id"]}, shell).ok
        clew.close()

    def opened(self) -> Clew:
        settings = load_settings({"home": self.store, "embedding_model": "none"}, {}, self.project)
        return open_clew(settings)

    def stop_server(self) -> None:
        with ending(self.store):
            pass


@contextmanager
def scene(place: Path) -> Iterator[Scene]:
    made = Scene(place)
    made.prepare()
    with ending(made.store):
        yield made


class Played:
    """A script that is played turn by turn, then says that it is done."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)

    def __call__(self, request: Request) -> Turn:
        if not self._steps:
            return Turn(text="done")
        step = self._steps.pop(0)
        found = step(request) if callable(step) else step
        return Turn(calls=(found,)) if isinstance(found, ToolCall) else found

    @property
    def left(self) -> int:
        return len(self._steps)


@dataclass
class Session:
    """A client's run with its model: what the model was sent, in order, and what the client printed."""

    stub: Stub
    script: Played
    process: subprocess.Popen[bytes]
    log: Path

    def finish(self, seconds: float = LONGEST_SESSION) -> Session:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the client did not end: {self.printed[-3000:]}") from None
        finally:
            self.stub.close()
        return self

    def done(self) -> Session:
        """It ended, and the model said all that the script holds."""
        self.finish()
        assert not self.script.left, f"{self.script.left} turns were not asked for: {self.printed[-3000:]}"
        return self

    @property
    def printed(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def first(self) -> Request:
        return self.stub.asked[0]

    @property
    def last(self) -> Request:
        return self.stub.asked[-1]

    @property
    def results(self) -> list[str]:
        """What the tools answered, as the model read it."""
        return self.last.results


def start_session(scene: Scene, command: Sequence[str], env: dict[str, str], stub: Stub, script: Played) -> Session:
    log = scene.home / "tmp" / f"session-{time.time_ns()}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=scene.project,
            env={**scene.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Session(stub, script, process, log)
