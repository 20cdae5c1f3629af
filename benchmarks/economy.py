"""What a working session costs an agent: characters and tokens that Clew puts into its context, call by call.

The session is the one that ONE-MEMORY measures: a task of five steps, twenty records of all kinds, every step closed,
questions asked. A second connection that knows nothing then resumes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from benchmarks.client import StdioServer, clew_server
from benchmarks.report import Report
from benchmarks.stores import fresh_store

STEPS = [
    "parser; reads quotes and comments; test: python -m pytest tests/test_parser.py -q",
    "interpolation; ${NAME} and defaults; test: python -m pytest tests/test_interpolation.py -q",
    "merge; later files win; test: python -m pytest tests/test_merge.py -q",
    "command line; exit codes; test: python -m pytest tests/test_cli.py -q",
    "README and release check; test: python -m pytest -q",
]
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
    "session": "< 15000 in all",
}


class Meter:
    """Counts what comes back from each tool."""

    def __init__(self, server: StdioServer) -> None:
        self._server = server
        self.sizes: dict[str, list[int]] = defaultdict(list)

    def __call__(self, name: str, /, **arguments: Any) -> str:
        result = self._server.call(name, **arguments)
        # A client hands the model the structured content instead of the text where there is one.
        text = (
            json.dumps(result["structuredContent"]) if "structuredContent" in result else result["content"][0]["text"]
        )
        self.sizes[name].append(len(text))
        return str(text)


def play(server: StdioServer) -> Meter:
    """The first session."""
    call = Meter(server)
    call("resume")
    call("start", title="envmerge: parse and merge .env files", steps=STEPS)
    for number, record in enumerate(RECORDS):
        call("remember", **record)
        if number % 4 == 3:
            call("think", text=f"Thought {number}: what follows from this for the next step?")
            call("close", proof={"command": STEPS[number // 4].rpartition("test: ")[2], "exit_code": 0})
    for question in QUESTIONS:
        call("recall", query=question)
    kept = call("remember", kind="note", text="To be taken back at once")
    call("retract", id=kept.split()[0], why="it was only a trial")
    return call


def main(quick: bool = False) -> None:
    report = Report("economy", "What a session costs an agent, in characters (tokens estimated as a quarter)")
    with fresh_store() as store:
        with clew_server(store.home, toolset="agent") as server:
            server.initialize()
            tools = json.dumps(server.request("tools/list", {})["tools"], separators=(",", ":"), ensure_ascii=False)
            played = play(server)
        with clew_server(store.home, toolset="agent") as server:
            server.initialize()
            resumed = len(Meter(server)("resume"))
    _row(report, "tools/list", [len(tools)])
    for name, sizes in played.sizes.items():
        _row(report, name, sizes)
    _row(report, "session", [sum(sum(sizes) for sizes in played.sizes.values())])
    _row(report, "resume", [resumed])
    report.save()


def _row(report: Report, name: str, sizes: list[int]) -> None:
    total = sum(sizes)
    report.row(
        what=name,
        calls=len(sizes),
        characters=total,
        tokens_estimated=total // 4,
        largest=max(sizes),
        target=TARGETS.get(name, ""),
    )


if __name__ == "__main__":
    main()
