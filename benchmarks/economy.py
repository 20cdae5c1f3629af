"""The cost of a working session for an agent: characters and tokens that Clew adds to its context, by call.

The session is the one that ONE-MEMORY measures. An agent works on a real project of a few files: it starts a task of
five steps, runs their tests with `clew prove`, records twenty things of all kinds, asks questions, and stops in the
middle. One step is closed on its word alone, one without proof, one on a run that a later change has made stale. A
second connection that knows nothing then resumes. `tests/records/test_two_sessions.py` plays the same and asks for each
thing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.client import ROOT, StdioServer
from benchmarks.report import Report
from benchmarks.stores import Store, fresh_store

COMMAND = "python -m unittest -q {}"
STEPS = [
    f"parser; reads quotes and comments; test: {COMMAND.format('test_parser')}",
    f"interpolation; ${{NAME}} and defaults; test: {COMMAND.format('test_interpolation')}",
    f"merge; later files win; test: {COMMAND.format('test_merge')}",
    "command line; exit codes",
    f"README and release check; usage is shown; test: {COMMAND.format('discover')}",
]
MODULES = ("parser", "interpolation", "merge")
TEST = """import unittest
from {0} import {0}


class Test(unittest.TestCase):
    def test_it(self):
        self.assertEqual({0}("A=1"), {{"A": "1"}})
"""
MODULE = """def {0}(text):
    return dict(line.split("=", 1) for line in text.splitlines())
"""
RECORDS: list[dict[str, Any]] = [
    {
        "kind": "preference",
        "text": "Errors are one line, file:line: what, never a traceback",
        "why": "the user said so",
    },
    {"kind": "rule", "text": "One-line imperative docstrings, 120 columns, no comment repeats the code"},
    {"kind": "rule", "text": "Run tests with python -m pytest -q -p no:cacheprovider; bare pytest is not on PATH"},
    {"kind": "decision", "text": "The file named last wins; equal values are no conflict", "why": "shells do it so"},
    {"kind": "rejected", "text": "python-dotenv", "why": "it skips bad lines silently and loses places"},
    {"kind": "decision", "text": "A key twice in one file is a conflict", "why": "silent loss is worse than an error"},
    {"kind": "decision", "text": "Interpolation happens after merging", "why": "a later file may define the name"},
    {"kind": "rejected", "text": "Recursive descent over the whole file", "why": "line numbers get lost"},
    {"kind": "fact", "text": "The corpus of samples has 412 files from 30 projects"},
    {"kind": "lesson", "text": "A regular expression with nested quantifiers hangs on line 88 of sample 17"},
    {"kind": "question", "text": "Does a doubled backslash before a reference swallow it on Windows paths?"},
    {"kind": "hypothesis", "text": "CRLF files fail because the comment pattern eats the carriage return"},
    {"kind": "test", "text": "Ran the parser over all 412 samples: 409 read, 3 refused with a line number"},
    {"kind": "evidence", "text": "Profile: 81 percent of the time is in one pattern"},
    {"kind": "note", "text": "Talked to the user about Windows; answer expected tomorrow"},
    {"kind": "fact", "text": "Exit code 2 means that the input could not be read, 1 that there is a conflict"},
    {"kind": "decision", "text": "Output keeps the order of first appearance", "why": "diffs stay small"},
    {"kind": "rule", "text": "No dependency outside the standard library"},
    {"kind": "lesson", "text": "Snapshot tests of error texts break on every wording; test the code and the line"},
    {"kind": "preference", "text": "Commit messages are imperative and under 72 characters"},
]
QUESTIONS = [
    "which value is used when two files define the same variable",
    "why not use an existing library",
    "how are problems shown to the user",
    "how do I start the tests",
    "what is still unclear about windows",
]
TARGETS = {
    "tools/list": "<= 9000 in all",
    "start": "<= 300 each",
    "close": "<= 300 each",
    "remember": "<= 300 each",
    "think": "<= 200 each",
    "retract": "<= 400 each",
    "resume": "<= 2000",
    "session 1": "< 15000 in all",
}


class Meter:
    """Counts and stores the responses of each tool."""

    def __init__(self, server: StdioServer) -> None:
        self._server = server
        self.answers: dict[str, list[str]] = defaultdict(list)

    def __call__(self, name: str, /, **arguments: Any) -> str:
        result = self._server.call(name, **arguments)
        # A client hands the model the structured content instead of the text where there is one.
        text = (
            json.dumps(result["structuredContent"]) if "structuredContent" in result else result["content"][0]["text"]
        )
        self.answers[name].append(str(text))
        return str(text)

    def tools(self) -> str:
        return json.dumps(self._server.request("tools/list", {})["tools"], separators=(",", ":"), ensure_ascii=False)

    @property
    def characters(self) -> int:
        return sum(len(text) for texts in self.answers.values() for text in texts)


class Project:
    """A scratch project on a store: a server over stdio as an agent uses it, and a shell."""

    def __init__(self, store: Store, directory: Path) -> None:
        self._directory = directory
        self._environ = {
            "HOME": str(store.home),
            "CLEW_DATABASE_URL": store.url,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        directory.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str) -> None:
        (self._directory / name).write_text(text, encoding="utf-8")

    def connect(self) -> StdioServer:
        server = StdioServer([sys.executable, "-m", "clew", "serve"], self._directory, **self._environ)
        server.initialize("claude-code")
        return server

    def prove(self, command: str, *options: str) -> str:
        """`clew prove` as the agent runs it in its shell; the line that it prints about the receipt."""
        words = [sys.executable, "-m", "clew", "prove", *options, "--", *command.split()]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **self._environ}
        done = subprocess.run(words, cwd=self._directory, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()[-1]


def first_session(project: Project, server: StdioServer) -> Meter:
    """Everything that the agent does before its memory is lost."""
    call = Meter(server)
    call("resume")
    call("start", title="envmerge: parse and merge .env files", steps=STEPS)
    said = iter(RECORDS)
    for number, module in enumerate(MODULES):
        project.write(f"{module}.py", MODULE.format(module))
        project.write(f"test_{module}.py", TEST.format(module))
        for record in (next(said) for _ in range(4)):
            call("remember", **record)
        call("think", text=f"{module}: what follows from this for the next step?")
        command = COMMAND.format(f"test_{module}")
        if number < 2:
            project.prove(command, "--covers", f"*{module}.py")
            call("close")
        else:
            call("close", proof={"command": command, "exit_code": 0})
    for record in said:
        call("remember", **record)
    call("close", unproven="tried by hand only")
    for question in QUESTIONS:
        call("recall", query=question)
    kept = call("remember", kind="note", text="To be taken back at once")
    call("retract", id=kept.split()[0], why="it was only a trial")
    project.write("parser.py", MODULE.format("parser") + "# changed after its proof\n")
    return call


def main(quick: bool = False) -> None:
    report = Report("economy", "What a session costs an agent, in characters (tokens estimated as a quarter)")
    with fresh_store() as store:
        project = Project(store, store.home.parent / "envmerge")
        with project.connect() as server:
            played = first_session(project, server)
            tools = played.tools()
        with project.connect() as server:
            resumed = Meter(server)("resume")
    _row(report, "tools/list", [tools])
    for name, texts in played.answers.items():
        _row(report, name, texts)
    report.row(what="session 1", characters=played.characters, tokens_estimated=played.characters // 4)
    report.rows[-1]["target"] = TARGETS["session 1"]
    _row(report, "resume", [resumed])
    report.save()
    print(f"\n{resumed}")


def _row(report: Report, name: str, texts: list[str]) -> None:
    total = sum(len(text) for text in texts)
    report.row(
        what=name,
        calls=len(texts),
        characters=total,
        tokens_estimated=total // 4,
        largest=max(len(text) for text in texts),
        target=TARGETS.get(name, ""),
    )


if __name__ == "__main__":
    main()
